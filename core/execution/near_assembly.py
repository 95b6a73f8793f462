"""Assembles the near pairs of tiles into bands or larger tiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.alignment.tile_results import TilePairs, TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Band


@dataclass(frozen=True)
class NearPairBand:
    """Near pairs of a band.

    pairs: all near pairs in the band's tiles, in any order
    survivor_counts: number of pairs that remain after each of the engine's filter steps, keyed by the step's human-readable name
    """

    band: Band
    pairs: NearPairs
    survivor_counts: Mapping[str, int]


class NearPairAssembly:
    """Collects the near pairs of a band or a single tile."""

    def __init__(self, band: Band) -> None:
        self._band = band
        self._pairs: list[NearPairs] = []
        self._survivors: Counter[str] = Counter()

    def add(self, result: TileResult) -> None:
        assert isinstance(result, TilePairs)
        self._pairs.append(result.pairs)
        self._survivors.update(result.survivor_counts)

    def finish(self) -> NearPairBand:
        return NearPairBand(self._band, join_pairs(self._pairs), self._survivors)
