"""Vectorised alignment kernels for the CPU."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


class ScratchTooSmall(Exception):
    """A pair needs more scratch memory than its recipe allows for a worker."""

class Cancel:
    """A request to stop, shared by the calls that receive it."""

    def __init__(self) -> None: ...

    def request(self) -> None:
        """Make every call that holds this object return soon."""

class Recipe:
    """
    A scoring in the form the kernels compute; see gpualign.cpu.alignment.recipe.
    """

    def __init__(self) -> None: ...

    @property
    def bitsliced(self) -> bool: ...

    @bitsliced.setter
    def bitsliced(self, arg: bool, /) -> None: ...

    @property
    def width(self) -> int: ...

    @width.setter
    def width(self, arg: int, /) -> None: ...

    @property
    def letters(self) -> int: ...

    @letters.setter
    def letters(self, arg: int, /) -> None: ...

    @property
    def open_extra(self) -> int: ...

    @open_extra.setter
    def open_extra(self, arg: int, /) -> None: ...

    @property
    def match_steps(self) -> int: ...

    @match_steps.setter
    def match_steps(self, arg: int, /) -> None: ...

    @property
    def mismatch_steps(self) -> int: ...

    @mismatch_steps.setter
    def mismatch_steps(self, arg: int, /) -> None: ...

    @property
    def pairs(self) -> str:
        """The kernel for single pairs, or empty."""

    @pairs.setter
    def pairs(self, arg: str, /) -> None: ...

    @property
    def slice_columns(self) -> int: ...

    @slice_columns.setter
    def slice_columns(self, arg: int, /) -> None: ...

    @property
    def sum_factor(self) -> int: ...

    @sum_factor.setter
    def sum_factor(self, arg: int, /) -> None: ...

    @property
    def per_letter(self) -> int: ...

    @per_letter.setter
    def per_letter(self, arg: int, /) -> None: ...

    @property
    def constant(self) -> int: ...

    @constant.setter
    def constant(self, arg: int, /) -> None: ...

    def set_table(self, arg: Annotated[NDArray[numpy.uint32], dict(shape=(32, 32), order='C', device='cpu', writable=False)], /) -> None:
        """Set the shifted scores, row = query letter."""

class Recipes:
    """
    The recipe of a task, and one for the last targets of a tile if fewer than rest_below are left.
    """

    def __init__(self, main: Recipe, rest: Recipe, rest_below: int) -> None: ...

class PathRecipe:
    """
    A scoring and the kind of end gaps for `align_tile`; see gpualign.cpu.alignment.path_recipe.
    """

    def __init__(self) -> None: ...

    @property
    def differences(self) -> Recipe: ...

    @differences.setter
    def differences(self, arg: Recipe, /) -> None: ...

    @property
    def extend(self) -> int: ...

    @extend.setter
    def extend(self, arg: int, /) -> None: ...

    @property
    def free_query(self) -> bool: ...

    @free_query.setter
    def free_query(self, arg: bool, /) -> None: ...

    @property
    def free_target(self) -> bool: ...

    @free_target.setter
    def free_target(self, arg: bool, /) -> None: ...

    @property
    def negate(self) -> bool: ...

    @negate.setter
    def negate(self, arg: bool, /) -> None: ...

    @property
    def sliced(self) -> bool: ...

    @sliced.setter
    def sliced(self, arg: bool, /) -> None: ...

    @property
    def banded(self) -> bool: ...

    @banded.setter
    def banded(self, arg: bool, /) -> None: ...

    @property
    def worker_bytes(self) -> int: ...

    @worker_bytes.setter
    def worker_bytes(self, arg: int, /) -> None: ...

    def set_usable(self, arg: Annotated[NDArray[numpy.bool_], dict(shape=(32, 32), order='C', device='cpu', writable=False)], /) -> None:
        """
        Set the pairs of letters that paths may contain, bool[letters][letters].
        """

class LocalHistory:
    """
    Statistics of the width that the scores of each query need, shared by the tiles of a task.
    """

    def __init__(self, queries: int) -> None: ...

class LocalRecipe:
    """
    A scoring for local alignments; see gpualign.cpu.alignment.local_recipe.
    """

    def __init__(self) -> None: ...

    @property
    def letters(self) -> int: ...

    @letters.setter
    def letters(self, arg: int, /) -> None: ...

    @property
    def padding(self) -> int: ...

    @padding.setter
    def padding(self, arg: int, /) -> None: ...

    @property
    def open(self) -> int: ...

    @open.setter
    def open(self, arg: int, /) -> None: ...

    @property
    def extend(self) -> int: ...

    @extend.setter
    def extend(self, arg: int, /) -> None: ...

    @property
    def byte_scores(self) -> bool: ...

    @byte_scores.setter
    def byte_scores(self, arg: bool, /) -> None: ...

    @property
    def narrowest(self) -> int: ...

    @narrowest.setter
    def narrowest(self, arg: int, /) -> None: ...

    @property
    def widest(self) -> int: ...

    @widest.setter
    def widest(self, arg: int, /) -> None: ...

    @property
    def column_steps(self) -> float: ...

    @column_steps.setter
    def column_steps(self, arg: float, /) -> None: ...

    @property
    def most_columns(self) -> int: ...

    @most_columns.setter
    def most_columns(self, arg: int, /) -> None: ...

    def set_table(self, arg: Annotated[NDArray[numpy.int32], dict(shape=(32, 32), order='C', device='cpu', writable=False)], /) -> None:
        """Set the scores, row = query letter."""

def instruction_sets() -> list[tuple[str, int, bool, bool]]:
    """
    (name, bytes of a vector, has three-input logic, runs on this machine) of each variant in this build, fastest first.
    """

def score_tile_32(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], pairing: str, recipes: Recipes, scores: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], cancel: Cancel) -> bool:
    """Fill int32 scores of a tile; False if cancelled."""

def score_tile_64(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], pairing: str, recipes: Recipes, scores: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], cancel: Cancel) -> bool:
    """Fill int64 scores of a tile; False if cancelled."""

def score_local_tile_32(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], recipe: LocalRecipe, history: LocalHistory, scores: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], cancel: Cancel) -> bool:
    """Fill int32 local scores of all pairs of a tile; False if cancelled."""

def score_local_tile_64(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], recipe: LocalRecipe, history: LocalHistory, scores: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], cancel: Cancel) -> bool:
    """Fill int64 local scores of all pairs of a tile; False if cancelled."""

def score_local_pairs(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], recipe: LocalRecipe, cancel: Cancel) -> object:
    """Return the local scores of pairs, int64[pairs]; None if cancelled."""

def trace_local_hits(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], recipe: LocalRecipe, path_recipe: PathRecipe, cancel: Cancel) -> object:
    """
    Trace local alignments with known scores. Returns (int64 scores, int32 statistics[hits, 9], runs, starts, sizes); None if cancelled.
    """

def find_hit_bounds(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], recipe: LocalRecipe, cancel: Cancel) -> object:
    """
    Return the bounds of the alignments that trace_local_hits traces, int64[hits][4] (query start, end, target start, end); None if cancelled.
    """

def trace_hsps(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], recipe: LocalRecipe, path_recipe: PathRecipe, max_count: int, min_scores: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], cancel: Cancel) -> object:
    """
    Trace up to max_count local alignments of each hit that share no pair of letters, the first with its known score, the others with at least min_scores, int64[hits]. Returns (int64 hit of each, the same as trace_local_hits); None if cancelled.
    """

class MatrixAdjuster:
    """
    Makes the scores of pairs of proteins; see core/scoring/src/composition.hpp.
    """

    def __init__(self, target_frequencies: Annotated[NDArray[numpy.float64], dict(shape=(20, 20), order='C', device='cpu', writable=False)], ungapped_lambda: float, stop_score: int, stop_stop_score: int, only_scales: bool) -> None: ...

    def scores(self, query: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> object:
        """
        Return the scores of two encoded proteins in units of 1/32, int32[32][32], row = query letter; None if one of them has no amino acids.
        """

def score_adjusted_hits(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], windows: Annotated[NDArray[numpy.int64], dict(shape=(None, 4), order='C', device='cpu', writable=False)], adjuster: MatrixAdjuster, recipe: LocalRecipe, cancel: Cancel) -> object:
    """
    Return the scores of hits with matrices adjusted to the composition of windows, int64[hits][4] (query start, end, target start, end): int64[hits], in units of 1/32; None if cancelled.
    """

def trace_adjusted_hits(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], windows: Annotated[NDArray[numpy.int64], dict(shape=(None, 4), order='C', device='cpu', writable=False)], adjuster: MatrixAdjuster, recipe: LocalRecipe, path_recipe: PathRecipe, cancel: Cancel) -> object:
    """
    Trace hits with scores from score_adjusted_hits. Returns the same as trace_local_hits.
    """

def trace_adjusted_hsps(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], windows: Annotated[NDArray[numpy.int64], dict(shape=(None, 4), order='C', device='cpu', writable=False)], adjuster: MatrixAdjuster, recipe: LocalRecipe, path_recipe: PathRecipe, max_count: int, min_scores: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], cancel: Cancel) -> object:
    """Trace the same hits as trace_hsps does. Returns the same."""

def align_tile(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], pairing: str, recipe: PathRecipe, want_runs: bool, cancel: Cancel) -> object:
    """
    Trace the pairs of a tile. Returns (int64 scores, int32 statistics[rows, columns, 9], runs, starts, sizes), the last three None unless want_runs; None if cancelled.
    """

def align_listed(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], edits: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], recipe: PathRecipe, want_runs: bool, cancel: Cancel) -> object:
    """
    Trace listed pairs, with the numbers of edits that are expected. Returns the same as align_tile, for an array of pairs.
    """

def listed_slacks(query_counts: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_counts: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], edits: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], recipe: PathRecipe, scores: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> object:
    """
    Return the slack of the band that each pair needs, int64: the smallest with which its score proves that the band holds every best path. counts: uint32[records][codes], the letters of each record by code. scores: None for those that are expected with these numbers of edits.
    """

def path_bytes(instruction_set: str, recipe: PathRecipe, rows: int, columns: int) -> tuple[int, int]:
    """
    Return the scratch memory for tracing up to these lengths: of a block of lanes, and the minimum of a single pair (bytes).
    """

MAX_MATCH_STEPS: int = 4
