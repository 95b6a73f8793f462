"""Options beyond what anybody meant: every numeric option of every command at its extremes, and options that contradict each other.

Options are taken from the commands themselves, so that a new one is tried without a line here.
"""

import functools

import click

from fuzz import reference
from fuzz.case import Case

_INTEGERS = [
    "0",
    "1",
    "-1",
    "2",
    "-0",
    "+5",
    "100",
    "65535",
    *(str(s * 2**k + d) for s in (1, -1) for k in (31, 32, 63, 64) for d in (-1, 0)),
]
_INTEGERS += ["1" + "0" * 30, "1" * 5000, "1_000", "0x10", "٣", "½"]
_FLOATS = ["0.5", "1.5", "nan", "-nan", "inf", "-inf", "1e308", "-1e308", "1e309", "1e-320", "5e-324", "-0.0", "1.0000000001", "1e3", "."]
_SIZES = ["1", "1K", "3M", "64M", "1G", "1.5GiB", "99999999999T", "0.0001K", "0K", "-5M", "1e3", "16EB", "M", "nan"]
_TEXTS = [
    "",
    " ",
    "x",
    "é",
    "🧬",
    "a,b",
    ",",
    "query,query",
    "-",
    "--",
    "\x1b[31m",
    "a" * 300,
    "/",
    ".",
    "a/b.tsv",
    "../x",
    "%s",
    "{}",
    "$(x)",
]
_OUTPUTS = [
    "x.tsv",
    "x.npy",
    "x.npz",
    "x.tsv.gz",
    "x.sam",
    "x.phy",
    "x",
    "",
    ".",
    "a/b.tsv",
    "é🧬.tsv",
    "-x.tsv",
    "x.npy.gz",
    "x" * 300 + ".tsv",
]
_FASTA = b">one\nACGTACGTTAGC\n>two\nACGTTGCATGCAAGT\n>three\nTTAGCACGT\n"
_TABLE = b"id\ta\tb\tc\ns1\t0\t1\t2\ns2\t0\t0\t2\ns3\t1\tNA\t0\n"
_INPUTS = {
    "nw": ({"in.fa": _FASTA}, ["in.fa"]),
    "sw": ({"in.fa": _FASTA}, ["in.fa"]),
    "dist": ({"in.tsv": _TABLE}, ["in.tsv"]),
    "index": ({"in.fa": _FASTA}, ["in.fa"]),
    "plot": ({"in.tsv": b"\ta\tb\na\t0\t1\nb\t1\t0\n"}, ["in.tsv"]),
}
_JUDGED = {
    "--match",
    "--mismatch",
    "--gap-open",
    "--gap-extend",
    "--gap",
    "--edit",
    "--min-score",
    "--self",
    "--memory",
    "--threads",
    "--device",
}


@functools.cache
def _commands():
    from gpualign.cli.main import cli

    return {name: [p for p in cli.commands[name].params if isinstance(p, click.Option)] for name in _INPUTS}


def numeric(option):
    return not option.is_flag and not isinstance(option.type, click.Choice | click.types.StringParamType)


def _value(rng, option):
    if isinstance(option.type, click.Choice):
        return rng.choice([*option.type.choices, *(rng.choice(_TEXTS) for _ in range(rng.random() < 0.1))])
    if option.name == "output":
        return rng.choice(_OUTPUTS)
    if option.name == "plot":
        return rng.choice(["heat.png", "heat.gif", "", "no/heat.png"])
    if option.name == "device":
        return rng.choice(["cpu", "cpu", "cpu", "auto", "cuda:999", "cuda:-1", "cuda:0,0", "cuda:", "tpu", ""])
    if option.name == "fields":
        return rng.choice(["query", "query,cigar,identity", "score,qaln", "bits,evalue", "strand", *_TEXTS])
    if not numeric(option):
        return rng.choice([*_TEXTS, "BLOSUM62", "in.fa"])
    if isinstance(option.type, click.types.IntParamType | click.IntRange):
        return rng.choice(_INTEGERS if rng.random() < 0.85 else _FLOATS)
    if isinstance(option.type, click.types.FloatParamType | click.FloatRange):
        return rng.choice(_FLOATS if rng.random() < 0.6 else _INTEGERS)
    return rng.choice(_SIZES if rng.random() < 0.7 else _INTEGERS)


def _words(rng, option):
    name = option.opts[-1]
    return [name] if option.is_flag else [f"{name}={_value(rng, option)}"]


def make(rng):
    command = rng.choice(["nw", "nw", "nw", "sw", "sw", "dist", "dist", "index", "plot"])
    options = [option for option in _commands()[command] if option.name != "help"]
    numbers = [option for option in options if numeric(option)]
    chosen = [rng.choice(numbers)] if numbers else []
    if rng.random() < 0.6 or not chosen:
        chosen += [
            o
            for o in rng.sample(options, min(len(options), rng.randint(1, 4)))
            if o not in chosen and (o.name != "plot" or rng.random() < 0.2)
        ]
    files, inputs = _INPUTS[command]
    words = [word for option in chosen for word in _words(rng, option)]
    outputs = [word.partition("=")[2] for word in words if word.startswith("--output=")]
    if not outputs and command in ("index", "plot"):
        outputs = ["out.gpa" if command == "index" else "out.png"]
        words.append(f"--output={outputs[0]}")
    memory = None
    if command in ("nw", "sw", "dist") and not any(word.startswith("--memory=") for word in words):
        words.append("--memory=64M")
        memory = 64 << 20
    if command in ("nw", "sw", "dist") and not any(word.startswith("--device=") for word in words):
        words.append("--device=cpu")
    output = outputs[0] if outputs and outputs[0] != "-" else None
    family = "options: " + ("numbers" if len(chosen) == 1 and numbers else "several")
    return Case(family, [command, *inputs, *words], dict(files), None, output, _judge(command, words), memory=memory)


def _judge(command, words):
    """By brute force, where all the options are about scores."""
    given = {word.partition("=")[0]: word.partition("=")[2] for word in words}
    if command != "nw" or set(given) - _JUDGED:
        return None

    def judge(content):
        number = {
            name: int(text) for name, text in given.items() if name in _JUDGED - {"--memory", "--threads", "--device", "--edit", "--self"}
        }
        gap = number.get("--gap")
        costs = (
            number.get("--match", 5),
            number.get("--mismatch", -4),
            number.get("--gap-open", 10 if gap is None else gap),
            number.get("--gap-extend", 1 if gap is None else gap),
        )
        expected = reference.score_table(
            reference.sequences(_FASTA, "dna"),
            None,
            None if "--edit" in given else costs,
            with_self="--self" in given,
            least=number.get("--min-score"),
        )
        return reference.compare(content, expected)

    return judge
