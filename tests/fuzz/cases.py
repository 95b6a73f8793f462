"""What the fuzz test once found, each with the reason why it went wrong."""

import json
import random
import zlib

from fuzz import binaries, reference, texts
from fuzz.case import Case


def _index(text):
    """The small index with another description, under a right checksum."""
    whole = binaries.index()
    start = whole[:12] + len(text).to_bytes(4, "little") + text
    return (start + zlib.crc32(start).to_bytes(4, "little")).ljust(4096, b"\0") + whole[4096:]


def _described(**changes):
    whole = binaries.index()
    about = json.loads(whole[16 : 16 + int.from_bytes(whole[12:16], "little")]) | changes
    return _index(json.dumps({name: value for name, value in about.items() if value is not None}).encode())


def _search(data):
    words = ["sw", "q.fa", "db.gpa", "--all", "--memory", "80M", "--device", "cpu"]
    return Case("found", words, {"q.fa": b">q\nACGT\n", "db.gpa": data}, memory=80 << 20)


def _drawing(name, data):
    return Case("found", ["plot", name, "-o", "out.png"], {name: data}, None, "out.png", reference.picture)


_GENES = b">a\nACGT\n>b\nACCT\n"
_VCF = texts.vcf(random.Random(1))

CASES = {
    # htslib takes an empty line for a record of a contig without a name, whose name cyvcf2 then reads through a null pointer.
    "vcf with an empty line": Case("found", ["dist", "x.vcf", "--device", "cpu"], {"x.vcf": _VCF + b"\n" + _VCF.splitlines(True)[-1]}),
    # The description of an index was believed where its checksum was right.
    "index without counts": _search(_described(counts=None)),
    "index of a list of letters": _search(_described(letters=[])),
    "index of half a letter": _search(_described(letters=1.5)),
    "index with a huge count": _search(_described(counts=[2**70])),
    "index whose description is no JSON": _search(_index(b"{")),
    # Numbers of any size came as far as NumPy, and the engine made room for as many threads as it was told.
    "match beyond 64 bits": Case("found", ["nw", "x.fa", "--match", "1" + "0" * 30, "--device", "cpu"], {"x.fa": _GENES}),
    "threads beyond 64 bits": Case(
        "found", ["dist", "x.fa", "--threads", str(2**63), "--memory", "64M", "--device", "cpu"], {"x.fa": _GENES}, memory=64 << 20
    ),
    # NumPy reads the header of an array with Python's tokenizer, which has an exception of its own.
    "npy with an open bracket": _drawing("x.npy", binaries.array("npy").replace(b"(3, 3)", b"(3, 3 ")),
}
