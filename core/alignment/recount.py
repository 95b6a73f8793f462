"""Recounts the statistics of paths under a rule for the equality of letters that differs from the rule of the engines."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.tile_results import STATISTICS, Runs, Statistics
from gpualign.core.common.arrays import Integers
from gpualign.core.sequences.alphabet import Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet

_TABLE_SIZE = 32
"""Number of rows and columns of the tables that the compiled module uses, which are indexed by code."""

MATCH, MISMATCH, NOT_COUNTED = 0, 1, 2
"""Categories for a pair of letters. If a letter's pair with itself is `NOT_COUNTED`, the letter is not counted in gaps either."""

ColumnKinds = npt.NDArray[np.uint8]
"""Table of what each pair of letters counts as: uint8[32][32], indexed by code."""


def identical_letter_kinds(alphabet: Alphabet) -> ColumnKinds:
    """Return the table under which only pairs of identical letters are matches."""
    table = np.full((_TABLE_SIZE, _TABLE_SIZE), MISMATCH, dtype=np.uint8)
    np.fill_diagonal(table[: len(alphabet), : len(alphabet)], MATCH)
    return table


def recount_statistics(
    queries: SequenceSet,
    targets: SequenceSet,
    records: tuple[Integers, Integers],
    statistics: Statistics,
    runs: Runs,
    column_kinds: ColumnKinds,
    threads: int,
) -> Statistics:
    """Return the statistics of listed pairs, `STATISTICS`[pairs], recounted according to `column_kinds`.

    records: query and target record of each pair, int64[pairs] each
    statistics, runs: statistics and paths of the alignments, shape [pairs]
    threads: maximum number of threads
    """
    return _recount(queries, targets, records, statistics, runs, column_kinds, with_runs=False, threads=threads)[0]


def recount_original_letters(
    queries: SequenceSet,
    targets: SequenceSet,
    records: tuple[Integers, Integers],
    statistics: Statistics,
    runs: Runs,
    alphabet: Alphabet,
) -> tuple[Statistics, Runs]:
    """Return statistics and paths recounted with the letters of these sequences, if other letters (such as masked ones) were aligned in
    their place.

    records: query and target record of each pair, int64[pairs] each
    statistics, runs: statistics and paths of the alignments, shape [pairs]
    """
    return _recount(queries, targets, records, statistics, runs, identical_letter_kinds(alphabet), with_runs=True, threads=1)


def _recount(
    queries: SequenceSet,
    targets: SequenceSet,
    records: tuple[Integers, Integers],
    statistics: Statistics,
    runs: Runs,
    column_kinds: ColumnKinds,
    with_runs: bool,
    threads: int,
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
    recounted = recount_paths(*sets, pairs, runs.pieces, paths, np.ascontiguousarray(runs.sizes), column_kinds, with_runs, numbers, threads)
    data, starts, lengths = cast("tuple[Any, Any, Any]", recounted)
    return counted, Runs([data], starts, lengths)
