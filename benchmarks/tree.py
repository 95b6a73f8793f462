"""Neighbour joining, UPGMA and spanning trees beside scikit-bio's and Biopython's: seconds of one thread.

python benchmarks/tree.py [--records 200 1000 2500 5000] [--output benchmarks/results/tree.md]

Distances are those of random points in eight dimensions, from a seed. scikit-bio is not in the extra `bench`, as it installs a hundred
megabytes: pip install scikit-bio. Biopython is measured up to 200 records; more take minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt
from common import finish, machine, make_parser, table
from scipy.spatial.distance import pdist, squareform

from gpualign.core.clustering.edges import Edges
from gpualign.core.trees.methods import dense_spanning_tree, neighbour_joining, sparse_spanning_tree, upgma

_MOST_OF_BIOPYTHON = 200


def seconds(action: Callable[[], object]) -> float:
    """Processor seconds: the best of three runs, or of fewer if they take long."""
    found: list[float] = []
    while len(found) < 3 and sum(found) < 20:
        start = time.process_time()
        action()
        found.append(time.process_time() - start)
    return min(found)


def of_skbio(square: npt.NDArray[np.float64], ids: list[str]) -> float | None:
    """Seconds of scikit-bio's neighbour joining; None where it is not installed."""
    if find_spec("skbio") is None:
        return None
    from skbio import DistanceMatrix
    from skbio.tree import nj

    matrix = DistanceMatrix(square, ids)
    return seconds(lambda: nj(matrix))


def of_biopython(square: npt.NDArray[np.float64], ids: list[str]) -> float:
    """Seconds of Biopython's neighbour joining."""
    from Bio.Phylo.TreeConstruction import DistanceMatrix, DistanceTreeConstructor

    matrix = DistanceMatrix(ids, [square[k, : k + 1].tolist() for k in range(len(ids))])
    return seconds(lambda: DistanceTreeConstructor().nj(matrix))


def row(count: int) -> list[str]:
    """The row for `count` records."""
    condensed = pdist(np.random.default_rng(1).random((count, 8)))
    square, ids = squareform(condensed), [f"s{k}" for k in range(count)]
    i, j = np.triu_indices(count, 1)
    own = seconds(lambda: neighbour_joining(ids, condensed))
    skbio = of_skbio(square, ids)
    biopython = of_biopython(square, ids) if count <= _MOST_OF_BIOPYTHON else None
    others = [
        seconds(lambda: upgma(ids, condensed)),
        seconds(lambda: dense_spanning_tree(ids, condensed)),
        seconds(lambda: sparse_spanning_tree(ids, Edges(count, i, j, condensed))),
    ]
    return [f"{count:,}", *("-" if one is None else f"{one:.3g}" for one in (own, skbio, biopython, *others))]


def main() -> None:
    """Measure and report."""
    parser = make_parser(__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[200, 1000, 2500, 5000])
    options = parser.parse_args()
    header = ["records", "nj", "scikit-bio nj", "Biopython nj", "upgma (scipy)", "mst", "mst (scipy)"]
    notes = ["Seconds of processor time. Distances of random points in eight dimensions; reading and writing are not included."]
    finish(
        f"# Trees\n\n{machine()}\n\n{table('From all distances', header, [row(count) for count in options.records], notes)}", options.output
    )


if __name__ == "__main__":
    main()
