"""The worker's side of a task: tiles of several calls go through one run of an engine."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from typing import Any, cast

from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.execution.engine import Prepared
from gpualign.core.execution.pipeline import Closable
from gpualign.core.execution.remote.serialization import PackedTile, TileMaker, pack_result
from gpualign.core.execution.remote.tile_sizes import WorkerCapabilities
from gpualign.core.execution.retiling import run_resplit
from gpualign.core.planning.tile_plan import Tile


class TaskServer:
    """Answers a tile with its result, None with the facts. rate: as in `WorkerCapabilities`."""

    def __init__(self, prepared: Prepared, rate: float) -> None:
        self._facts = WorkerCapabilities(prepared.limits, prepared.kernel, prepared.hardware, rate)
        self._tiles = TileMaker(prepared.task)
        self._run = _Run(prepared)

    def __call__(self, request: PackedTile | None) -> Any:
        if request is None:
            return self._facts
        return pack_result(self._run.result_of(self._tiles.unpack(request)))


class _Run:
    """A run that goes on from one caller's tile to the next one's, so that an engine is not emptied, its threads not ended and sequences
    not copied to a GPU for each. It ends when there is no tile for it: an engine may look for the next one before it hands on a result."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._lock = threading.Lock()
        self._asked: deque[tuple[Tile, Future[TileResult]]] = deque()
        self._runs = False

    def result_of(self, tile: Tile) -> TileResult:
        """Waits for it. Raises what the engine raises."""
        answer: Future[TileResult] = Future()
        with self._lock:
            self._asked.append((tile, answer))
            begins, self._runs = not self._runs, True
        if begins:
            threading.Thread(target=self._go_on, name="gpualign-served", daemon=True).start()
        return answer.result()

    def _go_on(self) -> None:
        while self._has_more():
            begun: dict[int, Future[TileResult]] = {}
            try:
                with closing(cast("Closable", results := run_resplit(self._prepared, self._tiles(begun)))):
                    for result in results:
                        begun.pop(id(result.tile)).set_result(result)
            except BaseException as error:  # each caller raises it
                for answer in begun.values() or self._every():
                    answer.set_exception(error)

    def _every(self) -> list[Future[TileResult]]:
        """Of the calls whose tiles nobody has taken: a run that fails before it takes one would fail again, and without end."""
        with self._lock:
            answers = [answer for _, answer in self._asked]
            self._asked.clear()
        return answers

    def _has_more(self) -> bool:
        with self._lock:
            self._runs = bool(self._asked)
            return self._runs

    def _tiles(self, begun: dict[int, Future[TileResult]]) -> Iterator[Tile]:
        while True:
            with self._lock:
                if not self._asked:
                    return
                left = sum(tile.cells for tile, _ in self._asked)
                tile, answer = self._asked.popleft()
            tile = replace(tile, left=left)
            begun[id(tile)] = answer
            yield tile
