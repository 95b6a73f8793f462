"""Files that options name."""

from __future__ import annotations

from pathlib import Path

from gpualign.core import matrices
from gpualign.core.errors import InputError
from gpualign.core.matrices import SubstitutionMatrix


def load_matrix(name: str) -> SubstitutionMatrix:
    """A matrix file if there is one of this name, else a matrix of Biopython's collection. Raises `InputError`."""
    if not Path(name).is_file():
        return matrices.by_name(name)
    try:
        with open(name, encoding="utf-8") as stream:
            return matrices.from_file(stream, name)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read as a matrix file ({error})") from None
