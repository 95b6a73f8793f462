"""Splits bands into tiles and runs the compiled distance kernels: counting, and selecting near pairs by their counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.bands import CountMatrix, SampleBand
from gpualign.core.distance.count_recipe import Operation, Term
from gpualign.core.distance.engine import Panel
from gpualign.core.distance.grm import TermArray
from gpualign.core.distance.pair_selection import COMPARED, PairSelectionRule, SelectedPairs, count_undefined_pairs
from gpualign.cpu.distance import _distance

_TILE_ROWS = 64
"""Number of rows per tile: as many as the kernel keeps in the L2 cache."""

_MAX_TILE_COMPARISONS = 20_000_000_000
"""Maximum number of comparisons (pairs x sites) per tile, which take a few hundredths of a second."""

_SELECTION_TILE_COLUMNS = 496
"""Number of columns per tile when selecting near pairs: the tile's counts, 124 KB per matrix, also stay in the L2 cache. Rows with an odd
number of cache lines do not share cache sets."""

_RELATIONSHIP_TILE_ROWS, _RELATIONSHIP_TILE_COLUMNS = 1024, 128
"""Numbers of rows and columns in a tile of relationships: building a table for the columns takes as long as a few dozen rows, and all rows
use this table."""

_MAX_COUNT = (1 << 31) - 1

CountLimits = list[tuple[CountMatrix, int]]
"""(count matrix, limit) for some of the counts: pairs that exceed all limits may be skipped."""


def count_matrix_tiles(band: SampleBand, sites: int) -> Iterator[SampleBand]:
    """Return the tiles for full count matrices, as wide as `_MAX_TILE_COMPARISONS` allows."""
    return _split_band(band, max(_TILE_ROWS, min(band.shape[1], _MAX_TILE_COMPARISONS // max(1, sites * _TILE_ROWS))), _TILE_ROWS)


def pair_selection_tiles(band: SampleBand) -> Iterator[SampleBand]:
    """Return the tiles for selecting pairs."""
    return _split_band(band, _SELECTION_TILE_COLUMNS, _TILE_ROWS)


def relationship_tiles(band: SampleBand) -> Iterator[SampleBand]:
    """Return the tiles for computing relationships."""
    return _split_band(band, _RELATIONSHIP_TILE_COLUMNS, _RELATIONSHIP_TILE_ROWS)


def _split_band(band: SampleBand, width: int, height: int) -> Iterator[SampleBand]:
    for start in range(band.start, band.stop, height):
        stop = min(band.stop, start + height)
        for first in range(max(start, band.first_target) if band.upper_triangle else band.first_target, band.target_stop, width):
            yield SampleBand(start, stop, first, min(band.target_stop, first + width), band.upper_triangle and first < stop)


def add_term_counts(
    instruction_set: str, panel: Panel, term: Term, tile: SampleBand, counts: CountMatrix, position: tuple[int, int], limits: CountLimits
) -> None:
    """Add a term, computed from a panel, to the counts of a tile's pairs. The tile starts at `position` (row, column) in `counts`. Pairs
    that exceed all `limits` may be skipped."""
    where = ((tile.start, tile.stop), (tile.first_target, tile.target_stop), counts, *position, term.weight, tile.upper_triangle, limits)
    if term.operation is Operation.DIFFER:
        _distance.differ(instruction_set, panel.bits, list(term.left), -1 if term.mask is None else term.mask, *where)
    else:
        _distance.both(instruction_set, panel.bits, list(term.left), list(term.right), *where)


def add_relationship_sums(
    instruction_set: str, panel: Panel, term: Term, terms: TermArray, tile: SampleBand, sums: TermArray, position: tuple[int, int]
) -> None:
    """Add a panel's genotype terms (`RelationshipTerms.panel_terms`) to the sums (int64) of a tile's pairs. The tile starts at `position`
    (row, column) in `sums`."""
    rows, columns = (tile.start, tile.stop), (tile.first_target, tile.target_stop)
    one, two = term.left
    called = -1 if term.mask is None else term.mask
    _distance.relate(instruction_set, panel.bits, one, two, called, panel.sites, terms, rows, columns, sums, *position, tile.upper_triangle)


@dataclass(frozen=True)
class TilePairSelector:
    """Adds up a tile's counts over all panels, and selects its pairs by a rule. Pairs whose count exceeds the rule's cap are skipped,
    unless their number of compared sites must still be checked."""

    instruction_set: str
    panels: Sequence[Panel]
    count_names: tuple[str, ...]
    selection_rule: PairSelectionRule

    @cached_property
    def _terms(self) -> list[tuple[Panel, Term]]:
        """The (panel, term) pairs in order of panels. In each panel, the count that the rule caps comes first, so that the remaining terms
        can be skipped."""
        return [
            (panel, term)
            for panel in self.panels
            for term in sorted(
                panel.recipe.terms, key=lambda term: self.selection_rule.cap is None or term.count_name != self.selection_rule.cap[0]
            )
        ]

    @cached_property
    def _count_cap(self) -> tuple[int, int] | None:
        """(index of the count that the rule caps, the cap); None if there is no cap, or if the count can decrease."""
        if self.selection_rule.cap is None:
            return None
        name, cap = self.selection_rule.cap
        if any(term.count_name == name and (term.operation is not Operation.DIFFER or term.weight < 0) for _, term in self._terms):
            return None
        return self.count_names.index(name), min(cap, _MAX_COUNT)

    def _count_limits(self, term: Term, counts: CountMatrix) -> CountLimits:
        """Return the limits above which pairs are skipped. A pair above the cap is not selected, but the rule must still know whether the
        pair has enough compared sites."""
        if self._count_cap is None:
            return []
        number, cap = self._count_cap
        limits = [(counts[number], cap)]
        if term.count_name == COMPARED and self.selection_rule.min_compared is not None:
            limits.append((counts[self.count_names.index(COMPARED)], self.selection_rule.min_compared - 1))
        return limits

    def select_pairs(self, tile: SampleBand) -> SelectedPairs:
        """Return the pairs in a tile that satisfy the rule."""
        rows, columns = tile.shape
        counts = np.zeros((len(self.count_names), rows, columns), dtype=np.int32)
        for panel, term in self._terms:
            add_term_counts(
                self.instruction_set,
                panel,
                term,
                tile,
                counts[self.count_names.index(term.count_name)],
                (0, 0),
                self._count_limits(term, counts),
            )
        rule, offsets = self.selection_rule, self.selection_rule.offsets
        row, column, pair_counts, lacking = _distance.choose(
            counts,
            np.array([rule.weights.get(name, 0) for name in self.count_names], dtype=np.int64),
            np.zeros(rows, dtype=np.int64) if offsets is None else offsets[tile.start : tile.stop],
            np.zeros(columns, dtype=np.int64) if offsets is None else offsets[tile.first_target : tile.target_stop],
            rule.max_sum,
            -1 if rule.min_compared is None else self.count_names.index(COMPARED),
            0 if rule.min_compared is None else rule.min_compared,
            tile.start - tile.first_target if tile.upper_triangle else -rows,
        )
        queries, targets = np.arange(tile.start, tile.stop), np.arange(tile.first_target, tile.target_stop)
        undefined = count_undefined_pairs(rule, queries, targets, tile.upper_triangle, dict(zip(self.count_names, counts, strict=True)))
        return SelectedPairs(queries[row], targets[column], dict(zip(self.count_names, pair_counts, strict=True)), lacking, undefined)
