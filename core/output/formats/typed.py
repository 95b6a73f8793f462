"""A table with the chosen columns as types of their own: Parquet and Arrow."""

from __future__ import annotations

from gpualign.core.alignment.task import Detail
from gpualign.core.common.dataclass import dataclass
from gpualign.core.results.columns import Field, detail_of


@dataclass(frozen=True)
class TypedTable:
    """The chosen fields, in a container of gpualign.core.output.arrow."""

    container: str
    fields: list[Field]

    @property
    def detail(self) -> Detail:
        """What of each alignment the rows tell."""
        return detail_of(self.fields)
