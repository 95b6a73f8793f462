"""Argument structs for the kernels in cuda_src/, with the same fields in the same order. Their memory layout is the same as in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.tile_results import STATISTICS

NamedArrays = dict[str, npt.NDArray[np.generic]]

QUEUE_BYTES = 256
"""Size, in bytes, of a queue: a counter from which blocks take the number of their next unit."""

_P, _I, _L, _U = "u8", "i4", "i8", "u4"  # pointer, int32_t, int64_t, uint32_t


def aligned_bytes(nbytes: int) -> int:
    """Return `nbytes` rounded up to a multiple of 256, so that consecutive arrays stay aligned."""
    return -(-nbytes // 256) * 256


def _make_struct(*fields: tuple[str, str | np.dtype[Any]]) -> np.dtype[np.void]:
    return np.dtype(list(fields), align=True)


_QUERY_FIELDS = (("query_codes", _P), ("query_offsets", _P), ("queries", _P), ("rows", _P))

PIPELINE_ARGS = _make_struct(
    ("next_unit", _P),
    ("units", _P),
    ("slots", _P),
    ("before", _P),
    ("progress", _P),
    ("carry_stride", _L),
    ("unit_count", _I),
    ("strips", _I),
)
THREAD_ARGS = _make_struct(
    *_QUERY_FIELDS,
    ("items", _P),
    ("letters", _P),
    ("block_letters", _P),
    ("block_columns", _P),
    ("target_lengths", _P),
    ("table", _P),
    ("carries", _P),
    ("edges", _P),
    ("scores", _P),
    ("pipeline", PIPELINE_ARGS),
    ("edge_stride", _L),
    ("query_count", _I),
    ("target_count", _I),
    ("one", _U),
)
SLICE_ARGS = _make_struct(
    *_QUERY_FIELDS,
    ("item_lanes", _P),
    ("listed_lanes", _P),
    ("planes", _P),
    ("group_planes", _P),
    ("group_columns", _P),
    ("item_strips", _P),
    ("target_lengths", _P),
    ("carries", _P),
    ("edges", _P),
    ("scores", _P),
    ("pipeline", PIPELINE_ARGS),
    ("edge_stride", _L),
    ("query_count", _I),
    ("target_count", _I),
    ("sum_factor", _I),
    ("per_letter", _I),
)
CHAIN_ARGS = _make_struct(
    *_QUERY_FIELDS,
    ("first_targets", _P),
    ("target_codes", _P),
    ("target_offsets", _P),
    ("targets", _P),
    ("target_numbers", _P),
    ("columns", _P),
    ("query_windows", _P),
    ("target_windows", _P),
    ("table", _P),
    ("next_item", _P),
    ("handed_down", _P),
    ("carries", _P),
    ("edges", _P),
    ("carry_stride", _L),
    ("edge_stride", _L),
    ("scores", _P),
    ("first_pair", _L),
    ("pairs", _I),
    ("strips", _I),
    ("target_count", _I),
    ("target_window_count", _I),
    ("one", _U),
)
PATH_ARGS = _make_struct(
    ("target_codes", _P),
    ("target_offsets", _P),
    ("targets", _P),
    ("target_numbers", _P),
    ("first_targets", _P),
    ("usable", _P),
    ("statistics", _P),
    ("starts", _P),
    ("sizes", _P),
    ("scratch", _P),
    ("runs", _P),
    ("cursor", _P),
    ("directions", _P),
    ("capacity", _L),
    ("matrix_stride", _L),
    ("detail", _I),
)
TRACE_THREAD_ARGS = _make_struct(("forward", THREAD_ARGS), ("path", PATH_ARGS), ("items", _I))
TRACE_SLICE_ARGS = _make_struct(("forward", SLICE_ARGS), ("path", PATH_ARGS), ("items", _I))
TRACE_CHAIN_ARGS = _make_struct(("forward", CHAIN_ARGS), ("path", PATH_ARGS))
BAND_PAIR_STRUCT = _make_struct(("query", _I), ("target", _I), ("lowest", _I))
TRACE_BAND_ARGS = _make_struct(
    *((name, _P) for name in ("query_codes", "query_offsets", "pairs", "table", "next", "scores")),
    ("path", PATH_ARGS),
    ("pair_count", _I),
    ("one", _U),
)
PACK_LETTERS_ARGS = _make_struct(
    ("codes", _P),
    ("offsets", _P),
    ("targets", _P),
    ("block_letters", _P),
    ("letters", _P),
    ("target_count", _I),
    ("blocks", _I),
    ("threads", _I),
    ("pairs", _I),
    ("padding", _I),
)
PACK_PLANES_ARGS = _make_struct(
    ("codes", _P),
    ("offsets", _P),
    ("targets", _P),
    ("group_planes", _P),
    ("group_columns", _P),
    ("planes", _P),
    ("target_count", _I),
    ("groups", _I),
    ("plane_count", _I),
    ("together", _I),
)
SELECT_HITS_ARGS = _make_struct(
    ("scores", _P),
    ("ranks", _P),
    ("hit_scores", _P),
    ("hit_columns", _P),
    ("rows", _I),
    ("target_count", _I),
    ("hits", _I),
)


def pack_arguments(struct_type: np.dtype[np.void], **values: float | np.void | Sequence[int]) -> np.void:
    """Return a struct of type `struct_type` with these field values. Every field must be given.

    A field that is an array is filled from its start; its remaining elements are 0.

    Raises `KeyError` for a missing field, `ValueError` for an unknown field or an array that is too long.
    """
    out = np.zeros((), dtype=struct_type)
    assert struct_type.names is not None
    for name in struct_type.names:
        value = values.pop(name)
        if isinstance(value, Sequence):
            capacity = sum(struct_type[name].shape)
            if len(value) > capacity:
                raise ValueError(f"{name}: expected at most {capacity} numbers, found {len(value)}")
            out[name][: len(value)] = value
        else:
            out[name] = value
    if values:
        raise ValueError(f"no such fields: {', '.join(values)}")
    return cast("np.void", out[()])


MAX_PLANES_PER_SIDE = 16
"""Maximum number of left planes, and of right planes, in one launch of a distance kernel (kMaxPlanes in cuda_src/)."""

_PLANE_INDICES = np.dtype((np.int32, MAX_PLANES_PER_SIDE))
DISTANCE_ARGS = np.dtype(
    [
        ("planes", _P),
        ("out", _P),
        ("plane_bytes", _L),
        ("sample_bytes", _L),
        ("out_stride", _L),
        ("left", _PLANE_INDICES),
        ("right", _PLANE_INDICES),
        *((name, _I) for name in ("count", "row_start", "row_count", "column_start", "column_count", "splits", "weight", "upper")),
    ],
    align=True,
)

WGMMA_ARGS = _make_struct(("map", _P), ("pairs", DISTANCE_ARGS))

MAX_BITS_PER_CODE = 32
"""Maximum number of bits per code in one launch of the kernel that compares codes (kMaxBits in cuda_src/)."""

DIFFER_ARGS = _make_struct(("pairs", DISTANCE_ARGS), ("bits", np.dtype((np.int32, MAX_BITS_PER_CODE))), ("bit_count", _I), ("mask", _I))

MAX_COUNT_MATRICES = 8
"""Maximum number of count matrices used to select pairs (kMaxCounts in cuda_src/)."""

CHOOSE_PAIRS_ARGS = _make_struct(
    ("counts", _P),
    ("offsets", _P),
    ("records", _P),
    ("totals", _P),
    ("weights", np.dtype((np.int64, MAX_COUNT_MATRICES))),
    ("most", _L),
    ("matrix", _L),
    ("capacity", _L),
    *(
        (name, _I)
        for name in ("first_row", "last_row", "columns", "row_start", "column_start", "kinds", "least_of", "least", "upper", "floored")
    ),
    ("floors", np.dtype((np.int32, MAX_COUNT_MATRICES))),
)

NEAR_RECORDS_STRUCT = _make_struct(*((name, _P) for name in ("planes", "starts", "lengths", "sketches", "sizes", "ambiguous")))
NEAR_BOUND_STRUCT = _make_struct(
    *((name, "f8") for name in ("per_letter", "per_shorter", "constant", "inside", "coverage")),
    *((name, _I) for name in ("coverage_of_shorter", "equal_gain", "other_gain", "ordinary")),
)
NEAR_LIMITS_STRUCT = _make_struct(*((name, _I) for name in ("first", "stop", "slack")))
NEAR_ROW_STRUCT = _make_struct(*((name, _I) for name in ("first", "stop", "wanted", "slack")))
NEAR_PAIR_STRUCT = _make_struct(("query", _I), ("target", _I))
NEAR_DISTANCE_STRUCT = _make_struct(("query", _I), ("target", _I), ("distance", _I))
NEAR_COUNTERS_STRUCT = _make_struct(*((name, _U) for name in ("next", "candidates", "found", "unwanted")))
_NEAR_SET_FIELDS = (("queries", NEAR_RECORDS_STRUCT), ("targets", NEAR_RECORDS_STRUCT))
NEAR_RECORDS_ARGS = _make_struct(
    ("records", NEAR_RECORDS_STRUCT),
    *((name, _P) for name in ("codes", "offsets", "ranks")),
    *((name, _I) for name in ("first", "count", "planes", "radix", "q", "sketch_words", "shift")),
)
NEAR_GATHER_ARGS = _make_struct(
    *_NEAR_SET_FIELDS,
    *((name, _P) for name in ("records", "limits", "length_numbers", "first_targets", "beside")),
    *((name, _P) for name in ("rows", "sketches", "sizes", "ambiguous", "counters")),
    *((name, _I) for name in ("row_count", "column_count", "beside_count", "sketch_words", "q")),
)
NEAR_SCREEN_ARGS = _make_struct(
    ("product", DISTANCE_ARGS),
    *_NEAR_SET_FIELDS,
    ("bound", NEAR_BOUND_STRUCT),
    *((name, _P) for name in ("records", "sizes", "ambiguous", "rows", "candidates", "counters")),
    ("capacity", _U),
    ("q", _I),
)
NEAR_SCREEN_WGMMA_ARGS = _make_struct(("map", _P), ("screen", NEAR_SCREEN_ARGS), ("segment", _I))
NEAR_VERIFY_ARGS = _make_struct(
    *_NEAR_SET_FIELDS,
    ("bound", NEAR_BOUND_STRUCT),
    *((name, _P) for name in ("candidates", "counters", "found", "scratch")),
    ("capacity", _U),
    ("found_capacity", _U),
    ("words", _I),
)

PAYNE_ARGS = _make_struct(
    ("data", _P),
    ("distance", _P),
    ("stride", _L),
    *((name, _I) for name in ("attributes", "first_row", "first_column", "columns")),
)

MUNEKAWA_ARGS = _make_struct(
    *((name, _P) for name in ("query", "targets", "offsets", "lengths", "table", "below", "scores")),
    ("below_stride", _L),
    *((name, _I) for name in ("rows", "open", "extend")),
)

LI_ARGS = _make_struct(
    *((name, _P) for name in ("queries", "targets", "query_starts", "target_starts", "matrix_starts", "rows", "columns", "table")),
    ("matrices", _P),
    *((name, _I) for name in ("gap", "first_pair", "pairs", "diagonal")),
)

STRUCTS_BY_CUDA_NAME = {
    "PipelineArgs": PIPELINE_ARGS,
    "ThreadArgs": THREAD_ARGS,
    "SliceArgs": SLICE_ARGS,
    "ChainArgs": CHAIN_ARGS,
    "PathArgs": PATH_ARGS,
    "TraceThreadArgs": TRACE_THREAD_ARGS,
    "TraceSliceArgs": TRACE_SLICE_ARGS,
    "TraceChainArgs": TRACE_CHAIN_ARGS,
    "BandPair": BAND_PAIR_STRUCT,
    "TraceBandArgs": TRACE_BAND_ARGS,
    "PackLettersArgs": PACK_LETTERS_ARGS,
    "PackPlanesArgs": PACK_PLANES_ARGS,
    "SelectArgs": SELECT_HITS_ARGS,
    "DistanceArgs": DISTANCE_ARGS,
    "ChooseArgs": CHOOSE_PAIRS_ARGS,
    "NearRecords": NEAR_RECORDS_STRUCT,
    "NearBound": NEAR_BOUND_STRUCT,
    "NearLimits": NEAR_LIMITS_STRUCT,
    "NearRow": NEAR_ROW_STRUCT,
    "NearPair": NEAR_PAIR_STRUCT,
    "NearDistance": NEAR_DISTANCE_STRUCT,
    "NearCounters": NEAR_COUNTERS_STRUCT,
    "NearRecordsArgs": NEAR_RECORDS_ARGS,
    "NearGatherArgs": NEAR_GATHER_ARGS,
    "NearScreenArgs": NEAR_SCREEN_ARGS,
    "NearScreenWgmmaArgs": NEAR_SCREEN_WGMMA_ARGS,
    "NearVerifyArgs": NEAR_VERIFY_ARGS,
    "DifferArgs": DIFFER_ARGS,
    "WgmmaArgs": WGMMA_ARGS,
    "PayneArgs": PAYNE_ARGS,
    "MunekawaArgs": MUNEKAWA_ARGS,
    "LiArgs": LI_ARGS,
}
"""Structs, keyed by the names that they have in cuda_src/."""

CONTRACT_MACROS = (
    *((f"SIZE_OF_{name}", str(struct.itemsize)) for name, struct in STRUCTS_BY_CUDA_NAME.items()),
    ("STATISTICS_NUMBERS", str(len(STATISTICS.names or ()))),
)
"""Macros with which a compiler checks that kernels and host agree: the struct sizes, and the number of fields in an alignment's
`STATISTICS`."""
