"""SAM 1.6: targets are the references, and queries are the reads. Rows have the tags NM, AS and MD.

SAM has no gaps in the query at the ends of an alignment: POS is the first target letter aligned with a query letter, or a letter inserted
before it. Query letters beyond the alignment are soft-clipped. Alignments without query letters are unmapped reads, placed at the target's
first letter. Search hits on the reverse strand have flag 16 and the reverse complement of the query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from gpualign import __version__
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.errors import InputError
from gpualign.core.output.formats.base import MaskedBlock, alignment_score, alignment_scores
from gpualign.core.results import columns as fields
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block
from gpualign.core.results.hit_blocks import HitBlock

_MAX_READ_NAME_BYTES = 254
"""Maximum number of bytes in a read name."""

_READ_NAME_CHARACTERS = bytes(byte for byte in range(ord("!"), ord("~") + 1) if byte != ord("@"))
_REFERENCE_NAME_CHARACTERS = bytes(byte for byte in range(ord("!"), ord("~") + 1) if byte not in b"\\,\"`'()[]{}<>")
"""Characters that the specification allows in read and reference names."""

_UNMAPPED_FLAG = 4
_SECONDARY_FLAG = 256
_REVERSE_FLAG = 16


def name_warnings(task: Task) -> Iterator[str]:
    """Yield warnings about query and target ids with characters that the specification does not allow in names. Raises `InputError` for an
    id that cannot be a name in SAM, such as `*`."""
    _check_names(task)
    sides = (
        ("query", task.queries, _READ_NAME_CHARACTERS, "reads (allowed: printable ASCII without @)"),
        ("target", task.targets, _REFERENCE_NAME_CHARACTERS, "references (allowed: printable ASCII without \\ , \" ` ' and brackets)"),
    )
    for side, records, allowed, rule in sides:
        ids = records.id_column.without_margins()
        odd = np.ones(256, dtype=np.bool_)
        odd[list(allowed)] = False
        invalid = np.flatnonzero(np.add.reduceat(odd[ids.text], ids.offsets[:-1], dtype=np.int64))
        if len(invalid):
            name = ids[int(invalid[0])][:40]
            is_one = len(invalid) == 1
            which = f"{side} id {name!r} has" if is_one else f"{len(invalid):,} {side} ids, such as {name!r}, have"
            yield (
                f"{which} characters that SAM does not allow in names of {rule}; written unchanged, but some programs refuse the file: "
                f"rename {'the record' if is_one else 'these records'}, or write paf"
            )


def _check_names(task: Task) -> None:
    for name in task.queries.ids:
        if name[0] == "@" or name == "*" or len(name.encode("utf-8", "surrogateescape")) > _MAX_READ_NAME_BYTES:
            raise InputError(
                f"{name[:40]!r} is not a valid read name in SAM: it must not begin with @, be * or exceed {_MAX_READ_NAME_BYTES} bytes"
            )
    for name in task.targets.ids:
        if name[0] in "*=":
            raise InputError(f"{name[:40]!r} is not a valid reference name in SAM: it must not begin with * or =, which are reserved")


class Sam:
    """SAM rows. The best row of a query is the primary alignment (the first if tied); the rest are flagged secondary."""

    alignment_detail = Detail.PATH
    has_letters = True

    def __init__(self) -> None:
        self._last_query = -1  # the last record that has a row
        self._primary_queries: Integers = np.zeros(0, dtype=np.int64)
        self._primary_targets: Integers = np.zeros(0, dtype=np.int64)

    def header(self, task: Task) -> bytes:
        """Return the header. Raises `InputError` for an id or a letter that would make the file unreadable."""
        _check_names(task)
        stop = task.alphabet.letters.find("*")
        if stop in task.queries.used_codes:
            at = int(np.argmax(task.queries.codes == stop))
            name = task.queries.ids[int(np.searchsorted(task.queries.offsets, at, side="right")) - 1]
            raise InputError(f"{name[:40]!r} has a *, which is not allowed in reads in SAM; choose paf, m8 or a table")
        targets = task.targets
        references = ((targets.ids[i], targets.lengths[i]) for i in np.argsort(targets.file_positions).tolist())
        lines = ["@HD\tVN:1.6\tSO:unknown\tGO:query", *(f"@SQ\tSN:{name}\tLN:{length}" for name, length in references)]
        lines.append(f"@PG\tID:gpualign\tPN:gpualign\tVN:{__version__}")
        return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")

    def compare_rows(self, blocks: Sequence[MaskedBlock]) -> None:
        """Choose the primary row of each query. If a query's rows began in earlier blocks, its primary row is one of those."""
        rows = [
            block.written_values(mask, block.query_record_numbers, block.target_record_numbers, alignment_scores(block))
            for block, mask in blocks
        ]
        queries, targets, scores = (np.concatenate(columns) for columns in zip(*rows, strict=True))
        order = np.lexsort((-scores, queries))
        is_best = np.diff(queries[order], prepend=self._last_query) > 0
        self._primary_queries, self._primary_targets = queries[order][is_best], targets[order][is_best]
        self._last_query = int(queries[-1]) if len(queries) else self._last_query

    def _is_primary(self, block: Block, mask: Booleans | None) -> Booleans:
        """Return a mask of the pairs that are the primary alignments of their queries. If a pair has several alignments, only the first one
        written is primary."""
        queries = block.query_record_numbers
        if not len(self._primary_queries):
            return np.zeros(queries.shape, dtype=np.bool_)
        at = np.minimum(np.searchsorted(self._primary_queries, queries), len(self._primary_queries) - 1)
        is_primary: Booleans = (self._primary_queries[at] == queries) & (self._primary_targets[at] == block.target_record_numbers)
        if isinstance(block, HitBlock):
            written = np.flatnonzero(is_primary & block.output_mask(mask))
            is_primary[written[np.diff(queries[written], prepend=-1) == 0]] = False
        return is_primary

    def _flags(self, block: Block, mask: Booleans | None) -> npt.NDArray[np.int32]:
        unmapped = block.statistics["query_start"] == block.statistics["query_end"]
        is_reverse, is_primary = block.is_reverse_complement, self._is_primary(block, mask)
        flags: Integers = _SECONDARY_FLAG * ~is_primary + _UNMAPPED_FLAG * unmapped + _REVERSE_FLAG * is_reverse
        return flags.astype(np.int32)

    def columns(self, block: Block, mask: Booleans | None) -> list[Column]:
        return [
            fields.query_id_column(block),
            block.integer_column(self._flags(block, mask)),
            fields.target_id_column(block),
            block.path_column("sam_position"),
            Column.constant("255"),
            block.path_column("sam_cigar"),
            Column.constant("*\t0\t0"),
            block.query_sequence_column(),
            Column.constant("*"),
            block.path_column("sam_distance").between("NM:i:"),
            alignment_score(block).between("AS:i:"),
            block.path_column("sam_md").between("MD:Z:"),
        ]
