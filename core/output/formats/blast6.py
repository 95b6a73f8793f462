"""The twelve columns of BLAST's -outfmt 6, without a header.

Alignments without an E-value, such as global ones, have -1 in that column and a bit score of 0, as in vsearch's --blast6out. If the reverse
complement of a query is aligned, start and end in the target are swapped, as in BLAST. If translations are aligned, start and end are
swapped in each sequence that was read as its reverse complement.
"""

from __future__ import annotations

import numpy as np

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.arrays import Booleans
from gpualign.core.results import columns as fields
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block


class Blast6:
    """Columns: query, target, percent identity, length, mismatches, gap openings, start and end in query and target (1-based), E-value, bit
    score."""

    alignment_detail = Detail.STATISTICS
    has_letters = False

    def header(self, task: Task) -> bytes:
        return b""

    def columns(self, block: Block, mask: Booleans | None) -> list[Column]:
        flipped = (
            (np.False_, block.is_reverse_complement)
            if block.input_letters_per_letter == (1, 1)
            else (block.is_reverse_complement, block.target_is_reverse_complement)
        )
        return [
            fields.query_id_column(block),
            fields.target_id_column(block),
            fields.identity_column_maker(100, 3)(block),
            fields.alignment_length_column(block),
            fields.statistic_column_maker("mismatches")(block),
            fields.statistic_column_maker("gap_opens")(block),
            *_coordinate_columns(block, "query", flipped[0]),
            *_coordinate_columns(block, "target", flipped[1]),
            block.evalue_column(format_blast_evalue, unknown_text="-1"),
            block.bit_score_column(format_blast_bit_score, unknown_text="0"),
        ]


def _coordinate_columns(block: Block, side: str, flipped: Booleans | np.bool_) -> list[Column]:
    """Return the columns of start and end positions in one sequence of each pair, swapped where `flipped` is True. side: "query" or
    "target"."""
    starts, ends = block.statistics[f"{side}_start"] + np.int32(1), block.statistics[f"{side}_end"]
    return [block.integer_column(np.where(flipped, ends, starts)), block.integer_column(np.where(flipped, starts, ends))]


def format_blast_evalue(value: float) -> str:
    """Format an E-value as in BLAST's tabular output."""
    if value < 1e-180:
        return "0.0"
    for limit, form in ((9e-4, "%.2e"), (0.1, "%.3f"), (1.0, "%.2f"), (10.0, "%.1f")):
        if value < limit:
            return form % value
    return f"{value:.0f}"


def format_blast_bit_score(value: float) -> str:
    """Format a bit score as in BLAST's tabular output."""
    if value > 99999:
        return f"{value:.3e}"
    return str(int(value)) if value > 99.9 else f"{value:.1f}"
