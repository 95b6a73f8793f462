"""Argument structs for the kernels in cuda_src/, with the same fields in the same order; `align` gives them the C layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.tile_results import STATISTICS

Arrays = dict[str, npt.NDArray[np.generic]]

QUEUE_BYTES = 256
"""Size of the queue, bytes: the counter from which blocks take their next unit."""

_P, _I, _L, _U = "u8", "i4", "i8", "u4"  # pointer, int32_t, int64_t, uint32_t


def aligned(nbytes: int) -> int:
    """Return `nbytes` rounded up to a multiple of 256, so that consecutive arrays stay aligned."""
    return -(-nbytes // 256) * 256


def _struct(*fields: tuple[str, str | np.dtype[Any]]) -> np.dtype[np.void]:
    return np.dtype(list(fields), align=True)


_QUERIES = (("query_codes", _P), ("query_offsets", _P), ("queries", _P), ("rows", _P))

PIPELINE = _struct(
    ("next_unit", _P),
    ("units", _P),
    ("slots", _P),
    ("before", _P),
    ("progress", _P),
    ("carry_stride", _L),
    ("unit_count", _I),
    ("strips", _I),
)
THREADS = _struct(
    *_QUERIES,
    ("items", _P),
    ("letters", _P),
    ("block_letters", _P),
    ("block_columns", _P),
    ("target_lengths", _P),
    ("table", _P),
    ("carries", _P),
    ("edges", _P),
    ("scores", _P),
    ("pipeline", PIPELINE),
    ("edge_stride", _L),
    ("query_count", _I),
    ("target_count", _I),
    ("one", _U),
)
SLICES = _struct(
    *_QUERIES,
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
    ("pipeline", PIPELINE),
    ("edge_stride", _L),
    ("query_count", _I),
    ("target_count", _I),
    ("sum_factor", _I),
    ("per_letter", _I),
)
CHAIN = _struct(
    *_QUERIES,
    ("first_targets", _P),
    ("target_codes", _P),
    ("target_offsets", _P),
    ("targets", _P),
    ("target_numbers", _P),
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
    ("one", _U),
)
PATH = _struct(
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
TRACE_THREADS = _struct(("forward", THREADS), ("path", PATH), ("items", _I))
TRACE_SLICES = _struct(("forward", SLICES), ("path", PATH), ("items", _I))
TRACE_CHAIN = _struct(("forward", CHAIN), ("path", PATH))
PACK_LETTERS = _struct(
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
PACK_PLANES = _struct(
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
SELECT_HITS_ARGS = _struct(
    ("scores", _P),
    ("ranks", _P),
    ("hit_scores", _P),
    ("hit_columns", _P),
    ("rows", _I),
    ("target_count", _I),
    ("hits", _I),
)


def arguments(struct: np.dtype[np.void], **values: float | np.void | Sequence[int]) -> np.void:
    """Return one struct. `values` must have every field. Arrays are filled from the start; the remaining elements are 0.

    Raises `KeyError` for a missing field, `ValueError` for an unknown field or an array that is too long.
    """
    out = np.zeros((), dtype=struct)
    assert struct.names is not None
    for name in struct.names:
        value = values.pop(name)
        if isinstance(value, Sequence):
            capacity = sum(struct[name].shape)
            if len(value) > capacity:
                raise ValueError(f"{name}: expected at most {capacity} numbers, found {len(value)}")
            out[name][: len(value)] = value
        else:
            out[name] = value
    if values:
        raise ValueError(f"no such fields: {', '.join(values)}")
    return cast("np.void", out[()])


MAX_PLANES = 16
"""Maximum number of planes per side in one launch of a distance kernel (kMaxPlanes)."""

_PLANES = np.dtype((np.int32, MAX_PLANES))
DISTANCE = np.dtype(
    [
        ("planes", _P),
        ("out", _P),
        ("plane_bytes", _L),
        ("sample_bytes", _L),
        ("out_stride", _L),
        ("left", _PLANES),
        ("right", _PLANES),
        *((name, _I) for name in ("count", "row_start", "row_count", "column_start", "column_count", "splits", "weight", "upper")),
    ],
    align=True,
)

WGMMA = _struct(("map", _P), ("pairs", DISTANCE))

MAX_BITS = 32
"""Maximum number of bits per code in one launch of the kernel that compares codes (kMaxBits)."""

DIFFER = _struct(("pairs", DISTANCE), ("bits", np.dtype((np.int32, MAX_BITS))), ("bit_count", _I), ("mask", _I))

MAX_COUNTS = 8
"""Maximum number of count matrices used to select pairs (kMaxCounts)."""

CHOOSE_PAIRS_ARGS = _struct(
    ("counts", _P),
    ("offsets", _P),
    ("records", _P),
    ("totals", _P),
    ("weights", np.dtype((np.int64, MAX_COUNTS))),
    ("most", _L),
    ("matrix", _L),
    ("capacity", _L),
    *(
        (name, _I)
        for name in ("first_row", "last_row", "columns", "row_start", "column_start", "kinds", "least_of", "least", "upper", "floored")
    ),
    ("floors", np.dtype((np.int32, MAX_COUNTS))),
)

NEAR_RECORDS = _struct(*((name, _P) for name in ("planes", "starts", "lengths", "sketches", "sizes")))
NEAR_BOUND = _struct(*((name, "f8") for name in ("per_letter", "per_shorter", "constant", "inside", "coverage")))
NEAR_ROW = _struct(*((name, _I) for name in ("first", "stop", "wanted", "slack")))
NEAR_PAIR = _struct(("query", _I), ("target", _I))
NEAR_DISTANCE = _struct(("query", _I), ("target", _I), ("distance", _I))
NEAR_COUNTERS = _struct(*((name, _U) for name in ("next", "candidates", "found", "unwanted")))
_NEAR_SETS = (("queries", NEAR_RECORDS), ("targets", NEAR_RECORDS))
NEAR_MAKE = _struct(
    ("records", NEAR_RECORDS),
    *((name, _P) for name in ("codes", "offsets", "ranks")),
    *((name, _I) for name in ("first", "count", "planes", "radix", "q", "sketch_words", "shift")),
)
NEAR_GATHER = _struct(
    *_NEAR_SETS,
    *((name, _P) for name in ("records", "rows", "beside", "sketches", "sizes", "counters")),
    *((name, _I) for name in ("row_count", "column_count", "beside_count", "sketch_words")),
)
NEAR_SCREEN = _struct(
    ("product", DISTANCE),
    *_NEAR_SETS,
    ("bound", NEAR_BOUND),
    *((name, _P) for name in ("records", "sizes", "rows", "candidates", "counters")),
    ("capacity", _U),
    ("q", _I),
)
NEAR_VERIFY = _struct(
    *_NEAR_SETS,
    ("bound", NEAR_BOUND),
    *((name, _P) for name in ("candidates", "counters", "found", "scratch")),
    ("capacity", _U),
    ("found_capacity", _U),
    ("words", _I),
)

PAYNE = _struct(
    ("data", _P),
    ("distance", _P),
    ("stride", _L),
    *((name, _I) for name in ("attributes", "first_row", "first_column", "columns")),
)

MUNEKAWA = _struct(
    *((name, _P) for name in ("query", "targets", "offsets", "lengths", "table", "below", "scores")),
    ("below_stride", _L),
    *((name, _I) for name in ("rows", "open", "extend")),
)

LI = _struct(
    *((name, _P) for name in ("queries", "targets", "query_starts", "target_starts", "matrix_starts", "rows", "columns", "table")),
    ("matrices", _P),
    *((name, _I) for name in ("gap", "first_pair", "pairs", "diagonal")),
)

STRUCTS = {
    "PipelineArgs": PIPELINE,
    "ThreadArgs": THREADS,
    "SliceArgs": SLICES,
    "ChainArgs": CHAIN,
    "PathArgs": PATH,
    "TraceThreadArgs": TRACE_THREADS,
    "TraceSliceArgs": TRACE_SLICES,
    "TraceChainArgs": TRACE_CHAIN,
    "PackLettersArgs": PACK_LETTERS,
    "PackPlanesArgs": PACK_PLANES,
    "SelectArgs": SELECT_HITS_ARGS,
    "DistanceArgs": DISTANCE,
    "ChooseArgs": CHOOSE_PAIRS_ARGS,
    "NearRecords": NEAR_RECORDS,
    "NearBound": NEAR_BOUND,
    "NearRow": NEAR_ROW,
    "NearPair": NEAR_PAIR,
    "NearDistance": NEAR_DISTANCE,
    "NearCounters": NEAR_COUNTERS,
    "NearRecordsArgs": NEAR_MAKE,
    "NearGatherArgs": NEAR_GATHER,
    "NearScreenArgs": NEAR_SCREEN,
    "NearVerifyArgs": NEAR_VERIFY,
    "DifferArgs": DIFFER,
    "WgmmaArgs": WGMMA,
    "PayneArgs": PAYNE,
    "MunekawaArgs": MUNEKAWA,
    "LiArgs": LI,
}
"""Structs, keyed by name in cuda_src/."""

CONTRACT = (
    *((f"SIZE_OF_{name}", str(struct.itemsize)) for name, struct in STRUCTS.items()),
    ("STATISTICS_NUMBERS", str(len(STATISTICS.names or ()))),
)
"""Macros with which a compiler checks that kernels and host agree: the struct sizes, and the number of fields in an alignment's
`STATISTICS`."""
