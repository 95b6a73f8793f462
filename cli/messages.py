"""Notes, progress and the summary: everything for people, and all of it on stderr."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gpualign.core.distance.runner import DistanceTotals
    from gpualign.core.road import Totals
    from gpualign.jobs.near import NearTotals
    from gpualign.jobs.pairs import Rows


class Messages:
    """verbosity: -1 says nothing but errors, 0 notes and the summary, 1 also the plan."""

    @classmethod
    def of(cls, command: str, quiet: bool, verbose: bool = False) -> Messages:
        """As -q and -v ask for."""
        return cls(command, -1 if quiet else 1 if verbose else 0)

    def __init__(self, command: str, verbosity: int) -> None:
        self._command = command
        self.verbosity = verbosity

    def note(self, text: str) -> None:
        if self.verbosity >= 0:
            click.echo(f"gpualign {self._command}: {text}", err=True)

    def detail(self, text: str) -> None:
        if self.verbosity >= 1:
            click.echo(f"gpualign {self._command}: {text}", err=True)

    def summary(self, sequences: int, totals: Totals, engine: str, hits: int | None = None) -> None:
        found = "" if hits is None else f"{_count(hits, 'hit')}, "
        self.note(
            f"{_count(sequences, 'sequence')}, {_count(totals.pairs, 'pair')}, "
            f"{found}{totals.work:.3g} cells in {totals.seconds:.2f} s, {totals.rate / 1e9:.1f} GCUPS, {engine}"
        )

    def near_summary(self, sequences: int, totals: NearTotals, engine: str) -> None:
        left = ", ".join(f"{step} {count:,}" for step, count in totals.left.items())
        self.note(f"{totals.distinct:,} distinct" + (f"; pairs left by each step: {left}" if left else ""))
        self.note(
            f"{_count(sequences, 'sequence')}, {_count(totals.pairs, 'pair')} in {totals.seconds:.2f} s, "
            f"{totals.pairs / max(totals.seconds, 1e-9) / 1e6:.1f} M pairs/s, {engine}"
        )

    def distance_summary(self, samples: int, totals: DistanceTotals, engine: str) -> None:
        self.note(
            f"{_count(samples, 'sample')}, {_count(totals.sites, 'site')}, {_count(totals.pairs, 'pair')}, "
            f"{totals.work:.3g} comparisons in {totals.seconds:.2f} s, {totals.rate / 1e9:.1f} G/s, {engine}"
        )

    def cluster_summary(self, sizes: list[int], near: int, engine: str | None) -> None:
        self.note(
            f"{_count(sum(sizes), 'record')}, {_count(near, 'near pair')}, {_count(len(sizes), 'cluster')}: "
            f"{_count(sizes.count(1), 'singleton')}, the largest of {max(sizes):,}{f', {engine}' if engine else ''}"
        )

    def progress(self, work: int, output: Path | None, unit: str = "cells", rate: str = "GCUPS") -> ProgressBar:
        """output: where results go meanwhile, None for standard output; where that is a terminal, a bar would stand among its lines."""
        free = output is not None or not sys.stdout.isatty()
        return ProgressBar(work, unit, rate, shown=self.verbosity >= 0 and sys.stderr.isatty() and free)


def print_plan(rows: Rows) -> None:
    """What --dry-run prints, on standard output: it is the result."""
    for name, value in rows:
        click.echo(f"{name:<10} {value}")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what if number == 1 else what + 's'}"


class ProgressBar:
    """Work done (DP cells, comparisons), its rate and the time left; nothing at all unless `shown`."""

    def __init__(self, work: int, unit: str, rate: str, shown: bool) -> None:
        self._work = work
        self._unit = unit
        self._rate = rate
        self._shown = shown

    def __enter__(self) -> ProgressBar:
        self._start = time.perf_counter()
        self._done = 0
        if self._shown:
            from tqdm import tqdm

            self._bar = tqdm(
                total=self._work / 1e9,
                file=sys.stderr,
                leave=False,
                bar_format=f"{{percentage:3.0f}}% |{{bar}}| {{n:,.0f}}/{{total:,.0f}} G{self._unit}{{postfix}} [{{elapsed}}<{{remaining}}]",
            )
        return self

    def expect(self, work: int) -> None:
        """There is more to do than was said."""
        if self._shown:
            self._bar.total += work / 1e9

    def advance(self, work: int) -> None:
        self._done += work
        if self._shown:
            rate = self._done / max(time.perf_counter() - self._start, 1e-9) / 1e9
            self._bar.set_postfix_str(f"{rate:.1f} {self._rate}", refresh=False)
            self._bar.update(work / 1e9)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._shown:
            self._bar.close()
