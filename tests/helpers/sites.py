"""Makes files of calls, and reads sources of calls."""

import tempfile
from contextlib import closing, contextmanager
from io import BytesIO

import numpy as np

from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.count_recipe import NeededSites
from gpualign.core.distance.readers.alignment import AlignmentText, read_alignments
from gpualign.core.distance.readers.base import OmittedSites, SiteSelection
from gpualign.core.distance.tables.options import CallOptions


def panels_of(source, need=NeededSites.CALLS, complete=False, panel_bytes=1 << 20):
    """(codes of all panels side by side, what was omitted)"""
    omitted = OmittedSites()
    with closing(ThreadPool(2)) as workers:
        parts = [codes.copy() for codes in source.panels(SiteSelection(need, complete), panel_bytes, omitted, workers)]
    return np.concatenate(parts, axis=1) if parts else np.empty((source.samples.row_count, 0), np.uint8), omitted


def stream(text):
    return BytesIO(text if isinstance(text, bytes) else text.encode())


def vcf_text(samples, records, places=None):
    """A VCF file.

    records: (alleles, calls) of each record; the first allele is REF
    places: (chromosome, position) of each record; None: positions from 1 on one chromosome
    """
    places = [("1", k) for k in range(1, len(records) + 1)] if places is None else places
    contigs = [f"##contig=<ID={name}>" for name in dict.fromkeys(["1", *(chromosome for chromosome, _ in places)])]
    lines = ["##fileformat=VCFv4.2", *contigs, '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">']
    lines.append("\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *samples]))
    for (chromosome, position), (alleles, calls) in zip(places, records, strict=True):
        lines.append("\t".join([chromosome, str(position), ".", alleles[0], ",".join(alleles[1:]) or ".", ".", ".", ".", "GT", *calls]))
    return "\n".join(lines) + "\n"


def write_fileset(path, codes, swap=()):
    """Write PLINK files of codes[samples][sites] that count the first allele. swap: sites whose alleles are in reverse order"""
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


def write_pgen(path, codes, alleles=None, swap=()):
    """Write a .pgen fileset of codes[samples][sites].

    alleles: number of alleles at each site; None: 2
    swap: sites whose alleles are in reverse order
    """
    import pgenlib

    samples, sites = codes.shape
    alleles = [2] * sites if alleles is None else alleles
    with pgenlib.PgenWriter(bytes(path), samples, variant_ct=sites, nonref_flags=False, allele_ct_limit=max(alleles)) as writer:
        for site, count in enumerate(alleles):
            column = codes[:, site].astype(int)
            known = column != MISSING
            upper = np.floor((np.sqrt(8 * column + 1) - 1) / 2).astype(int)
            pairs = np.where(known[:, None], np.stack([column - upper * (upper + 1) // 2, upper], axis=1), -9)
            if site in swap:
                pairs = np.where(pairs < 0, pairs, 1 - pairs)
            if count == 2:
                writer.append_biallelic(np.where(known, pairs.sum(axis=1), -9).astype(np.int8))
            else:
                writer.append_alleles(pairs.astype(np.int32).reshape(-1), all_phased=False, allele_ct=count)
    names = "ACGTNRYKMSWBDHVacgtnry"
    rows = [[names[0], ",".join(names[1:count])][:: -1 if k in swap else 1] for k, count in enumerate(alleles)]
    lines = [f"1\t{k + 1}\trs{k}\t{ref}\t{alt}\tPASS x\n" for k, (ref, alt) in enumerate(rows)]
    path.with_suffix(".pvar").write_text("##source=test\n#CHROM\tPOS\tID\tREF\tALT\tINFO\n" + "".join(lines))
    path.with_suffix(".psam").write_text("#IID\tSEX\n" + "".join(f"p{k}\tNA\n" for k in range(samples)))


LETTERS = np.array([*b"ACGT"] + [0] * 251 + [*b"N"], np.uint8)
"""Letter of each code; 255, a missing call, is N."""


@contextmanager
def alignment(codes, memory=1 << 20, queries=None):
    """A source of an alignment with these calls. queries: number of samples in the first of two files; None: one file"""
    rows = [b">s%d\n%s\n" % (k, row.tobytes()) for k, row in enumerate(LETTERS[codes])]
    texts = [b"".join(rows)] if queries is None else [b"".join(rows[:queries]), b"".join(rows[queries:])]
    with tempfile.TemporaryFile() as file:
        yield read_alignments([AlignmentText(stream(text), "x.aln") for text in texts], CallOptions(), memory, lambda: file)
