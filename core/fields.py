"""The columns of the table of pairs. A new column is one entry of `FIELDS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpualign.core._rows import Column
from gpualign.core.errors import InputError
from gpualign.core.sequences import SequenceSet


@dataclass(frozen=True)
class BlockData:
    """What a column may draw on for one block of pairs: the sets, and results [queries of the block][targets of the band]."""

    queries: SequenceSet
    targets: SequenceSet
    first_target: int
    scores: npt.NDArray[np.signedinteger]


def _scores(block: BlockData) -> Column:
    # nanobind tells int32 from int64 arrays; both have an overload.
    return Column.pair_numbers(np.ascontiguousarray(block.scores))


@dataclass(frozen=True)
class Field:
    """name as --fields takes it, what it holds, and how a block's column is made."""

    name: str
    meaning: str
    column: Callable[[BlockData], Column]


FIELDS: dict[str, Field] = {
    f.name: f
    for f in (
        Field("query", "id of the query", lambda b: Column.query_text(b.queries.id_column.text, b.queries.id_column.offsets)),
        Field(
            "target",
            "id of the target",
            lambda b: Column.target_text(b.targets.id_column.text, b.targets.id_column.offsets[b.first_target :]),
        ),
        Field("score", "alignment score; with --edit the edit distance", _scores),
        Field("qlen", "letters of the query", lambda b: Column.query_numbers(b.queries.lengths)),
        Field("tlen", "letters of the target", lambda b: Column.target_numbers(b.targets.lengths[b.first_target :])),
    )
}

DEFAULT_FIELDS = "query,target,score"


def parse_fields(text: str) -> list[Field]:
    """Fields from a comma-separated list. Raises `InputError` for unknown, repeated or no names."""
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    if not wanted:
        raise InputError(f"--fields names no column; there are {', '.join(FIELDS)}")
    for name in wanted:
        if name not in FIELDS:
            raise InputError(f"--fields: no column is called {name!r}; there are {', '.join(FIELDS)}")
        if wanted.count(name) > 1:
            raise InputError(f"--fields names {name!r} twice")
    return [FIELDS[name] for name in wanted]
