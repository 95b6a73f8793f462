"""Describes what a heat map shows: its values, order, scale and labels. Draws nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.square_matrices import LOWEST_IDENTITY, are_whole, may_be_percent_identities

if TYPE_CHECKING:
    from gpualign.core.alignment.task import Task
    from gpualign.core.distance.calls import Samples
    from gpualign.core.distance.metrics import Metric
    from gpualign.core.output.matrix_value import MatrixValueKind
    from gpualign.core.trees.tree import Tree


LINKAGE_METHODS = ("average", "complete", "single", "weighted")
"""Linkage methods. Ward's method is not included: it is defined for points in Euclidean space, which aligned sequences and SNP distances
are not."""

DISTANCE_LABELS = {
    "hamming": "hamming distance (differing sites)",
    "fraction": "fraction of compared sites that differ",
    "ibs": "ibs distance (1 − shared alleles / 2)",
    "allele": "allele distance (differing alleles)",
    "jc69": "jc69 distance (substitutions per site)",
    "tn93": "tn93 distance (substitutions per site)",
    "king": "king kinship",
    "grm": "genomic relationship",
}

SIMILARITY_KINDS = ("identity", "score", "kinship", "relationship")
"""Kinds of values that are larger for more similar records."""

ALIGNMENT_KINDS = ("score", "identity", "distance")
"""Kinds of alignment values that `nw` and `sw` write."""

_ALIGNMENT_LABELS = {"score": "score", "identity": "identity", "distance": "distance (1 − identity)"}

_MAX_ORDERED_LEAVES = 400
"""Maximum number of leaves for which the optimal order of a tree is computed, because the time grows quadratically."""

_MAX_COMPARED_PROFILE_VALUES = 2 * 10**9
"""Maximum number of values to compare when rows are ordered by their profiles, so that this takes only seconds."""

_MIN_EXPONENT = -307
"""Exponent of the smallest power of ten whose multiples keep the full precision of a float."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_MAX_ID_CHARS = 40
"""Number of characters up to which ids are always drawn in full."""


@dataclass(frozen=True)
class Heatmap:
    """A matrix to draw.

    values: [rows][columns], NaN for pairs without a value
    one_set: whether rows and columns are the same records and the matrix is symmetric
    value_kind: distance (small for similar records; 0 between a record and itself), identity (1 between a record and itself), score,
        kinship or relationship (large for similar records), or value (of an unknown kind)
    label: human-readable meaning of the colours
    is_integer: whether the values are counts or integer scores
    """

    values: Reals
    row_ids: list[str]
    column_ids: list[str]
    one_set: bool
    value_kind: str
    label: str
    is_integer: bool

    @property
    def pair_values(self) -> Reals:
        """The off-diagonal values of one set, or all values of two sets, as a vector."""
        return self.values[~np.eye(len(self.row_ids), dtype=bool)] if self.one_set else self.values.ravel()

    @property
    def exponent(self) -> int:
        """Power-of-ten exponent of the unit in which numbers are shown; 0 unless they would otherwise be long."""
        largest = float(np.nanmax(np.abs(self.values), initial=0))
        power = math.floor(math.log10(largest)) if largest else 0
        return 0 if -3 < power < 6 else max(power, _MIN_EXPONENT)

    @property
    def scale_suffix(self) -> str:
        """Text after the label of a scale, such as " (× 10⁶)"; "" if numbers are shown as they are."""
        return f" (× 10{str(self.exponent).translate(_SUPERSCRIPTS)})" if self.exponent else ""


@dataclass(frozen=True)
class ColourScale:
    """Colour scale.

    low, high: values of the first and last colour
    extend: ends of the scale beyond which there are values: "neither", "min", "max", "both"
    """

    low: float
    high: float
    extend: str


@dataclass(frozen=True)
class DrawnTree:
    """A tree as drawn.

    brackets: [brackets][4][height, position], corners from child to child via the parent; heights grow towards the root, from 0; leaf k in
        drawing order is at position k
    leaf_heights: float64[leaves], height of each leaf
    height_label: human-readable meaning of the heights
    """

    brackets: Reals
    leaf_heights: Reals
    height_label: str


@dataclass(frozen=True)
class DrawnOrder:
    """Order of a heat map's rows and columns as drawn.

    rows, columns: indices of the heat map's rows and columns, in drawing order
    tree: tree of the set that forms both rows and columns, with its leaves in this order; None: no tree is drawn
    """

    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    tree: DrawnTree | None


def heatmap_of_distances(values: npt.NDArray[Any], samples: Samples, metric: Metric) -> Heatmap:
    """Return the heat map of newly computed distances or kinships: square, rectangular or condensed."""
    return heatmap_of_matrix(
        values, samples.queries.ids, samples.targets.ids, samples.is_one_set, metric.value_name, DISTANCE_LABELS[metric.name]
    )


def heatmap_of_alignments(values: npt.NDArray[Any], task: Task, value: MatrixValueKind) -> Heatmap:
    """Return a heat map of the alignment values chosen by `value`: square, rectangular or condensed."""
    label = alignment_label(value.display_name, value.is_edit_distance)
    return heatmap_of_matrix(values, task.queries.ids, task.targets.ids, task.targets is task.queries, value.display_name, label)


def alignment_label(kind: str, edit: bool) -> str:
    """Return the colour-bar label for an alignment heat map. edit: whether distances are edit distances rather than 1 - identity."""
    return "edit distance" if edit and kind == "distance" else _ALIGNMENT_LABELS[kind]


def heatmap_of_matrix(
    values: npt.NDArray[Any], row_ids: Sequence[str], column_ids: Sequence[str], one_set: bool, value_kind: str, label: str
) -> Heatmap:
    """Return the heat map of a matrix with its ids. Non-finite values become NaN; a condensed matrix is expanded to a square."""
    numbers = values.astype(np.float64)
    numbers[~np.isfinite(numbers)] = np.nan
    if numbers.ndim == 1:
        numbers = _expand_condensed(numbers, len(row_ids), {"distance": 0.0, "identity": 1.0}.get(value_kind, np.nan))
    known = numbers[~np.isnan(numbers)]
    return Heatmap(
        numbers,
        list(row_ids),
        list(column_ids),
        one_set,
        value_kind,
        label,
        bool((known == np.rint(known)).all()) and value_kind != "identity",
    )


def _expand_condensed(pairs: Reals, count: int, diagonal: float) -> Reals:
    out = np.full((count, count), diagonal)
    upper = np.triu_indices(count, 1)
    out[upper] = pairs
    out.T[upper] = pairs
    return out


_ROUNDING_TOLERANCE = 1e-9
"""Maximum distance between a record and itself that counts as 0, because some programs write small nonzero values."""


def _are_fractions(values: npt.NDArray[Any]) -> bool:
    """True if the values look like distances or identities: all are between 0 and 1, and at least one lies strictly between."""
    some = values[~np.isnan(values)]
    return bool(len(some) and ((some >= 0) & (some <= 1)).all() and ((some > 0) & (some < 1)).any())


def _look_like_percent_identities(values: npt.NDArray[Any]) -> bool:
    """Return whether values without a diagonal look like percent identities. Whole numbers are probably counts, so distances."""
    are_percentages = may_be_percent_identities(values, LOWEST_IDENTITY) if values.ndim == 2 else may_be_percent_identities(values)
    return are_percentages and not are_whole(values)


def guess_kind(values: npt.NDArray[Any], name: str | None, one_set: bool) -> str | None:
    """Return the kind of values in a stored matrix, determined from the name of its array or, failing that, from its diagonal. Returns None
    if neither distinguishes distances from identities or scores.

    An unnamed condensed matrix is assumed to hold distances, the usual content of this form, unless a value is negative or all may be
    percent identities.
    """
    if name in ("distance", "distances"):
        return "distance"
    if name in ("identity", "kinship", "relationship"):
        return name
    if values.ndim == 1:
        return None if name is not None or np.any(values < 0) or _look_like_percent_identities(values) else "distance"
    if not one_set:
        return "score" if name == "scores" else "value"
    diagonal = np.diagonal(values)
    known = diagonal[~np.isnan(diagonal)]
    if not len(known) and len(values) > 1 and (_are_fractions(values) or _look_like_percent_identities(values)):
        return None
    may_be_scores = np.any(values < 0) and (name == "scores" or not np.any(values > 0))  # no other is above a score with itself
    if not np.any(np.abs(known) > _ROUNDING_TOLERANCE) and not may_be_scores:
        return "distance"
    # A kinship of a sample with itself is 0.5. Records with ambiguous letters are not quite identical to themselves, but not all have some.
    whole = np.nanmax(diagonal, initial=0) == 1
    if name != "scores" and whole and not np.any((values < 0) | (values > diagonal[:, None])):
        return "identity"
    return "score"


def colour_scale(heatmap: Heatmap, low: float | None, high: float | None) -> ColourScale:
    """Return a scale from the value for equal records (distance 0, identity 1) to the value farthest from it; for scores, from 0. low,
    high: limits to use instead; None: not given.

    Colour contrast thus reflects the contrast between values: if all samples are equally far apart, they have the same colour, however
    small their distance.

    Raises `InputError` for an empty range.
    """
    others = heatmap.pair_values
    others = others[~np.isnan(others)]
    smallest, largest = (float(others.min()), float(others.max())) if others.size else (0.0, 0.0)
    first, last = (min(smallest, 1.0), max(largest, 1.0)) if heatmap.value_kind == "identity" else (min(smallest, 0.0), largest)
    if first >= last:
        first, last = (0.0, 1.0) if heatmap.value_kind == "identity" or first >= 0 else (first, 0.0)
    first, last = first if low is None else low, last if high is None else high
    if not first < last:
        limits = " and ".join(parameter(name, f"{value:g}") for name, value in (("vmin", low), ("vmax", high)) if value is not None)
        raise InputError(f"{limits}: the colours would go from {first:g} to {last:g}; values are from {smallest:g} to {largest:g}")
    below, above = others.size and smallest < first, others.size and largest > last
    return ColourScale(first, last, "both" if below and above else "min" if below else "max" if above else "neither")


def heatmap_to_distances(heatmap: Heatmap) -> Reals:
    """Return distances for clustering the records of one set: symmetric, 0 on the diagonal and never negative.

    Similarities s become (s_ii + s_jj) / 2 - s_ij; the highest score replaces an unknown s_ii. Undefined values count as the largest
    distance.
    """
    values = heatmap.values
    if np.isnan(values).all():
        return np.zeros_like(values)
    if heatmap.value_kind in SIMILARITY_KINDS:
        own = np.where(np.isnan(np.diagonal(values)), np.nanmax(values), np.diagonal(values))
        values = (own[:, None] + own[None, :]) / 2 - values
    distances: Reals = np.maximum((values + values.T) / 2, 0)
    np.fill_diagonal(distances, 0)
    distances[np.isnan(distances)] = np.nanmax(distances)
    return distances


def tree_order(heatmap: Heatmap, method: str) -> DrawnOrder:
    """Return the drawing order determined by a tree that is built from the values. One set has a single tree. For two sets, rows and
    columns are each ordered by a tree of their profiles, which is not drawn. method: linkage method."""
    if not heatmap.one_set:
        return DrawnOrder(_profile_order(heatmap.values, method), _profile_order(heatmap.values.T, method), None)
    if len(heatmap.row_ids) < 2:
        return input_order(heatmap)
    from scipy.cluster.hierarchy import leaves_list

    joins = linkage_of(heatmap, method)
    own = f"largest {heatmap.value_kind}" if np.isnan(np.diagonal(heatmap.values)).any() else f"mean self-{heatmap.value_kind}"
    similarities = dict.fromkeys(SIMILARITY_KINDS, f"{own} − {heatmap.value_kind}") | {"identity": "1 − identity"}
    heights = similarities.get(heatmap.value_kind, heatmap.label) + heatmap.scale_suffix
    tree = DrawnTree(bracket_corners(joins), np.zeros(len(heatmap.row_ids)), f"{heights}\n({method} linkage)")
    return DrawnOrder(leaves_list(joins), leaves_list(joins), tree)


def linkage_of(heatmap: Heatmap, method: str) -> Reals:
    """Return scipy's linkage matrix for one set, in the units of its distances."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    joins: Reals = linkage(
        squareform(heatmap_to_distances(heatmap), checks=False), method, optimal_ordering=len(heatmap.row_ids) <= _MAX_ORDERED_LEAVES
    )
    return joins


def order_by_tree(heatmap: Heatmap, tree: Tree) -> DrawnOrder:
    """Return the drawing order that the leaves of `tree` determine, together with the tree. Raises `InputError` if the records of the tree
    are not those of the heat map, or if ids are not unique."""
    number = {name: k for k, name in enumerate(heatmap.row_ids)}
    if not heatmap.one_set or len(number) < len(heatmap.row_ids):
        raise InputError(
            f"{parameter('tree')}: the matrix is of two sets, or has an id twice; a tree is of one set, in which each record has its own id"
        )
    leaves = set(tree.ids)
    unmatched = []
    for where, alone in (("matrix", number.keys() - leaves), ("tree", leaves - number.keys())):
        if alone:
            others = f" and {len(alone) - 1:,} more are" if len(alone) > 1 else " is"
            unmatched.append(f"{_truncate(min(alone), _MAX_ID_CHARS)!a}{others} only in the {where}")
    if unmatched:
        raise InputError(f"{parameter('tree')}: {', and '.join(unmatched)}; the leaves must be the records of the matrix")
    rows = np.array([number[name] for name in tree.ids], dtype=np.intp)
    return DrawnOrder(rows, rows, drawn_tree_of(tree))


def input_order(heatmap: Heatmap) -> DrawnOrder:
    """Return rows and columns in the order of the matrix, without a tree."""
    return DrawnOrder(np.arange(len(heatmap.row_ids)), np.arange(len(heatmap.column_ids)), None)


def sorted_order(order: DrawnOrder, rows: Sequence[int], columns: Sequence[int] | None) -> DrawnOrder:
    """Return `order` with rows and columns sorted by these numbers, without the tree; rows or columns with equal numbers keep their order.

    rows, columns: a number for each row and column of the heat map; columns None: columns keep their order
    """

    def sorted_by(places: npt.NDArray[np.intp], numbers: Sequence[int]) -> npt.NDArray[np.intp]:
        return places[np.argsort(np.asarray(numbers)[places], kind="stable")]

    return DrawnOrder(sorted_by(order.rows, rows), order.columns if columns is None else sorted_by(order.columns, columns), None)


def _profile_order(values: Reals, method: str) -> npt.NDArray[np.intp]:
    """Return a row order that places similar rows next to each other, or the original order if comparing the rows would take too long."""
    if len(values) < 2 or len(values) ** 2 * values.shape[1] > _MAX_COMPARED_PROFILE_VALUES or np.isnan(values).all():
        return np.arange(len(values))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import pdist

    profiles = np.where(np.isnan(values), np.nanmax(values), values)
    leaves: npt.NDArray[np.intp] = leaves_list(linkage(pdist(profiles), method, optimal_ordering=len(values) <= _MAX_ORDERED_LEAVES))
    return leaves


def bracket_corners(tree: Reals) -> Reals:
    """Return the corners of the bracket that draws each merge of a linkage matrix (`tree`): [merges][4][height, position]; leaf k in
    drawing order is at position k."""
    from scipy.cluster.hierarchy import leaves_list

    count = len(tree) + 1
    height, place = np.zeros(2 * count - 1), np.zeros(2 * count - 1)
    place[leaves_list(tree)] = np.arange(count)
    out = np.empty((len(tree), 4, 2))
    for k, (left, right, top, _) in enumerate(tree):
        a, b = int(left), int(right)
        out[k] = (height[a], place[a]), (top, place[a]), (top, place[b]), (height[b], place[b])
        height[count + k], place[count + k] = top, (place[a] + place[b]) / 2
    return out


def drawn_tree_of(tree: Tree) -> DrawnTree:
    """Return the tree as drawn, with the records as leaves. Distances from the root are preserved."""
    count, parents, lengths = len(tree.ids), tree.parents.tolist(), tree.lengths
    depth, place = np.zeros(len(parents)), np.zeros(len(parents))
    place[:count] = np.arange(count)
    for node in range(len(parents) - 2, -1, -1):  # parents have larger numbers
        depth[node] = depth[parents[node]] + lengths[node]
    height = depth.max() - depth
    brackets = []
    for node, below in enumerate(tree.children()):
        if children := sorted(below, key=lambda child: float(place[child])):
            place[node] = (place[children[0]] + place[children[-1]]) / 2
            for a, b in zip(children, children[1:] or children, strict=False):
                brackets.append([(height[a], place[a]), (height[node], place[a]), (height[node], place[b]), (height[b], place[b])])
    return DrawnTree(np.array(brackets).reshape(-1, 4, 2), height[:count], "length of branches")


def block_means(values: Reals, block_rows: int, block_columns: int) -> Reals:
    """Return the means of blocks of `block_rows` x `block_columns` values; blocks at the ends may be smaller. Means ignore NaN; the mean of
    only NaN is NaN."""
    known = ~np.isnan(values)

    def sums(of: npt.NDArray[Any]) -> Reals:
        rows = np.add.reduceat(of, range(0, of.shape[0], block_rows), axis=0, dtype=np.float64)
        both: Reals = np.add.reduceat(rows, range(0, of.shape[1], block_columns), axis=1)
        return both

    counts = sums(known)
    means: Reals = np.divide(sums(np.where(known, values, 0)), counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    return means


def cell_texts(heatmap: Heatmap) -> list[list[str]]:
    """Return the cell labels in the unit of the scale, with enough decimals to show three significant digits of the largest value (none for
    counts); "" for NaN."""
    values = heatmap.values / 10.0**heatmap.exponent
    largest = float(np.nanmax(np.abs(values), initial=0))
    decimals = 3 if heatmap.value_kind == "identity" else max(0, 2 - math.floor(math.log10(largest))) if largest else 0
    form = ".0f" if heatmap.is_integer and not heatmap.exponent else f".{decimals}f"
    return [["" if math.isnan(value) else f"{value:{form}}" for value in row] for row in values]


def shorten_text(text: str) -> str:
    """Return a title or legend text as drawn: beyond 40 characters, the middle is elided. Invalid bytes and unprintable characters become
    the replacement character."""
    return _truncate(_make_printable(text), _MAX_ID_CHARS)


def shorten_names(texts: Sequence[str]) -> list[str]:
    """Return ids or names of groups as drawn, shortened as in `shorten_text`, but never so that two different ones look the same."""
    names = [_make_printable(text) for text in texts]
    longest = max(map(len, names), default=0)
    limit = _MAX_ID_CHARS
    while limit < longest:
        cut = [_truncate(name, limit) for name in names]
        if len(set(cut)) == len(set(names)):
            return cut
        limit *= 2
    return names


def _make_printable(name: str) -> str:
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _truncate(name: str, limit: int) -> str:
    head = limit // 2
    return name if len(name) <= limit else f"{name[:head]}…{name[len(name) - (limit - 1 - head) :]}"
