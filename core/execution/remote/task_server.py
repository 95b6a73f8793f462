"""Worker side of a task: computes the tiles of several remote calls in one engine run."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.execution.engine import PreparedTask
from gpualign.core.execution.remote.serialization import PackedTile, TileUnpacker, pack_result
from gpualign.core.execution.remote.tile_sizes import WorkerCapabilities
from gpualign.core.execution.retiling import run_retiled
from gpualign.core.planning.tile_plan import Tile


class TaskServer:
    """Answers requests: for a tile, its result; for None, the `WorkerCapabilities`. rate: approximate cells per second of the task"""

    def __init__(self, prepared: PreparedTask, rate: float) -> None:
        self._capabilities = WorkerCapabilities(prepared.limits, prepared.kernel, prepared.hardware, rate)
        self._tiles = TileUnpacker(prepared.task)
        self._run = _EngineRun(prepared)

    def __call__(self, request: PackedTile | None) -> Any:
        if request is None:
            return self._capabilities
        return pack_result(self._run.result_of(self._tiles.unpack(request)))


class _EngineRun:
    """Engine run that computes the tiles of all callers.

    With a separate run for each tile, the engine would be idle between tiles, and for each tile it would end its threads and copy sequences
    to a GPU. The run ends when no tile is waiting, because an engine may ask for the next tile before it yields a result.
    """

    def __init__(self, prepared: PreparedTask) -> None:
        self._prepared = prepared
        self._lock = threading.Lock()
        self._asked: deque[tuple[Tile, Future[TileResult]]] = deque()
        self._is_running = False

    def result_of(self, tile: Tile) -> TileResult:
        """Wait for the result of a tile and return it. Raises the same errors as the engine."""
        answer: Future[TileResult] = Future()
        with self._lock:
            self._asked.append((tile, answer))
            starts, self._is_running = not self._is_running, True
        if starts:
            threading.Thread(target=self._serve, name="gpualign-served", daemon=True).start()
        return answer.result()

    def _serve(self) -> None:
        while self._has_pending_calls():
            started: dict[int, Future[TileResult]] = {}
            try:
                with closing_iterator(run_retiled(self._prepared, self._take_tiles(started))) as results:
                    for result in results:
                        started.pop(id(result.tile)).set_result(result)
            except BaseException as error:  # each caller raises it
                for answer in started.values() or self._take_pending_calls():
                    answer.set_exception(error)

    def _take_pending_calls(self) -> list[Future[TileResult]]:
        """Remove the calls whose tiles the engine has not taken, and return their futures.

        If these calls stayed, a run that fails before it takes a tile would be repeated again and again.
        """
        with self._lock:
            answers = [answer for _, answer in self._asked]
            self._asked.clear()
        return answers

    def _has_pending_calls(self) -> bool:
        with self._lock:
            self._is_running = bool(self._asked)
            return self._is_running

    def _take_tiles(self, started: dict[int, Future[TileResult]]) -> Iterator[Tile]:
        while True:
            with self._lock:
                if not self._asked:
                    return
                left = sum(tile.cells for tile, _ in self._asked)
                tile, answer = self._asked.popleft()
            tile = replace(tile, remaining_cells=left)
            started[id(tile)] = answer
            yield tile
