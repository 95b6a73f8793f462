"""Decides which workers may take more work, so that no worker keeps the others waiting at the end. Pure: the caller passes the time.

Workers of any speed pull pieces of one job, such as tiles; the size of a piece is measured in cells. If a slow worker took a piece near the
end, it might still be computing when the others have finished everything else. A worker may therefore take a piece only if it will finish
before the others could do all remaining work, including this piece. The fastest worker may always take a piece, so all pieces get done, and
a run ends no later than it would with the fastest worker alone.
"""

from __future__ import annotations

from collections.abc import Sequence

ESTIMATE_SAFETY_FACTOR = 2
"""Factor by which a worker's estimated times are multiplied until it has delivered its first piece. Until then, its processor may be busy
with other work."""


class _Worker:
    """Load of a worker, and its measured speed. held_cells: number of cells that the worker has taken but not yet delivered"""

    def __init__(self, estimate: float) -> None:
        self._estimate = estimate
        self._delivered = 0
        self._worked = 0.0  # seconds, up to `_since`
        self._since = 0.0  # time at which it last delivered, or took something while it held nothing
        self.held_cells = 0
        self.is_lost = False

    @property
    def safety_factor(self) -> int:
        """Factor by which the estimated time for a piece is multiplied."""
        return 1 if self._delivered else ESTIMATE_SAFETY_FACTOR

    def rate(self, now: float) -> float:
        """Return the worker's speed in cells per second: an estimate until the first delivery, then as measured.

        The result is at most the speed that would be measured if the worker delivered everything it holds at time `now`.
        """
        waited = now - self._since if self.held_cells else 0.0
        seconds = self._worked + waited
        max_rate = (self._delivered + self.held_cells) / seconds if seconds > 0 else float("inf")
        if self._delivered and self._worked > 0:
            return min(self._delivered / self._worked, max_rate)
        return min(self._estimate, max_rate) if self.held_cells else self._estimate

    def busy_seconds(self, now: float) -> float:
        """Return the seconds from `now` until the worker finishes the cells that it holds."""
        return max(0.0, self.held_cells / self.rate(now) - (now - self._since)) if self.held_cells else 0.0

    def record_taken_piece(self, cells: int, now: float) -> None:
        if not self.held_cells:
            self._since = now
        self.held_cells += cells

    def record_finished_piece(self, cells: int, now: float) -> None:
        self._worked += now - self._since
        self._since = now
        self._delivered += cells
        self.held_cells -= cells


class LoadBalancer:
    """Decides which workers of one job may take more work.

    rates: estimated cells per second for each worker; corrected by measurements

    Times are in seconds, from any monotonic clock.
    """

    def __init__(self, rates: Sequence[float]) -> None:
        if not rates or min(rates) <= 0:
            raise ValueError("expected workers with rates above 0")
        self._workers = [_Worker(rate) for rate in rates]

    def may_take(self, worker: int, cells: int, remaining_cells: int, now: float) -> bool:
        """Return whether a worker may take the next piece at time `now`.

        cells: number of cells in the piece
        remaining_cells: number of cells not yet taken, including this piece, that other workers may take before it is delivered
        """
        others = [(w.busy_seconds(now), w.rate(now)) for k, w in enumerate(self._workers) if k != worker and not w.is_lost]
        own = self._workers[worker]
        rate = own.rate(now)
        if all(rate >= other for _, other in others):
            return True
        return own.busy_seconds(now) + own.safety_factor * cells / rate <= _finish_seconds(others, cells, max(cells, remaining_cells))

    def record_taken_piece(self, worker: int, cells: int, now: float) -> None:
        """Record that a worker has taken a piece of `cells` cells at time `now`."""
        self._workers[worker].record_taken_piece(cells, now)

    def record_finished_piece(self, worker: int, cells: int, now: float) -> None:
        """Record that a worker has finished a piece of `cells` cells at time `now`."""
        self._workers[worker].record_finished_piece(cells, now)

    def drop_worker(self, worker: int) -> None:
        """Record that a worker has failed. The remaining workers take over its pieces."""
        self._workers[worker].is_lost = True
        self._workers[worker].held_cells = 0


def _finish_seconds(worker_loads: Sequence[tuple[float, float]], cells: int, remaining_cells: int) -> float:
    """Return the seconds until the workers finish their current work and `remaining_cells` more cells. The first `cells` of these cells
    form a single piece.

    worker_loads: for each worker, (seconds until its current work is finished, cells per second)
    """
    with_piece = min(busy + cells / rate for busy, rate in worker_loads)
    ready, speed, done, at = sorted(worker_loads), 0.0, 0.0, 0.0
    for busy, rate in ready:
        if done + speed * (busy - at) >= remaining_cells:
            break
        done, at = done + speed * (busy - at), busy
        speed += rate
    return max(with_piece, ready[-1][0], at + (remaining_cells - done) / speed)


class BandWindow:
    """Limits how far work may run ahead of the oldest unfinished band, because results of later bands have to wait for it in memory.

    max_open_bands: maximum number of bands in progress, at least 1

    Bands are started in order, each with a known number of pieces.
    """

    def __init__(self, max_open_bands: int) -> None:
        self._max_open_bands = max_open_bands
        self._open: dict[int, int] = {}  # undelivered pieces of the bands in progress

    def startable_band_count(self, band: int) -> int:
        """Return how many bands, starting with number `band`, may be started before an open band is finished; 0 or less if none may be
        started."""
        return min(self._open, default=band) + self._max_open_bands - band

    def record_taken_piece(self, band: int, piece_count: int) -> None:
        """Record that one of a band's `piece_count` pieces has been taken. After a worker fails, its pieces may be taken again."""
        self._open.setdefault(band, piece_count)

    def record_finished_piece(self, band: int) -> None:
        """Record that a piece of a band is finished."""
        self._open[band] -= 1
        if not self._open[band]:
            del self._open[band]
