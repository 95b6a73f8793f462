"""Aligned pairs as FASTA: two records per pair, the aligned query and target with gaps."""

from __future__ import annotations

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.arrays import Booleans
from gpualign.core.results import columns as fields
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block


class AlignedFasta:
    """Aligned FASTA with each sequence on one line."""

    alignment_detail = Detail.PATH
    has_letters = True

    def header(self, task: Task) -> bytes:
        return b""

    def columns(self, block: Block, mask: Booleans | None) -> list[Column]:
        return [
            fields.query_id_column(block).between(">", "\n"),
            block.path_column("query").between("", "\n"),
            fields.target_id_column(block).between(">", "\n"),
            block.path_column("target"),
        ]
