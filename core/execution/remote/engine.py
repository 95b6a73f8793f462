"""The workers of an executor as one engine of alignments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import field, fields
from typing import Any, cast

from gpualign.core.alignment.fingerprint import digest_of
from gpualign.core.alignment.task import Mode, Task
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.execution.engine import Capabilities
from gpualign.core.execution.pipeline import Closable
from gpualign.core.execution.remote.coordinator import AHEAD, CALLS_A_WORKER, Part, SharedArguments, WorkerPoolClient
from gpualign.core.execution.remote.serialization import pack_tile, unpack_result
from gpualign.core.execution.remote.tile_sizes import WorkerCapabilities, shipped_limits
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Limits, Tile
from gpualign.core.sequences.sequence_set import SequenceSet

_SETS_KEPT = 3
"""Sets whose parts are kept for the next task: a search has parts of its queries again and again with the same targets."""

_SETS = ("queries", "targets")
_OF_BLOCKS = ("ambiguous",)


@dataclass(frozen=True)
class TaskOrder:
    """The first part of a task's parcel; its sets are the other ones. settings: for whoever picks the worker's engine; rest: the task
    without its sets, by the names of its fields; digest: of the whole."""

    settings: Any
    rest: dict[str, Any]
    digest: str

    def task(self, sets: list[SequenceSet]) -> Task:
        """The task, put together again. Raises `RunError` where it is not what was sent."""
        task = Task(sets[0], sets[-1], **self.rest)
        if digest_of(task) != self.digest:
            raise RunError("what has arrived of the sequences is not what was sent")
        return task


@dataclass(frozen=True)
class RemotePrepared:
    """Implements `gpualign.core.execution.engine.Prepared`."""

    task: Task
    limits: Limits
    kernel: str
    hardware: str
    fleet: WorkerPoolClient = field(repr=False)
    parcel: SharedArguments = field(repr=False)

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        with closing(cast("Closable", answers := self.fleet.stream(self.parcel, tiles, pack_tile))):
            for tile, packed in answers:
                yield unpack_result(self.task, tile, packed)


class RemoteEngine:
    """Implements `gpualign.core.execution.engine.Engine`: tiles are computed by the fleet's workers, each with the engine that it picks.

    settings: what a worker picks its engine by, beside the task; it is pickled.
    """

    # A worker whose own hardware cannot do a task has a CPU that can.
    capabilities = Capabilities(frozenset({Mode.GLOBAL, Mode.LOCAL}), paths=True, near=True)

    def __init__(self, fleet: WorkerPoolClient, settings: object) -> None:
        self._fleet = fleet
        self._settings = settings
        self._parts: list[tuple[SequenceSet, Part]] = []

    def prepare(self, task: Task, budget: Budget) -> RemotePrepared:
        """Asks one worker, and waits for the first where there is none. Raises `RunError` where it cannot do the task."""
        if refusal := self.capabilities.refusal(task):
            raise RunError(f"a cluster cannot do this: {refusal}")
        rest = {one.name: getattr(task, one.name) for one in fields(task) if one.name not in (*_SETS, *_OF_BLOCKS)}
        sets = [task.queries] if task.targets is task.queries else [task.queries, task.targets]
        order = Part(TaskOrder(self._settings, rest, digest_of(task)))
        parcel = SharedArguments.of(order, *map(self._part, sets))
        facts: WorkerCapabilities = self._fleet.ask(parcel, None)
        workers = self._fleet.count()
        limits = shipped_limits(task, facts, workers, AHEAD * CALLS_A_WORKER * workers, budget)
        return RemotePrepared(task, limits, facts.kernel, f"{describe_fleet(self._fleet)} {facts.hardware}", self._fleet, parcel)

    def _part(self, sequences: SequenceSet) -> Part:
        for known, part in self._parts:
            if known is sequences:
                return part
        part = Part(sequences)
        self._parts = [*self._parts[1 - _SETS_KEPT :], (sequences, part)]
        return part


def describe_fleet(fleet: WorkerPoolClient) -> str:
    """How many workers there are, before what each of them has: for people."""
    found = fleet.workers()
    return "workers, each" if found is None else "1 worker," if found == 1 else f"{found} workers, each"
