"""JSON summary of a run: options, inputs, results, outputs, time and memory (docs/formats/summary.md)."""

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
from gpualign.core.files.digests import digest_file
from gpualign.core.files.paths import STDIN_NAME, STDIO
from gpualign.jobs.output.atomic_files import ClosedPipeError, OutputFiles, translate_output_errors
from gpualign.jobs.output.stages import PLANNING, WRITING

if TYPE_CHECKING:
    from gpualign.core.common.threads import BackgroundTask
    from gpualign.jobs.devices.resources import Resources
    from gpualign.jobs.output.run_identity import Invocation
    from gpualign.jobs.output.stages import StageTimer
    from gpualign.jobs.sequence_loading import Inputs

LAYOUT_VERSION = 1

MULTIQC_SUFFIX = "_mqc.json"
"""Suffix of files that MultiQC searches for report sections."""

InputCounts = tuple[int, int | None]
"""(number of records, number of letters or None if the records are not sequences)."""


class RunSummary:
    """Collects facts about a run as it proceeds, and writes them to a file.

    path: summary file; None: nothing is collected or written
    stages: stage timer of the run
    invocation: returns the running command

    Raises `InputError` if the path is standard output.
    """

    def __init__(self, path: str | None, stages: StageTimer, invocation: Callable[[], Invocation]) -> None:
        if path == STDIO:
            raise InputError(f"{parameter('summary')}: name a file; standard output is for results")
        self.path = None if path is None else Path(path)
        self._stages = stages
        self._invocation = invocation
        self._started = time.time()
        self._inputs: list[str] = []
        self._counts: Mapping[str, InputCounts] = {}
        self._resolved: dict[str, object] = {}
        self._digests: dict[str, tuple[str, int]] = {}
        self._digesting: BackgroundTask | None = None

    def begin(self, inputs: Iterable[str | None]) -> None:
        """Record the inputs of the run, ignoring names that are not files."""
        if self.path is not None:
            self._inputs = [path for path in dict.fromkeys(inputs) if path is not None and (path == STDIO or os.path.exists(path))]

    def record_inputs(self, counts: Mapping[str, InputCounts], resources: Resources, **resolved: object) -> None:
        """Record how many records and letters each input has (`counts`), and the values used for options not given (`resolved`)."""
        self._stages.enter(PLANNING)
        if self.path is None:
            return
        from gpualign.core.common.threads import BackgroundTask
        from gpualign.jobs.devices.memory import default_memory

        self._counts = counts
        self._resolved = {"threads": resources.host_threads, "memory": resources.memory or default_memory(), **resolved}
        self._digesting = BackgroundTask()
        with signals.signals_deferred():  # a thread that a signal keeps from starting cannot be waited for
            self._digesting.start(self._digest_inputs)

    def record_resolved(self, **resolved: object) -> None:
        """Record additional values used for options not given."""
        self._resolved |= resolved

    def _digest_inputs(self) -> None:
        """Digest the inputs during the run, while the recently read files are still in the page cache.

        Input from a pipe is skipped, because the data can no longer be read.
        """
        for path in self._inputs:
            try:
                if path != STDIO and stat.S_ISREG(os.stat(path).st_mode):
                    self._digests[path] = digest_file(path)
            except (OSError, InputError):
                pass  # the file has gone since, which is no reason to end the run

    def write(self, files: OutputFiles, engine: tuple[str, str] | None, results: Mapping[str, object]) -> None:
        """Write the summary after all outputs; the summary and the outputs are committed together.

        engine: (hardware, kernel) used; None: nothing was computed
        results: numbers that summarise the results, by name
        """
        if self.path is None or any(path is not None and path.absolute() == self.path.absolute() for path, _ in files.written_files()):
            return  # the earlier run, which lacked only its final renames, has written it
        self._stages.enter(WRITING)
        if self._digesting is not None:
            self._digesting.wait()
        summary = self._make_summary(files, engine, results)
        if self.path.name.endswith(MULTIQC_SUFFIX):
            from gpualign.jobs.output.multiqc import multiqc_section

            summary = multiqc_section(summary, self.path.name.removesuffix(MULTIQC_SUFFIX))
        import json

        with suppress(ClosedPipeError), translate_output_errors(self.path):  # outputs are kept even if the reader of the summary has gone
            out = files.open(self.path)
            out.write(json.dumps(summary, indent=2).encode() + b"\n")
            out.flush()  # an error of writing must come before outputs get their names

    def _make_summary(self, files: OutputFiles, engine: tuple[str, str] | None, results: Mapping[str, object]) -> dict[str, Any]:
        import platform
        import shlex
        from datetime import datetime, timezone
        from importlib.metadata import version

        from gpualign import __version__
        from gpualign.jobs.devices.memory import peak_memory

        invocation = self._invocation()
        outputs = [{"path": None if path is None else str(path), "bytes": nbytes} for path, nbytes in files.written_files()]
        seconds = self._stages.stage_seconds()

        def at(moment: float) -> str:
            return datetime.fromtimestamp(moment, timezone.utc).isoformat(timespec="seconds")

        return {
            "gpualign_summary": LAYOUT_VERSION,
            "command": invocation.command,
            "command_line": shlex.join(["gpualign", *invocation.arguments]),
            "started": at(self._started),
            "ended": at(time.time()),
            "versions": {
                "gpualign": __version__,
                "python": platform.python_version(),
                **{name: version(name) for name in ("numpy", "biopython")},
                "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            },
            "options": {name: _to_json_value(value) for name, value in invocation.options.items()},
            "resolved": self._resolved,
            "inputs": [self._input_entry(path) for path in self._inputs],
            "engine": None if engine is None else {"hardware": engine[0], "kernel": engine[1]},
            "results": dict(results),
            "seconds": {name: round(value, 6) for name, value in {**seconds, "total": sum(seconds.values())}.items()},
            "outputs": outputs,
            "bytes_written": sum(one["bytes"] for one in outputs if isinstance(one["bytes"], int)),
            "peak_memory": peak_memory(),
        }

    def _input_entry(self, path: str) -> dict[str, object]:
        digest, nbytes = self._digests.get(path, (None, None))
        records, letters = self._counts.get(path, (None, None))
        return {"path": path, "bytes": nbytes, "sha256": digest, "records": records, "letters": letters}


def input_counts_of(inputs: Inputs) -> dict[str, InputCounts]:
    """Return the number of records and letters in each sequence file."""
    counts: dict[str, InputCounts] = {}
    for one in [inputs.targets] if inputs.one_set or inputs.has_added else [inputs.targets, inputs.queries]:
        firsts = [first for first, _ in one.files]
        for (first, name), stop in zip(one.files, [*firsts[1:], len(one)], strict=True):
            counts[STDIO if name == STDIN_NAME else name] = stop - first, int(one.lengths[first:stop].sum())
    return counts


def _to_json_value(value: object) -> object:
    if isinstance(value, (tuple, list)):
        return [_to_json_value(one) for one in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
