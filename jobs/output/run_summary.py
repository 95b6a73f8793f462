"""The summary of a run, as JSON: what a run was asked for, what it read, did and wrote, and what that took (docs/formats/summary.md)."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpualign.core.common import signals
from gpualign.core.common.errors import InputError, parameter
from gpualign.jobs.output.atomic_files import STDIN_NAME, STDIO, ClosedPipe, OutputFiles, check_place, digest_file, naming_output
from gpualign.jobs.output.stages import PLANNING, WRITING

if TYPE_CHECKING:
    from gpualign.core.common.threads import BackgroundTask
    from gpualign.jobs.devices.resources import Resources
    from gpualign.jobs.output.run_identity import Invocation
    from gpualign.jobs.output.stages import StageTimer
    from gpualign.jobs.sequence_loading import Inputs

LAYOUT = 1

OF_MULTIQC = "_mqc.json"
"""Ends names of files in which MultiQC finds sections for its reports."""

Counts = tuple[int, int | None]
"""Records, and their letters where they are sequences."""


class RunSummary:
    """Gathers what is told of a run, for as long as it lasts. path: where it goes, None: nowhere, and nothing is gathered; invocation:
    gives the command that is carried out.

    Raises `InputError` where that is no file.
    """

    def __init__(self, path: str | None, stages: StageTimer, invocation: Callable[[], Invocation]) -> None:
        if path == STDIO:
            raise InputError(f"{parameter('summary')}: name a file; standard output is for results")
        self.path = None if path is None else Path(path)
        self._stages = stages
        self._invocation = invocation
        self._started = time.time()
        self._inputs: list[str] = []
        self._counts: Mapping[str, Counts] = {}
        self._resolved: dict[str, object] = {}
        self._digests: dict[str, tuple[str, int]] = {}
        self._digesting: BackgroundTask | None = None

    def begin(self, inputs: Iterable[str | None]) -> None:
        """inputs: of the run; what is no file is a name of something else. Raises `RunError` where the summary could not be written."""
        if self.path is not None:
            self._inputs = [path for path in dict.fromkeys(inputs) if path is not None and (path == STDIO or os.path.exists(path))]
            with naming_output(self.path):
                check_place(self.path)

    def have_read(self, counts: Mapping[str, Counts], resources: Resources, **resolved: object) -> None:
        """What the inputs hold, and what options have come to that were not given."""
        self._stages.enter(PLANNING)
        if self.path is None:
            return
        from gpualign.core.common.threads import BackgroundTask
        from gpualign.jobs.devices.memory import default_memory

        self._counts = counts
        self._resolved = {"threads": resources.host_threads, "memory": resources.memory or default_memory(), **resolved}
        self._digesting = BackgroundTask()
        with signals.signals_deferred():  # a thread that a signal keeps from starting cannot be waited for
            self._digesting.begin(self._digest)

    def resolve(self, **resolved: object) -> None:
        """What more they have come to."""
        self._resolved |= resolved

    def _digest(self) -> None:
        """Beside the work, of files that have just been read and are in the system's memory. What came through a pipe has gone."""
        for path in self._inputs:
            try:
                if path != STDIO and stat.S_ISREG(os.stat(path).st_mode):
                    self._digests[path] = digest_file(path)
            except (OSError, InputError):
                pass  # the file has gone since, which is no reason to give up the work

    def write(self, files: OutputFiles, engine: tuple[str, str] | None, results: Mapping[str, object]) -> None:
        """All outputs are written; the summary takes its name with them. engine: what did the work, and its kernel; None: nothing was
        computed. results: what came of it."""
        if self.path is None or any(path is not None and path.absolute() == self.path.absolute() for path, _ in files.written()):
            return  # the run before, which lacked nothing but names, has written it
        self._stages.enter(WRITING)
        if self._digesting is not None:
            self._digesting.wait()
        found = self._found(files, engine, results)
        if self.path.name.endswith(OF_MULTIQC):
            from gpualign.jobs.output.multiqc import section

            found = section(found, self.path.name.removesuffix(OF_MULTIQC))
        import json

        with suppress(ClosedPipe), naming_output(self.path):  # outputs are wanted whoever reads this
            out = files.open(self.path)
            out.write(json.dumps(found, indent=2).encode() + b"\n")
            out.flush()  # what cannot be written is to be known before outputs take their names

    def _found(self, files: OutputFiles, engine: tuple[str, str] | None, results: Mapping[str, object]) -> dict[str, Any]:
        import platform
        import shlex
        from datetime import datetime, timezone
        from importlib.metadata import version

        from gpualign import __version__
        from gpualign.jobs.devices.memory import peak_memory

        invocation = self._invocation()
        outputs = [{"path": None if path is None else str(path), "bytes": nbytes} for path, nbytes in files.written()]
        seconds = self._stages.seconds()

        def at(moment: float) -> str:
            return datetime.fromtimestamp(moment, timezone.utc).isoformat(timespec="seconds")

        return {
            "gpualign_summary": LAYOUT,
            "command": invocation.command,
            "command_line": shlex.join(["gpualign", *invocation.words]),
            "started": at(self._started),
            "ended": at(time.time()),
            "versions": {
                "gpualign": __version__,
                "python": platform.python_version(),
                **{name: version(name) for name in ("numpy", "biopython")},
                "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            },
            "options": {name: _plain(value) for name, value in invocation.options.items()},
            "resolved": self._resolved,
            "inputs": [self._input(path) for path in self._inputs],
            "engine": None if engine is None else {"hardware": engine[0], "kernel": engine[1]},
            "results": dict(results),
            "seconds": {name: round(value, 6) for name, value in {**seconds, "total": sum(seconds.values())}.items()},
            "outputs": outputs,
            "bytes_written": sum(one["bytes"] for one in outputs if isinstance(one["bytes"], int)),
            "peak_memory": peak_memory(),
        }

    def _input(self, path: str) -> dict[str, object]:
        digest, nbytes = self._digests.get(path, (None, None))
        records, letters = self._counts.get(path, (None, None))
        return {"path": path, "bytes": nbytes, "sha256": digest, "records": records, "letters": letters}


def counts_of(inputs: Inputs) -> dict[str, Counts]:
    """Records and letters of each file of sequences."""
    counts: dict[str, Counts] = {}
    for one in [inputs.targets] if inputs.one_set or inputs.added else [inputs.targets, inputs.queries]:
        firsts = [first for first, _ in one.files]
        for (first, name), stop in zip(one.files, [*firsts[1:], len(one)], strict=True):
            counts[STDIO if name == STDIN_NAME else name] = stop - first, int(one.lengths[first:stop].sum())
    return counts


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
