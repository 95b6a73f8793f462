"""Binary files that the commands read, damaged byte by byte and field by field."""

import functools
import gzip
import io
import json
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
from command import gpualign

from fuzz import reference, texts
from fuzz.case import Case

_FASTA = b">one\nACGTACGTTAGC\n>two\nACGTTGCATGCAAGT\n>three\nTTAGCNACGT\n"
_VCF = """##fileformat=VCFv4.2
##contig=<ID=1>
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT a b c d
1 1 . A C . . . GT 0/0 0/1 1/1 ./.
1 2 . A C,G . . . GT 0/2 2/1 0/0 0/1
1 3 . G T . . . GT 0|0 1|1 0/1 1/1
""".replace(" ", "\t").encode()
_MATRIX = np.array([[0, 3, 5], [3, 0, 4], [5, 4, 0]], dtype=np.int32)
_COSTS = 5, -4, 10, 1
_COST_WORDS = ["--match", "5", "--mismatch", "-4", "--gap-open", "10", "--gap-extend", "1"]


@functools.cache
def index():
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "db.fa").write_bytes(_FASTA)
        gpualign("index", "-q", "db.fa", "-o", "db.gpa", "--alphabet", "dna", cwd=folder)
        return (Path(folder) / "db.gpa").read_bytes()


@functools.cache
def variants(name, mode):
    """VCF as cyvcf2 packs it, None without cyvcf2."""
    try:
        import cyvcf2
    except ImportError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = Path(folder) / "x.vcf", Path(folder) / name
        plain.write_bytes(_VCF)
        reader = cyvcf2.VCF(str(plain))
        writer = cyvcf2.Writer(str(packed), reader, mode=mode)
        for record in reader:
            writer.write_record(record)
        writer.close()
        return packed.read_bytes()


@functools.cache
def fileset():
    rng = np.random.default_rng(1)
    calls = rng.integers(0, 256, (9, 2), dtype=np.uint8)
    calls[:, 1] &= 0x3F  # no calls after those of the seventh sample
    bed = b"\x6c\x1b\x01" + calls.tobytes()
    bim = "".join(f"1\trs{k}\t0\t{k + 1}\tA\tC\n" for k in range(9)).encode()
    return bed, bim, "".join(f"f{k} p{k} 0 0 0 -9\n" for k in range(7)).encode()


@functools.cache
def array(kind):
    file = io.BytesIO()
    if kind == "npy":
        np.save(file, _MATRIX)
    else:
        np.savez(file, distances=_MATRIX, ids=np.array(["a", "b", "c"]))
    return file.getvalue()


_SHARED = {
    "out.tsv": [],
    "out.npy": [],
    "out.npz": ["--format", "csr", "--min-identity", "0.1"],
}
"""Outputs, and the options with which parts of them are written."""


@functools.cache
def parts(output):
    """(the two parts of a job, its output)."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in.fa").write_bytes(_FASTA)
        words = ["nw", "-q", "in.fa", *_SHARED[output], "--memory", "80M", "--device", "cpu", "-o", output]
        gpualign(*words, cwd=folder)
        for number in (1, 2):
            gpualign(*words, "--shard", f"{number}/2", cwd=folder)
        read = [(Path(folder) / f"{output}.{number}-of-2.part").read_bytes() for number in (1, 2)]
        return read, (Path(folder) / output).read_bytes()


def damage(rng, data):
    """The same bytes with one to three accidents."""
    for _ in range(rng.choice([1, 1, 2, 3])):
        a = rng.randint(0, min(len(data), rng.choice([16, 128, len(data)])))
        b = min(len(data), a + rng.choice([1, 4, 16, 512]))
        number = rng.choice([0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, 255, 256]).to_bytes(8, "little", signed=True)[
            : rng.choice([1, 2, 4, 8])
        ]
        data = rng.choice(
            [
                lambda data=data, a=a: data[:a] + bytes([data[a] ^ 1 << rng.randrange(8)]) + data[a + 1 :] if a < len(data) else data,
                lambda data=data, a=a, b=b: data[:a] + rng.randbytes(b - a) + data[b:],
                lambda data=data, a=a, number=number: data[:a] + number + data[a + len(number) :],
                lambda data=data, a=a, b=b: data[:a] + bytes(b - a) + data[b:],
                lambda data=data, a=a, b=b: data[:a] + b"\xff" * (b - a) + data[b:],
                lambda data=data, a=a: data[:a],
                lambda data=data, a=a, b=b: data[:a] + data[b:],
                lambda data=data, a=a, b=b: data[:b] + data[a:],
                lambda data=data: data + rng.randbytes(rng.choice([1, 4, 4096])),
            ]
        )()
    return data


def _rewritten_header(rng, data):
    """An index whose description says something else, under a right checksum."""
    length = int.from_bytes(data[12:16], "little")
    about = json.loads(data[16 : 16 + length])
    name = rng.choice(list(about))
    about[name] = rng.choice([0, -1, 1, 2**31, 2**62, 2**64, 1.5, "x", "", None, [], {}, [-1], [2**70], list(range(300)), "protein", True])
    if rng.random() < 0.2:
        del about[name]
    text = rng.choice(
        [json.dumps(about).encode(), json.dumps([about]).encode(), b"{", b"", b"\xff\xfe"]
        if rng.random() < 0.3
        else [json.dumps(about).encode()]
    )
    start = data[:12] + len(text).to_bytes(4, "little") + text
    return (start + zlib.crc32(start).to_bytes(4, "little")).ljust(4096, b"\0") + data[4096:]


def index_case(rng):
    good = rng.random() < 0.1
    rewritten = not good and rng.random() < 0.5
    data = index() if good else (_rewritten_header if rewritten else damage)(rng, index())
    words = ["sw", "q.fa", "db.gpa", "--all", *_COST_WORDS, "--memory", "80M", "--device", "cpu"]
    records = reference.sequences(_FASTA, "dna")

    def judge(content):
        if rewritten:
            raise reference.NoOpinion  # whoever writes checksums may say what he likes
        return reference.compare(content, reference.score_table(records, records, _COSTS, local=True))

    return Case("indexes (sw)", words, {"q.fa": _FASTA, "db.gpa": data}, judge=judge, good=good, memory=80 << 20)


def fileset_case(rng):
    parts = list(fileset())
    good = rng.random() < 0.1
    if not good:
        k = rng.choice([0, 0, 1, 2])
        parts[k] = damage(rng, parts[k]) if k == 0 or rng.random() < 0.5 else texts.spoil(rng, parts[k])
    words = ["dist", rng.choice(["x.bed", "x.bed", "x.bim", "x"]), "--memory", "80M", "--device", "cpu", "-o", "out.tsv"]
    known = parts[0][:2] == b"\x6c\x1b"  # else it is read as what it then looks like

    def judge(content):
        if not known:
            raise reference.NoOpinion
        return reference.compare(content, reference.distance_table(*reference.fileset(*parts)))

    files = dict(zip(("x.bed", "x.bim", "x.fam"), parts, strict=True))
    return Case("PLINK filesets (dist)", words, files, None, "out.tsv", judge, good, 80 << 20)


def variants_case(rng):
    name, mode = rng.choice([("x.bcf", "wb"), ("x.bcf", "wbu"), ("x.vcf.gz", "wz")])
    whole = variants(name, mode)
    if whole is None:
        return gzip_case(rng)
    good = rng.random() < 0.1
    data = whole if good else damage(rng, whole)
    if mode == "wb" and not good and rng.random() < 0.6:
        data = gzip.compress(damage(rng, gzip.decompress(whole)))  # damage below the checksums

    def judge(content):
        if name == "x.bcf" and not good:
            raise reference.NoOpinion
        return reference.compare(content, reference.distance_table(*reference.variants(gzip.compress(_VCF) if good else data)))

    words = ["dist", name, "--memory", "80M", "--device", "cpu"]
    return Case("BCF and VCF.gz (dist)", words, {name: data}, judge=judge, good=good, memory=80 << 20)


def array_case(rng):
    kind = rng.choice(["npy", "npz"])
    good = rng.random() < 0.1
    data = array(kind) if good else damage(rng, array(kind))
    files = {f"x.{kind}": data}
    if kind == "npy" and rng.random() < 0.3:
        files["x.ids.txt"] = rng.choice([b"a\nb\nc\n", b"a\n", b"", b"\xff\n\0\nx\n"])
        good = good and files["x.ids.txt"] == b"a\nb\nc\n"
    return Case("arrays (plot)", ["plot", f"x.{kind}", "-o", "out.png"], files, None, "out.png", reference.picture, good)


def _redescribed(rng, data):
    """A part that says something else of itself, under right checksums."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as whole, zipfile.ZipFile(file, "a") as changed:
        file.write(data[: json.loads(whole.read("part.json"))["body"][1]])
        for name in whole.namelist():
            content = whole.read(name)
            if name == "part.json":
                about = json.loads(content)
                inner = about["identity"] if rng.random() < 0.3 else about
                inner[rng.choice(list(inner))] = rng.choice(
                    [0, -1, 1, 2**31, 2**70, 1.5, "x", "", None, [], {}, [-1], [2**70, 2**70], ["x"], "sparse", "matrix", True]
                )
                content = json.dumps(about).encode()
            elif rng.random() < 0.2:
                content = damage(rng, content)
            changed.writestr(name, content)
    return file.getvalue()


def part_case(rng):
    output = rng.choice(list(_SHARED))
    whole, expected = parts(output)
    files = {"a.part": whole[0], "b.part": whole[1]}
    good, rewritten = rng.random() < 0.1, rng.random() < 0.5
    if not good:
        name = rng.choice(list(files))
        files[name] = (_redescribed if rewritten else damage)(rng, files[name])

    def judge(content):
        if rewritten:
            raise reference.NoOpinion
        return "" if content == expected else "another output than that of one run"

    return Case("parts (merge)", ["merge", "a.part", "b.part", "-o", output], files, None, output, judge, good)


def gzip_case(rng):
    good = rng.random() < 0.1
    packed = gzip.compress(_FASTA) + (gzip.compress(b">four\nACGT\n") if rng.random() < 0.3 else b"")
    data = packed if good else damage(rng, packed)

    def judge(content):
        return reference.compare(content, reference.score_table(reference.sequences(data, "dna"), None, _COSTS))

    words = ["nw", "x.fa.gz", "--alphabet", "dna", *_COST_WORDS, "--memory", "80M", "--device", "cpu"]
    return Case("gzip (nw)", words, {"x.fa.gz": data}, judge=judge, good=good, memory=80 << 20)


def make(rng):
    return rng.choices([index_case, fileset_case, variants_case, array_case, gzip_case, part_case], [4, 3, 3, 2, 2, 3])[0](rng)
