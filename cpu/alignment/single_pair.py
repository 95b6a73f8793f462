"""Aligns one pair at a time, in the caller's thread, for callers that have two sequences rather than sets."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.task import EndGaps, Mode
from gpualign.core.alignment.tile_results import STATISTICS, Runs
from gpualign.core.common.arrays import Codes, Integers
from gpualign.core.common.errors import RunError
from gpualign.core.planning.tile_plan import Band
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.alphabet import Alphabet
from gpualign.cpu.alignment import _kernels
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.alignment.local_recipe import make_local_recipe
from gpualign.cpu.alignment.native_recipes import native_local_recipe, native_path_recipe
from gpualign.cpu.alignment.path_recipe import make_path_recipe

_ZERO_INDEX = np.zeros(1, dtype=np.int64)
_STATISTIC_COUNT = STATISTICS.itemsize // 4
_PAIR_BAND = Band(0, 1, 0, 1, 0, 1)
_MAX_RECIPE_LENGTH = 1 << 40
"""Sequence length for which local-score recipes are made, so that their score types are wide enough for any pair."""

EncodedPair = tuple[Codes, Integers, Integers, Codes, Integers, Integers]
"""A pair as kernel arguments: (codes, offsets, record number) of the query, then of the target."""


class SinglePairAligner:
    """Aligns pairs under a fixed scoring. `align` may be called from any number of threads at once. memory: maximum memory for a pair, in
    bytes"""

    def __init__(self, scoring: Scoring, alphabet: Alphabet, mode: Mode, end_gaps: EndGaps, memory: int) -> None:
        letters = len(alphabet)
        self._instruction_set = CpuEngine(1).instruction_set.name
        self._paths = native_path_recipe(make_path_recipe(scoring, letters, end_gaps), memory)
        self._local = (
            native_local_recipe(make_local_recipe(scoring, letters, _MAX_RECIPE_LENGTH, _MAX_RECIPE_LENGTH)) if mode is Mode.LOCAL else None
        )
        self._cancel = _kernels.Cancel()  # never requested: a pair takes too little time

    def align(self, query: Codes, target: Codes) -> BandResults:
        """Return the score, statistics and CIGAR runs of one pair, as [1][1] arrays. Raises `RunError` if the pair needs too much
        memory."""
        pair: EncodedPair = query, np.array((0, len(query))), _ZERO_INDEX, target, np.array((0, len(target))), _ZERO_INDEX
        try:
            aligned = self._align_globally(pair) if self._local is None else self._align_locally(pair)
        except _kernels.ScratchTooSmall as error:
            raise RunError(f"the memory budget is too small for one pair ({error})") from None
        scores, counts, data, starts, sizes = aligned
        statistics = counts.reshape(1, 1, -1).view(STATISTICS)[..., 0]
        return BandResults(_PAIR_BAND, scores.reshape(1, 1), statistics, Runs([data], starts.reshape(1, 1), sizes.reshape(1, 1)))

    def _align_globally(self, pair: EncodedPair) -> tuple[Any, Any, Any, Any, Any]:
        aligned = _kernels.align_tile(self._instruction_set, *pair, "all", self._paths, True, self._cancel)
        return cast("tuple[Any, Any, Any, Any, Any]", aligned)

    def _align_locally(self, pair: EncodedPair) -> tuple[Any, Any, Any, Any, Any]:
        assert self._local is not None
        scores = np.zeros((1, 1), dtype=np.int64)
        history = _kernels.LocalHistory(1)
        _kernels.score_local_tile_64(self._instruction_set, *pair, self._local, history, scores, self._cancel)
        if not scores[0, 0]:
            nothing = np.zeros(1, dtype=np.int64)
            return scores, np.zeros((1, _STATISTIC_COUNT), dtype=np.int32), np.zeros(0, np.uint8), nothing, nothing.astype(np.int32)
        traced = _kernels.trace_local_hits(self._instruction_set, *pair, scores[0], self._local, self._paths, self._cancel)
        return cast("tuple[Any, Any, Any, Any, Any]", traced)
