"""Which workers may take more work, so that none is waited for in the end. Pure: whoever asks tells the time.

Workers of any speed pull pieces of one job. A slow one that takes a piece near the end would still be at it when the others have done all
else: it may take a piece only if it will be done with it before the others have done all that is left without it. The fastest worker never
refuses, so that no piece is left undone. Then no run ends later than that of the fastest worker alone.
"""

from __future__ import annotations

from collections.abc import Sequence

ESTIMATE_SAFETY_FACTOR = 2
"""A worker that has done nothing yet may take so many times as long as estimated: a processor has other things to do."""


class _Worker:
    """What is known of a worker. held: cells that it has taken and not delivered."""

    def __init__(self, estimate: float) -> None:
        self._estimate = estimate
        self._delivered = 0
        self._worked = 0.0  # seconds, up to `_since`
        self._since = 0.0  # when it last delivered, or took something while it had nothing
        self.held = 0
        self.lost = False

    @property
    def doubt(self) -> int:
        """By what its time for a piece is multiplied, to be sure."""
        return 1 if self._delivered else ESTIMATE_SAFETY_FACTOR

    def rate(self, now: float) -> float:
        """Cells a second: as estimated until something has been delivered, then as measured. It is no faster than it would be if it
        delivered all that it holds this very moment."""
        waited = now - self._since if self.held else 0.0
        seconds = self._worked + waited
        most = (self._delivered + self.held) / seconds if seconds > 0 else float("inf")
        if self._delivered and self._worked > 0:
            return min(self._delivered / self._worked, most)
        return min(self._estimate, most) if self.held else self._estimate

    def busy(self, now: float) -> float:
        """Seconds until it has done what it holds."""
        return max(0.0, self.held / self.rate(now) - (now - self._since)) if self.held else 0.0

    def take(self, cells: int, now: float) -> None:
        if not self.held:
            self._since = now
        self.held += cells

    def deliver(self, cells: int, now: float) -> None:
        self._worked += now - self._since
        self._since = now
        self._delivered += cells
        self.held -= cells


class LoadBalancer:
    """The workers of one job.

    rates: cells a second of each, as estimated; they are corrected by what is measured. Times are seconds of any clock that never goes
    back.
    """

    def __init__(self, rates: Sequence[float]) -> None:
        if not rates or min(rates) <= 0:
            raise ValueError("workers have rates above 0")
        self._workers = [_Worker(rate) for rate in rates]

    def may_take(self, worker: int, cells: int, left: int, now: float) -> bool:
        """Whether a worker may take the next piece. cells: of that; left: of all that nobody has taken, this piece included, as far as
        others may take it before this one is delivered."""
        others = [(w.busy(now), w.rate(now)) for k, w in enumerate(self._workers) if k != worker and not w.lost]
        own = self._workers[worker]
        rate = own.rate(now)
        if all(rate >= other for _, other in others):
            return True
        return own.busy(now) + own.doubt * cells / rate <= _seconds_of(others, cells, max(cells, left))

    def take(self, worker: int, cells: int, now: float) -> None:
        """A worker takes a piece."""
        self._workers[worker].take(cells, now)

    def deliver(self, worker: int, cells: int, now: float) -> None:
        """A worker has done a piece."""
        self._workers[worker].deliver(cells, now)

    def lose(self, worker: int) -> None:
        """A worker has failed; what it held is left to the others."""
        self._workers[worker].lost = True
        self._workers[worker].held = 0


def _seconds_of(workers: Sequence[tuple[float, float]], cells: int, left: int) -> float:
    """Until (seconds busy, cells a second) workers have done what they hold and `left` cells, the next `cells` of them in one piece."""
    with_piece = min(busy + cells / rate for busy, rate in workers)
    ready, speed, done, at = sorted(workers), 0.0, 0.0, 0.0
    for busy, rate in ready:
        if done + speed * (busy - at) >= left:
            break
        done, at = done + speed * (busy - at), busy
        speed += rate
    return max(with_piece, ready[-1][0], at + (left - done) / speed)


class Window:
    """How far work may run ahead of the oldest band that is not done: results of later bands wait in memory for it.

    bands: that may be under way, at least 1. Bands are begun in their order, each of a known number of pieces.
    """

    def __init__(self, bands: int) -> None:
        self._bands = bands
        self._open: dict[int, int] = {}  # pieces that are not delivered, of bands that have been begun

    def room(self, band: int) -> int:
        """Bands that may be begun from this one on, itself included."""
        return min(self._open, default=band) + self._bands - band

    def take(self, band: int, pieces: int) -> None:
        """A piece of a band is taken, again where whoever had it has failed."""
        self._open.setdefault(band, pieces)

    def deliver(self, band: int) -> None:
        """A piece of a band is done."""
        self._open[band] -= 1
        if not self._open[band]:
            del self._open[band]
