"""VCF and BCF, plain or bgzipped, through cyvcf2: a site a record, all alleles told apart.

A call with one allele (haploid) counts as two of it; phase is not looked at; a call of which an allele is missing is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpualign.core.distance.calls import MISSING, MOST_ALLELES, Codes, Kind, make_samples
from gpualign.core.distance.sources.base import Block, DenseSource, RowStore, Scratch
from gpualign.core.errors import InputError, RunError
from gpualign.core.ids import unique_ids

_PADDING = -2
"""htslib's second allele of a haploid call."""


class _File:
    """The records of one file, and their calls."""

    def __init__(self, path: str, source: str, memory: int, scratch: Scratch) -> None:
        try:
            import cyvcf2
        except ImportError:
            raise RunError("reading VCF and BCF needs cyvcf2: pip install 'gpualign[snp]'") from None
        self.source = source
        self.sites: list[tuple[Any, ...]] = []
        with _reported(source, "cannot be read as VCF or BCF"):
            reader = cyvcf2.VCF(path)
        self.ids = list(reader.samples)
        if not self.ids:
            raise InputError(f"{source}: no samples; genotypes are wanted")
        self.store = RowStore(len(self.ids), memory, scratch)
        records = iter(reader)
        while True:
            with _reported(source, f"record {len(self.sites) + 1} cannot be read"):
                record = next(records, None)
            if record is None:
                break
            self.sites.append((record.CHROM, record.POS, record.REF, *record.ALT))
            _codes(record, self._name(), self.store.new_row())
        self.store.done()
        if not self.sites:
            raise InputError(f"{source}: no records")

    def _name(self) -> str:
        chromosome, position, *_ = self.sites[-1]
        return f"{self.source}: record {len(self.sites)} ({chromosome}:{position})"

    def block(self) -> Block:
        return lambda start, stop, _: np.ascontiguousarray(self.store.rows(start, stop).T)


@contextmanager
def _reported(name: str, what: str) -> Iterator[None]:
    """cyvcf2 raises bare exceptions."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{name}: {what} ({error})") from None


def _codes(record: Any, name: str, out: Codes) -> None:
    with _reported(name, "has no genotypes (GT)"):
        genotype = record.genotype
    alleles = genotype.array()[:, :-1]  # the last column is the phase
    if alleles.shape[1] > 2:
        raise InputError(f"{name} has calls of {alleles.shape[1]} alleles; genotypes of one or two are compared")
    first = alleles[:, 0].astype(np.int64)
    second = alleles[:, -1].astype(np.int64)
    second = np.where(second == _PADDING, first, second)
    upper = np.maximum(first, second)
    if upper.max(initial=0) >= MOST_ALLELES:
        raise InputError(f"{name} has calls of allele {upper.max()}; up to {MOST_ALLELES} alleles are told apart")
    lower = np.minimum(first, second)
    out[:] = np.where(lower < 0, MISSING, upper * (upper + 1) // 2 + lower)


def read_variants(inputs: Sequence[tuple[str, str]], allow_duplicates: bool, memory: int, scratch: Scratch) -> DenseSource:
    """Read one file, or two with the same records; inputs: (path, name for messages).

    Raises `InputError` naming file and record, `RunError` without cyvcf2.
    """
    files = [_File(path, source, memory // len(inputs), scratch) for path, source in inputs]
    first = files[0]
    for other in files[1:]:
        for k, (a, b) in enumerate(zip(first.sites, other.sites, strict=False)):
            if a != b:
                raise InputError(
                    f"{other.source}: record {k + 1} is {_site(b)}, in {first.source} it is {_site(a)}; sites and alleles must be the same"
                )
        if len(first.sites) != len(other.sites):
            raise InputError(
                f"{other.source}: {len(other.sites):,} records, {first.source} has {len(first.sites):,}; sites must be the same"
            )
    ids = [unique_ids(f.ids, f.source, allow_duplicates) for f in files]
    return DenseSource(make_samples(*ids), Kind.GENOTYPE, len(first.sites), [f.block() for f in files], sum(f.store.nbytes for f in files))


def _site(site: tuple[Any, ...]) -> str:
    chromosome, position, *alleles = site
    return f"{chromosome}:{position} {'/'.join(alleles)}"
