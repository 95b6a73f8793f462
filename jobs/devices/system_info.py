"""Describes the capabilities of this build and machine."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from gpualign import __version__
from gpualign.core.common.memory import physical_memory, usable_memory
from gpualign.core.common.units import format_bytes
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets
from gpualign.cpu.processor import usable_cpu_count
from gpualign.gpu.runtime import install_hints as missing
from gpualign.gpu.runtime.compilers.selection import installed_compilers
from gpualign.gpu.runtime.inventory import detect_devices
from gpualign.gpu.runtime.kernel_cache import cache_folder
from gpualign.jobs.job import DescriptionRows


def describe_machine() -> DescriptionRows:
    """Return rows that list engines, instruction sets, devices and versions."""
    in_use = CpuEngine().instruction_set.name
    sets = []
    for s in instruction_sets():
        state = "in use" if s.name == in_use else "runs here" if s.is_supported else "not on this processor"
        sets.append(f"{s.name} ({state})")
    inventory = detect_devices()
    cached = list(cache_folder().glob("*.cubin"))
    rows = [
        ("gpualign", __version__),
        ("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        ("packages", ", ".join(f"{name} {version(name)}" for name in ("numpy", "biopython", "click", "tqdm"))),
        ("engine cpu", f"{usable_cpu_count()} CPUs usable"),
        ("  instruction sets", ", ".join(sets)),
        ("  memory", _describe_memory(physical_memory(), usable_memory())),
        ("engine cuda", f"unavailable: {inventory.reason}" if inventory.reason else "ready"),
    ]
    if inventory.remedy:
        rows.append(("  remedy", inventory.remedy))
    for number, device in enumerate(inventory.devices):
        major, minor = device.compute_capability
        rows.append((f"  device {number}", f"{device.name}, {format_bytes(device.memory_bytes)}, compute capability {major}.{minor}"))
    driver = missing.find_driver()
    rows.append(("  driver", f"for CUDA {driver.title} (in {driver.folder})" if driver else "not found"))
    rows.append(("  PyCUDA", _version_of("pycuda")))
    compilers = [f"{compiler.title} ({compiler.path})" for compiler in installed_compilers()]
    rows.append(("  compilers", ", ".join(compilers) or "none: neither NVRTC nor nvcc was found"))
    rows.append(("  compiled kernels", f"{len(cached)} ({format_bytes(sum(c.stat().st_size for c in cached))}) in {cache_folder()}"))
    return rows


def _describe_memory(physical: int | None, usable: int | None) -> str:
    if usable is None:
        return "unknown"
    return (
        format_bytes(usable)
        if physical is None or usable == physical
        else f"{format_bytes(usable)} of {format_bytes(physical)}, by a control group"
    )


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
