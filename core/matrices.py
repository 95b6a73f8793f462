"""Substitution matrices by name (Biopython's collection) or from a file in NCBI's format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt

from gpualign.core.alphabet import Alphabet
from gpualign.core.errors import InputError

# Letters that matrices leave out, and the letter whose scores stand in: selenocysteine is scored as cysteine (as BLAST
# does), pyrrolysine and the I/L ambiguity as unknown.
_STAND_INS = {"U": "C", "O": "X", "J": "X"}


@dataclass(frozen=True)
class SubstitutionMatrix:
    """name; letters of the rows and columns; values int64[letters][letters], row = query letter."""

    name: str
    letters: str
    values: npt.NDArray[np.int64]

    def table(self, alphabet: Alphabet) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Scores by code, int64[len(alphabet)][len(alphabet)], and which codes the matrix covers, bool[len(alphabet)].

        Scores of codes that are not covered are 0 and must not be used.
        """
        index = np.full(len(alphabet), -1)
        for code, letter in enumerate(alphabet.letters):
            for form in (letter, _STAND_INS.get(letter, letter), "U" if alphabet.name == "dna" and letter == "T" else letter):
                if form in self.letters:
                    index[code] = self.letters.index(form)
                    break
        covered = index >= 0
        table = np.where(covered[:, None] & covered[None, :], self.values[np.ix_(index, index)], 0)
        return table.astype(np.int64), covered


def _from_biopython(name: str, array: object) -> SubstitutionMatrix:
    letters = "".join(str(letter) for letter in array.alphabet).upper()  # type: ignore[attr-defined]
    values = np.asarray(array, dtype=np.float64)
    if values.ndim != 2 or len(set(letters)) != len(letters) or any(len(str(x)) != 1 for x in array.alphabet):  # type: ignore[attr-defined]
        raise InputError(f"matrix {name}: not a square matrix with one row and column a letter")
    whole = np.rint(values)
    if not np.isfinite(values).all() or (np.abs(values - whole) > 1e-9).any():
        raise InputError(f"matrix {name}: not all scores are whole numbers, so scores would not be exact")
    return SubstitutionMatrix(name, letters, whole.astype(np.int64))


def names() -> list[str]:
    """Names of the matrices that `by_name` knows."""
    from Bio.Align import substitution_matrices

    return sorted(substitution_matrices.load())  # type: ignore[no-untyped-call,unused-ignore]


def by_name(name: str) -> SubstitutionMatrix:
    """A matrix of Biopython's collection, in any case; EDNAFULL is known as NUC.4.4. Raises `InputError`."""
    from Bio.Align import substitution_matrices

    wanted = "NUC.4.4" if name.upper() in ("EDNAFULL", "DNAFULL") else name
    known = {known.upper(): known for known in names()}
    if wanted.upper() not in known:
        close = ", ".join(n for n in names() if n.upper()[:3] == wanted.upper()[:3]) or "BLOSUM62, PAM250, NUC.4.4"
        raise InputError(f"no matrix file or matrix is called {name!r}; there is for instance {close}")
    return _from_biopython(known[wanted.upper()], substitution_matrices.load(known[wanted.upper()]))  # type: ignore[no-untyped-call,unused-ignore]


def from_file(stream: TextIO, source: str) -> SubstitutionMatrix:
    """A matrix in NCBI's format: '#' comments, a line of letters, a line of scores a letter. Raises `InputError`."""
    from Bio.Align import substitution_matrices

    try:
        array = substitution_matrices.read(stream)  # type: ignore[no-untyped-call,unused-ignore]
    except Exception as error:  # Biopython's parser fails in many ways on text that is no matrix
        raise InputError(f"{source}: not a substitution matrix in NCBI's format ({type(error).__name__}: {error})") from None
    return _from_biopython(source, array)


def load(name: str) -> SubstitutionMatrix:
    """A matrix file if there is one of this name, else a matrix of Biopython's collection. Raises `InputError`."""
    if not Path(name).is_file():
        return by_name(name)
    try:
        with open(name, encoding="utf-8") as stream:
            return from_file(stream, name)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read as a matrix file ({error})") from None
