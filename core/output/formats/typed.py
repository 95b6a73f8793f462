"""A table of the chosen columns, each typed: Parquet and Arrow."""

from __future__ import annotations

from typing import TypeAlias

from gpualign.core.alignment.task import Detail
from gpualign.core.common.dataclass import dataclass
from gpualign.core.output.formats.base import RowFormat
from gpualign.core.results.columns import Field, detail_of


@dataclass(frozen=True)
class TypedTable:
    """Table of the chosen fields, in one of the containers in gpualign.core.output.arrow."""

    container: str
    fields: list[Field]

    @property
    def alignment_detail(self) -> Detail:
        """How much of each alignment the rows show."""
        return detail_of(self.fields)


AnyRowFormat: TypeAlias = RowFormat | TypedTable
"""Format of a table with one row per pair, as text or as typed columns."""
