"""`gpualign info`: what this build and machine offer; the page to send with a bug report."""

from __future__ import annotations

import click


@click.command()
def info() -> None:
    """Show engines, instruction sets, devices and versions.

    \b
    Example:
      gpualign info
    """
    import platform
    from importlib.metadata import version

    from gpualign import __version__
    from gpualign.cli.sizes import format_bytes, physical_memory
    from gpualign.cpu.engine import CpuEngine, instruction_sets, usable_cpus
    from gpualign.gpu.devices import find_devices, unavailable_reason

    memory = physical_memory()
    in_use = CpuEngine().instruction_set.name
    sets = []
    for s in instruction_sets():
        state = "in use" if s.name == in_use else "runs here" if s.supported else "not on this processor"
        sets.append(f"{s.name} ({state})")
    devices, _ = find_devices()
    rows = [
        ("gpualign", __version__),
        ("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        ("packages", ", ".join(f"{name} {version(name)}" for name in ("numpy", "biopython", "click", "tqdm"))),
        ("engine cpu", f"{usable_cpus()} CPUs usable"),
        ("  instruction sets", ", ".join(sets)),
        ("  memory", format_bytes(memory) if memory else "unknown"),
        ("engine cuda", f"unavailable: {unavailable_reason()}"),
    ]
    for number, device in enumerate(devices):
        major, minor = device.compute_capability
        rows.append((f"  device {number}", f"{device.name}, {format_bytes(device.memory)}, sm_{major}{minor}"))
    for name, value in rows:
        click.echo(f"{name:<19} {value}")
