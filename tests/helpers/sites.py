"""Files of calls for tests, and what comes out of them."""

from io import BytesIO

import numpy as np

from gpualign.core.distance.recipe import Need
from gpualign.core.distance.sources.base import Omitted, Selection
from gpualign.core.distance.workers import Workers


def panels_of(source, need=Need.CALLS, complete=False, panel_bytes=1 << 20):
    """(codes of all panels side by side, what was omitted)"""
    omitted = Omitted()
    with Workers(2) as workers:
        parts = [codes.copy() for codes in source.panels(Selection(need, complete), panel_bytes, omitted, workers)]
    return np.concatenate(parts, axis=1) if parts else np.empty((source.samples.total, 0), np.uint8), omitted


def stream(text):
    return BytesIO(text if isinstance(text, bytes) else text.encode())


def vcf_text(samples, records):
    """records: (alleles, calls) with REF first."""
    lines = ["##fileformat=VCFv4.2", "##contig=<ID=1>", '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">']
    lines.append("\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *samples]))
    for k, (alleles, calls) in enumerate(records, 1):
        lines.append("\t".join(["1", str(k), ".", alleles[0], ",".join(alleles[1:]) or ".", ".", ".", ".", "GT", *calls]))
    return "\n".join(lines) + "\n"


def write_fileset(path, codes, swap=()):
    """PLINK files of codes[samples][sites] that count the first allele; in sites of `swap` alleles stand the other way round."""
    samples, sites = codes.shape
    codes = codes.copy()
    for site in swap:
        codes[:, site] = np.where(codes[:, site] == 255, 255, 2 - codes[:, site])
    two = np.zeros((sites, -(-samples // 4) * 4), np.uint8)
    two[:, :samples] = np.select([codes.T == 255, codes.T == 1, codes.T == 0], [1, 2, 3], 0)
    packed = (two.reshape(sites, -1, 4) << np.array([0, 2, 4, 6], np.uint8)).sum(axis=2).astype(np.uint8)
    path.write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
    path.with_suffix(".fam").write_text("".join(f"f{k} p{k} 0 0 0 -9\n" for k in range(samples)))
    rows = (f"1\trs{k}\t0\t{k + 1}\t{'C A' if k in swap else 'A C'}\n".replace(" ", "\t") for k in range(sites))
    path.with_suffix(".bim").write_text("".join(rows))
