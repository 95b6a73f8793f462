"""The workers of an executor as one engine of distances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache, partial
from typing import Any, cast

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError, parameter
from gpualign.core.distance.bands import Band, Bands, CountedBands, CountMatrix
from gpualign.core.distance.count_recipe import CountRequest, PanelRecipe
from gpualign.core.distance.engine import Bits, ChosenParts, DistanceEngine, Panel, PreparedCounter, empty_planes
from gpualign.core.distance.pair_selection import ChosenPairs, PairSelectionRule, choose_of_bands, record_bytes
from gpualign.core.execution.pipeline import Closable
from gpualign.core.execution.remote.coordinator import AHEAD, CALLS_A_WORKER, Part, SharedArguments, WorkerPoolClient
from gpualign.core.execution.remote.engine import describe_fleet
from gpualign.core.execution.remote.serialization import narrow
from gpualign.core.execution.remote.tile_sizes import TILE_SECONDS

_PIECE_BYTES = 32 << 20
"""Of counts that come back in one piece, at most."""

_PIECES_A_WORKER = 8
"""Of a band at least, so that all have something to do; pieces near the end of a triangle are small."""

_ROOMY = 8
"""Pairs are looked at so many times as many at a time as would fit an answer if all were chosen; few are."""


@dataclass(frozen=True)
class CounterFacts:
    """What a worker tells of its counter, and `rate`: comparisons a second, about."""

    products_only: bool
    threads: int
    kernel: str
    hardware: str
    rate: float


@dataclass(frozen=True)
class CounterOrder:
    """The first part of a parcel of distances, whose panels are the other ones. settings: for whoever picks the worker's engine; names,
    rule: as for `PreparedCounter.run` and `near`; products_only: whether the recipes make do with that."""

    settings: Any
    wanted: CountRequest
    products_only: bool = False
    names: tuple[str, ...] = ()
    rule: PairSelectionRule | None = None


@dataclass(frozen=True)
class Sites:
    """Asks how many words so many sites take (`PreparedCounter.words`)."""

    sites: int


@dataclass(frozen=True)
class Chosen:
    """The chosen pairs of the rows of a band before `stop`."""

    pairs: list[ChosenPairs]
    stop: int


class CounterServer:
    """The worker's side: answers None with the facts, `Sites` with their words, a band with its counts, narrowed, or with `Chosen`. One
    request at a time takes all the memory.

    memory: bytes for the counts of a band. Raises `RunError` where the panels are not for this worker's engine.
    """

    def __init__(self, order: CounterOrder, panels: Sequence[Panel], engine: DistanceEngine, memory: int) -> None:
        self._order = order
        self._counter = counter = engine.prepare(order.wanted, memory)
        self._facts = CounterFacts(counter.products_only, counter.threads, counter.kernel, counter.hardware, counter.rate)
        if panels and counter.products_only and not order.products_only:
            device = parameter("device", "cpu")
            raise RunError(f"{counter.hardware} needs other bit planes than the first worker; give {device} or cuda, the same for all")
        self._panels = [_with_words(panel, counter.words(panel.sites)) for panel in panels]

    def __call__(self, request: Band | Sites | None) -> Any:
        if request is None:
            return self._facts
        if isinstance(request, Sites):
            return self._counter.words(request.sites)
        a_row = max(1, request.shape[1]) * 4 * len(self._order.names)
        rule, rows = self._order.rule, max(1, self._counter.band_bytes // a_row)
        if rule is None:
            return self._counts(request, request.pieces(rows))
        return self._chosen(rule, request, request.pieces(max(1, min(rows, _ROOMY * _PIECE_BYTES // a_row))))

    def _counts(self, band: Band, parts: Iterator[Band]) -> dict[str, CountMatrix]:
        names = self._order.names
        counts = {name: np.zeros(band.shape, dtype=np.int32) for name in names}
        with closing(self._counter.count(self._panels, Bands.of(parts), names, _unheard)) as found:
            for part, some in found:
                put(band, counts, part, some)
        return {name: narrow(matrix) for name, matrix in counts.items()}

    def _chosen(self, rule: PairSelectionRule, band: Band, parts: Iterator[Band]) -> Chosen:
        counter, names = self._counter, self._order.names
        pairs, stop = list[ChosenPairs](), band.start
        every = list(parts)
        largest = Bands.of(every)

        def until_enough() -> Iterator[Band]:
            nonlocal stop
            for part in every:
                if sum(map(len, pairs)) * record_bytes(len(names)) > _PIECE_BYTES:
                    return
                stop = part.stop
                yield part

        some = Bands(until_enough(), largest.pairs, largest.columns)
        if counter.pick is not None:
            chosen = counter.pick(self._panels, some, names, rule, _unheard)
        else:
            chosen = choose_of_bands(rule, counter.count(self._panels, some, names, _unheard))
        with closing(chosen):
            pairs.extend(chosen)
        return Chosen(pairs, stop)


def _unheard(work: int) -> None:
    """The coordinator tells of work when results are there."""


class _Shipped:
    """A panel that arrives as a `Panel` whose planes begin where `empty_planes` has them begin."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel

    def __reduce__(self) -> tuple[Callable[..., Panel], tuple[Any, ...]]:
        panel = self._panel
        return _arrived, (np.array(panel.bits), panel.sites, panel.recipe)


def _arrived(bits: Bits, sites: int, recipe: PanelRecipe) -> Panel:
    return _with_words(Panel(bits, sites, recipe), bits.shape[-1], anew=True)


def _with_words(panel: Panel, words: int, anew: bool = False) -> Panel:
    """The panel with so many words a plane, as the kernels want them; anew: whatever it has."""
    planes, samples, there = panel.bits.shape
    if words == there and not anew:
        return panel
    bits = empty_planes(planes, samples, words)
    kept = min(words, there)  # beyond the sites there is nothing in either
    bits[..., :kept] = panel.bits[..., :kept]
    bits[..., kept:] = 0
    return Panel(bits, panel.sites, panel.recipe)


@dataclass(frozen=True)
class _Piece:
    """A part of a band that is shipped; first, last: of its band."""

    band: Band
    part: Band
    first: bool
    last: bool


def put(band: Band, counts: dict[str, CountMatrix], part: Band, some: dict[str, CountMatrix]) -> None:
    """Write the counts of a piece to those of its band."""
    place = slice(part.start - band.start, part.stop - band.start), slice(part.first_target - band.first_target, None)
    for name, matrix in some.items():
        counts[name][place] = matrix


class RemoteDistanceEngine:
    """Implements `gpualign.core.distance.engine.DistanceEngine`: bands are counted by the fleet's workers, a few rows at a time.

    settings: what a worker picks its engine by; it is pickled. threads: of this machine, for making bit planes.
    """

    def __init__(self, fleet: WorkerPoolClient, settings: object, threads: int) -> None:
        self._fleet = fleet
        self._settings = settings
        self._threads = threads
        self._parts: dict[int, tuple[Panel, Part]] = {}

    def prepare(self, wanted: CountRequest, memory: int) -> PreparedCounter:
        """Asks one worker, and waits for the first where there is none. Raises `RunError` where the executor fails."""
        fleet, parcel = self._fleet, SharedArguments.of(Part(CounterOrder(self._settings, wanted)))
        facts: CounterFacts = fleet.ask(parcel, None)
        ahead = AHEAD * CALLS_A_WORKER * fleet.count()
        piece_bytes = max(1, min(_PIECE_BYTES, memory // (2 * ahead)))

        @cache
        def words(sites: int) -> int:
            found: int = fleet.ask(parcel, Sites(sites))
            return found

        def count(
            panels: Sequence[Panel], bands: Iterable[Band], names: tuple[str, ...], on_progress: Callable[[int], None]
        ) -> CountedBands:
            order = CounterOrder(self._settings, wanted, facts.products_only, names)
            parcel, sites = self._parcel(order, panels), _sites(panels)
            cut = partial(self._cut, rate=facts.rate / max(1, sites), a_pair=4 * len(names), most=piece_bytes)
            counts: dict[str, CountMatrix] = {}
            with closing(cast("Closable", found := self._in_order(parcel, cut(bands)))):
                for piece, some in found:
                    if piece.first:
                        counts = {name: np.zeros(piece.band.shape, dtype=np.int32) for name in names}
                    put(piece.band, counts, piece.part, some)
                    on_progress(piece.part.pairs * sites)
                    if piece.last:
                        yield piece.band, counts

        def pick(
            panels: Sequence[Panel],
            bands: Iterable[Band],
            names: tuple[str, ...],
            rule: PairSelectionRule,
            on_progress: Callable[[int], None],
        ) -> ChosenParts:
            order = CounterOrder(self._settings, wanted, facts.products_only, names, rule)
            parcel, sites = self._parcel(order, panels), _sites(panels)
            with closing(cast("Closable", found := self._in_order(parcel, self._cut(bands, facts.rate / max(1, sites))))):
                for piece, chosen in found:
                    yield from chosen.pairs
                    while chosen.stop < piece.part.stop:  # there are too many for one answer
                        chosen = fleet.ask(parcel, piece.part.rows(chosen.stop, piece.part.stop))
                        yield from chosen.pairs
                    on_progress(piece.part.pairs * sites)

        # Half of the memory is for pieces on their way.
        hardware, near = f"{describe_fleet(fleet)} {facts.hardware}", pick if wanted.near else None
        return PreparedCounter(wanted, facts.products_only, words, memory // 2, self._threads, facts.kernel, hardware, count, near)

    def _parcel(self, order: CounterOrder, panels: Sequence[Panel]) -> SharedArguments:
        for panel in panels:
            if id(panel) not in self._parts:
                self._parts[id(panel)] = panel, Part(_Shipped(panel))
        return SharedArguments.of(Part(order), *(self._parts[id(panel)][1] for panel in panels))

    def _cut(self, bands: Iterable[Band], rate: float, a_pair: int = 0, most: int = 0) -> Iterator[_Piece]:
        """rate: pairs a second; a_pair: bytes that come back of each, of which a piece has `most`."""
        share = _PIECES_A_WORKER * self._fleet.count()
        for band in bands:
            columns = max(1, band.shape[1])
            rows = min(int(TILE_SECONDS * rate / columns), -(-band.shape[0] // share))
            if a_pair:
                rows = min(rows, most // (columns * a_pair))
            parts = list(band.pieces(max(1, rows)))
            for number, part in enumerate(parts, 1):
                yield _Piece(band, part, number == 1, number == len(parts))

    def _in_order(self, parcel: SharedArguments, cut: Iterator[_Piece]) -> Iterator[tuple[_Piece, Any]]:
        """Pieces in their order, with what workers answer."""
        early: dict[int, tuple[_Piece, Any]] = {}
        following = 0
        with closing(cast("Closable", answers := self._fleet.stream(parcel, enumerate(cut), lambda item: item[1].part))):
            for (number, piece), value in answers:
                early[number] = piece, value
                while following in early:
                    yield early.pop(following)
                    following += 1


def _sites(panels: Sequence[Panel]) -> int:
    return sum(panel.sites for panel in panels)
