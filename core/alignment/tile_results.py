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
"""Of one alignment: pairs of equal letters and of unequal ones, letters in gaps, gaps, letters in gaps before the first or behind
the last pair of letters, and what of the sequences is aligned (0-based, half-open)."""


Statistics: TypeAlias = npt.NDArray[np.void]


@dataclass(frozen=True)
class Runs:
    """Paths of pairs: that of pair (i, j) is data[starts[i, j] : starts[i, j] + sizes[i, j]], from the first column on.

    pieces: uint8 arrays, which are the data one behind the other; no path is in two of them. Parts of a large result come in pieces of
    their own, and to join those would take as long as to make text of them. Each byte is a run of columns,
    (length - 1) << 2 | operation, with the operations 0 equal letters, 1 unequal letters, 2 a letter of the query against a gap, 3 a letter
    of the target against a gap. A run of over 64 columns takes several bytes.
    """

    pieces: Sequence[npt.NDArray[np.uint8]] = field(repr=False)
    starts: npt.NDArray[np.int64] = field(repr=False)
    sizes: npt.NDArray[np.int32] = field(repr=False)

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """All pieces as one, copied where there are several."""
        return self.pieces[0] if len(self.pieces) == 1 else np.concatenate([np.zeros(0, dtype=np.uint8), *self.pieces])

    def part(self, which: Any) -> Runs:  # whatever indexes an array
        """Those of some of the pairs; one may come several times."""
        return Runs(self.pieces, self.starts[which], self.sizes[which])


@dataclass(frozen=True)
class TileScores:
    """Scores of a tile, int32 or int64 (edit distances for unit costs): [tile queries][tile targets]. Those of unwanted pairs may be
    anything, here and in what follows. minus: with `Task.both_strands`, which pairs are of the query's reverse complement, of the same
    shape, here and in what follows."""

    tile: Tile
    scores: npt.NDArray[np.signedinteger] = field(repr=False)
    is_reverse_complement: npt.NDArray[np.bool_] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TileAlignments:
    """Scores, statistics and, with Detail.PATH, runs of a tile: [tile queries][tile targets]. statistics: `STATISTICS`."""

    tile: Tile
    scores: npt.NDArray[np.signedinteger] = field(repr=False)
    statistics: Statistics = field(repr=False)
    runs: Runs | None = field(default=None, repr=False)
    is_reverse_complement: npt.NDArray[np.bool_] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TileHits:
    """Of a search (Task.top): the best targets that a tile has for each query, [tile queries][at most `top`], in the order of
    core/alignment/hits.py. scores: theirs; targets: int64, their records."""

    tile: Tile
    scores: npt.NDArray[np.signedinteger] = field(repr=False)
    targets: npt.NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True)
class TilePairs:
    """Of a task with `Task.within`: the pairs of a tile that are, in any order. left: how many pairs each step of the engine has left, by
    its name for people; steps stand in their order, in every tile the same."""

    tile: Tile
    pairs: NearPairs
    left: Mapping[str, int]


TileResult: TypeAlias = TileScores | TileAlignments | TileHits | TilePairs
