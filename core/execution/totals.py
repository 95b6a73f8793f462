"""Progress and totals of a run."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Protocol

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.units import format_count


class Progress(Protocol):
    """Receives notifications of finished work: DP cells, or comparisons of two samples' calls at a site."""

    def advance(self, work: int, /) -> Any: ...


class ExtendableProgress(Progress, Protocol):
    """Progress listener that is also notified, through `expect`, of work beyond that of the plan."""

    def expect(self, work: int, /) -> None: ...


class NullProgress:
    """Progress listener that ignores all notifications."""

    def expect(self, work: int) -> None:
        pass

    def advance(self, work: int) -> None:
        pass


@dataclass
class Totals:
    """Totals of a run, for its summary.

    work: number of DP cells, or of comparisons of two samples' calls at a site
    seconds: time that the run took, which is set at its end
    """

    pair_count: int
    work: int
    seconds: float = field(default=0.0, init=False)

    @property
    def rate(self) -> float:
        """Work done per second."""
        return self.work / max(self.seconds, 1e-9)

    @property
    def notes(self) -> list[str]:
        """Human-readable notes on the steps of the run."""
        return []

    @property
    def speed_text(self) -> str:
        """Human-readable work, time and speed."""
        return f"{format_count(self.work, 'cell', '.3g')} in {self.seconds:.2f} s, {self.rate / 1e9:.1f} GCUPS"

    @property
    def summary_values(self) -> dict[str, object]:
        """Machine-readable totals, keyed by the names in docs/formats/summary.md."""
        return {"pairs": self.pair_count, "cells": self.work, "seconds": round(self.seconds, 6), "cells_per_second": round(self.rate)}

    def summary_with_earlier(self, pairs: int, work: int) -> dict[str, object]:
        """Return `summary_values` plus the pairs and work of the earlier runs that this run resumes."""
        figures = dict(self.summary_values)
        if pairs:
            figures |= {"pairs": self.pair_count + pairs, "pairs_in_this_run": self.pair_count}
            figures |= {name: self.work + work for name in ("cells", "comparisons") if name in figures}
        return figures
