"""PAF, minimap2's pairwise mapping format (https://github.com/lh3/miniasm/blob/master/PAF.md), with the tags NM, AS and cg."""

from __future__ import annotations

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.arrays import Booleans
from gpualign.core.output.formats.base import alignment_score
from gpualign.core.results import columns as fields
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block


class Paf:
    """PAF rows. Coordinates are 0-based and half-open; the strand is "-" if either sequence is reverse-complemented; the mapping quality is
    255 (missing). Coordinates and lengths of translated sequences are in nucleotides and everything else in amino acids, unlike miniprot,
    which counts matches and columns in nucleotides."""

    alignment_detail = Detail.PATH
    has_letters = False

    def header(self, task: Task) -> bytes:
        return b""

    def columns(self, block: Block, mask: Booleans | None) -> list[Column]:
        statistics = block.statistics
        return [
            fields.query_id_column(block),
            fields.query_length_column(block),
            fields.statistic_column_maker("query_start")(block),
            fields.statistic_column_maker("query_end")(block),
            block.strand_column(),
            fields.target_id_column(block),
            fields.target_length_column(block),
            fields.statistic_column_maker("target_start")(block),
            fields.statistic_column_maker("target_end")(block),
            fields.statistic_column_maker("matches")(block),
            fields.alignment_length_column(block),
            Column.constant("255"),
            block.integer_column(statistics["mismatches"] + statistics["gaps"]).between("NM:i:"),
            alignment_score(block).between("AS:i:"),
            block.path_column("cigar").between("cg:Z:"),
        ]
