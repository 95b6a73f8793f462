"""`gpualign plot`: draws a matrix written by `dist`, `nw` or `sw` as a heat map, or distances as a network of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.headings import CommandWithHeadings, Heading
from gpualign.cli.options.param_types import FiniteNumberType

if TYPE_CHECKING:
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.jobs.plotting.network_output import NetworkStyle
    from gpualign.jobs.plotting.output import PlotFile
    from gpualign.jobs.plotting.quantities import Quantity
    from gpualign.jobs.record_groups import Grouping


@click.command(cls=CommandWithHeadings, short_help="Draw a matrix as a heat map, or clusters as a network.")
@click.argument("matrix", type=PathType(), required=False)
@Heading.INPUT.option(
    "--edges",
    type=PathType(),
    metavar="LIST",
    help="With --network: read a list of pairs with distances or identities instead of MATRIX.",
)
@Heading.INPUT.option(
    "--value",
    type=ChoiceType(["score", "identity", "distance", "kinship", "relationship"]),
    help="What the matrix holds.  [inferred from the name of the array in .npz, or from the diagonal]",
)
@Heading.METHOD.option(
    "--network",
    is_flag=True,
    help="Draw the minimum spanning tree instead of a heat map: a circle for each cluster, whose area is its number of records, and lines"
    " with distances. --groups divides the circles into colours, by the share of each group.",
)
@Heading.METHOD.option(
    "--collapse",
    type=FiniteNumberType(),
    metavar="D",
    help="With --network: records at this distance or less are one circle, as with single linkage.  [0]",
)
@Heading.ORDER.option(
    "--order",
    type=PathType(),
    default="tree",
    show_default=True,
    metavar="tree|input|groups|FILE",
    help="Order of the records. tree: by their tree; input: as in the matrix; groups: by the first column of --groups, and by the tree"
    " within each group; FILE: as in this file of ids, one per line.",
)
@Heading.ORDER.option("--tree", type=PathType(), metavar="FILE", help="Draw this tree (Newick) and order the records by it.")
@Heading.ORDER.option(
    "--linkage",
    type=ChoiceType(["average", "complete", "single", "weighted"]),
    default="average",
    show_default=True,
    help="How the tree joins clusters: by the mean (average: UPGMA; weighted: WPGMA), largest (complete) or smallest (single) distance.",
)
@Heading.OUTPUT.option("-o", "--output", type=PathType(), required=True, metavar="FILE", help="Picture to write: .png, .svg or .pdf.")
@Heading.OUTPUT.option("--title", metavar="TEXT", help="Title above the matrix.")
@Heading.OUTPUT.option("--label", metavar="TEXT", help="Label of the colour bar.  [score, identity, distance, kinship or relationship]")
@Heading.COLOURS.option(
    "--groups",
    type=PathType(),
    metavar="TABLE[:COLUMN,...]",
    help="Draw groups as colours beside the rows. TABLE has an id and one or more groups per line, separated by tabs, commas or"
    " semicolons; a first line that does not begin with an id names the groups. In AIRR tables the ids are in sequence_id."
    " TABLE:COLUMN,... uses only these columns and shows numbers and dates as gradients; numbers under titles such as ST, cluster or ward"
    " are groups.",
)
@Heading.COLOURS.option("--cmap", metavar="NAME", help="Colour map, by its name in matplotlib.  [viridis; similar records are dark]")
@Heading.COLOURS.option("--vmin", type=FiniteNumberType(), metavar="V", help="Value of the first colour.  [0; identities: the smallest]")
@Heading.COLOURS.option("--vmax", type=FiniteNumberType(), metavar="V", help="Value of the last colour.  [the largest; identities: 1]")
@Heading.MESSAGES.option("-q", "--quiet", is_flag=True, help="No notes.")
def plot(
    matrix: str | None,
    edges: str | None,
    value: str | None,
    network: bool,
    collapse: float | None,
    order: str,
    tree: str | None,
    output: str,
    label: str | None,
    groups: str | None,
    quiet: bool,
    **params: Any,
) -> None:
    """Draw a clustered heat map of a matrix written by `dist`, `nw` or `sw --all`, or a network of clusters.

    MATRIX is .npy (with the ids in MATRIX.ids.txt beside it), .npz, a table of text or PHYLIP, also of other programs; - is standard
    input.

    \b
    Examples:
      gpualign plot distances.npy -o heat.png
      gpualign plot distances.npy -o heat.png --groups wards.tsv --order groups
      gpualign plot distances.npy -o heat.png --groups isolates.tsv:country,year
      gpualign tree distances.npy -o nj.nwk; gpualign plot distances.npy -o heat.png --tree nj.nwk
      gpualign plot distances.tsv -o heat.pdf --vmax 50 --linkage single --title "Ward 3"
      gpualign nw genes.fa -o identity.npz --value identity; gpualign plot identity.npz -o genes.svg
      gpualign dist new.aln old.aln -o d.npz; gpualign plot d.npz -o new_and_old.png --cmap cividis
      gpualign plot distances.npy -o network.svg --network --groups wards.tsv
      gpualign dist core.aln --max-distance 12 | gpualign plot --edges - --network --collapse 2 -o network.png

    A heat map orders its rows by their tree, which is drawn beside them, unless --order says otherwise. Colours begin at the value of
    identical records (distance 0, identity 1), not at the nearest pair, so records that are all equally far apart look alike. The diagonal
    and pairs without a value have colours of their own. Up to 30 records have their values written in the cells; above that, a histogram
    beside the colour bar shows how the values are distributed. Up to 150 records have their ids.

    In a matrix of two inputs, similar rows are neighbours, and so are similar columns, but no tree is drawn. The tree of scores is built
    from distances: the mean of the two records' scores with themselves, minus the score of the pair.

    A network shows up to 500 clusters. Lines grow with the logarithm of their distance, and are longer where circles would overlap. Records
    without known distances between them are in separate trees.

    Memory: about 40 bytes for each cell of the matrix; a matrix that is too large for this machine is refused.
    """
    from pathlib import Path

    import numpy as np

    from gpualign.cli.inputs.distance_matrices import read_matrix
    from gpualign.cli.inputs.file_lists import check_stdin
    from gpualign.cli.inputs.matrix_sizes import check_matrix_size
    from gpualign.cli.inputs.newick import read_tree
    from gpualign.cli.inputs.record_groups import read_columns, read_groups, read_order, split_file_and_columns
    from gpualign.cli.options.params import build_options
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.core.common.errors import InputError
    from gpualign.core.common.suggestions import did_you_mean
    from gpualign.core.files.paths import input_name
    from gpualign.jobs.matrix_memory import DRAWING_USE
    from gpualign.jobs.output.atomic_files import OutputFiles, check_outputs, translate_output_errors
    from gpualign.jobs.plotting.figure import Style
    from gpualign.jobs.plotting.heatmap import guess_kind, heatmap_of_matrix
    from gpualign.jobs.plotting.output import RowOrder, check_order, check_plot, check_style, check_text, write_plot

    reporter = ConsoleReporter.from_options("plot", quiet)
    style = build_options(Style, params)
    for name, text in (("label", label), ("title", style.title)):
        check_text(name, text)
    picture = check_plot(output)
    listed = None if order in ("tree", "input", "groups") else order
    if listed not in (None, "-") and not Path(listed).exists():
        raise InputError(
            f"--order {order}: expected tree, input, groups or a file of ids, and there is no such file"
            f"{did_you_mean(order, ('tree', 'input', 'groups'))}"
        )
    table, columns = split_file_and_columns(groups) if groups else (None, None)
    check_outputs([matrix, edges, tree, table, listed], [picture.path])
    check_stdin(matrix, edges, tree, table, listed)
    if (matrix is None) == (edges is None):
        raise InputError("give a matrix of distances, or with --network a list of pairs as --edges" + ("; found both" if edges else ""))
    if network:
        from gpualign.jobs.plotting.network_output import NetworkStyle, check_network_options

        if value is not None:
            raise InputError("--value is for heat maps; a network is of distances, or of identities that become distances")
        check_network_options(style, order if listed is None else "list", tree is not None, collapse or 0.0)
        shown = NetworkStyle(collapse or 0.0, style.title, label or "distance")
        _draw_network(matrix, edges, table, columns, picture, shown, reporter)
        return
    if edges is not None or collapse is not None:
        raise InputError(f"--{'collapse' if edges is None else 'edges'} is for --network; give that too")
    assert matrix is not None
    check_order(order, groups is not None, tree is not None)
    check_style(style)
    check_matrix_size(matrix, DRAWING_USE)
    stored = read_matrix(matrix)
    for note in stored.notes:
        reporter.warn(f"{input_name(matrix)}: {note}")
    kind = value or guess_kind(stored.values, stored.value_name, stored.one_set)
    if kind is None:
        holds = "a vector of pairs i < j" if stored.values.ndim == 1 else "a matrix without values on its diagonal"
        raise InputError(f"{matrix}: {holds} may hold distances or other values; say which with --value")
    if value is None and kind == "distance" and (lowest := np.nanmin(stored.values, initial=0)) < 0:
        raise InputError(
            f"{matrix}: distances by its diagonal of 0, but {lowest:g} is negative; write nan if a pair has no distance, or say what it"
            " holds with --value"
        )
    heat = heatmap_of_matrix(stored.values, stored.row_ids, stored.column_ids, stored.one_set, kind, label or kind)
    strips: Sequence[Grouping | Quantity] = ()
    if table is not None and columns is not None:
        strips = read_columns(table, columns, heat.row_ids, reporter.warn)
    elif table is not None:
        strips = read_groups(table, heat.row_ids, reporter.warn)
    rows = RowOrder(
        strips,
        order if listed is None else "list",
        read_tree(tree, heat.row_ids, reporter.warn) if tree else None,
        read_order(listed, list(dict.fromkeys([*heat.row_ids, *heat.column_ids])), reporter.warn) if listed else {},
    )
    with OutputFiles(reporter.note) as files, translate_output_errors(picture.path):
        write_plot(files.open(picture.path), picture, heat, reporter, style, rows)


def _draw_network(
    matrix: str | None,
    edges: str | None,
    table: str | None,
    columns: Sequence[str] | None,
    picture: PlotFile,
    style: NetworkStyle,
    reporter: ConsoleReporter,
) -> None:
    """Draw the network of a matrix or of a list of pairs. table, columns: table of groups, and the columns named, if any."""
    from gpualign.cli.inputs.matrix_sizes import check_matrix_size
    from gpualign.cli.inputs.precomputed_distances import read_precomputed
    from gpualign.cli.inputs.record_groups import read_columns, read_groups
    from gpualign.core.common.errors import InputError
    from gpualign.jobs.matrix_memory import TREE_MATRIX_USES
    from gpualign.jobs.output.atomic_files import OutputFiles, translate_output_errors
    from gpualign.jobs.plotting.network_output import write_network

    if matrix is not None:
        check_matrix_size(matrix, TREE_MATRIX_USES["mst"])
    pairs, are_identities = read_precomputed(edges, matrix, None, False, None, reporter.warn)
    if not pairs.ids:
        raise InputError(f"--edges {edges}: a header and no pairs; a network needs records")
    groups: Sequence[Grouping | Quantity] = ()
    if table is not None:
        warn = reporter.warn
        groups = read_groups(table, pairs.ids, warn) if columns is None else read_columns(table, columns, pairs.ids, warn)
        if len(groups) > 1:
            raise InputError(f"--groups {table}: a network shows one column, and there are {len(groups)}; name one: --groups TABLE:COLUMN")
    with OutputFiles(reporter.note) as files, translate_output_errors(picture.path):
        write_network(files.open(picture.path), picture, pairs, are_identities, groups[0] if groups else None, style, reporter)
