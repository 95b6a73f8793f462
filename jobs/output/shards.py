"""Which share of a job a run does (`K/N`), and where it goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.output.formats.registry import Results
from gpualign.jobs.output.run_identity import can_resume

if TYPE_CHECKING:
    from gpualign.jobs.every_pair import Work


@dataclass(frozen=True)
class Shard:
    """The `number`-th, from 1 on, of `count` shares of a job."""

    number: int
    count: int

    def path(self, output: Path) -> Path:
        """The part file of what will be `output`."""
        return output.with_name(f"{output.name}.{self.number}-of-{self.count}.part")

    def describe(self, span: tuple[int, int], queries: int, path: Path | None) -> str:
        """For people."""
        start, stop = span
        which = f"queries {start + 1:,} to {stop:,} of {queries:,}" if start < stop else f"none of the {queries:,} queries"
        return f"share {self.number:,} of {self.count:,}: {which}, to {path}"

    def rows(self, work: Work) -> tuple[int, int]:
        """Its queries, start and stop, where each of all takes so much work, float64[queries]."""
        from gpualign.core.planning.sharding import row_bounds

        bounds = row_bounds(work, self.count)
        return bounds[self.number - 1], bounds[self.number]


def check_shard(shard: Shard | None, path: Path | None, format: str, results: Results, plot: object = None) -> None:
    """Raises `InputError` for a share of an output of which there are no parts."""
    if shard is None:
        return
    if path is None:
        raise InputError(f"{parameter('shard')} writes a part file beside the output; name that with -o")
    if not can_resume(format, results):
        raise InputError(f"{parameter('shard')}: {format} is written in one piece; there are parts of text, matrices, npy, npz and csr")
    if plot is not None:
        raise InputError(
            f"{parameter('plot')} draws a whole matrix, and {parameter('shard')} makes a part of one; `gpualign plot` draws it when the"
            " parts are merged"
        )
