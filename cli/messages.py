"""Notes, progress and the summary: everything for people, and all of it on stderr."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpualign.cli.progress import ProgressBar, write_now

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
        terminal = sys.stderr.isatty()
        free = output is not None or not sys.stdout.isatty()
        bar = self.verbosity >= 0 and terminal and free
        return ProgressBar(work, unit, rate, bar, self._unheard if terminal else self.note, self._answer)

    def _unheard(self, text: str) -> None:
        """On a terminal a bar says it."""

    def _answer(self, text: str) -> None:
        """To one who asked by a signal, and is told with -q too."""
        write_now(f"gpualign {self._command}: {text}")


def print_plan(rows: Rows) -> None:
    """What --dry-run prints, on standard output: it is the result."""
    for name, value in rows:
        click.echo(f"{name:<10} {value}")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what if number == 1 else what + 's'}"
