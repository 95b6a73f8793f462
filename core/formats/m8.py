"""The twelve columns of BLAST's -outfmt 6, without a header.

Global alignments have no E-value: that column is -1 and the bit score 0, as in vsearch's --blast6out.
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
            fields.statistic("target_start", 1)(block),
            fields.statistic("target_end")(block),
            Column.constant("-1"),
            Column.constant("0"),
        ]
