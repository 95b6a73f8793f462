"""Notes, progress and the summary: everything for people, and all of it on stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType

import click

from gpualign.core.runner import Totals


class Messages:
    """verbosity: -1 says nothing but errors, 0 notes and the summary, 1 also the plan."""

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
        found = "" if hits is None else f"{hits:,} {'hit' if hits == 1 else 'hits'}, "
        self.note(
            f"{sequences:,} {'sequence' if sequences == 1 else 'sequences'}, {totals.pairs:,} {'pair' if totals.pairs == 1 else 'pairs'}, "
            f"{found}{totals.cells:.3g} cells in {totals.seconds:.2f} s, {totals.gcups:.1f} GCUPS, {engine}"
        )

    def progress(self, cells: int) -> ProgressBar:
        return ProgressBar(cells, shown=self.verbosity >= 0 and sys.stderr.isatty())


class ProgressBar:
    """Cells done, GCUPS and the time left; nothing at all unless `shown`."""

    def __init__(self, cells: int, shown: bool) -> None:
        self._cells = cells
        self._shown = shown

    def __enter__(self) -> ProgressBar:
        self._start = time.perf_counter()
        self._done = 0
        if self._shown:
            from tqdm import tqdm

            self._bar = tqdm(
                total=self._cells / 1e9,
                file=sys.stderr,
                leave=False,
                bar_format="{percentage:3.0f}% |{bar}| {n:,.0f}/{total:,.0f} Gcells{postfix} [{elapsed}<{remaining}]",
            )
        return self

    def advance(self, cells: int) -> None:
        self._done += cells
        if self._shown:
            rate = self._done / max(time.perf_counter() - self._start, 1e-9) / 1e9
            self._bar.set_postfix_str(f"{rate:.1f} GCUPS", refresh=False)
            self._bar.update(cells / 1e9)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._shown:
            self._bar.close()
