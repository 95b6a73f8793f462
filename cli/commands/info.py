"""`gpualign info`: engines and devices of this build and machine, for bug reports."""

from __future__ import annotations

import click

from gpualign.cli.options.headings import CommandWithHeadings


@click.command(cls=CommandWithHeadings)
def info() -> None:
    """Show engines, instruction sets, devices and versions.

    \b
    Example:
      gpualign info
    """
    from gpualign.jobs.devices.system_info import describe_machine
    from gpualign.jobs.output.atomic_files import translate_output_errors

    with translate_output_errors(None):
        for name, value in describe_machine():
            click.echo(f"{name:<19} {value}")
