"""Text that the commands read, good and spoilt."""

import csv
import gzip
import io

from fuzz import reference
from fuzz.case import Case

DNA, PROTEIN = "ACGT", "ARNDCQEGHILKMFPSTWYV"
_SIZES = {"80M": 80 << 20, "200M": 200 << 20, "1G": 1 << 30}
_NASTY = [b"\0", b"\xff", b"\xc2\xa0", b"\xef\xbb\xbf", b"\r", b"\x1a", b"\x0b", b"\xe2\x80\xa8", b">", b"@", b"+", b"\t", b",", b'"']
_NASTY += [
    b"\n",
    b"\n\n",
    b"-",
    b"*",
    b".",
    b"\x1f\x8b",
    b"#",
    b"-1",
    b"3",
    b"nan",
    b"1e999",
    b"99999999999999999999",
    b"NA",
    b"\xf0\x9f\xa7\xac",
]


def letters(rng, count, alphabet):
    return "".join(rng.choices(alphabet, k=count))


def _ending(rng, text):
    data = text.encode()
    if rng.random() < 0.15:
        data = data.replace(b"\n", b"\r\n")
    return data.removesuffix(b"\n") if rng.random() < 0.1 else data


def fasta(rng, alphabet=DNA):
    out = []
    for k in range(rng.randint(1, 6)):
        text = letters(rng, rng.randint(1, 90), alphabet + ("NRYn" if alphabet == DNA and rng.random() < 0.2 else ""))
        text = text.lower() if rng.random() < 0.2 else text
        width = rng.choice([7, 60, 1000])
        lines = [text[a : a + width] for a in range(0, len(text), width)]
        out.append(f">{rng.choice(['r', 'seq|', 'x_'])}{k}{rng.choice(['', ' of something', '	tab'])}\n" + "\n".join(lines) + "\n")
    return _ending(rng, rng.choice(["", "", "\n"]).join(out))


def fastq(rng, alphabet=DNA):
    out = []
    for k in range(rng.randint(1, 5)):
        text = letters(rng, rng.randint(1, 90), alphabet)
        quality = "".join(chr(rng.randint(33, 126)) for _ in text)
        out.append(f"@r{k}{rng.choice(['', ' 1:N:0'])}\n{text}\n+\n{quality}\n")
    return "".join(out).encode()


def aligned(rng):
    sites = rng.randint(1, 120)
    base = letters(rng, sites, DNA)
    rows = ["".join(rng.choice("ACGTN-") if rng.random() < 0.1 else c for c in base) for _ in range(rng.randint(1, 7))]
    return _ending(rng, "".join(f">s{k}\n{row}\n" for k, row in enumerate(rows)))


def table(rng):
    sites, separator = rng.randint(1, 40), rng.choice("\t,;")
    calls = rng.choice([["0", "1", "2", "NA"], ["0", "1", "2", "-1", "."], ["A", "C", "G", "T", "N"]])
    strange = ["", "", "", ",", ";", '"', ' "x"; '] if separator != "\t" else [""]
    rows = [["id", *(f"rs{rng.choice(strange)}{k}" for k in range(sites))]]
    first = calls[0]  # the first call tells what the table holds
    for k in range(rng.randint(1, 7)):
        row = [rng.choice(calls) for _ in range(sites)]
        rows.append([f"s{rng.choice(strange)}{k}", *([first, *row[1:]] if k == 0 else row)])
    text = io.StringIO()
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]) if separator != "\t" else csv.QUOTE_NONE
    csv.writer(text, delimiter=separator, quoting=quoting, lineterminator="\n").writerows(rows)
    return _ending(rng, rng.choice(["", "", f"sep={separator}\n"]) + text.getvalue())


def vcf(rng):
    samples = [f"s{k}" for k in range(rng.randint(1, 5))]
    lines = ["##fileformat=VCFv4.2", "##contig=<ID=1>", '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">']
    lines.append("\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *samples]))
    for k in range(rng.randint(1, 12)):
        several = rng.random() < 0.3
        calls = rng.choices(["0/0", "0/1", "1|1", "./.", "1"] + (["0/2", "2|1"] if several else []), k=len(samples))
        lines.append("\t".join(["1", str(k + 1), ".", "A", "C,G" if several else "C", ".", ".", ".", "GT", *calls]))
    return "".join(f"{line}\n" for line in lines).encode()


def matrix(rng):
    count = rng.randint(1, 6)
    values = [[0 if i == j else abs(i - j) * 3 for j in range(count)] for i in range(count)]
    if rng.random() < 0.3:
        text = f"{count}\n" + "".join(f"s{i} {' '.join(map(str, row))}\n" for i, row in enumerate(values))
    else:
        separator = rng.choice("\t,")
        text = separator.join(["", *(f"s{i}" for i in range(count))]) + "\n"
        text += "".join(separator.join([f"s{i}", *map(str, row)]) + "\n" for i, row in enumerate(values))
    return text.encode()


def _somewhere(rng, data):
    a, b = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    return a, min(b, a + rng.choice([1, 8, 100]))


def spoil(rng, data):
    """The same text with one to three accidents."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        a, b = _somewhere(rng, data)
        lines = data.split(b"\n")
        at = rng.randrange(len(lines))
        data = rng.choice(
            [
                lambda data=data, a=a: data[:a] + rng.choice(_NASTY) + data[a:],
                lambda data=data, a=a, b=b: data[:a] + rng.choice(_NASTY) + data[b:],
                lambda data=data, a=a, b=b: data[:a] + data[b:],
                lambda data=data, a=a, b=b: data[:b] + data[a:],
                lambda data=data, a=a: data[:a],
                lambda data=data, a=a: data[:a] + bytes([rng.randrange(256)]) + data[a + 1 :],
                lambda lines=lines, at=at: b"\n".join([*lines[:at], *lines[at + 1 :]]),
                lambda lines=lines, at=at: b"\n".join([*lines[:at], lines[at], *lines[at:]]),
                lambda lines=lines, at=at: b"\n".join([*lines[:at], b"", *lines[at:]]),
                lambda lines=lines, at=at: b"\n".join([*lines[:at], lines[at] + rng.choice([b"A", b"\t1", b",0"]), *lines[at + 1 :]]),
                lambda lines=lines: b"\n".join(rng.sample(lines, len(lines))),
                lambda data=data: b"\xef\xbb\xbf" + data,
                lambda data=data: data.decode("latin-1").encode("utf-16"),
                lambda data=data, a=a: data[:a] + letters(rng, 1, DNA).encode() * 20_000 + data[a:],
                lambda data=data: gzip.compress(data)[: -rng.choice([1, 8, 20])],
                lambda: rng.choice([b"", b"\n", b">", b">\n", b"@", b" ", b"\0", b"##fileformat=VCFv4.2\n", b"BCF\2\2", b"\x6c\x1b\x01"]),
            ]
        )()
    return data


def _text(rng, make):
    """(text, whether it is as it should be)"""
    data = make(rng)
    good = rng.random() < 0.3
    data = data if good else spoil(rng, data)
    return (gzip.compress(data) if rng.random() < 0.15 else data), good


def _case(rng, family, words, name, data, good, judge, output=None):
    """Through a file or standard input, to a file or standard output; words hold {} where the input's name goes."""
    piped = rng.random() < 0.15
    words = ["-" if piped and word == "{}" else name if word == "{}" else word for word in words]
    memory = rng.choice(list(_SIZES)) if words[0] in ("nw", "sw", "dist") else None
    if memory:
        words += ["--memory", memory, "--device", "cpu", *rng.choice([[], ["--threads", "1"], ["--threads", "3"], ["-q"], ["-v"]])]
        if output is None and rng.random() < 0.5:
            output = "out.tsv"
    if output:
        words += ["-o", output]
    files = {} if piped else {name: data}
    return Case(family, words, files, data if piped else None, output, judge, good, _SIZES.get(memory))


def nw_case(rng):
    kind, letters_of = rng.choice([("dna", DNA), ("dna", DNA), ("protein", PROTEIN)])
    data, good = _text(rng, lambda r: (fastq if rng.random() < 0.3 else fasta)(r, letters_of))
    costs = rng.choice([(5, -4, 10, 1), (2, -1, 1, 1), None])
    words = ["nw", "{}", "--alphabet", kind]
    if costs is None:
        words.append("--edit")
    else:
        for name, value in zip(("--match", "--mismatch", "--gap-open", "--gap-extend"), costs, strict=True):
            words += [name, str(value)]

    def judge(content):
        return reference.compare(content, reference.score_table(reference.sequences(data, kind), None, costs))

    return _case(rng, "FASTA and FASTQ (nw)", words, "in.fa", data, good, judge)


def sw_case(rng):
    data, good = _text(rng, fasta)
    words = ["sw", "{}", "--all", "--alphabet", "dna", "--match", "5", "--mismatch", "-4", "--gap-open", "10", "--gap-extend", "1"]

    def judge(content):
        records = reference.sequences(data, "dna")
        if max(len(text) for _, text in records) > 1000:
            raise reference.NoOpinion  # the plain recurrence would take minutes
        return reference.compare(content, reference.score_table(records, None, (5, -4, 10, 1), local=True))

    return _case(rng, "FASTA and FASTQ (sw)", words, "in.fa", data, good, judge)


def index_case(rng):
    data, good = _text(rng, fasta)

    def judge(content):
        expected = reference.sequences(data, "dna", without_empty=True)
        found = reference.index(content)
        return "" if found == expected else f"the index holds {found[:2]}, the file {expected[:2]}"

    return _case(rng, "FASTA (index)", ["index", "{}", "--alphabet", "dna"], "in.fa", data, good, judge, "out.gpa")


def _distances(read):
    def judge_of(data):
        return lambda content: reference.compare(content, reference.distance_table(*read(data)))

    return judge_of


_CALLS = {
    "aligned FASTA (dist)": (aligned, "in.aln", _distances(reference.alignment)),
    "tables (dist)": (table, "in.tsv", _distances(reference.table)),
    "VCF (dist)": (vcf, "in.vcf", _distances(reference.variants)),
}


def dist_case(rng):
    family = rng.choice(list(_CALLS))
    make, name, judge_of = _CALLS[family]
    data, good = _text(rng, make)
    return _case(rng, family, ["dist", "{}"], name, data, good and not (make is vcf and data[:2] == b"\x1f\x8b"), judge_of(data))


def wide_case(rng):
    """An alignment larger than the budget."""
    rows, sites = 40, 2_000_000
    base = bytearray(letters(rng, 1000, DNA).encode() * (sites // 1000))
    lines = []
    for k in range(rows):
        for at in rng.choices(range(sites), k=1000):
            base[at] = ord(rng.choice("ACGTN-"))
        lines.append(b">s%d\n%s\n" % (k, bytes(base)))
    words = [
        "dist",
        "in.aln",
        "--memory",
        "48M",
        "--device",
        "cpu",
        *rng.choice([[], ["--all-letters"], ["--compared", "--format", "molten"]]),
    ]
    return Case("wide alignments (dist)", words, {"in.aln": b"".join(lines)}, good=True, memory=48 << 20)


def plot_case(rng):
    data, good = _text(rng, matrix)
    return _case(rng, "matrices of text (plot)", ["plot", "{}"], "in.tsv", data, good, reference.picture, "out.png")


def make(rng):
    return rng.choices([nw_case, sw_case, index_case, dist_case, plot_case, wide_case], [40, 20, 20, 60, 10, 1])[0](rng)
