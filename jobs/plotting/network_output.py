"""Checks the options of networks of clusters, and draws networks into files."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, BinaryIO

from gpualign.core.clustering.precomputed import ListedPairs, MatrixOfPairs, Threshold
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.parameter_fractions import percentage_warning
from gpualign.core.common.units import format_count
from gpualign.jobs.plotting.figure import Style
from gpualign.jobs.plotting.group_colours import colour_strips_of
from gpualign.jobs.plotting.network import network_of
from gpualign.jobs.plotting.network_figure import draw_network
from gpualign.jobs.plotting.output import PlotFile, RowOrder, write_figure
from gpualign.jobs.tree import make_tree

if TYPE_CHECKING:
    from gpualign.jobs.plotting.quantities import Quantity
    from gpualign.jobs.record_groups import Grouping
    from gpualign.jobs.reporter import Reporter

_MAX_LEGEND_LINES = 20


@dataclass(frozen=True)
class NetworkStyle:
    """Options of a network.

    collapse: distance within which records are one circle
    title: text above the network
    label: what the distances are
    """

    collapse: float = 0.0
    title: str | None = None
    label: str = "distance"


def check_network_options(style: Style, order: str, has_tree: bool, collapse: float) -> None:
    """Raise `InputError` for options of heat maps, and for a `collapse` that is not a distance.

    order: name of the order, as in `RowOrder`
    has_tree: whether the user gives a tree
    """
    default = Style()
    heat_map_options = {
        "order": order != RowOrder.criterion,
        "tree": has_tree,
        **{name: getattr(style, name) != getattr(default, name) for name in ("linkage", "cmap", "vmin", "vmax")},
    }
    for name, is_given in heat_map_options.items():
        if is_given:
            raise InputError(f"{parameter(name)} is for heat maps; it cannot be combined with {parameter('network')}")
    if not (math.isfinite(collapse) and collapse >= 0):
        raise InputError(f"{parameter('collapse', f'{collapse:g}')}: expected a distance of 0 or more")


def write_network(
    file: BinaryIO,
    plot_file: PlotFile,
    pairs: ListedPairs | MatrixOfPairs,
    are_identities: bool,
    groups: Grouping | Quantity | None,
    style: NetworkStyle,
    reporter: Reporter,
) -> None:
    """Draw the minimum spanning tree of the records into the open `file`, as a network of clusters.

    pairs: distances or identities
    groups: groups of the records, shown as shares of the circles; None: all circles have one colour

    Raises `InputError` for too many clusters.
    """
    tree = make_tree(pairs, are_identities, "mst", reporter)
    if style.collapse > 1 and pairs.are_fractions:
        reporter.warn(f"every distance is a fraction, and {percentage_warning('collapse', style.collapse)}")
    limit = Threshold(style.collapse, None, are_identities, pairs.decimals).distance_limit(pairs.dtype)
    network = network_of(tree, style.collapse, limit)
    records, clusters = len(tree.ids), len(network.members)
    reporter.note(f"drawing {format_count(records, 'sample')} in {format_count(clusters, 'circle')} as {plot_file.path}")
    strip = None if groups is None else colour_strips_of([groups], _MAX_LEGEND_LINES)[0]
    write_figure(file, plot_file, lambda: draw_network(network, strip, style.label, style.title), reporter)
