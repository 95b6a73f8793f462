"""Exact all-vs-all sequence alignment and distance on CPUs, GPUs and clusters.

    >>> import gpualign
    >>> gpualign.align("ACGT", "AGT", gpualign.EDIT).score
    1

Names are loaded on first use, so that `import gpualign` is fast. docs/python.md has examples.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # true for type checkers, by its name; importing `typing` would take a few ms before the command handles signals
if TYPE_CHECKING:
    from gpualign._align import Alignment, align
    from gpualign._cluster import Clusters, cluster
    from gpualign._dist import dist
    from gpualign._index import Index
    from gpualign._nw import iter_pairs, nw, pairs
    from gpualign._plot import plot
    from gpualign._results import Hits, Matrix, Pairs, Table
    from gpualign._scoring import ALIGN_DISTANCE, EDIT, HAMMING, TCRDIST, Scoring
    from gpualign._sequences import Sequences, read
    from gpualign._sw import sw
    from gpualign._tree import Tree, tree
    from gpualign.core.common.errors import InputError, InputWarning, RunError
    from gpualign.jobs.devices.local_engines import devices

_NAMES_BY_MODULE = {
    "_align": ("Alignment", "align"),
    "_cluster": ("Clusters", "cluster"),
    "_dist": ("dist",),
    "_index": ("Index",),
    "_nw": ("iter_pairs", "nw", "pairs"),
    "_plot": ("plot",),
    "_results": ("Hits", "Matrix", "Pairs", "Table"),
    "_scoring": ("ALIGN_DISTANCE", "EDIT", "HAMMING", "TCRDIST", "Scoring"),
    "_sequences": ("Sequences", "read"),
    "_sw": ("sw",),
    "_tree": ("Tree", "tree"),
    "core.common.errors": ("InputError", "InputWarning", "RunError"),
    "jobs.devices.local_engines": ("devices",),
}
_MODULE_BY_NAME = {name: home for home, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = [
    "ALIGN_DISTANCE",
    "EDIT",
    "HAMMING",
    "TCRDIST",
    "Alignment",
    "Clusters",
    "Hits",
    "Index",
    "InputError",
    "InputWarning",
    "Matrix",
    "Pairs",
    "RunError",
    "Scoring",
    "Sequences",
    "Table",
    "Tree",
    "__version__",
    "align",
    "cluster",
    "devices",
    "dist",
    "iter_pairs",
    "nw",
    "pairs",
    "plot",
    "read",
    "sw",
    "tree",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module 'gpualign' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"gpualign.{_MODULE_BY_NAME[name]}"), name)
    globals()[name] = value  # later look-ups do not come here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
