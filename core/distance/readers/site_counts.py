"""Counts the calls and alleles at each site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance import _sites
from gpualign.core.distance.bit_planes import used_codes
from gpualign.core.distance.calls import MISSING, Calls, Kind, alleles_of
from gpualign.core.distance.metrics import CountArray


@dataclass(frozen=True)
class SiteCounts:
    """Counts for each site. All arrays are int64[sites].

    called: number of samples with a call
    alleles: number of allele copies in these samples' calls, or in the founders' calls only: two per genotype, one per letter
    minor: number of copies of the second most common allele, 0 if there is only one allele; None: not requested
    """

    called: CountArray = field(repr=False)
    alleles: CountArray = field(repr=False)
    minor: CountArray | None = field(repr=False)

    @classmethod
    def of(cls, kind: Kind, called: CountArray, minor: CountArray | None) -> SiteCounts:
        """Return the counts, with two alleles per call for genotypes and one for every other kind."""
        return cls(called, called * (2 if kind is Kind.GENOTYPE else 1), minor)

    @classmethod
    def joined(cls, panels: Sequence[SiteCounts]) -> SiteCounts:
        """Return the counts of all panels, concatenated."""
        minor = [panel.minor for panel in panels if panel.minor is not None]
        called, alleles = (np.concatenate(some) for some in ([panel.called for panel in panels], [panel.alleles for panel in panels]))
        return cls(called, alleles, np.concatenate(minor) if minor else None)


def count_sites(calls: Calls, kind: Kind, minor: bool, workers: ThreadPool) -> SiteCounts:
    """Return the counts for calls[samples][sites], given as codes (uint8) or allele numbers (uint32).

    minor: also count the second most common allele, for codes only
    """
    samples, sites = calls.shape
    if calls.dtype != np.uint8:
        return SiteCounts.of(kind, np.count_nonzero(calls != _sites.NO_ALLELE, axis=0), None)
    codes = calls.view(np.uint8)
    selected = np.array([MISSING, *sorted(used_codes(codes, workers) - {MISSING} if minor else ())], dtype=np.uint8)
    totals = np.empty((len(selected), sites), dtype=np.uint32)
    workers.map(lambda share: _sites.count_codes(codes, selected, *share, totals), workers.shares(sites))
    missing, *counts = totals.astype(np.int64)
    called = samples - missing
    if not minor:
        return SiteCounts.of(kind, called, None)
    copies: dict[int, CountArray] = {}
    for code, count in zip(selected[1:].tolist(), counts, strict=True):
        for allele in alleles_of(code) if kind is Kind.GENOTYPE else (code,):
            copies[allele] = copies[allele] + count if allele in copies else count
    if len(copies) < 2:
        return SiteCounts.of(kind, called, np.zeros(sites, dtype=np.int64))
    return SiteCounts.of(kind, called, np.sort(np.stack(list(copies.values())), axis=0)[-2])
