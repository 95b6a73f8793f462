"""The executable with checkpoints after every band, so that short runs have journals."""

import json
import sys

EAGER = (
    "import gpualign.jobs.output.checkpoint as r; r.MIN_SECONDS_TO_JOURNAL = 0; r.MIN_RUN_TO_DIGEST_RATIO = 0;"
    " r.CHECKPOINT_PAUSE_SECONDS = 0; r.SYNC_PAUSE_SECONDS = 0.02;"
    "import dataclasses, gpualign.core.execution.runner as c; make = c.make_plan;"
    "c.make_plan = lambda q, t, p, limits, *more: make(q, t, p, dataclasses.replace(limits, band_rows=8), *more);"
    "import gpualign.core.distance.preparation as d; bands = d.plan_bands;"
    "d.plan_bands = lambda q, t, upper, memory, size: bands(q, t, upper, min(memory, 16 * t * size), size);"
    "import os, threading; marks = []; rows_written = r.CheckpointedOutput.rows_written;"
    "kill = os.environ.get('EAGER_KILL', '0 0 9').split();\n"
    "def told(self, rows):\n"
    "    rows_written(self, rows); marks.append(rows)\n"
    "    if len(marks) == int(kill[0]):\n"
    "        end = lambda: os.kill(os.getpid(), int(kill[2]))\n"
    "        threading.Timer(float(kill[1]), end).start() if float(kill[1]) else end()\n"
    "r.CheckpointedOutput.rows_written = told\n"
    "from gpualign.cli.entry_point import main; main()"
)
"""Script that runs the executable with a mark after each of many small bands. EAGER_KILL is "marks seconds signal": the process sends
itself the signal, `seconds` after this many marks."""


def command(*words):
    return [sys.executable, "-c", EAGER, *map(str, words)]


def marked(journal):
    """The number of rows in each mark of a journal."""
    try:
        raw = journal.read_bytes()
    except FileNotFoundError:
        return []
    lines = [json.loads(line) for line in raw.split(b"\n")[1:-1]]
    return [line["rows"] for line in lines if "rows" in line]


def eager_here(monkeypatch):
    """Make commands in this process keep a journal from the start, which they usually do after two seconds. Bands keep their size."""
    for name in ("MIN_SECONDS_TO_JOURNAL", "MIN_RUN_TO_DIGEST_RATIO", "CHECKPOINT_PAUSE_SECONDS"):
        monkeypatch.setattr(f"gpualign.jobs.output.checkpoint.{name}", 0)
