"""Bit scores and E-values of local alignments (Karlin & Altschul 1990; for gapped alignments, Altschul & Gish 1996). Pure.

For a score S of a query of m letters in a database of N records with n letters in total,

    bits S' = (lambda S - ln K) / ln 2        E = K A exp(-lambda S) = A 2^-S'

E is the number of hits with at least score S expected by chance, and A is the effective search space. Because an alignment itself
has a length, A is less than m n. There are two corrections for this effect, both used by BLAST:

- for proteins, if the table has the parameters, the finite-size correction (Park, Sheetlin, Ma, Madden & Spouge 2012): the lengths of
  chance alignments of score S are normal variables with means a S + b, variances alpha S + beta and covariance sigma S + tau, and A is the
  mean area that these lengths leave of m times the target length, multiplied by n and divided by the target length;
- otherwise, the length adjustment l, the length of a chance alignment: A = (m - l) (n - N l) with the largest integer
  l <= alpha / lambda ln(K A) + beta (Altschul et al. 2001).

If several strands of a query are searched, E counts hits on all strands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np

from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.scoring import Scoring

RemainingLength: TypeAlias = tuple[Reals, Reals]

_PARAMETER_TABLE_PATH = Path(__file__).with_name("karlin_altschul.tsv")


@dataclass(frozen=True)
class FiniteSizeCorrection:
    """Parameters of the finite-size correction (Park et al. 2012, equations 18 to 24).

    In each sequence, the length of a chance alignment of score S has the mean mean_a S + mean_b and the variance variance_a S + variance_b.
    The covariance between the two lengths is covariance_a S + covariance_b.
    """

    mean_a: float
    mean_b: float
    variance_a: float
    variance_b: float
    covariance_a: float
    covariance_b: float

    def remaining_length(self, scores: Integers | Reals, lengths: Integers, lambda_: float) -> RemainingLength:
        """Return (mean number of letters that chance alignments leave of a sequence, probability that they leave any).

        scores, lengths: alignment scores and sequence lengths, arrays of the same shape
        lambda_: Karlin-Altschul parameter
        """
        deviation = np.sqrt(np.maximum(2 * self.variance_a / lambda_, self.variance_a * scores + self.variance_b))
        mean = lengths - (self.mean_a * scores + self.mean_b)
        chance = np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in (mean / deviation).tolist()])
        return mean * chance + deviation * np.exp(-0.5 * (mean / deviation) ** 2) / math.sqrt(2 * math.pi), chance

    def mean_remaining_area(self, scores: Integers | Reals, query: RemainingLength, target: RemainingLength, lambda_: float) -> Reals:
        """Return the mean area that chance alignments leave of the product of both lengths: float64 with the shape of `scores`.

        query, target: results of `remaining_length` for the queries and for the targets
        lambda_: Karlin-Altschul parameter
        """
        covariance = np.maximum(2 * self.covariance_a / lambda_, self.covariance_a * scores + self.covariance_b)
        return np.asarray(query[0] * target[0] + covariance * query[1] * target[1])


@dataclass(frozen=True)
class EvalueParameters:
    """Statistical parameters for a scoring.

    lambda_, k: Karlin-Altschul parameters
    alpha, beta: coefficients of the mean length of a chance alignment of score S, which is alpha S + beta
    step: number to whose multiples scores are rounded down
    source: human-readable source of the values
    finite_size: parameters of the finite-size correction, if known
    """

    lambda_: float
    k: float
    alpha: float
    beta: float
    step: int
    source: str
    finite_size: FiniteSizeCorrection | None = None

    def nats(self, scores: Integers | Reals) -> Reals:
        """Return lambda S - ln K for raw scores S."""
        rounded = scores if self.step == 1 else scores // self.step * self.step
        return np.asarray(self.lambda_ * rounded - math.log(self.k))

    def bit_scores(self, scores: Integers | Reals) -> Reals:
        """Convert raw scores to bit scores."""
        return self.nats(scores) / math.log(2)

    def length_adjustment(self, query_length: int, letter_count: int, record_count: int) -> int:
        """Return the length adjustment l, which leaves at least one letter of each sequence.

        query_length: number of letters in the query
        letter_count, record_count: number of letters and records in the database
        """
        limit = max(0, min(query_length - 1, (letter_count - 1) // record_count))

        def reached(length: int) -> bool:
            space = self.k * (query_length - length) * (letter_count - record_count * length)
            return space > 0 and length <= self.alpha / self.lambda_ * math.log(space) + self.beta

        low, high = 0, limit  # reached(low), or low is 0; the right side falls while the left one rises
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if reached(middle) else (low, middle - 1)
        return low


@dataclass(frozen=True)
class SearchSpace:
    """Everything that E-values depend on and that all hits of a search have in common.

    parameters: statistical parameters for the scoring
    letter_count, record_count: number of letters and records in the database
    strand_count: number of strands per query
    """

    parameters: EvalueParameters
    letter_count: int
    record_count: int
    strand_count: int = 1

    def with_letter_count(self, letter_count: int) -> SearchSpace:
        """Return the search space of a database of `letter_count` letters, in records of the same mean length."""
        records = (self.record_count * letter_count + self.letter_count // 2) // self.letter_count
        return replace(self, letter_count=letter_count, record_count=max(1, records))

    def _effective_size(self, query_length: int) -> float:
        """Return the size of a query's effective search space, after the length adjustment."""
        length = self.parameters.length_adjustment(query_length, self.letter_count, self.record_count)
        return float(query_length - length) * (self.letter_count - self.record_count * length)

    def evalues(self, scores: Integers | Reals, query_lengths: Integers, target_lengths: Integers) -> Reals:
        """Return the E-values of hits: float64[hits].

        scores: raw score of each hit, int64[hits] or float64[hits]
        query_lengths, target_lengths: lengths of each hit's query and target, int64[hits]
        """
        p = self.parameters
        if p.finite_size is None:
            distinct, places = np.unique(query_lengths, return_inverse=True)
            areas = np.array([self._effective_size(length) for length in distinct.tolist()], dtype=np.float64)[places]
        else:
            of_query, of_target = (
                p.finite_size.remaining_length(scores, lengths, p.lambda_) for lengths in (query_lengths, target_lengths)
            )
            areas = p.finite_size.mean_remaining_area(scores, of_query, of_target, p.lambda_) * (self.letter_count / target_lengths)
        return self.strand_count * areas * np.exp(-p.nats(scores))

    def evalues_by_query_length(self, scores: Integers, target_lengths: Integers) -> Callable[[int], Reals]:
        """Return a function that computes the E-values of a query's hits, float64[hits], from the length of the query.

        scores: raw score of each hit, int64[hits]
        target_lengths: length of each hit's target, int64[hits]

        This is faster than `evalues` for many queries if there are few distinct scores.
        """
        p = self.parameters
        finite_size = p.finite_size
        if finite_size is None:
            return lambda query: self.evalues(scores, np.full(len(scores), query, dtype=np.int64), target_lengths)
        distinct, places = np.unique(scores, return_inverse=True)
        target_side = finite_size.remaining_length(scores, target_lengths, p.lambda_)
        factors = self.strand_count * (self.letter_count / target_lengths) * np.exp(-p.nats(scores))

        def evalues(query: int) -> Reals:
            letters, chances = finite_size.remaining_length(distinct, np.full(len(distinct), query, dtype=np.int64), p.lambda_)
            return finite_size.mean_remaining_area(scores, (letters[places], chances[places]), target_side, p.lambda_) * factors

        return evalues


_ParameterRow = tuple[float, ...]
_UNGAPPED = "-", "-"
"""Gap costs of alignments without gaps in BLAST's table."""


@lru_cache(maxsize=1)
def _published_rows() -> dict[tuple[str, str, str], _ParameterRow]:
    """Return (lambda, K, H, alpha, beta, and variance and covariance if known) for each scoring in BLAST's table.

    The key is (name of the scoring, gap existence cost, gap extension cost), as written by BLAST.
    """
    rows = {}
    for line in _PARAMETER_TABLE_PATH.read_text(encoding="utf-8").splitlines():
        if not line.startswith(("#", "scoring")):
            name, existence, extension, *numbers = line.split("\t")
            rows[name, existence, extension] = tuple(float(x) for x in numbers if x != "-")
    return rows


def published_parameters(scoring: Scoring) -> EvalueParameters | None:
    """Return the published parameters for a scoring, or None if there are none.

    Gap costs that BLAST writes as 11/1 are 12/1 here, because BLAST adds the extension cost to every letter of a gap.
    """
    name = "5/-4" if scoring.matrix == "NUC.4.4" else scoring.matrix
    if scoring.match is not None:
        name = f"{scoring.match}/{scoring.mismatch}"
    existence = scoring.gap_open - scoring.gap_extend
    entry = _published_rows().get((name or "", str(existence), str(scoring.gap_extend)))
    if entry is None:
        return None
    lambda_, k, _, alpha, beta, *spread = entry
    step = 2 if scoring.match == 2 else 1
    source = f"BLAST's table, {name} with gaps {existence}/{scoring.gap_extend} in its counting"
    ungapped = _published_rows().get((name or "", *_UNGAPPED))
    if not spread or ungapped is None:
        return EvalueParameters(lambda_, k, alpha, beta, step, source)
    # The constant terms follow from those of ungapped alignments, with the assumption that a gap cuts one of these in two.
    twice = 2 * scoring.gap_cost(1)
    finite_size = FiniteSizeCorrection(
        alpha, twice * (ungapped[3] - alpha), spread[0], twice * (ungapped[5] - spread[0]), spread[1], twice * (ungapped[5] - spread[1])
    )
    return EvalueParameters(lambda_, k, alpha, beta, step, source, finite_size)


def ungapped_lambda(scoring: Scoring) -> float | None:
    """Return the published lambda of a matrix's scores without gaps, or None if there is none."""
    entry = _published_rows().get((scoring.matrix or "", *_UNGAPPED))
    return None if entry is None else entry[0]
