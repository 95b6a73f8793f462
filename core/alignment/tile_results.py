"""Tile results, as returned by every engine: scores, alignments, hits or near pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Booleans, Integers, Scores
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Tile

if TYPE_CHECKING:
    from gpualign.core.alignment.pair_list import NearPairs


STATISTICS = np.dtype(
    [
        (name, np.int32)
        for name in (
            "matches",
            "mismatches",
            "gaps",
            "gap_opens",
            "end_gaps",
            "query_start",
            "query_end",
            "target_start",
            "target_end",
        )
    ]
)
"""Statistics for one alignment.

matches, mismatches: number of aligned pairs of equal and of unequal letters
gaps: number of letters in gaps
gap_opens: number of gaps
end_gaps: number of letters in gaps before the first or after the last pair of letters
query_start, query_end, target_start, target_end: aligned intervals of the sequences, 0-based and half-open
"""


Statistics: TypeAlias = npt.NDArray[np.void]


@dataclass(frozen=True)
class Runs:
    """Paths of an array of pairs. The path of pair (i, j) is data[starts[i, j] : starts[i, j] + sizes[i, j]], from the first column on.

    pieces: uint8 arrays that form `data` when concatenated; no path spans two pieces. Parts of a large result stay in separate pieces,
        because joining the parts would take as long as formatting them as text

    Each byte encodes a run of columns as (length - 1) << 2 | operation. Operations: 0 match, 1 mismatch, 2 query letter against a gap, 3
    target letter against a gap. A run of more than 64 columns takes several bytes.
    """

    pieces: Sequence[npt.NDArray[np.uint8]] = field(repr=False)
    starts: Integers = field(repr=False)
    sizes: npt.NDArray[np.int32] = field(repr=False)

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """All pieces as one array: uint8[bytes]. If there is more than one piece, the pieces are copied."""
        return self.pieces[0] if len(self.pieces) == 1 else np.concatenate([np.zeros(0, dtype=np.uint8), *self.pieces])

    def select(self, indices: Any) -> Runs:  # any index of an array
        """Return the paths of the pairs `indices`, which may contain duplicates."""
        return Runs(self.pieces, self.starts[indices], self.sizes[indices])


@dataclass(frozen=True)
class TileScores:
    """Scores for a tile. Values for pairs that the tile's pairing does not select are arbitrary.

    scores: int32 or int64[tile queries][tile targets]; edit distances if the scoring is edit distance
    is_reverse_complement: with `Task.both_strands`, whether the query's reverse complement is aligned, bool[tile queries][tile targets];
        otherwise None
    """

    tile: Tile
    scores: Scores = field(repr=False)
    is_reverse_complement: Booleans | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TileAlignments:
    """Scores and alignments for a tile. Arrays have the shape [tile queries][tile targets]. Values for unselected pairs are arbitrary.

    scores: int32 or int64; edit distances if the scoring is edit distance
    statistics: `STATISTICS`
    runs: paths if the task's detail is `Detail.PATH`, otherwise None
    is_reverse_complement: with `Task.both_strands`, whether the query's reverse complement is aligned, bool; otherwise None
    """

    tile: Tile
    scores: Scores = field(repr=False)
    statistics: Statistics = field(repr=False)
    runs: Runs | None = field(default=None, repr=False)
    is_reverse_complement: Booleans | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TileHits:
    """Results of a search (`Task.top_count`) for a tile: the best targets for each query, best first. Ties are in file order.

    scores: [tile queries][at most `top_count`]
    targets: record numbers, int64[tile queries][at most `top_count`]
    """

    tile: Tile
    scores: Scores = field(repr=False)
    targets: Integers = field(repr=False)


@dataclass(frozen=True)
class TilePairs:
    """The pairs in a tile that are within the bound `Task.edit_bound`, in any order.

    survivor_counts: number of pairs that remain after each of the engine's filter steps, keyed by the step's human-readable name. The steps
        are listed in execution order and are the same in every tile
    """

    tile: Tile
    pairs: NearPairs
    survivor_counts: Mapping[str, int]


TileResult: TypeAlias = TileScores | TileAlignments | TileHits | TilePairs
