"""The pairs of a job as blocks, and those that pass thresholds as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.execution.totals import Progress
from gpualign.core.output.pairs import split_into_blocks
from gpualign.core.results.blocks import Block
from gpualign.core.results.filter import Filter
from gpualign.jobs.job import PairJob

if TYPE_CHECKING:
    from gpualign.jobs.near_pair_subset import NearPairSubset


def result_blocks(job: PairJob | NearPairSubset, identity_definition: int, progress: Progress) -> Iterator[Block]:
    """Yield the results as blocks of bounded size, in input order. Closing the iterator stops all work."""
    with closing_iterator(job.run(progress)[0]) as results:
        for one in results:
            yield from split_into_blocks(job.task, identity_definition, one, job.plan.pairing)


def passing_blocks(
    job: PairJob | NearPairSubset, filter: Filter, identity_definition: int, progress: Progress
) -> Iterator[tuple[Integers, Integers, npt.NDArray[Any]]]:
    """Yield (i, j, value) for the pairs that pass, in input order, one block at a time: the numbers of their queries and targets, and the
    quantity that the filter uses. This is the identity (float64) with `min_identity`, 1 - identity (float64) with `max_distance`, otherwise
    the score (int32 or int64).

    identity_definition: number of the identity definition (core/alignment/identity.py)

    The job's detail must be STATISTICS if the filter uses statistics.
    """
    for block in result_blocks(job, identity_definition, progress):
        values: npt.NDArray[Any]
        if filter.lowest_identity is None:
            values = block.scores
        else:
            values = block.identity_fraction if filter.max_distance is None else block.identity_distance
        queries, targets, written = block.written_values(
            filter.mask(block), block.query_record_numbers, block.target_record_numbers, values
        )
        yield queries, targets, written


def passing_pairs(
    job: PairJob, filter: Filter, identity_definition: int, progress: Progress
) -> tuple[Integers, Integers, npt.NDArray[Any]]:
    """Return everything that `passing_blocks` yields, as three arrays."""
    blocks = list(passing_blocks(job, filter, identity_definition, progress))
    if not blocks:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, np.zeros(0, dtype=job.task.score_dtype if filter.lowest_identity is None else np.float64)
    i, j, value = (np.concatenate(columns) for columns in zip(*blocks, strict=True))
    return i, j, value
