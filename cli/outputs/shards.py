"""--shard K/N: which share of a job a run does, and where it goes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpualign.cli.outputs.keeping import can_resume
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.output.formats.registry import Results

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


class ShardType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.2 on
    """K/N."""

    name = "shard"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Shard:
        if isinstance(value, Shard):
            return value
        from gpualign.core.planning.sharding import MOST_SHARDS

        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", str(value))
        if match is None or not 1 <= int(match[1]) <= int(match[2]) <= MOST_SHARDS:
            self.fail(f"{value!r}: write K/N, the K-th of N shares, K from 1 to N and N up to {MOST_SHARDS:,}", param, ctx)
        return Shard(int(match[1]), int(match[2]))


def check_shard(shard: Shard | None, path: Path | None, format: str, results: Results, plot: object = None) -> None:
    """Raises `InputError` for --shard with an output of which there are no parts."""
    if shard is None:
        return
    if path is None:
        raise InputError("--shard writes a part file beside the output; name that with -o")
    if not can_resume(format, results):
        raise InputError(f"--shard: {format} is written in one piece; there are parts of text, matrices, npy, npz and csr")
    if plot is not None:
        raise InputError("--plot draws a whole matrix, and --shard makes a part of one; `gpualign plot` draws it when the parts are merged")
