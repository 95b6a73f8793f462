"""A table of the chosen columns with a header line, separated by tabs, or by commas as in RFC 4180."""

from __future__ import annotations

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.arrays import Booleans
from gpualign.core.common.dataclass import dataclass
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block
from gpualign.core.results.columns import Field, detail_of


@dataclass(frozen=True)
class Tsv:
    """Tab-separated table of the chosen fields."""

    fields: list[Field]

    @property
    def alignment_detail(self) -> Detail:
        return detail_of(self.fields)

    @property
    def has_letters(self) -> bool:
        return any(field.has_letters for field in self.fields)

    def header(self, task: Task) -> bytes:
        return ("\t".join(f.name for f in self.fields) + "\n").encode()

    def columns(self, block: Block, mask: Booleans | None) -> list[Column]:
        return [f.make_column(block) for f in self.fields]


class Csv(Tsv):
    """Comma-separated table; text that contains commas or quotes is quoted."""

    def header(self, task: Task) -> bytes:
        return super().header(task).replace(b"\t", b",")

    def columns(self, block: Block, mask: Booleans | None) -> list[Column]:
        return [(f.make_quoted_column or f.make_column)(block).between("", ",") for f in self.fields]
