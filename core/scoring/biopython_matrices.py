"""Biopython's collection of substitution matrices, as text.

Files are read where Biopython keeps them: importing `Bio.Align`, which knows, loads codon tables and aligners that nothing here needs, and
takes half as long as NumPy. Where a release keeps them elsewhere, it is imported and asked.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def _folder() -> Path | None:
    package = find_spec("Bio")
    for place in (package and package.submodule_search_locations) or ():
        found = Path(place, "Align", "substitution_matrices", "data")
        if found.is_dir():
            return found
    return None


def names() -> list[str]:
    """Names of all matrices, in order."""
    if (folder := _folder()) is not None:
        return sorted(path.name for path in folder.iterdir() if path.name.isupper())  # a README.txt may stand among them
    from Bio.Align import substitution_matrices

    return sorted(substitution_matrices.load())  # type: ignore[no-untyped-call,unused-ignore]


def text(name: str) -> str:
    """One of them in NCBI's format."""
    if (folder := _folder()) is not None:
        return (folder / name).read_text(encoding="utf-8")
    from Bio.Align import substitution_matrices

    return str(substitution_matrices.load(name).format("%.17g"))  # type: ignore[no-untyped-call,unused-ignore]
