"""A table with the columns of --fields as types of their own: Parquet and Arrow."""

from __future__ import annotations

from gpualign.core.dataclass import dataclass
from gpualign.core.fields import Field, detail_of
from gpualign.core.task import Detail


@dataclass(frozen=True)
class TypedTable:
    """The chosen fields, in a container of gpualign.core.sinks.arrow."""

    container: str
    fields: list[Field]

    @property
    def detail(self) -> Detail:
        """What of each alignment the rows tell."""
        return detail_of(self.fields)
