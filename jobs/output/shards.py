"""Shard of a job (`K/N`) to be computed in one run, and the part file for the shard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.output.formats.registry import Results
from gpualign.jobs.output.run_identity import can_resume

if TYPE_CHECKING:
    from gpualign.jobs.job import Work


@dataclass(frozen=True)
class Shard:
    """Shard `number` (1-based) of the `count` shards of a job."""

    number: int
    count: int

    def path(self, output: Path) -> Path:
        """Return the path of the part file for `output`."""
        return output.with_name(f"{output.name}.{self.number}-of-{self.count}.part")

    def describe(self, span: tuple[int, int], queries: int, path: Path | None) -> str:
        """Return a human-readable description. span: queries in the shard, start and stop; queries: total number; path: part file."""
        start, stop = span
        which = f"queries {start + 1:,} to {stop:,} of {queries:,}" if start < stop else f"none of the {queries:,} queries"
        return f"share {self.number:,} of {self.count:,}: {which}, to {path}"

    def rows(self, work: Work) -> tuple[int, int]:
        """Return the queries in the shard, start and stop. work: work for each query in the job, float64[queries]."""
        from gpualign.core.planning.sharding import row_bounds

        bounds = row_bounds(work, self.count)
        return bounds[self.number - 1], bounds[self.number]


def check_shard(shard: Shard | None, path: Path | None, format: str, results: Results, plot: object = None) -> None:
    """Raise `InputError` if the output cannot be sharded."""
    if shard is None:
        return
    if path is None:
        raise InputError(f"{parameter('shard')} writes a part file beside the output; name that with -o")
    if not can_resume(format, results):
        raise InputError(f"{parameter('shard')}: {format} is written in one piece; text, matrices, npy, npz and csr can be sharded")
    if plot is not None:
        raise InputError(
            f"{parameter('plot')} draws a whole matrix, and {parameter('shard')} writes a part of one; draw it with `gpualign plot`"
            " after the parts are merged"
        )
