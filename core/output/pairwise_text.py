"""Human-readable alignments: blocks of three lines, the two sequences with a match line between them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Booleans
from gpualign.core.common.units import format_count
from gpualign.core.output.pairs import PairsSink
from gpualign.core.output.writer import ByteWriter
from gpualign.core.results.blocks import Block, PairIndex
from gpualign.core.results.filter import Filter
from gpualign.core.results.hit_blocks import as_hit_block
from gpualign.core.sequences.alphabet import PROTEIN

_MIN_LINE_LETTERS = 10


class PairwiseTextSink(PairsSink):
    """Writes each pair as a summary and an alignment, in lines of at most `width` characters (but at least ten letters).

    Between the sequences, | marks matches, . mismatches, and in proteins + mismatches with a positive score. Numbers at the ends are
    1-based positions; in translations they count nucleotides.
    """

    def __init__(
        self, stream: ByteWriter, task: Task, width: int, filter: Filter | None = None, identity_definition: int = DEFAULT_DEFINITION
    ) -> None:
        super().__init__(stream, task, filter, identity_definition)
        self._width = width
        self._shows_similar = task.alphabet.name == PROTEIN.name and not task.scoring.edit

    def write_block(self, block: Block, mask: Booleans | None) -> None:
        for pair in np.argwhere(block.output_mask(mask)).tolist():
            text = "".join(f"{line}\n" for line in self._pair_lines(block, tuple(pair)))
            self.stream.write(text.encode("utf-8", "surrogateescape"))

    def _pair_lines(self, block: Block, pair: PairIndex) -> Iterator[str]:
        task = block.task
        query, target = block.record_numbers(pair)
        counts = block.statistics[pair]
        num, den = (int(term[pair]) for term in block.identity_ratios)
        gaps, opens = int(counts["gaps"]), int(counts["gap_opens"])
        percent = 100 * num / den if den else 0.0
        lengths = block.record_lengths[0][query], block.record_lengths[1][target]
        units = ["letter" if codon == 1 else "nucleotide" for codon in block.input_letters_per_letter]
        yield f"query    {task.queries.ids[query]} ({format_count(lengths[0], units[0], 'd')})"
        yield f"target   {task.targets.ids[target]} ({format_count(lengths[1], units[1], 'd')})"
        yield f"{'distance' if task.scoring.edit else 'score':<9}{block.scores[pair]}"
        significance = block.significance(pair)
        if significance is not None:
            yield "bits     {:.1f}, E-value {:.3g}".format(*significance)
        if block.input_letters_per_letter != (1, 1):
            yield f"frame    {', '.join(self._frame_descriptions(block, pair))}"
        elif block.is_reverse_complement[pair]:
            yield "strand   reverse complement of the query"
        yield f"identity {percent:.2f} % ({num} of {den})"
        yield f"gaps     {opens} with {format_count(gaps, 'letter', 'd')}" if gaps else "gaps     0"
        yield ""
        # Numbers of the first letters, and the step from each letter to the next.
        ends = [
            (side, bool(flipped[pair]))
            for side, flipped in (("query", block.is_reverse_complement), ("target", block.target_is_reverse_complement))
        ]
        firsts = [int(counts[f"{side}_end"] if flipped else counts[f"{side}_start"] + 1) for side, flipped in ends]
        steps = [-codon if flipped else codon for codon, (_, flipped) in zip(block.input_letters_per_letter, ends, strict=True)]
        names = task.queries.ids[query], task.targets.ids[target]
        yield from self._alignment_lines(block, pair, names, firsts, steps)

    def _frame_descriptions(self, block: Block, pair: PairIndex) -> Iterator[str]:
        """Yield a human-readable description of the reading frame of each translated sequence in a pair."""
        for side, codon, frames in zip(("query", "target"), block.input_letters_per_letter, as_hit_block(block).frames, strict=True):
            if codon != 1:
                yield f"{frames[pair]:+d} of the {side}"

    def _alignment_lines(
        self, block: Block, pair: PairIndex, names: tuple[str, str], first_positions: list[int], position_steps: list[int]
    ) -> Iterator[str]:
        query, target = block.record_numbers(pair)
        upper, middle, lower = (block.path_text(pair, kind) for kind in ("query", "markers", "target"))
        if self._shows_similar:
            middle = self._match_line(upper, middle, lower)
        label = min(max(map(len, names)), 20)
        digits = len(str(int(max(block.record_lengths[0][query], block.record_lengths[1][target]))))
        letters = max(_MIN_LINE_LETTERS, self._width - label - 2 * digits - 3)
        positions, step = np.array(first_positions), np.array(position_steps)
        within = step - np.sign(step)  # from the first to the last nucleotide of a codon
        for at in range(0, len(middle), letters):
            pieces = upper[at : at + letters], lower[at : at + letters]
            used = [len(piece) - piece.count("-") for piece in pieces]
            last = positions + step * (np.array(used) - 1) + within
            yield f"{names[0][:label]:<{label}} {positions[0]:>{digits}} {pieces[0]} {last[0]}"
            yield f"{'':<{label + digits + 2}}{middle[at : at + letters]}".rstrip()
            yield f"{names[1][:label]:<{label}} {positions[1]:>{digits}} {pieces[1]} {last[1]}"
            yield ""
            positions = last + np.sign(step)
        if not middle:
            yield "no letters are aligned"
            yield ""

    def _match_line(self, upper: str, middle: str, lower: str) -> str:
        """Return the match line between two sequences, with + for mismatches with a positive score."""
        signs = np.frombuffer(middle.encode(), dtype=np.uint8)
        unequal = np.flatnonzero(signs == ord("."))
        codes = (PROTEIN.encoding[np.frombuffer(line.encode(), dtype=np.uint8)[unequal]] for line in (upper, lower))
        similar = self.task.scoring.substitution[tuple(codes)] > 0
        changed = signs.copy()
        changed[unequal[similar]] = ord("+")
        return str(changed.tobytes(), "ascii")
