"""Spellings of VCF, each written from calls that are known: right distances, or a refusal that names the line."""

from dataclasses import dataclass

import numpy as np

from fuzz.tables import MISSING

_META = '##contig=<ID=1>\n##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
_FIXED = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT"
_GENOTYPES = {0: ("0/0", "0|0"), 1: ("0/1", "1|0", "1/0"), 2: ("1/1", "1|1"), MISSING: ("./.", ".", "./1", ".|.")}


@dataclass(frozen=True)
class Spelling:
    """text: of a VCF. words: options. ids, calls: of its samples; None where it has to be refused."""

    name: str
    text: str
    ids: list[str]
    calls: np.ndarray | None
    words: tuple[str, ...] = ()


def spellings(rng):
    """Every kind of text, of the same calls."""
    calls = rng.choice([0, 1, 2, MISSING], (4, 7), p=[0.35, 0.25, 0.25, 0.15])
    ids = [f"s{k}" for k in range(4)]
    header = f"##fileformat=VCFv4.2\n{_META}{_FIXED}\t" + "\t".join(ids) + "\n"

    def record(site, genotypes, position=None):
        fixed = f"1\t{site + 1 if position is None else position}\t.\tA\tC\t.\t.\t.\tGT"
        return "\t".join([fixed, *genotypes]) + "\n"

    genotypes = [[str(rng.choice(_GENOTYPES[call])) for call in column] for column in calls.T.tolist()]
    records = [record(site, some) for site, some in enumerate(genotypes)]
    body = "".join(records)
    at = int(rng.integers(1, 6))
    yield Spelling("as it is", header + body, ids, calls)
    yield Spelling("telomere", header + record(0, genotypes[0], 0) + "".join(records[1:]), ids, calls, ("--regions", "1"))
    yield Spelling("empty lines in the header", header.replace("##contig", "\n##contig", 1) + body, ids, calls)
    for name, text in (
        ("no first line", header.partition("\n")[2] + body),
        ("joined", header + body + header + body),
        ("joined records of others", header + body + header.replace("s3", "t3") + body),
        ("an empty line", header + "".join([*records[:at], "\n", *records[at:]])),
        ("a comment", header + "".join([*records[:at], "# more\n", *records[at:]])),
        ("more genotypes", header + "".join([*records[:at], records[at].rstrip("\n") + "\t0/0\n", *records[at + 1 :]])),
        ("fewer genotypes", header + "".join([*records[:at], records[at].rsplit("\t", 1)[0] + "\n", *records[at + 1 :]])),
        ("a byte-order mark", "\ufeff" + header + body),
    ):
        yield Spelling(name, text, ids, None)
