"""Samples that were added to a set together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.engine import BitPlanes
from gpualign.core.distance.metrics import CountArray
from gpualign.core.distance.readers.missing_runs import MissingRuns


@dataclass(frozen=True)
class Segment:
    """Samples that were added to a set together.

    ids: ids of the samples
    called: number of sites at which each sample has a call, int64[samples]
    planes: calls at the sites that the planes of the first segment hold (`dictionaries.CallDictionary`), uint64[samples][1 + bits][words]
    later_planes: calls at `later_site_count` further sites, at which samples that were added after the first segment differed
    later_site_count: number of these sites. At all other sites, the samples have the reference call, or none
    missing: runs of missing calls, for an alignment; otherwise None
    founders: mask of the samples from which allele frequencies are computed, bool[samples]; None: all samples
    """

    ids: Sequence[str] = field(repr=False)
    called: CountArray = field(repr=False)
    planes: BitPlanes = field(repr=False)
    later_planes: BitPlanes = field(repr=False)
    later_site_count: int
    missing: MissingRuns | None = field(repr=False)
    founders: npt.NDArray[np.bool_] | None = field(default=None, repr=False)
