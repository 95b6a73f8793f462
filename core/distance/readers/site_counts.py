"""Counts the calls and alleles at each site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance import _sites
from gpualign.core.distance.bit_planes import find_used_codes
from gpualign.core.distance.calls import MISSING, CallKind, Calls, alleles_of
from gpualign.core.distance.metrics import CountArray


@dataclass(frozen=True)
class SiteCounts:
    """Counts for each site. All arrays are int64[sites].

    call_counts: number of samples with a call
    allele_counts: number of allele copies in these samples' calls, or in the founders' calls only: two per genotype, one per letter
    minor_allele_counts: number of copies of the second most common allele, 0 if there is only one allele; None: not requested
    """

    call_counts: CountArray = field(repr=False)
    allele_counts: CountArray = field(repr=False)
    minor_allele_counts: CountArray | None = field(repr=False)

    @classmethod
    def of(cls, kind: CallKind, call_counts: CountArray, minor_allele_counts: CountArray | None) -> SiteCounts:
        """Return the counts, with the number of alleles computed from `call_counts`: two per call for genotypes, one for every other
        kind."""
        return cls(call_counts, call_counts * (2 if kind is CallKind.GENOTYPE else 1), minor_allele_counts)

    @classmethod
    def joined(cls, panels: Sequence[SiteCounts]) -> SiteCounts:
        """Return the counts of all panels, concatenated."""
        minor = [panel.minor_allele_counts for panel in panels if panel.minor_allele_counts is not None]
        called, alleles = (
            np.concatenate(some) for some in ([panel.call_counts for panel in panels], [panel.allele_counts for panel in panels])
        )
        return cls(called, alleles, np.concatenate(minor) if minor else None)


def count_per_site(calls: Calls, kind: CallKind, count_minor_alleles: bool, workers: ThreadPool) -> SiteCounts:
    """Return the counts for each site.

    calls: codes (uint8) or allele numbers (uint32), [samples][sites]
    count_minor_alleles: whether the second most common allele is counted, too; ignored for allele numbers
    """
    samples, sites = calls.shape
    if calls.dtype != np.uint8:
        return SiteCounts.of(kind, np.count_nonzero(calls != _sites.NO_ALLELE, axis=0), None)
    codes = calls.view(np.uint8)
    selected = np.array([MISSING, *sorted(find_used_codes(codes, workers) - {MISSING} if count_minor_alleles else ())], dtype=np.uint8)
    totals = np.empty((len(selected), sites), dtype=np.uint32)
    workers.map(lambda share: _sites.count_codes(codes, selected, *share, totals), workers.split_rows(sites))
    missing, *counts = totals.astype(np.int64)
    called = samples - missing
    if not count_minor_alleles:
        return SiteCounts.of(kind, called, None)
    copies: dict[int, CountArray] = {}
    for code, count in zip(selected[1:].tolist(), counts, strict=True):
        for allele in alleles_of(code) if kind is CallKind.GENOTYPE else (code,):
            copies[allele] = copies[allele] + count if allele in copies else count
    if len(copies) < 2:
        return SiteCounts.of(kind, called, np.zeros(sites, dtype=np.int64))
    return SiteCounts.of(kind, called, np.sort(np.stack(list(copies.values())), axis=0)[-2])
