"""Bit scores and E-values of local alignments (Karlin & Altschul 1990; for gapped ones Altschul & Gish 1996). Pure.

A score S between a query of m letters and a database of N records with n letters in all has

    bits S' = (lambda S - ln K) / ln 2        E = K (m - l) (n - N l) exp(-lambda S) = (m - l) (n - N l) 2^-S'

E is the number of hits of that score or a better one that chance is expected to give. l is BLAST's length adjustment, the
length that a chance alignment has: the largest whole number with l <= alpha / lambda ln(K (m - l) (n - N l)) + beta (Altschul et
al. 2001). Where several strands of a query are searched, E counts all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources

import numpy as np
import numpy.typing as npt

from gpualign.core.scoring import Scoring

_TABLE = "karlin_altschul.tsv"


@dataclass(frozen=True)
class Parameters:
    """lambda_ and k of a scoring; alpha, beta: mean length of a chance alignment of score S is alpha S + beta; step: scores are
    rounded down to a multiple of it; source: where the numbers are from, for people."""

    lambda_: float
    k: float
    alpha: float
    beta: float
    step: int
    source: str

    def _exponent(self, scores: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return np.asarray(self.lambda_ * (scores // self.step * self.step) - math.log(self.k))

    def bits(self, scores: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Bit scores of raw scores."""
        return self._exponent(scores) / math.log(2)

    def length_adjustment(self, query: int, letters: int, records: int) -> int:
        """l for a query of so many letters and a database of so many letters and records; at least one letter is left of each."""
        most = max(0, min(query - 1, (letters - 1) // records))

        def reached(length: int) -> bool:
            space = self.k * (query - length) * (letters - records * length)
            return space > 0 and length <= self.alpha / self.lambda_ * math.log(space) + self.beta

        low, high = 0, most  # reached(low), or low is 0; the right side falls while the left one rises
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if reached(middle) else (low, middle - 1)
        return low


@dataclass(frozen=True)
class SearchSpace:
    """What a search compares: parameters of the scoring, letters and records of the database, strands of each query."""

    parameters: Parameters
    letters: int
    records: int
    strands: int = 1

    @cached_property
    def _sizes(self) -> dict[int, float]:
        return {}

    def size(self, query: int) -> float:
        """(m - l) (n - N l), times the strands."""
        if query not in self._sizes:
            length = self.parameters.length_adjustment(query, self.letters, self.records)
            self._sizes[query] = float(self.strands) * (query - length) * (self.letters - self.records * length)
        return self._sizes[query]

    def evalues(self, scores: npt.NDArray[np.int64], query_lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """E-values of raw scores and the lengths of their queries."""
        sizes = np.array([self.size(length) for length in query_lengths.tolist()], dtype=np.float64)
        return sizes * np.exp(-self.parameters._exponent(scores))


@lru_cache(maxsize=1)
def _published() -> dict[tuple[str, int, int], tuple[float, float, float, float]]:
    """(lambda, K, alpha, beta) by scoring, existence and extension."""
    found = {}
    for line in resources.files("gpualign.core").joinpath(_TABLE).read_text().splitlines():
        if not line.startswith(("#", "scoring")):
            name, existence, extension, lambda_, k, _, alpha, beta = line.split("\t")
            found[name, int(existence), int(extension)] = float(lambda_), float(k), float(alpha), float(beta)
    return found


def published(scoring: Scoring) -> Parameters | None:
    """The published parameters of a scoring, or None. A gap that BLAST writes as 11/1 is one of 12/1 here."""
    name = "5/-4" if scoring.matrix == "NUC.4.4" else scoring.matrix
    if scoring.match is not None:
        name = f"{scoring.match}/{scoring.mismatch}"
    existence = scoring.gap_open - scoring.gap_extend
    entry = _published().get((name or "", existence, scoring.gap_extend))
    if entry is None:
        return None
    step = 2 if scoring.match == 2 else 1
    return Parameters(*entry, step, f"BLAST's table, {name} with gaps {existence}/{scoring.gap_extend} in its counting")
