"""Alignment of two sequences, with an aligner that can be reused between calls."""

from __future__ import annotations

from gpualign.core.alignment.task import EndGaps, Mode
from gpualign.core.common.arrays import Booleans
from gpualign.core.scoring.scoring import Scoring, ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import Alphabet
from gpualign.cpu.alignment.single_pair import SinglePairAligner
from gpualign.jobs.devices.memory import default_memory


def make_aligner(
    alphabet: Alphabet, options: ScoringOptions, mode: Mode, end_gaps: EndGaps
) -> tuple[SinglePairAligner, Scoring, Booleans | None]:
    """Return (an aligner, its scoring, bool[letters] that is True for letter codes that have scores, or None if all have).

    Raises `InputError` for a scoring that contradicts itself.
    """
    covered = None if options.matrix is None else options.matrix.table(alphabet)[1]
    scoring = make_scoring(alphabet, options, local=mode is Mode.LOCAL)
    return SinglePairAligner(scoring, alphabet, mode, end_gaps, default_memory() // 2), scoring, covered
