"""Results of a tile, as every engine returns them: scores, alignments, hits or near pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

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
"""Statistics of one alignment.

matches, mismatches: pairs of equal and of unequal letters
gaps: letters in gaps
gap_opens: number of gaps
end_gaps: letters in gaps before the first or after the last pair of letters
query_start, query_end, target_start, target_end: aligned intervals of the sequences, 0-based and half-open
"""


Statistics: TypeAlias = npt.NDArray[np.void]


@dataclass(frozen=True)
class Runs:
    """Paths of pairs. The path of pair (i, j) is data[starts[i, j] : starts[i, j] + sizes[i, j]], from the first column on.

    pieces: uint8 arrays that make up the data when concatenated; no path is split between two of them. Parts of a large result come in
        pieces of their own, since joining them would take as long as making text of them

    Each byte is a run of columns, (length - 1) << 2 | operation, with the operations 0 equal letters, 1 unequal letters, 2 a letter of the
    query against a gap, 3 a letter of the target against a gap. A run of more than 64 columns takes several bytes.
    """

    pieces: Sequence[npt.NDArray[np.uint8]] = field(repr=False)
    starts: npt.NDArray[np.int64] = field(repr=False)
    sizes: npt.NDArray[np.int32] = field(repr=False)

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """All pieces as one array, copied if there are several."""
        return self.pieces[0] if len(self.pieces) == 1 else np.concatenate([np.zeros(0, dtype=np.uint8), *self.pieces])

    def part(self, which: Any) -> Runs:  # any index of an array
        """Return the runs of the pairs `which`, in which a pair may occur several times."""
        return Runs(self.pieces, self.starts[which], self.sizes[which])


@dataclass(frozen=True)
class TileScores:
    """Scores of a tile. In this and the following classes, values of pairs that were not requested are arbitrary.

    scores: int32 or int64[tile queries][tile targets]; edit distances for unit costs
    is_reverse_complement: with `Task.both_strands`, pairs that align the reverse complement of the query; bool of the shape of `scores`
    """

    tile: Tile
    scores: npt.NDArray[np.signedinteger] = field(repr=False)
    is_reverse_complement: npt.NDArray[np.bool_] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TileAlignments:
    """Scores and alignments of a tile: arrays are [tile queries][tile targets].

    scores, is_reverse_complement: as in `TileScores`
    statistics: `STATISTICS`
    runs: with `Detail.PATH`
    """

    tile: Tile
    scores: npt.NDArray[np.signedinteger] = field(repr=False)
    statistics: Statistics = field(repr=False)
    runs: Runs | None = field(default=None, repr=False)
    is_reverse_complement: npt.NDArray[np.bool_] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TileHits:
    """Hits of a search (`Task.top`): the best targets of a tile for each query, in the order of core/alignment/hits.py.

    scores: [tile queries][at most `top`]
    targets: record numbers, int64[tile queries][at most `top`]
    """

    tile: Tile
    scores: npt.NDArray[np.signedinteger] = field(repr=False)
    targets: npt.NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True)
class TilePairs:
    """Pairs of a tile that are within the bound `Task.within`, in any order.

    left: number of pairs that remain after each filter step of the engine, by the human-readable name of the step. The steps are in order
        and the same in every tile
    """

    tile: Tile
    pairs: NearPairs
    left: Mapping[str, int]


TileResult: TypeAlias = TileScores | TileAlignments | TileHits | TilePairs
