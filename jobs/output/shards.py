"""Shard of a job (`K/N`) to be computed in one run, and the part file for the shard."""

from __future__ import annotations

from pathlib import Path

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.output.formats.registry import Results
from gpualign.jobs.output.run_identity import can_resume


@dataclass(frozen=True)
class Shard:
    """Shard `number` (1-based) of the `count` shards of a job."""

    number: int
    count: int

    def path(self, output: Path) -> Path:
        """Return the path of the part file for `output`."""
        return output.with_name(f"{output.name}.{self.number}-of-{self.count}.part")


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
