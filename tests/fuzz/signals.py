"""Signals at any moment, from the first millisecond of a run to behind its end."""

import functools
import random
import signal

from fuzz import reference, texts
from fuzz.case import Case

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_COST_WORDS = ["--match", "5", "--mismatch", "-4", "--gap-open", "10", "--gap-extend", "1"]


@functools.cache
def _genes():
    rng = random.Random(1)
    return "".join(f">r{k}\n{texts.letters(rng, 120, texts.DNA)}\n" for k in range(12)).encode()


@functools.cache
def _long():
    rng = random.Random(2)
    return "".join(f">r{k}\n{texts.letters(rng, 40_000, texts.DNA)}\n" for k in range(6)).encode()


@functools.cache
def _middling():
    rng = random.Random(3)
    return "".join(f">r{k}\n{texts.letters(rng, 2_000, texts.DNA)}\n" for k in range(120)).encode()


@functools.cache
def _scores():
    return reference.score_table(reference.sequences(_genes(), "dna"), None, (5, -4, 10, 1))


@functools.cache
def _distances():
    return reference.distance_table(*reference.alignment(_genes()))


def _short_nw(content):
    return reference.compare(content, _scores())


def _short_dist(content):
    return reference.compare(content, _distances())


def _short_index(content):
    return "" if reference.index(content) == reference.sequences(_genes(), "dna") else "another index"


@functools.cache
def _many():
    rng = random.Random(4)
    return "".join(f">r{k}\n{texts.letters(rng, 2_000, texts.DNA)}\n" for k in range(500)).encode()


_RUNS = [
    # Longer than a run is before it keeps a journal.
    (["nw", "in.fa", "--fields", "query,target,cigar", "--memory", "200M", "--threads", "1", "--device", "cpu"], _many, "out.tsv", None),
    (["nw", "in.fa", "--value", "identity", "--memory", "200M", "--threads", "1", "--device", "cpu"], _many, "out.npy", None),
    (["nw", "in.fa", *_COST_WORDS, "--memory", "80M", "--device", "cpu"], _genes, "out.tsv", _short_nw),
    (["nw", "in.fa", "--memory", "200M", "--device", "cpu"], _long, "out.npy", None),
    (["sw", "in.fa", "--memory", "200M", "--device", "cpu"], _middling, "out.tsv", None),
    (["dist", "in.fa", "--memory", "80M", "--device", "cpu"], _genes, "out.tsv", _short_dist),
    (["index", "in.fa"], _genes, "out.gpa", _short_index),
    (["plot", "in.fa"], lambda: b"\ta\tb\na\t0\t1\nb\t1\t0\n", "out.png", reference.picture),
]


def make(rng):
    words, data, output, judge = rng.choice(_RUNS)
    signum = rng.choice([*STOPPING, signal.SIGKILL])
    delay = rng.choice([0.003, 0.1, 0.4, 1.0, 2.0, 4.0]) * rng.random() + (2.0 if data is _many and rng.random() < 0.7 else 0.0)
    memory = {"80M": 80 << 20, "200M": 200 << 20}.get(words[words.index("--memory") + 1]) if "--memory" in words else None
    at_work = data is not _many and rng.random() < 0.4
    delay = 0.3 * rng.random() if at_work else delay
    family = f"signals: {signum.name}"
    stop = signum, delay
    return Case(family, [*words, "-o", output], {"in.fa": data()}, None, output, judge, memory=memory, stop=stop, at_work=at_work)
