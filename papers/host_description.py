"""Describes the machine for a report."""

from __future__ import annotations

import datetime
import platform
from pathlib import Path

from gpualign import __version__


def describe_benchmark_run(gpu_name: str | None, benchmark_size: str) -> dict[str, str]:
    """Return facts about the measurements, by name: GPU, processor, date, version of gpualign, size of the benchmark."""
    return {
        "gpu": gpu_name or "no GPU",
        "processor": _processor_name(),
        "date": datetime.date.today().isoformat(),
        "version": f"gpualign {__version__}",
        "size": f"size {benchmark_size}",
    }


def _processor_name() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
