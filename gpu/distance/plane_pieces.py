"""Bit planes in the form that kernels multiply: pieces of long planes, and short planes joined end to end. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.count_recipe import Operation, PanelRecipe
from gpualign.core.distance.engine import WORD_BITS, Panel
from gpualign.gpu.distance.kernels import CHUNK_WORDS

PIECE_BYTES = 64 << 20
"""Approximate size, in bytes, of a piece: the planes that are copied to a device together."""

COMPARISONS_PER_PIECE = 10**14
"""Maximum number of comparisons in a piece that is larger than `PIECE_BYTES`, if planes stay on the device. With tensor cores, this many
comparisons take a tenth of a second. Each piece reads and writes all counts, so many small pieces would take longer than the products."""


@dataclass(frozen=True)
class PanelWords:
    """Words start .. stop - 1 of a panel's planes."""

    panel: Panel
    start: int
    stop: int

    @property
    def word_count(self) -> int:
        return self.stop - self.start

    @property
    def site_count(self) -> int:
        """Number of sites in these words."""
        return max(0, min(self.panel.site_count, self.stop * WORD_BITS) - self.start * WORD_BITS)


@dataclass(frozen=True)
class PlanePiece:
    """Words from consecutive panels with the same recipe, which together form longer planes: uint64[planes][samples][words]."""

    parts: tuple[PanelWords, ...]

    @property
    def recipe(self) -> PanelRecipe:
        return self.parts[0].panel.recipe

    @property
    def sample_count(self) -> int:
        return int(self.parts[0].panel.bits.shape[1])

    @property
    def row_count(self) -> int:
        """Number of planes times number of samples."""
        return int(self.parts[0].panel.bits.shape[0]) * self.sample_count

    @property
    def word_count(self) -> int:
        return sum(part.word_count for part in self.parts)

    @property
    def nbytes(self) -> int:
        return self.row_count * self.word_count * 8

    @property
    def site_count(self) -> int:
        return sum(part.site_count for part in self.parts)

    def copy_rows(self, first_row: int, out: npt.NDArray[np.uint64]) -> None:
        """Copy rows, starting with row `first_row`, to `out`: uint64[rows][words]. Rows are ordered by plane, then by sample."""
        at = 0
        for part in self.parts:
            bits = part.panel.bits
            rows = bits.reshape(-1, bits.shape[2])
            out[:, at : at + part.word_count] = rows[first_row : first_row + len(out), part.start : part.stop]
            at += part.word_count


@dataclass(frozen=True)
class BundledPlanes:
    """Planes shorter than a chunk, joined end to end and cut into planes of one chunk. Has the attributes of a `PlanePiece`.

    A term sums the products of all of its planes, so the sum over fewer, longer planes is the same.

    panel: panel whose terms are all sums of products
    sides: the lists of planes to be joined: the left planes and the right planes of each term
    """

    panel: Panel
    sides: tuple[tuple[int, ...], ...]

    @staticmethod
    def of_panel(panel: Panel) -> BundledPlanes:
        sides = [side for term in panel.recipe.terms for side in (term.left, term.right)]
        return BundledPlanes(panel, tuple(dict.fromkeys(sides)))

    @property
    def _plane_words(self) -> int:
        """Number of words of a plane that hold sites."""
        return -(-self.panel.site_count // WORD_BITS)

    @cached_property
    def bundles(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """Numbers of the new planes, keyed by the side that they are cut from."""
        ends = accumulate((-(-len(side) * self._plane_words // CHUNK_WORDS) for side in self.sides), initial=0)
        return {side: tuple(range(start, stop)) for side, (start, stop) in zip(self.sides, pairwise(ends), strict=True)}

    @cached_property
    def recipe(self) -> PanelRecipe:
        """The panel's terms, with the numbers of the new planes."""
        terms = tuple(replace(term, left=self.bundles[term.left], right=self.bundles[term.right]) for term in self.panel.recipe.terms)
        return replace(self.panel.recipe, planes=(), terms=terms)

    @property
    def sample_count(self) -> int:
        return int(self.panel.bits.shape[1])

    @property
    def row_count(self) -> int:
        """Number of new planes times number of samples."""
        return self.sample_count * sum(map(len, self.bundles.values()))

    @property
    def word_count(self) -> int:
        return CHUNK_WORDS

    @property
    def nbytes(self) -> int:
        return self.row_count * CHUNK_WORDS * 8

    @property
    def site_count(self) -> int:
        return self.panel.site_count

    def copy_rows(self, first_row: int, out: npt.NDArray[np.uint64]) -> None:
        """Copy rows, starting with row `first_row`, to `out`: uint64[rows][words]. Rows are ordered by plane, then by sample."""
        out[:] = 0
        words, samples = self._plane_words, self.sample_count
        for side, bundles in self.bundles.items():
            for place, plane in enumerate(side):
                at = place * words
                while at < (place + 1) * words:  # a plane may lie in two bundles
                    bundle, word = bundles[at // CHUNK_WORDS], at % CHUNK_WORDS
                    stop = min((place + 1) * words, at + CHUNK_WORDS - word)
                    begin, end = (min(max(row - first_row, 0), len(out)) for row in (bundle * samples, (bundle + 1) * samples))
                    sample = first_row + begin - bundle * samples
                    bits = self.panel.bits[plane, sample : sample + end - begin, at - place * words : stop - place * words]
                    out[begin:end, word : word + stop - at] = bits
                    at = stop


def plane_bytes(panels: Sequence[Panel]) -> int:
    """Return the size of all planes to be multiplied, in bytes."""
    groups = _panels_by_recipe(panels)
    return sum(bundle.nbytes if (bundle := _bundle(alike)) else sum(panel.bits.nbytes for panel in alike) for alike in groups)


def _panels_by_recipe(panels: Sequence[Panel]) -> list[list[Panel]]:
    """Return the panels with terms in groups with the same recipe."""
    groups: dict[PanelRecipe, list[Panel]] = {}
    for panel in panels:
        if panel.recipe.terms:
            groups.setdefault(panel.recipe, []).append(panel)
    return list(groups.values())


def _bundle(alike: Sequence[Panel]) -> BundledPlanes | None:
    """Return the planes of a recipe's panels joined end to end.

    Return None if there are several panels, if a term is not a sum of products, if the planes fill a chunk, or if they would take more
    memory joined.

    alike: panels with the same recipe
    """
    panel = alike[0]
    has_products = all(term.operation is Operation.AND for term in panel.recipe.terms)
    if len(alike) > 1 or not has_products or panel.site_count > (CHUNK_WORDS - 1) * WORD_BITS:
        return None
    bundle = BundledPlanes.of_panel(panel)
    return bundle if bundle.nbytes <= panel.bits.nbytes else None


def cut_panels(panels: Sequence[Panel], piece_bytes: int, piece_sites: int = 0) -> Iterator[PlanePiece | BundledPlanes]:
    """Yield the planes of all panels in pieces of about `piece_bytes` bytes or `piece_sites` sites, whichever is larger.

    Panels with the same recipe are processed consecutively, so that a piece can contain several of them. If a recipe has only one panel,
    with planes shorter than a chunk, they are joined where that takes no more memory. Panels without terms are skipped.
    """
    for alike in _panels_by_recipe(panels):
        if bundle := _bundle(alike):
            yield bundle
            continue
        parts, words = list[PanelWords](), 0
        for panel in alike:
            planes, samples, stop = panel.bits.shape
            fitting = max(piece_bytes // (planes * samples * 8), piece_sites // WORD_BITS)
            step, start = max(1, fitting // CHUNK_WORDS) * CHUNK_WORDS, 0
            while start < stop:
                parts.append(part := PanelWords(panel, start, min(stop, start + step - words)))
                start, words = part.stop, words + part.word_count
                if words == step:
                    yield PlanePiece(tuple(parts))
                    parts, words = [], 0
        if parts:
            yield PlanePiece(tuple(parts))


def padded_words(sites: int) -> int:
    """Return the number of words per sample in a plane of `sites` sites, padded to whole kernel chunks."""
    return -(-sites // (CHUNK_WORDS * WORD_BITS)) * CHUNK_WORDS
