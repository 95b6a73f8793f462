"""Substitution matrices as models whose scores can be adjusted to the compositions of two proteins.

core/scoring/src/composition.hpp describes the adjustments and names their sources.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from pathlib import Path

import numpy as np

from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.scoring.evalues import ungapped_lambda
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.alphabet import PROTEIN, Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet

NONE, SCALE, ADJUST = "none", "scale", "adjust"
METHODS = (NONE, SCALE, ADJUST)

UNITS_PER_POINT = 32
"""Adjusted scores are integer multiples of 1/32 of a score point (`kUnitsPerPoint` of core/scoring/src/composition.hpp)."""

_WINDOW_BORDER = 200
"""Maximum number of letters to either side of an alignment of a translation whose composition counts."""

_STOP_MARGIN = 20
"""Number of letters next to a stop codon that do not count, except those of the alignment."""

_TABLE_PATH = Path(__file__).with_name("target_frequencies.tsv")
_STOP = PROTEIN.letters.index("*")
_AMINO_ACIDS = PROTEIN.letters[: PROTEIN.unambiguous_count]


@dataclass(frozen=True)
class MatrixModel:
    """Probabilistic model behind the scores of a substitution matrix.

    target_frequencies: frequency of each pair of amino acids in alignments, float64[20][20]
    ungapped_lambda: scale of the scores in nats, without gaps
    stop_score, stop_stop_score: scores of a stop codon with another letter, and with another stop codon
    only_scales: whether scores are only scaled; otherwise target frequencies are adjusted
    """

    target_frequencies: Reals = field(repr=False)
    ungapped_lambda: float
    stop_score: int
    stop_stop_score: int
    only_scales: bool


@lru_cache(maxsize=1)
def _published_frequencies() -> dict[str, Reals]:
    """Return the target frequencies of each matrix in the table, by name: float64[20][20]."""
    lines = [line.split("\t") for line in _TABLE_PATH.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    (_, *names), *rows = lines
    tables = {name: np.zeros((len(_AMINO_ACIDS),) * 2) for name in names}
    for pair, *values in rows:
        i, j = map(_AMINO_ACIDS.index, pair)
        for name, value in zip(names, values, strict=True):
            tables[name][i, j] = tables[name][j, i] = float(value)
    return tables


def matrix_model(scoring: Scoring, method: str) -> MatrixModel | None:
    """Return the model of a scoring's matrix, or None if its target frequencies are unknown. method: `SCALE` or `ADJUST`"""
    frequencies, lambda_ = _published_frequencies().get(scoring.matrix or ""), ungapped_lambda(scoring)
    if frequencies is None or lambda_ is None:
        return None
    return MatrixModel(
        frequencies, lambda_, int(scoring.substitution[_STOP, 0]), int(scoring.substitution[_STOP, _STOP]), only_scales=method == SCALE
    )


def check_composition(method: str, scoring: Scoring, alphabet: Alphabet) -> None:
    """Raise `InputError` if scores of this kind cannot be adjusted by the method."""
    if method == NONE:
        return
    option = parameter("composition", method)
    if alphabet is not PROTEIN:
        raise InputError(f"{option} is for proteins; these are {alphabet.name} sequences")
    if matrix_model(scoring, method) is None:
        raise InputError(f"{option}: expected one of the matrices {', '.join(_published_frequencies())}; found {scoring.name}")


def translation_windows(translations: SequenceSet, numbers: Integers, starts: Integers, ends: Integers) -> tuple[Integers, Integers]:
    """Return the intervals of translations whose compositions count for alignments: (starts, ends), int64[alignments] each.

    An interval holds the alignment, and extends to either side by `_WINDOW_BORDER` letters at most, and up to `_STOP_MARGIN` letters
    before a stop codon.

    numbers: the translation of each alignment, int64[alignments]
    starts, ends: the aligned interval of each, half-open, int64[alignments]
    """
    offsets = translations.offsets[numbers]
    stops = np.flatnonzero(translations.codes == _STOP)
    before = np.concatenate(([-1], stops))[np.searchsorted(stops, offsets + starts)] - offsets
    after = np.concatenate((stops, [translations.offsets[-1]]))[np.searchsorted(stops, offsets + ends)] - offsets
    first, last = np.maximum(0, starts - _WINDOW_BORDER), np.minimum(translations.lengths[numbers], ends + _WINDOW_BORDER)
    lefts = np.where(before >= first, np.minimum(starts, before + 1 + _STOP_MARGIN), first)
    rights = np.where(after < last, np.maximum(ends, after - _STOP_MARGIN), last)
    return lefts, rights
