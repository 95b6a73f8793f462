"""Scores search hits again, with matrices adjusted to the compositions of each pair, and traces them. The CPU does this for every engine,
because hits are few compared with the pairs searched.

As in blastp, low-complexity regions of a target are masked, by SEG with stricter parameters than for queries, unless the aligned parts are
nearly identical. Compositions are those of whole proteins; of translations, those of the surroundings of the alignment
(`translation_windows`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gpualign.core.alignment.hits import AdjustedHits, Hits
from gpualign.core.alignment.hsps import Hsps, join_hsps
from gpualign.core.alignment.path_builder import PathBuilder
from gpualign.core.alignment.task import EndGaps, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs, Statistics
from gpualign.core.common.threads import ThreadPool
from gpualign.core.scoring.composition import UNITS_PER_POINT, MatrixModel, translation_windows
from gpualign.core.scoring.masking import SegParameters, mask
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.cpu.alignment import _kernels
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.alignment.hit_tracing import HitTracer, bounds_bytes, call_kernel, hsps_of_arrays, split_hits
from gpualign.cpu.alignment.local_recipe import make_local_recipe
from gpualign.cpu.alignment.native_recipes import native_local_recipe, native_path_recipe
from gpualign.cpu.alignment.path_recipe import make_path_recipe

if TYPE_CHECKING:
    import numpy.typing as npt

    from gpualign.core.common.arrays import Booleans, Integers
    from gpualign.core.sequences.sequence_set import SequenceSet
    from gpualign.core.sequences.strands_frames import QueryTargetFrames

TARGET_SEG = SegParameters(window=10, trigger=1.8, extend=2.1)
"""Parameters with which blastp masks targets before it adjusts scores to their composition."""

_MAX_PROFILE_BYTES = 16 << 20
"""Maximum memory, in bytes per thread, for the scores of targets side by side in the lanes of a vector (`lane_profile.hpp`). Longer targets
are aligned one by one."""

_PART_LETTERS = 4 << 20
"""Approximate number of target letters that are copied and masked at a time."""

_NEAR_IDENTITY = 0.95
_NEAR_IDENTICAL_BITS = 1.74
_NEAR_IDENTICAL_LENGTH = 50
"""Parts of a query and a target are nearly identical if more than `_NEAR_IDENTITY` of the letters of the shorter part are identical, and if
the alignment has `_NEAR_IDENTICAL_BITS` per letter, over `_NEAR_IDENTICAL_LENGTH` letters or the whole query."""


class HitAdjuster:
    """Scores and traces the hits of one search with adjusted matrices.

    task: the search
    frame_sets: strands or frames of the search
    model: model of the matrix
    gapped_lambda: scale of the scores in nats, with gaps
    engine: the engine whose instruction set is used
    tracer: traces hits with the scores of the search; as many threads are used
    memory: scratch memory for all threads, in bytes
    """

    def __init__(
        self,
        task: Task,
        frame_sets: QueryTargetFrames,
        model: MatrixModel,
        gapped_lambda: float,
        engine: CpuEngine,
        tracer: HitTracer,
        memory: int,
    ) -> None:
        scoring = replace(
            task.scoring,
            substitution=task.scoring.substitution * UNITS_PER_POINT,
            gap_open=task.scoring.gap_open * UNITS_PER_POINT,
            gap_extend=task.scoring.gap_extend * UNITS_PER_POINT,
        )
        self._task, self._frame_sets, self._tracer = task, frame_sets, tracer
        self._instruction_set = engine.instruction_set.name
        self._adjuster = _kernels.MatrixAdjuster(
            np.ascontiguousarray(model.target_frequencies),
            model.ungapped_lambda,
            model.stop_score,
            model.stop_stop_score,
            model.only_scales,
        )
        recipe = make_local_recipe(scoring, len(PROTEIN), task.queries.max_length, task.targets.max_length)
        profile_bytes = min(_MAX_PROFILE_BYTES, memory // (4 * tracer.threads))
        vector_bytes = engine.instruction_set.vector_bytes
        self._recipe = native_local_recipe(recipe.fit_scratch(vector_bytes, profile_bytes, recipe.letters))
        self._pool = ThreadPool(tracer.threads)
        path_recipe, lone_bytes = make_path_recipe(scoring, len(PROTEIN), EndGaps.PENALISED), bounds_bytes(recipe, task, vector_bytes)
        self._path_recipe = native_path_recipe(path_recipe, memory // 2 // tracer.threads)
        # For one thread that uses all of the scratch memory.
        self._lone_path_recipe = native_path_recipe(path_recipe, max(memory // 2, memory - lone_bytes))
        self._lone_recipe = native_local_recipe(recipe.fit_scratch(vector_bytes, lone_bytes, recipe.letters))
        self._near_identical_points = _NEAR_IDENTICAL_BITS * math.log(2) / gapped_lambda
        self._cancel = _kernels.Cancel()

    def close(self) -> None:
        """Stop the work in progress and end the threads."""
        self._cancel.request()
        self._pool.close()

    def adjust(self, hits: Hits) -> AdjustedHits:
        """Return the hits with adjusted scores, without those whose score is then less than half a point, and those whose query or target
        has no amino acids that are not masked."""
        parts = [self._adjust(hits.select(part)) for part in self._parts(hits)]
        columns = zip(*((p.queries, p.targets, p.scores, p.windows, p.is_masked) for p in parts), strict=True)
        return AdjustedHits(*(np.concatenate(column) for column in columns))

    def trace(self, hits: AdjustedHits) -> tuple[Statistics, Runs]:
        """Return the statistics (`STATISTICS`[hits]) and the paths (`Runs` of shape [hits]) of hits from `adjust`, in which masked letters
        are X. Raises `TooLittleMemory` if a pair needs more memory than is available."""
        statistics, runs = np.zeros(len(hits), dtype=STATISTICS), PathBuilder((len(hits),))
        for part in self._parts(hits):
            targets = _MaskedTargets(self._task.targets, hits.targets[part], self._pool.threads)
            traced = self._run(_kernels.trace_adjusted_hits, hits.select(part), targets, paths=True)
            for batch, (_, counts, data, starts, sizes) in traced:
                place = part.start + batch
                statistics[place] = counts.view(STATISTICS)[:, 0]
                runs.add(place, Runs([data], starts, sizes))
        return statistics, runs.build()

    def trace_hsps(self, hits: AdjustedHits, max_count: int, min_scores: Integers) -> Hsps:
        """Return up to `max_count` alignments of each hit from `adjust`, as `HitTracer.trace_hsps` does. min_scores: in the units of the
        hits' scores, int64[hits]"""
        parts = []
        kernel = partial(_kernels.trace_adjusted_hsps, max_count=max_count)
        for part in self._parts(hits):
            targets, part_min_scores = _MaskedTargets(self._task.targets, hits.targets[part], self._pool.threads), min_scores[part]
            for batch, arrays in self._run(kernel, hits.select(part), targets, paths=True, min_scores=part_min_scores):
                parts.append((part.start + batch, hsps_of_arrays(arrays)))
        return join_hsps(parts)

    def _adjust(self, hits: Hits) -> AdjustedHits:
        targets = _MaskedTargets(self._task.targets, hits.targets, self._pool.threads)
        adjusted = AdjustedHits(hits.queries, hits.targets, hits.scores, *self._windows_and_masks(hits, targets))
        scores = np.zeros(len(hits), dtype=np.int64)
        for batch, batch_scores in self._run(_kernels.score_adjusted_hits, adjusted, targets):
            scores[batch] = batch_scores
        adjusted = replace(adjusted, scores=scores)
        return adjusted.select(adjusted.whole_points > 0)

    def _windows_and_masks(self, hits: Hits, targets: _MaskedTargets) -> tuple[Integers, Booleans]:
        """Return (composition windows, whether low-complexity letters of the target are masked): int64[hits][4], bool[hits]."""
        query_lengths = self._task.queries.lengths[hits.queries]
        first = np.zeros(len(hits), dtype=np.int64)
        windows = np.stack((first, query_lengths, first, self._task.targets.lengths[hits.targets]), axis=1)
        is_masked = np.ones(len(hits), dtype=bool)
        min_length = np.minimum(query_lengths, _NEAR_IDENTICAL_LENGTH)
        is_translated = self._frame_sets.is_translated
        may_be_identical = targets.is_biased & (is_translated | (hits.scores >= self._near_identical_points * (min_length - 1)))
        located = np.flatnonzero(may_be_identical | is_translated)
        if not len(located):
            return windows, is_masked
        query_start, query_end, target_start, target_end = self._tracer.bounds(hits.select(located)).T
        shorter = np.minimum(query_end - query_start, target_end - target_start)
        may_be_identical[located] &= (target_end - target_start + 1 >= min_length[located]) & (
            hits.scores[located] >= self._near_identical_points * shorter
        )
        traced = may_be_identical[located]
        statistics, _ = self._tracer.trace(hits.select(located[traced]))
        is_masked[located[traced]] = statistics["matches"] <= _NEAR_IDENTITY * shorter[traced]
        if self._frame_sets.queries.is_translated:
            numbers, places = np.unique(hits.queries[located], return_inverse=True)
            windows[located, 0], windows[located, 1] = translation_windows(
                self._task.queries.select(numbers), places, query_start, query_end
            )
        if self._frame_sets.targets.is_translated:
            windows[located, 2], windows[located, 3] = translation_windows(
                targets.originals, targets.places[located], target_start, target_end
            )
        return windows, is_masked

    def _parts(self, hits: Hits) -> Iterator[slice]:
        """Yield slices of the hits, at least one, whose targets have about `_PART_LETTERS` letters."""
        letters = np.cumsum(self._task.targets.lengths[hits.targets])
        start = 0
        while not start or start < len(hits):
            before = int(letters[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(letters, before + _PART_LETTERS, side="right")))
            yield slice(start, stop)
            start = stop

    def _run(
        self, kernel: Callable[..., Any], hits: AdjustedHits, targets: _MaskedTargets, paths: bool = False, **hit_values: Integers
    ) -> list[tuple[Integers, Any]]:
        """Return (indices of the hits, result of the kernel) for batches of hits.

        paths: whether the kernel traces paths
        hit_values: further arguments, one value per hit
        """
        queries, target_numbers = self._task.queries, targets.numbers_to_align(hits.is_masked)

        def call(batch: Integers, alone: bool) -> tuple[Integers, Any]:
            pairs = (
                *(queries.codes, queries.offsets, hits.queries[batch]),
                *(targets.codes, targets.offsets, target_numbers[batch]),
                *(hits.scores[batch], hits.windows[batch]),
            )
            options = {"adjuster": self._adjuster, "recipe": self._lone_recipe if alone else self._recipe, "cancel": self._cancel}
            if paths:
                options["path_recipe"] = self._lone_path_recipe if alone else self._path_recipe
            more = {name: values[batch] for name, values in hit_values.items()}
            return batch, call_kernel(kernel, self._instruction_set, *pairs, **options, **more)

        cells = queries.lengths[hits.queries] * self._task.targets.lengths[hits.targets]
        return self._tracer.trace_batches(self._pool.map, call, split_hits(hits.queries, cells, self._pool.threads))


class _MaskedTargets:
    """Targets of some hits, each as it is and with low-complexity regions masked.

    targets: the database
    numbers: target of each hit, int64[hits]
    threads: maximum number of threads
    """

    def __init__(self, targets: SequenceSet, numbers: Integers, threads: int) -> None:
        distinct, self.places = np.unique(numbers, return_inverse=True)
        self.originals = targets.select(distinct, threads)
        self._masked_codes = mask(self.originals, PROTEIN, TARGET_SEG, threads).sequences.codes

    @cached_property
    def is_biased(self) -> Booleans:
        """Mask of the hits whose target has low-complexity regions: bool[hits]."""
        changed = np.flatnonzero(self._masked_codes != self.originals.codes)
        is_biased = np.zeros(len(self.originals), dtype=bool)
        is_biased[np.searchsorted(self.originals.offsets, changed, side="right") - 1] = True
        return is_biased[self.places]

    @cached_property
    def codes(self) -> npt.NDArray[np.uint8]:
        """Codes of the masked targets, then of the targets as they are."""
        return np.concatenate((self._masked_codes, self.originals.codes))

    @cached_property
    def offsets(self) -> Integers:
        """Offsets of these sequences in `codes`."""
        offsets = self.originals.offsets
        return np.concatenate((offsets, offsets[-1] + offsets[1:]))

    def numbers_to_align(self, is_masked: Booleans) -> Integers:
        """Return the number of each hit's target in `codes`, masked or as it is: int64[hits]."""
        return self.places + np.where(is_masked, 0, len(self.originals))
