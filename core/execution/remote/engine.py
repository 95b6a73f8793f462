"""Presents an executor's workers as one alignment engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, fields, replace
from typing import Any

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.alignment.task_fingerprint import fingerprint
from gpualign.core.alignment.tile_results import TileResult
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.execution.engine import Capabilities
from gpualign.core.execution.remote.coordinator import CachedArgument, SharedArguments, WorkerPoolClient
from gpualign.core.execution.remote.serialization import pack_tile, unpack_result
from gpualign.core.execution.remote.tile_sizes import WorkerCapabilities, remote_tile_limits
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Tile, TileLimits
from gpualign.core.sequences.sequence_set import SequenceSet

_MAX_CACHED_SETS = 3
"""Maximum number of sequence sets cached for the next task: a search aligns successive parts of its queries with the same targets."""

_SEQUENCE_SET_FIELDS = ("queries", "targets")


@dataclass(frozen=True)
class TaskSpec:
    """Description of a task, sent to workers as the first shared argument. The remaining shared arguments are the task's sequence sets.

    settings: settings that decide which engine a worker picks
    other_fields: the task's fields, except its sequence sets, by name
    digest: digest of the whole task
    """

    settings: Any
    other_fields: dict[str, Any]
    digest: str

    def assemble_task(self, sets: list[SequenceSet]) -> Task:
        """Assemble the task from this description and the task's sequence sets. Raises `RunError` if the result differs from the task that
        was sent."""
        task = Task(sets[0], sets[-1], **self.other_fields)
        if fingerprint(task) != self.digest:
            raise RunError("the sequences that arrived are not what was sent")
        return task


@dataclass(frozen=True)
class RemotePreparedTask:
    """Prepared task whose tiles remote workers compute. Implements `gpualign.core.execution.engine.PreparedTask`.

    pool: client of the workers
    shared_arguments: the task, as the shared arguments of all calls
    """

    task: Task
    limits: TileLimits
    kernel: str
    hardware: str
    pool: WorkerPoolClient = field(repr=False)
    shared_arguments: SharedArguments = field(repr=False)

    def run(self, tiles: Iterator[Tile]) -> Iterator[TileResult]:
        with closing_iterator(self.pool.stream(self.shared_arguments, tiles, pack_tile)) as answers:
            for tile, packed in answers:
                yield unpack_result(self.task, tile, packed)


class RemoteEngine:
    """Engine whose tiles are computed by remote workers. Each worker picks its own engine for a task. Implements
    `gpualign.core.execution.engine.Engine`.

    pool: client of the workers
    settings: settings that decide which engine a worker picks for a task; must be picklable
    """

    # A worker whose own hardware cannot do a task has a CPU that can.
    capabilities = Capabilities(frozenset({Mode.GLOBAL, Mode.LOCAL}), supports_paths=True, supports_near_pairs=True)

    def __init__(self, pool: WorkerPoolClient, settings: object) -> None:
        self._pool = pool
        self._settings = settings
        self._cached_sets: list[tuple[SequenceSet, CachedArgument]] = []

    def prepare(self, task: Task, budget: Budget) -> RemotePreparedTask:
        """Have one worker prepare the task, waiting for a worker if there is none. Raises `RunError` if the worker cannot perform the
        task."""
        if refusal := self.capabilities.unsupported_reason(task):
            raise RunError(f"a cluster cannot do this: {refusal}")
        sent = task if task.edit_bound_varies else replace(task, ambiguity=None)  # otherwise only writers count ambiguity letters
        other_fields = {one.name: getattr(sent, one.name) for one in fields(sent) if one.name not in _SEQUENCE_SET_FIELDS}
        sets = [task.queries] if task.targets is task.queries else [task.queries, task.targets]
        spec = CachedArgument(TaskSpec(self._settings, other_fields, fingerprint(task)))
        shared = SharedArguments.of(spec, *map(self._cached_sequence_argument, sets))
        worker: WorkerCapabilities = self._pool.ask(shared, None)
        limits = remote_tile_limits(task, worker, self._pool.worker_count(), self._pool.max_held_answers(), budget)
        return RemotePreparedTask(task, limits, worker.kernel, self._pool.describe_workers(worker.hardware), self._pool, shared)

    def _cached_sequence_argument(self, sequences: SequenceSet) -> CachedArgument:
        for known, argument in self._cached_sets:
            if known is sequences:
                return argument
        argument = CachedArgument(sequences)
        self._cached_sets = [*self._cached_sets[1 - _MAX_CACHED_SETS :], (sequences, argument)]
        return argument
