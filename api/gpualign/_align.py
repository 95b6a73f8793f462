"""Alignment of two sequences."""

from __future__ import annotations

import io
from functools import cached_property, lru_cache

import numpy as np

from gpualign._execution_options import checked_choice
from gpualign._scoring import Scoring, checked_scoring_of_every_pair
from gpualign._sequences import arguments_of_read, letters_of_record
from gpualign.core.alignment.ambiguity import AmbiguityRule, count_ambiguity, default_rule
from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.alignment.task import Detail, EndGaps, Mode, Task
from gpualign.core.common.arrays import Codes
from gpualign.core.common.errors import InputError
from gpualign.core.output.pairwise_text import PairwiseTextSink
from gpualign.core.results.blocks import RectangleBlock
from gpualign.core.scoring.scoring import Scoring as Costs
from gpualign.core.sequences.alphabet import ALPHABETS, INVALID_CODE, Alphabet, checked_alphabet_name, detect_alphabet
from gpualign.core.sequences.sequence_set import SequenceSet, encode_letters
from gpualign.core.sequences.string_column import StringColumn
from gpualign.jobs.pair_alignment import make_aligner

_LINE_WIDTH = 80
_MODES = {"global": Mode.GLOBAL, "local": Mode.LOCAL}
_END_GAPS = {one.value: one for one in EndGaps}
_ENCODING_TABLES = {one.name: one.encoding.tobytes() for one in ALPHABETS.values()}
_INVALID_CODE = bytes([INVALID_CODE])

_aligner = lru_cache(maxsize=64)(
    lambda alphabet, scoring, mode, end_gaps: make_aligner(ALPHABETS[alphabet], scoring.options(), mode, end_gaps)
)


class Alignment:
    """An alignment of two sequences, as returned by `align`. `str()` draws the alignment.

    Counts and positions are defined as for the columns of `gpualign nw --fields`.

    score: score, an int; with `gpualign.EDIT` the edit distance
    """

    def __init__(self, query: Codes, target: Codes, alphabet: Alphabet, scoring: Costs, mode: Mode, results: BandResults) -> None:
        self._arguments = query, target, alphabet, scoring, mode
        self._results = results
        self.score = int(results.scores[0, 0])

    @cached_property
    def _block(self) -> RectangleBlock:
        query, target, alphabet, scoring, mode = self._arguments
        sets = [SequenceSet("", [name], codes, np.array([0, len(codes)])) for name, codes in (("query", query), ("target", target))]
        rule = default_rule(alphabet) if mode is Mode.GLOBAL else AmbiguityRule.UNEQUAL  # as `nw` and `sw` do
        ambiguous = count_ambiguity(rule, alphabet, sets[0], sets[1], threads=1)
        task = Task(sets[0], sets[1], scoring, mode, Detail.PATH, alphabet=alphabet, ambiguity=ambiguous)
        return RectangleBlock(task, DEFAULT_DEFINITION, self._results)

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes without the cached block, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "_block"}

    @property
    def cigar(self) -> str:
        """Runs of = (equal), X (unequal), I (query only), D (target only); "*" if no letters are aligned."""
        return self._block.path_text((0, 0), "cigar")

    @property
    def identity(self) -> float:
        """Matches as a fraction of the alignment columns, excluding end gaps."""
        return float(self._block.identity_fraction[0, 0])

    @property
    def query(self) -> str:
        """The aligned part of the query, with gaps."""
        return self._block.path_text((0, 0), "query")

    @property
    def target(self) -> str:
        """The aligned part of the target, with gaps."""
        return self._block.path_text((0, 0), "target")

    def _count(self, name: str) -> int:
        return int(self._block.statistics[name][0, 0])

    @property
    def matches(self) -> int:
        """Number of columns with equal letters. In global DNA alignments, an ambiguity letter equals each letter that it may stand for."""
        return self._count("matches")

    @property
    def mismatches(self) -> int:
        """Number of columns with unequal letters."""
        return self._count("mismatches")

    @property
    def gaps(self) -> int:
        """Number of letters in gaps."""
        return self._count("gaps")

    @property
    def query_range(self) -> tuple[int, int]:
        """Aligned range of the query, (start, stop): 0-based, half-open."""
        return self._count("query_start"), self._count("query_end")

    @property
    def target_range(self) -> tuple[int, int]:
        """Aligned range of the target, (start, stop): 0-based, half-open."""
        return self._count("target_start"), self._count("target_end")

    def __str__(self) -> str:
        drawn = io.BytesIO()
        PairwiseTextSink(drawn, self._block.task, _LINE_WIDTH).write_block(self._block, None)
        return drawn.getvalue().decode()

    def __repr__(self) -> str:
        return f"<Alignment: score {self.score}, {self.cigar or 'no letters'}>"


def align(
    query: str | bytes,
    target: str | bytes,
    scoring: Scoring | None = None,
    *,
    mode: str = "global",
    end_gaps: str = "penalised",
    alphabet: str = "auto",
) -> Alignment:
    """Align two sequences in the calling thread.

    query: str, bytes or SeqRecord
    target: str, bytes or SeqRecord
    scoring: letter scores and gap costs; None: the defaults for the alphabet and mode
    mode: "global" (Needleman-Wunsch) or "local" (Smith-Waterman)
    end_gaps: which end gaps of a global alignment are free: "penalised" (none), "free" (all), "query" (gaps in the query) or "target"
    alphabet: "dna", "protein" or "auto" (determined from the letters of both sequences)

    Returns an `Alignment`.
    Raises `InputError` for bad input, `RunError` if the pair needs too much memory.

    >>> found = align("ACGT", "AGT", Scoring(match=2, mismatch=-1, gap=1))
    >>> found.score, found.cigar, found.identity
    (5, '1=1I2=', 0.75)
    """
    checked_choice("mode", mode, _MODES)
    checked_choice("end_gaps", end_gaps, _END_GAPS)
    if mode == "local" and end_gaps != "penalised":
        raise InputError("end_gaps needs global alignments; a local alignment ends where its score is best")
    letters = [_checked_letters(one, name) for one, name in ((query, "query"), (target, "target"))]
    if checked_alphabet_name(alphabet) == "auto":
        alphabet = detect_alphabet(("the query", "the target"), StringColumn.from_bytes(letters)).name
    chosen = ALPHABETS[alphabet]
    codes = [_encode(text, name, chosen) for text, name in zip(letters, ("query", "target"), strict=True)]
    checked = checked_scoring_of_every_pair(scoring, mode == "local")
    aligner, costs, covered = _aligner(alphabet, checked, _MODES[mode], _END_GAPS[end_gaps])
    for one in codes:
        if covered is not None and not covered[one].all():
            letter = chosen.letters[int(one[~covered[one]][0])]
            raise InputError(f"matrix {costs.matrix} has no row for the letter {letter!r}")
    return Alignment(codes[0], codes[1], chosen, costs, _MODES[mode], aligner.align(*codes))


def _checked_letters(sequence: object, name: str) -> bytes:
    if (letters := letters_of_record(sequence)) is None:
        raise InputError(f"{name}: expected str, bytes or SeqRecord; found {type(sequence).__name__}")
    return letters


def _encode(text: bytes, name: str, alphabet: Alphabet) -> Codes:
    if not text:
        raise InputError(f"the {name} has no letters")
    encoded = text.translate(_ENCODING_TABLES[alphabet.name])  # for short texts several times as fast as NumPy's look-up
    if _INVALID_CODE in encoded:
        raw = np.frombuffer(text, dtype=np.uint8)
        with arguments_of_read():
            encode_letters("align", StringColumn(raw, np.array([0, len(raw)])), alphabet, lambda record: name)  # raises, naming the letter
    return np.frombuffer(encoded, dtype=np.uint8)
