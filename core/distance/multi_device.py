"""Several engines of distances side by side: bands of pairs are cut in parts, which whoever is free takes, and handed on in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import field
from typing import Any, TypeAlias, cast

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.distance.bands import Band, Bands, CountedBands
from gpualign.core.distance.count_recipe import CountRequest
from gpualign.core.distance.engine import ChosenParts, DistanceEngine, Panel, PreparedCounter
from gpualign.core.distance.pair_selection import ChosenPairs, PairSelectionRule, choose_of_bands, record_bytes
from gpualign.core.execution.pipeline import Closable
from gpualign.core.execution.tile_queue import LoadBalancing
from gpualign.core.execution.worker_pool import Worker, WorkerPort, run_workers
from gpualign.core.planning.tile_plan import Band as TileBand
from gpualign.core.planning.tile_plan import Pairing, Tile

_PARTS = 4
"""Of all pairs, for each engine at least: with fewer the last one would be waited for."""

_LEAST_ROWS = 128
"""Of a part that is cut for this: as many as a block of a GPU's kernels takes."""

_UNDER_WAY = 2
"""Parts for each engine: one that it is at, and one that waits for its turn."""

_LOOK_SECONDS = 0.002

_NOTHING = np.zeros(3, dtype=np.int64)
"""Chosen pairs, lacking ones, undefined ones."""

Begin: TypeAlias = Callable[[PreparedCounter, Bands, Callable[[int], None]], Generator[Any, None, None]]
"""(engine's counter, bands, advance) -> what it gives of each band, in one piece or several, a band's before the next is asked for."""


@dataclass(frozen=True)
class _Share:
    """What an engine, by its number, has of a part; whether it is the last of it."""

    tile: Tile
    engine: int
    items: Sequence[Any] = field(repr=False)
    last: bool


class _Ended(Exception):
    """The run has ended, and an engine is to stop."""


class MultiDeviceDistanceEngine:
    """Implements `gpualign.core.distance.engine.DistanceEngine`.

    engines: the first one decides what bands are planned. One that fails is left out while there are others, which do its work. note: told
    of that.
    """

    def __init__(self, engines: Sequence[DistanceEngine], note: Callable[[str], None]) -> None:
        if not engines:
            raise ValueError("somebody must do the work")
        self._engines = engines
        self._note = note

    def prepare(self, wanted: CountRequest, memory: int) -> PreparedCounter:
        # Counts of parts under way take less than their bands were planned with, which is for distances too.
        share = memory // (len(self._engines) + 1)
        counters = [engine.prepare(wanted, share) for engine in self._engines]
        products_only = any(counter.products_only for counter in counters)
        first = counters[0]
        band_bytes = first.band_bytes if wanted.near else min(counter.band_bytes for counter in counters)
        # Whole chunks of a GPU's kernels are whole vectors of a CPU's too.
        words = max(counters, key=lambda counter: counter.words(1)).words
        run = _Run(counters, share, self._note)
        return PreparedCounter(
            wanted,
            products_only,
            words,
            band_bytes,
            max(counter.threads for counter in counters),
            " and ".join(dict.fromkeys(counter.kernel for counter in counters)),
            _together([counter.hardware for counter in counters]),
            run.count,
            run.pick if wanted.near else None,
            sum(counter.rate for counter in counters),
        )


def _together(names: Sequence[str]) -> str:
    """Hardware for people, alike ones counted."""
    counts = {name: names.count(name) for name in names}
    return " + ".join(name if count == 1 else f"{count} x {name}" for name, count in counts.items())


@dataclass(frozen=True)
class _Run:
    """counters: of the engines; share: bytes for what one of them has chosen."""

    counters: Sequence[PreparedCounter]
    share: int
    note: Callable[[str], None]

    def count(self, panels: Sequence[Panel], bands: Bands, names: tuple[str, ...], on_progress: Callable[[int], None]) -> CountedBands:
        """As `gpualign.core.distance.engine.Count`."""

        def begin(counter: PreparedCounter, some: Bands, on_progress: Callable[[int], None]) -> CountedBands:
            return counter.count(panels, some, names, on_progress)

        yield from self._shared(panels, bands, begin, on_progress, 4 * len(names), None)

    def pick(
        self, panels: Sequence[Panel], bands: Bands, names: tuple[str, ...], rule: PairSelectionRule, on_progress: Callable[[int], None]
    ) -> ChosenParts:
        """As `gpualign.core.distance.engine.Pick`."""

        def begin(counter: PreparedCounter, some: Bands, on_progress: Callable[[int], None]) -> ChosenParts:
            if counter.pick is not None:
                return counter.pick(panels, some, names, rule, on_progress)
            return choose_of_bands(rule, counter.count(panels, some, names, on_progress))

        most = max(1, self.share // record_bytes(len(names)))
        yield from self._shared(panels, bands, begin, on_progress, 4 * len(names), most)

    def _shared(
        self,
        panels: Sequence[Panel],
        bands: Bands,
        begin: Begin,
        on_progress: Callable[[int], None],
        pair_bytes: int,
        most: int | None,
    ) -> Generator[Any, None, None]:
        """most: chosen pairs that an engine may hold; None: what is given of a part is bounded anyway."""
        every = list(bands)
        needed = -(-_PARTS * len(self.counters) // max(1, len(every)))
        parts = [part for band in every for part in band.split(max(1, min(needed, band.shape[0] // _LEAST_ROWS)))]
        line, told = _OrderedOutput(), _ProgressOnce(on_progress)
        sites = sum(panel.sites for panel in panels)
        workers = [_worker(number, begin, counter, parts, pair_bytes, most, line, told) for number, counter in enumerate(self.counters)]

        def lost(number: int, error: RunError) -> None:
            which = f"device {number + 1} of {len(workers)} ({self.counters[number].hardware})"
            self.note(f"{which} is left out, the others do its work: {error.message}")

        sharing = LoadBalancing([counter.rate for counter in self.counters], _UNDER_WAY * len(workers))
        results = run_workers(_tiles(parts, sites), workers, 1, "gpualign-distances", lost=lost, sharing=sharing)
        with closing(cast("Closable", results)):
            for share in results:
                yield from line.add(share)
        if line.following != len(parts):
            raise RuntimeError(f"results are missing: {len(parts) - line.following} of {len(parts)} parts are incomplete")


def _tiles(parts: Sequence[Band], sites: int) -> Iterator[Tile]:
    """Parts as workers share them, each a band of one tile; what they cost are comparisons."""
    cells = [max(1, part.pairs * sites) for part in parts]
    left = sum(cells)
    for number, (part, cost) in enumerate(zip(parts, cells, strict=True)):
        band = TileBand(part.start, part.stop, part.first_target, part.target_stop, number, 1)
        yield Tile.against(np.empty(0, np.int64), number, band, (part.start, part.stop), Pairing.ALL, cost, left)
        left -= cost


def _worker(
    number: int,
    begin: Begin,
    counter: PreparedCounter,
    parts: Sequence[Band],
    pair_bytes: int,
    most: int | None,
    line: _OrderedOutput,
    told: _ProgressOnce,
) -> Worker[_Share]:
    """An engine at parts, which it cuts where they are too large for it."""

    def work(taken: WorkerPort[_Share]) -> None:
        items: list[Any] = []
        tile: Tile | None = None

        def bands() -> Iterator[Band]:
            nonlocal tile, items
            while (tile := taken.next_tile()) is not None:
                told.begin(tile.number)
                yield from _fitting(parts[tile.number], counter.band_bytes // pair_bytes)
                taken.deliver(_Share(tile, number, items, True))  # whoever asks for the next band has given all of this one
                items = []

        def on_progress(work: int) -> None:
            if taken.stopped():
                raise _Ended
            assert tile is not None
            told.advance(tile.number, work)

        largest = Bands.of(parts)
        try:
            with closing(begin(counter, Bands(bands(), largest.pairs, largest.columns), on_progress)) as given:
                for item in given:
                    assert tile is not None
                    items.append(item)
                    if most is not None and sum(map(len, items)) > most and line.wait(tile.number, taken.stopped):
                        taken.deliver_part(_Share(tile, number, items, False))
                        items = []
        except _Ended:
            pass
        except RunError:
            line.failed = True
            raise

    return work


def _fitting(part: Band, pairs: int) -> Iterable[Band]:
    """A part, or parts of it, of so many pairs at most, a row at least."""
    rows, columns = part.shape
    return part.split(-(-rows // max(1, pairs // max(1, columns))))


class _OrderedOutput:
    """Puts what engines give into the order of the parts. following: the part whose turn it is. failed: whether an engine has.

    Chosen pairs of a part whose turn it is may be handed on before it is done, where they are too many to be held. If its engine then
    fails, another does the part anew: of what that gives, the beginning is left out, as every engine gives the same in the same order.
    """

    def __init__(self) -> None:
        self.following = 0
        self.failed = False
        self._done: dict[int, _Share] = {}
        self._engine: int | None = None  # that has given something of the part whose turn it is
        self._given = _NOTHING  # handed on of it
        self._again = _NOTHING  # of these, those that come once more

    def wait(self, number: int, stopped: Callable[[], bool]) -> bool:
        """Until it is a part's turn; whether it is. It is not waited for where an engine has failed, whose part nobody may have taken."""
        while self.following != number and not stopped() and not self.failed:
            time.sleep(_LOOK_SECONDS)
        return self.following == number

    def add(self, share: _Share) -> Iterator[Any]:
        """What may be handed on."""
        if not share.last:
            yield from self._new(share)
            return
        self._done[share.tile.number] = share
        while (following := self._done.pop(self.following, None)) is not None:
            yield from self._new(following)
            self._engine, self._given, self._again = None, _NOTHING, _NOTHING
            self.following += 1

    def _new(self, share: _Share) -> Iterator[Any]:
        """What has not been handed on."""
        if share.engine != self._engine:
            self._engine, self._again = share.engine, self._given
        for item in share.items:
            yield self._rest(item) if isinstance(item, ChosenPairs) else item

    def _rest(self, chosen: ChosenPairs) -> ChosenPairs:
        found = np.array([len(chosen), chosen.lacking, chosen.undefined])
        known = np.minimum(self._again, found)
        self._again = self._again - known
        self._given = self._given + found - known
        if not known.any():
            return chosen
        pairs, (_, lacking, undefined) = int(known[0]), (found - known).tolist()
        counts = {name: values[pairs:] for name, values in chosen.counts.items()}
        return ChosenPairs(chosen.queries[pairs:], chosen.targets[pairs:], counts, lacking, undefined)


class _ProgressOnce:
    """Tells of work, of what is done again only once."""

    def __init__(self, on_progress: Callable[[int], None]) -> None:
        self._advance = on_progress
        self._most: dict[int, int] = {}
        self._now: dict[int, int] = {}

    def begin(self, number: int) -> None:
        """A part is begun, perhaps anew."""
        self._now[number] = 0

    def advance(self, number: int, work: int) -> None:
        """So much more of a part is done."""
        self._now[number] += work
        if (more := self._now[number] - self._most.get(number, 0)) > 0:
            self._most[number] = self._now[number]
            self._advance(more)
