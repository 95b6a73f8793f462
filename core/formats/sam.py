"""SAM 1.6: targets are the references, queries the reads; with NM, AS and MD.

Gaps in the query at the ends of an alignment have no place in SAM: POS is the first letter of the target that meets one of the
query, or a letter inserted before it. Letters of the query beyond free end gaps are soft-clipped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign import __version__
from gpualign.core import fields
from gpualign.core._rows import Column
from gpualign.core.engine import Detail, Task
from gpualign.core.fields import BlockData
from gpualign.core.formats.base import alignment_score

_SECONDARY = 256


class Sam:
    """The first row of a query is its primary alignment, the others are flagged secondary."""

    detail = Detail.PATH

    def __init__(self) -> None:
        self._seen = -1  # the last query that has a row

    def header(self, task: Task) -> bytes:
        references = zip(task.targets.ids, task.targets.lengths, strict=True)
        lines = ["@HD\tVN:1.6\tSO:unknown\tGO:query", *(f"@SQ\tSN:{name}\tLN:{length}" for name, length in references)]
        lines.append(f"@PG\tID:gpualign\tPN:gpualign\tVN:{__version__}")
        return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")

    def _flags(self, first_query: int, wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
        flags = np.full(wanted.shape, _SECONDARY, dtype=np.int32)
        for row in np.flatnonzero(wanted.any(axis=1)):
            query = first_query + int(row)
            if query > self._seen:
                flags[row, int(np.argmax(wanted[row]))] = 0
                self._seen = query
        return flags

    def columns(self, block: BlockData, wanted: npt.NDArray[np.bool_]) -> list[Column]:
        queries = block.task.queries
        letters = np.frombuffer(block.task.alphabet.letters.encode(), dtype=np.uint8)
        rows = len(wanted)
        start, stop = queries.offsets[block.first_query], queries.offsets[block.first_query + rows]
        offsets = np.zeros(block.first_query + rows + 1, dtype=np.int64)
        offsets[block.first_query :] = queries.offsets[block.first_query : block.first_query + rows + 1] - start
        return [
            fields.query_ids(block),
            Column.pair_numbers(self._flags(block.first_query, wanted)),
            fields.target_ids(block),
            fields.path("sam_position")(block),
            Column.constant("255"),
            fields.path("sam_cigar")(block),
            Column.constant("*\t0\t0"),
            Column.query_text(letters[queries.codes[start:stop]], offsets),
            Column.constant("*"),
            fields.path("sam_distance")(block).between("NM:i:"),
            alignment_score(block).between("AS:i:"),
            fields.path("sam_md")(block).between("MD:Z:"),
        ]
