"""`gpualign tree`: builds a tree of records from distances."""

from __future__ import annotations

import click

from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import NameType, PathType
from gpualign.cli.options.execution import log_option
from gpualign.cli.options.headings import CommandWithHeadings, Heading


@click.command(cls=CommandWithHeadings, short_help="Build a tree from a distance matrix or a list of pairs.")
@click.argument("matrix", type=PathType(), required=False)
@Heading.INPUT.option(
    "--edges", type=PathType(), metavar="LIST", help="Read a list of pairs with distances or identities instead of MATRIX."
)
@Heading.METHOD.option(
    "--method",
    type=ChoiceType(["nj", "upgma", "mst"]),
    default="nj",
    show_default=True,
    help="nj: neighbour joining; upgma: average linkage; mst: minimum spanning tree, whose nodes are the records.",
)
@Heading.METHOD.option(
    "--root",
    type=NameType(),
    metavar="ID|midpoint",
    help="Put the root of the nj tree in the middle of the branch to record ID (the outgroup), or with midpoint half way between the two"
    " records that are farthest apart.  [none]",
)
@Heading.OUTPUT.option(
    "-o",
    "--output",
    type=PathType(),
    default="-",
    metavar="FILE",
    help="Write the tree to FILE in Newick format; with mst and FILE.tsv, as a table of edges.  [standard output]",
)
@Heading.OUTPUT.option(
    "--leaves",
    is_flag=True,
    help="With mst: write every record as a leaf (inner records on branches of length 0), for GrapeTree and other programs that read names"
    " only from leaves.",
)
@Heading.MESSAGES.option("-q", "--quiet", is_flag=True, help="No notes.")
@log_option
def tree(
    matrix: str | None, edges: str | None, method: str, root: str | None, output: str, leaves: bool, quiet: bool, log: str | None
) -> None:
    """Build a tree from a distance matrix or a list of pairs.

    MATRIX is a file of `nw`, `dist` or another program: .npy (with the ids in MATRIX.ids.txt beside it), .npz, a table of text or PHYLIP;
    - is standard input. Identities are converted to distances, 1 - identity.

    Neighbour joining (nj) and UPGMA need the distances of all pairs. A minimum spanning tree (mst) can also be built from a list of near
    pairs; records that no chain of pairs connects are then in different trees, one per line.

    An nj tree is unrooted: it is written with a root of three branches, unless --root sets one. The root of a spanning tree is its first
    record, and its inner nodes are records too. `gpualign plot --tree` draws nj and UPGMA trees beside the matrix.

    \b
    Examples:
      gpualign tree distances.npy -o tree.nwk                     neighbour joining
      gpualign tree distances.npy -o tree.nwk --root midpoint
      gpualign nw genes.fa --value distance -o genes.npz; gpualign tree genes.npz --method upgma > genes.nwk
      gpualign dist core.aln --max-distance 12 | gpualign tree --edges - --method mst -o links.tsv
      gpualign tree distances.npy --method mst --leaves -o grapetree.nwk
    """

    from gpualign.cli.inputs.distance_matrices import matrix_files
    from gpualign.cli.inputs.matrix_sizes import check_matrix_size
    from gpualign.cli.inputs.precomputed_distances import read_precomputed
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.core.common.errors import InputError
    from gpualign.core.common.units import format_count
    from gpualign.core.trees.newick import format_newick
    from gpualign.core.trees.table import edge_rows
    from gpualign.jobs.matrix_memory import TREE_MATRIX_USES
    from gpualign.jobs.output.atomic_files import OutputFiles, output_path, translate_output_errors
    from gpualign.jobs.tree import MIDPOINT_ROOT, check_libraries, check_root, make_tree

    reporter = ConsoleReporter.from_options("tree", quiet, log=log)
    if (matrix is None) == (edges is None):
        raise InputError("give a matrix of distances, or a list of pairs with --edges" + ("; found both" if edges else ""))
    path = output_path(output)
    as_table = path is not None and path.name.lower().endswith((".tsv", ".tsv.gz"))
    if as_table and method != "mst":
        raise InputError(f"-o {output}: only --method mst has a table of edges; a Newick file may be called .nwk")
    if path is not None and path.name.lower().endswith((".csv", ".csv.gz")):
        raise InputError(f"-o {output}: tree writes Newick, or with --method mst and FILE.tsv a table of edges")
    if leaves and (method != "mst" or as_table):
        reason = "a table has no leaves" if as_table else "other trees have no records inside"
        raise InputError(f"--leaves is for --method mst as Newick; {reason}")
    if path is not None and path.suffix.lower() in (".png", ".svg", ".pdf"):
        raise InputError(f"-o {output}: tree writes Newick; to draw it use gpualign plot MATRIX --tree FILE -o {output}")
    check_root(root, method)
    check_libraries()
    reporter.begin([*matrix_files(matrix), edges], [path])
    if matrix is not None:
        check_matrix_size(matrix, TREE_MATRIX_USES[method])
    with OutputFiles(reporter.note) as files, translate_output_errors(path), files.open_text(path) as out:
        distances, are_identities = read_precomputed(edges, matrix, None, False, None, reporter.warn)
        if not distances.ids:
            raise InputError(f"--edges {edges}: a header and no pairs; a tree needs records")
        built = make_tree(distances, are_identities, method, reporter, root)
        for line in edge_rows(built) if as_table else format_newick(built.with_records_as_leaves() if leaves else built):
            out.write(line.encode("utf-8", "surrogateescape"))
    rooted = "" if root is None else ", rooted at its midpoint" if root == MIDPOINT_ROOT else f", rooted at {root!a}"
    reporter.note(f"{format_count(len(built.ids), 'record')}, {method}{rooted}")
