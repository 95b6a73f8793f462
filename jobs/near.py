"""Near pairs of a job as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.road import Progress
from gpualign.core.sinks.pairs import Filter
from gpualign.jobs.pairs import PairsJob

Integers = npt.NDArray[np.int64]


def near_pairs(job: PairsJob, filter: Filter, definition: int, progress: Progress) -> tuple[Integers, Integers, npt.NDArray[Any]]:
    """(i, j, value) of the pairs that pass, in input order: query i and target j have this value.

    value: what the filter asks for, the identity (float64) with `least_identity`, 1 - identity with `most_distance`, or else the score
    (int32 or int64). definition: of identities. The job's detail must be STATISTICS where the filter is by identity.
    """
    parts: list[tuple[Integers, Integers, npt.NDArray[Any]]] = []
    for block in job.blocks(definition, progress):
        wanted = block.wanted(filter.keeps(block))
        rows, places = np.nonzero(wanted)
        values = block.identity_fraction[wanted] if filter.by_identity else block.scores[wanted]
        if filter.most_distance is not None:
            values = 1 - values
        parts.append((rows + block.first_query, places + block.results.band.first_target, values))
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, np.zeros(0, dtype=np.float64 if filter.by_identity else job.task.dtype)
    i, j, value = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return i, j, value
