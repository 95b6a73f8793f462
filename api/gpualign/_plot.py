"""Heat maps of matrices, and networks of clusters."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from gpualign._cluster import matrix_pairs
from gpualign._execution_options import LOG, checked_number
from gpualign._output import checked_output_path
from gpualign._record_annotations import GroupsInput, row_annotations
from gpualign._results import Matrix, checked_values
from gpualign._sequences import StrPath
from gpualign._tree import Tree
from gpualign.core.common.errors import InputError, parameter, quoted
from gpualign.core.distance.metrics import METRICS
from gpualign.core.sequences.ids import id_text
from gpualign.jobs.matrix_memory import DRAWING_USE, TREE_MATRIX_USES, check_memory
from gpualign.jobs.output.atomic_files import OutputFiles, translate_output_errors
from gpualign.jobs.plotting.figure import Style
from gpualign.jobs.plotting.heatmap import ALIGNMENT_KINDS, DISTANCE_LABELS, LINKAGE_METHODS, alignment_label, heatmap_of_matrix
from gpualign.jobs.plotting.output import PlotFile, RowOrder, check_order, check_plot, check_style, check_text, write_plot
from gpualign.jobs.record_groups import match_order
from gpualign.jobs.tree import parse_tree

_ORDER_NAMES = ("tree", "input", "groups")

_drawing_lock = threading.Lock()
"""Held while drawing, because matplotlib settings apply to the whole process."""


def plot(
    matrix: Matrix,
    out: StrPath,
    *,
    label: str | None = None,
    title: str | None = None,
    cmap: str | None = None,
    linkage: str = "average",
    tree: Tree | str | None = None,
    groups: GroupsInput | None = None,
    order: str | Sequence[str] = "tree",
    vmin: float | None = None,
    vmax: float | None = None,
    network: bool = False,
    collapse: float | None = None,
) -> None:
    """Draw a matrix as a clustered heat map with the tree of the records, or as a network of clusters, like `gpualign plot`.

    matrix: a `Matrix` returned by `nw` or `dist`; for a network, of distances or identities within one set
    out: picture file, .png, .svg or .pdf
    label: label for the colour bar; for a network, what the distances are
    title: text above the matrix or network
    cmap: name of a matplotlib colour map (default: viridis, similar records dark)
    linkage: linkage for the tree: "average", "complete", "single" or "weighted"
    tree: tree to draw, from `gpualign.tree` or as Newick text, which also determines the order of the records
    groups: colours next to the rows: a dict from ids to groups, a dict of several such dicts by title, or a pandas.DataFrame with the ids
        as its index; columns of numbers or dates become gradients
    order: order of the records: "tree", "input" (matrix order), "groups" (by the first grouping, in tree order within each group), or a
        list of ids
    vmin: value of the first colour (default: 0; for identities the minimum)
    vmax: value of the last colour (default: the maximum; for identities 1)
    network: whether to draw the minimum spanning tree, with a circle for each cluster, instead of a heat map; `groups`, one column, are
        then shares of the circles
    collapse: for a network, distance within which records are one circle (default: 0)

    Raises `InputError` for bad arguments; `RunError` if drawing the matrix needs more memory than is available, if matplotlib or scipy is
    missing, or if the file cannot be written.

    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot(Matrix(np.array([[0, 3], [3, 0]]), ["a", "b"], ["a", "b"], "hamming", True), f"{folder}/x.png")
    """
    if not isinstance(matrix, Matrix):
        raise InputError(f"matrix: expected a Matrix that nw or dist returned; found {type(matrix).__name__}")
    kind, own_label = _value_kind_and_label(matrix)
    path = checked_output_path(out, matrix.values)
    picture = check_plot(str(path))
    for name, text in (("label", label), ("title", title), ("cmap", cmap)):
        if text is not None and not isinstance(text, str):
            raise InputError(f"{parameter(name)}: expected text; found {text!r}")
        check_text(name, text)
    if linkage not in LINKAGE_METHODS:
        raise InputError(f"linkage {linkage!r}: expected one of {', '.join(LINKAGE_METHODS)}")
    style = Style(title=title, cmap=cmap, linkage=linkage, vmin=checked_number("vmin", vmin), vmax=checked_number("vmax", vmax))
    check_style(style)
    listed = None if isinstance(order, str) and order in _ORDER_NAMES else _listed_positions(order)
    if network:
        _draw_network(matrix, picture, groups, style, "list" if listed is not None else order, tree is not None, collapse, label)
        return
    if collapse is not None:
        raise InputError(f"{parameter('collapse')} is for {parameter('network')}; give that too")
    check_order("list of ids" if listed is not None else str(order), groups is not None, tree is not None)
    newick = None if tree is None else _newick_text(tree)

    rows, columns = list(matrix.ids), list(matrix.target_ids)
    check_memory(DRAWING_USE, parameter("matrix"), len(rows), len(columns))
    shown = RowOrder(
        row_annotations(groups, rows),
        str(order) if listed is None else "list",
        None if newick is None else parse_tree(newick, rows, "tree", LOG.warn),
        {} if listed is None else match_order(listed, list(dict.fromkeys([*rows, *columns])), "order", LOG.warn),
    )
    heat = heatmap_of_matrix(matrix.values, rows, columns, matrix.one_set, kind, label or own_label)
    with _drawing_lock, OutputFiles(LOG.note) as files, translate_output_errors(path):
        write_plot(files.open(path), picture, heat, LOG, style, shown)


def _draw_network(
    matrix: Matrix,
    picture: PlotFile,
    groups: GroupsInput | None,
    style: Style,
    order: object,
    has_tree: bool,
    collapse: float | None,
    label: str | None,
) -> None:
    """Draw the network of a matrix. order: name of the order, as in `RowOrder`."""
    from gpualign.jobs.plotting.network_output import NetworkStyle, check_network_options, write_network

    collapse = float(checked_number("collapse", collapse) or 0.0)
    check_network_options(style, str(order), has_tree, collapse)
    if matrix.value == "score":
        raise InputError("a matrix of scores; expected distances or identities: nw(..., value='distance') has distances")
    pairs = matrix_pairs(matrix, "network")
    check_memory(TREE_MATRIX_USES["mst"], parameter("matrix"), *matrix.values.shape)
    shown = row_annotations(groups, list(matrix.ids))
    if len(shown) > 1:
        raise InputError(f"{parameter('groups')}: a network shows one column of groups; found {len(shown)}")
    network = NetworkStyle(collapse, style.title, label or "distance")
    with _drawing_lock, OutputFiles(LOG.note) as files, translate_output_errors(picture.path):
        write_network(files.open(picture.path), picture, pairs, matrix.value == "identity", shown[0] if shown else None, network, LOG)


def _value_kind_and_label(matrix: Matrix) -> tuple[str, str]:
    """Return (kind of values, label for the colour bar). Raises `InputError` for a matrix that neither `nw` nor `dist` could return."""
    values = checked_values(matrix)
    if matrix.value in METRICS:
        return METRICS[matrix.value].value_name, DISTANCE_LABELS[matrix.value]
    if matrix.value in ALIGNMENT_KINDS:
        return matrix.value, alignment_label(matrix.value, edit=values.dtype.kind in "iu")
    raise InputError(f"matrix: expected values of kind {', '.join([*ALIGNMENT_KINDS, *METRICS])}; found {matrix.value!r}")


def _newick_text(tree: object) -> str:
    if isinstance(tree, Tree) and tree.method == "mst":
        raise InputError("tree: expected a tree of nj or upgma; found a spanning tree, whose inner nodes are records too")
    if not isinstance(tree, (Tree, str)):
        raise InputError(f"tree: expected what gpualign.tree returned, or text in Newick's format; found {type(tree).__name__}")
    return str(tree)


def _listed_positions(order: object) -> dict[str, int]:
    """Return the position of each id in a list. Raises `InputError` for anything but a list, and for repeated ids."""
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise InputError(f"order {order!r}: expected {', '.join(_ORDER_NAMES)} or a list of ids")
    places: dict[str, int] = {}
    for place, name in enumerate(map(id_text, order)):
        if places.setdefault(name, place) != place:
            raise InputError(f"order: {quoted(name)} appears twice, at {places[name]} and {place}")
    return places
