"""Totals of runs that find near pairs."""

from __future__ import annotations

from collections import Counter

from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.totals import Totals


@dataclass
class NearPairTotals(Totals):
    """Totals of a run that finds near pairs.

    survivors: number of pairs of distinct records that survive each step
    distinct_count: number of distinct records
    """

    survivors: Counter[str]
    distinct_count: int

    @property
    def notes(self) -> list[str]:
        survivors = ", ".join(f"{step} {count:,}" for step, count in self.survivors.items())
        return [f"{self.distinct_count:,} distinct" + (f"; of these, pairs left by each step: {survivors}" if survivors else "")]

    @property
    def speed_text(self) -> str:
        return f"in {self.seconds:.2f} s, {self.pair_count / max(self.seconds, 1e-9) / 1e6:.1f} M pairs/s"

    @property
    def summary_values(self) -> dict[str, object]:
        figures = {
            "pairs": self.pair_count,
            "seconds": round(self.seconds, 6),
            "pairs_per_second": round(self.pair_count / max(self.seconds, 1e-9)),
        }
        return {**figures, "distinct_sequences": self.distinct_count, "pairs_left": dict(self.survivors)}
