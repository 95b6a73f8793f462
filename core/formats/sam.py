"""SAM 1.6: targets are the references, queries the reads; with NM, AS and MD.

Gaps in the query at the ends of an alignment have no place in SAM: POS is the first letter of the target that meets one of the
query, or a letter inserted before it. Letters of the query beyond the alignment are soft-clipped. Alignments that hold no letter of the
query are unmapped reads, put at the target's first letter. Hits of a search on the other strand have the flag 16 and the reverse
complement of the query.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign import __version__
from gpualign.core import fields
from gpualign.core._rows import Column
from gpualign.core.engine import Detail, Task
from gpualign.core.fields import BlockData, HitColumns
from gpualign.core.formats.base import alignment_score
from gpualign.core.text import TextColumn

_UNMAPPED = 4
_SECONDARY = 256
_REVERSE = 16


class Sam:
    """The first row of a query is its primary alignment, the others are flagged secondary."""

    detail = Detail.PATH

    def __init__(self) -> None:
        self._seen = -1  # the last query that has a row

    def header(self, task: Task) -> bytes:
        targets = task.targets
        references = ((targets.ids[i], targets.lengths[i]) for i in np.argsort(targets.ranks).tolist())
        lines = ["@HD\tVN:1.6\tSO:unknown\tGO:query", *(f"@SQ\tSN:{name}\tLN:{length}" for name, length in references)]
        lines.append(f"@PG\tID:gpualign\tPN:gpualign\tVN:{__version__}")
        return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")

    def _hit_flags(self, hits: HitColumns, wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
        flags: npt.NDArray[np.int32] = (_SECONDARY + _REVERSE * hits.minus.astype(np.int32))[None, :]
        for column in np.flatnonzero(wanted[0]).tolist():
            if hits.given[column] > self._seen:
                flags[0, column] -= _SECONDARY
                self._seen = int(hits.given[column])
        return flags

    def _flags(self, block: BlockData, wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int32]:
        unmapped = block.statistics["query_start"] == block.statistics["query_end"]
        flags: npt.NDArray[np.int32] = (_SECONDARY + _UNMAPPED * unmapped).astype(np.int32)
        for row in np.flatnonzero(wanted.any(axis=1)):
            query = block.first_query + int(row)
            if query > self._seen:
                flags[row, int(np.argmax(wanted[row]))] -= _SECONDARY
                self._seen = query
        return flags

    @staticmethod
    def _sequences(block: BlockData, letters: npt.NDArray[np.uint8], rows: int) -> Column:
        queries = block.task.queries
        if block.hits is not None:
            codes = queries.gather(block.hits.queries)
            return block.hit_text(TextColumn(letters[codes.text], codes.offsets))
        start, stop = queries.offsets[block.first_query], queries.offsets[block.first_query + rows]
        offsets = np.zeros(block.first_query + rows + 1, dtype=np.int64)
        offsets[block.first_query :] = queries.offsets[block.first_query : block.first_query + rows + 1] - start
        return Column.query_text(letters[queries.codes[start:stop]], offsets)

    def columns(self, block: BlockData, wanted: npt.NDArray[np.bool_]) -> list[Column]:
        letters = np.frombuffer(block.task.alphabet.letters.encode(), dtype=np.uint8)
        return [
            fields.query_ids(block),
            Column.pair_numbers(self._flags(block, wanted) if block.hits is None else self._hit_flags(block.hits, wanted)),
            fields.target_ids(block),
            fields.path("sam_position")(block),
            Column.constant("255"),
            fields.path("sam_cigar")(block),
            Column.constant("*\t0\t0"),
            self._sequences(block, letters, len(wanted)),
            Column.constant("*"),
            fields.path("sam_distance")(block).between("NM:i:"),
            alignment_score(block).between("AS:i:"),
            fields.path("sam_md")(block).between("MD:Z:"),
        ]
