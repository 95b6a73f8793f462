"""Biopython's collection of substitution matrices, as text.

Matrix files are read directly from Biopython's data folder, because importing `Bio.Align` loads codon tables and aligners that are not
needed here, and takes half as long as importing NumPy. If a release stores the files elsewhere, `Bio.Align` is imported and used.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def _folder() -> Path | None:
    package = find_spec("Bio")
    for place in (package and package.submodule_search_locations) or ():
        folder = Path(place, "Align", "substitution_matrices", "data")
        if folder.is_dir():
            return folder
    return None


def matrix_names() -> list[str]:
    """Return the names of all matrices, sorted."""
    if (folder := _folder()) is not None:
        return sorted(path.name for path in folder.iterdir() if path.name.isupper())  # there may be a README.txt
    from Bio.Align import substitution_matrices

    return sorted(substitution_matrices.load())  # type: ignore[no-untyped-call,unused-ignore]


def matrix_text(name: str) -> str:
    """Return the text of a matrix in NCBI format."""
    if (folder := _folder()) is not None:
        return (folder / name).read_text(encoding="utf-8")
    from Bio.Align import substitution_matrices

    return str(substitution_matrices.load(name).format("%.17g"))  # type: ignore[no-untyped-call,unused-ignore]
