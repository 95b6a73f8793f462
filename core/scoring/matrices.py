"""Loads substitution matrices by name (from Biopython's collection) or from a file in NCBI format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import numpy as np

from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.scoring import biopython_matrices as collection
from gpualign.core.sequences.alphabet import Alphabet

# Letters that matrices leave out, and the letters whose scores are used instead: selenocysteine is scored as cysteine (as BLAST
# does), pyrrolysine and the I/L ambiguity as unknown.
_STAND_IN_LETTERS = {"U": "C", "O": "X", "J": "X"}

_MAX_EXACT_INTEGER = 2**53
"""Maximum absolute value up to which every integer that is read from text as a float is exact."""


@dataclass(frozen=True)
class SubstitutionMatrix:
    """A substitution matrix.

    name: name of the matrix, or of the file that it comes from
    letters: letters of the rows and columns
    values: scores, int64[letters][letters]; rows are query letters
    """

    name: str
    letters: str
    values: Integers

    def table(self, alphabet: Alphabet) -> tuple[Integers, Booleans]:
        """Return (scores by code, int64[len(alphabet)][len(alphabet)]; mask of the codes that the matrix covers, bool[len(alphabet)]).

        Scores for codes that the matrix does not cover are 0 and must not be used.
        """
        index = np.full(len(alphabet), -1)
        for code, letter in enumerate(alphabet.letters):
            for form in (letter, _STAND_IN_LETTERS.get(letter, letter), "U" if alphabet.name == "dna" and letter == "T" else letter):
                if form in self.letters:
                    index[code] = self.letters.index(form)
                    break
        covered = index >= 0
        table = np.where(covered[:, None] & covered[None, :], self.values[np.ix_(index, index)], 0)
        return table.astype(np.int64), covered


def _parse(lines: Iterable[str], source: str) -> SubstitutionMatrix:
    """Parse a matrix in NCBI format. Raises `InputError` if the text is not in this format."""
    rows = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if len(rows) < 2:
        raise InputError(f"{source}: not a substitution matrix in NCBI's format, which is a line of letters and a line of scores for each")
    (first, words), *rows = rows
    letters = [word.upper() for word in words]
    if len(set(letters)) != len(letters) or any(len(letter) != 1 for letter in letters):
        raise InputError(f"{source}, line {first}: expected different letters, one for each column; found {_quoted_start(words)}")
    if len(rows) != len(letters):
        raise InputError(f"{source}: expected a row for each of {len(letters)} columns; found {len(rows)} rows")
    values = []
    for letter, (number, (named, *scores)) in zip(letters, rows, strict=True):
        if named.upper() != letter or len(scores) != len(letters):
            expected = f"the letter {letter}, as in the order of the columns, and {len(letters)} scores"
            raise InputError(f"{source}, line {number}: expected {expected}; found {_quoted_start([named, *scores])}")
        values.append([_parse_integer(score, f"{source}, line {number}") for score in scores])
    return SubstitutionMatrix(source, "".join(letters), np.array(values, dtype=np.int64))


def _parse_integer(text: str, location: str) -> int:
    """Parse an integer, which may be written as 1.0 or 1e2. Raises `InputError` for any other text.

    location: location of the text, for the message
    """
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{location}: expected a score; found {text!r}") from None
    if not abs(value) <= _MAX_EXACT_INTEGER or abs(value - round(value)) > 1e-9:
        raise InputError(f"{location}: {text} is not a whole number, or beyond 2^53, so scores would not be exact")
    return round(value)


def _quoted_start(words: list[str]) -> str:
    text = " ".join(words)
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def matrix_by_name(name: str) -> SubstitutionMatrix:
    """Return a matrix from Biopython's collection. Names are case-insensitive; EDNAFULL is NUC.4.4.

    Raises `InputError` if there is no matrix of this name.
    """
    canonical = "NUC.4.4" if name.upper() in ("EDNAFULL", "DNAFULL") else name.upper()
    known = collection.matrix_names()
    if canonical not in known:
        close = ", ".join(n for n in known if n[:3] == canonical[:3]) or "BLOSUM62, PAM250, NUC.4.4"
        raise InputError(
            f"no matrix file or matrix is called {name!r}; available are, for instance, {close}{did_you_mean(canonical, known)}"
        )
    matrix = _parse(collection.matrix_text(canonical).splitlines(), f"matrix {canonical}")
    return replace(matrix, name=canonical)


def read_matrix(stream: TextIO, source: str) -> SubstitutionMatrix:
    """Read a matrix in NCBI format: '#' comments, a line of letters, then for each letter a line of scores.

    Raises `InputError` if the text is not in this format.
    """
    return _parse(stream, source)


def load_matrix(name: str) -> SubstitutionMatrix:
    """Load a substitution matrix from the file `name` if that file exists, or else the matrix of this name from Biopython's collection.

    Raises `InputError` if neither exists or the file is not a matrix.
    """
    if not Path(name).is_file():
        return matrix_by_name(name)
    try:
        with open(name, encoding="utf-8-sig") as stream:
            return read_matrix(stream, name)
    except UnicodeDecodeError:
        raise InputError(f"{name}: not a matrix in UTF-8; unpack it if it is compressed, or convert it (iconv -t UTF-8)") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read as a matrix file ({error})") from None
