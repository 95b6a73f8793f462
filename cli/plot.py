"""`gpualign plot`: a heat map of a matrix that another command wrote."""

from __future__ import annotations

import click


@click.command()
@click.argument("matrix")
@click.option("-o", "--output", required=True, metavar="FILE", help="The picture: .png, .svg or .pdf.")
@click.option("--label", metavar="TEXT", help="What the colours mean.  [distance or score, by the diagonal]")
def plot(matrix: str, output: str, label: str | None) -> None:
    """A clustered heat map, with its tree, of a square matrix that `dist`, `nw` or `sw` wrote.

    MATRIX is .npy (ids in MATRIX.ids.txt beside it), .npz, or a table of text; - is a table on standard input. Rows are put in the order of
    a tree of average linkage. Of scores and identities, which are large for alike records, s, the tree is of (s_ii + s_jj) / 2 - s_ij.

    \b
    Examples:
      gpualign plot distances.npy -o heat.png
      gpualign nw genes.fa -o identity.npy --value identity; gpualign plot identity.npy -o genes.svg
    """
    from gpualign.cli.files import OutputFiles, check_outputs
    from gpualign.cli.matrices import read_matrix
    from gpualign.cli.messages import Messages
    from gpualign.cli.plots import check_plot, to_distances, write_plot

    picture = check_plot(output, square=True)
    check_outputs([matrix], [picture.path])
    values, ids = read_matrix(matrix)
    if label is None:
        is_distance = (to_distances(values) == values).all()
        label = "distance" if is_distance else "score"
    with OutputFiles(Messages("plot", 0).note) as files:
        write_plot(picture, values, ids, label, files)
