"""The twelve columns of BLAST's -outfmt 6, without a header.

Alignments without an E-value, as global ones, have -1 in that column and a bit score of 0, as in vsearch's --blast6out. Of the
reverse complement of a query, the ends on the target are told the wrong way round, as BLAST does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core import fields
from gpualign.core._rows import Column
from gpualign.core.engine import Detail, Task
from gpualign.core.fields import BlockData


class M8:
    """Query, target, percent identity, length, mismatches, gap openings, ends of both from 1, E-value, bit score."""

    detail = Detail.STATISTICS

    def header(self, task: Task) -> bytes:
        return b""

    @staticmethod
    def _significance(block: BlockData) -> tuple[Column, Column]:
        hits = block.hits
        if hits is None or hits.bits is None or hits.evalues is None:
            return Column.constant("-1"), Column.constant("0")
        return block.hit_text(map(blast_evalue, hits.evalues.tolist())), block.hit_text(map(blast_bits, hits.bits.tolist()))

    @staticmethod
    def _target_ends(block: BlockData) -> tuple[Column, Column]:
        starts, ends = block.statistics["target_start"] + np.int32(1), block.statistics["target_end"]
        minus = False if block.hits is None else block.hits.minus
        first, last = np.where(minus, ends, starts), np.where(minus, starts, ends)
        return Column.pair_numbers(np.ascontiguousarray(first)), Column.pair_numbers(np.ascontiguousarray(last))

    def columns(self, block: BlockData, wanted: npt.NDArray[np.bool_]) -> list[Column]:
        return [
            fields.query_ids(block),
            fields.target_ids(block),
            fields.identities(100, 3)(block),
            fields.lengths(block),
            fields.statistic("mismatches")(block),
            fields.statistic("gap_opens")(block),
            fields.statistic("query_start", 1)(block),
            fields.statistic("query_end")(block),
            *self._target_ends(block),
            *self._significance(block),
        ]


def blast_evalue(value: float) -> str:
    """An E-value as BLAST's tables write it."""
    if value < 1e-180:
        return "0.0"
    for limit, form in ((9e-4, "%.2e"), (0.1, "%.3f"), (1.0, "%.2f"), (10.0, "%.1f")):
        if value < limit:
            return form % value
    return f"{value:.0f}"


def blast_bits(value: float) -> str:
    """A bit score as BLAST's tables write it."""
    if value > 9999:
        return f"{value:.3e}"
    return str(int(value)) if value > 99.9 else f"{value:.1f}"
