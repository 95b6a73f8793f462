"""Statistics of paths, counted again where letters are to count otherwise than they were aligned."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.tile_results import STATISTICS, Runs, Statistics
from gpualign.core.sequences.alphabet import Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet

_LETTERS = 32
"""Codes that the extension's tables have room for."""

MATCH, MISMATCH, NOTHING = 0, 1, 2
"""What a pair of letters counts as. A letter that counts as nothing with itself counts nowhere, in gaps neither."""

CountsAs = npt.NDArray[np.uint8]
"""uint8[32][32]: what each pair of letters counts as, by codes."""


def same_letters(alphabet: Alphabet) -> CountsAs:
    """Matches are pairs of the same letter."""
    table = np.full((_LETTERS, _LETTERS), MISMATCH, dtype=np.uint8)
    np.fill_diagonal(table[: len(alphabet), : len(alphabet)], MATCH)
    return table


def recount(
    queries: SequenceSet,
    targets: SequenceSet,
    records: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    statistics: Statistics,
    runs: Runs,
    counts_as: CountsAs,
) -> Statistics:
    """`STATISTICS`[pairs] by `counts_as`. records: the query and the target of each pair, int64[pairs]; statistics and runs of [pairs]."""
    return _recount(queries, targets, records, statistics, runs, counts_as, want_runs=False)[0]


def relabel(
    queries: SequenceSet,
    targets: SequenceSet,
    records: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    statistics: Statistics,
    runs: Runs,
    alphabet: Alphabet,
) -> tuple[Statistics, Runs]:
    """Statistics and runs by which letters of these sequences are the same, where others were aligned in their place. As for `recount`."""
    return _recount(queries, targets, records, statistics, runs, same_letters(alphabet), want_runs=True)


def _recount(
    queries: SequenceSet,
    targets: SequenceSet,
    records: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    statistics: Statistics,
    runs: Runs,
    counts_as: CountsAs,
    want_runs: bool,
) -> tuple[Statistics, Runs]:
    from gpualign.core.alignment._walks import recount as recount_paths

    sizes = np.array([len(piece) for piece in runs.pieces], dtype=np.int64)
    begins = np.cumsum(sizes) - sizes
    pieces = np.searchsorted(begins, runs.starts, side="right") - 1
    paths = np.stack((pieces, runs.starts - begins[pieces]), axis=1)
    counted = np.array(statistics, dtype=STATISTICS)
    sets = queries.codes, queries.offsets, targets.codes, targets.offsets
    pairs = np.ascontiguousarray(np.stack(records, axis=1), dtype=np.int64)
    numbers = counted.view(np.int32).reshape(len(counted), STATISTICS.itemsize // 4)
    found = recount_paths(*sets, pairs, runs.pieces, paths, np.ascontiguousarray(runs.sizes), counts_as, want_runs, numbers)
    data, starts, lengths = cast("tuple[Any, Any, Any]", found)
    return counted, Runs([data], starts, lengths)
