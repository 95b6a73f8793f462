"""The `gpualign` command: the command group, and the only place where errors are converted to messages and exit codes."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from importlib import import_module
from typing import cast

import click

from gpualign import __version__
from gpualign.cli.options.choice_suggestions import CommandGroup, with_example, with_file_advice, with_option_suggestion
from gpualign.cli.terminal import log_file
from gpualign.core.common import signals
from gpualign.core.common.errors import GpualignError, command_line_message

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

COMMAND_NAMES = ("bench", "cluster", "dist", "index", "info", "merge", "nw", "plot", "sw", "tree")
"""Names of the commands. Each command is a function of this name in the module of the same name in `commands`."""


class _LazyCommands(Mapping[str, click.Command]):
    """Mapping that imports each command on first use, so that running one command does not load the options of the others."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in COMMAND_NAMES:
            raise KeyError(name)
        command: click.Command = getattr(import_module(f"gpualign.cli.commands.{name}"), name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMAND_NAMES)

    def __len__(self) -> int:
        return len(COMMAND_NAMES)


def _print_citation(ctx: click.Context, _: click.Parameter, requested: bool) -> None:
    if requested and not ctx.resilient_parsing:
        from gpualign.cli.citation import citation_text

        click.echo(citation_text(), nl=False)
        ctx.exit()


# Click adds no command to the mapping by itself.
@click.group(cls=CommandGroup, commands=cast(MutableMapping[str, click.Command], _LazyCommands()), context_settings=CONTEXT_SETTINGS)
@click.version_option(__version__, prog_name="gpualign")
@click.option(
    "--citation",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_citation,
    help="Show how to cite gpualign and its methods, and exit.",
)
def cli() -> None:
    """Exact all-vs-all sequence alignment and SNP distance: no pair is lost, memory is bounded.

    \b
    Examples:
      gpualign nw reads.fasta > scores.tsv           every pair of one file
      gpualign nw queries.fa targets.fa -o m.npy     every query against every target
      gpualign nw --edit reads.fasta                 edit distances
      gpualign sw query.fa db.fa > hits.tsv          the best hits of every query in a database
      gpualign dist snps.tsv > distances.tsv         SNP distances of all samples
      gpualign cluster genes.fa --min-identity 0.97  clusters of similar genes
      gpualign info                                  engines and devices of this machine
      gpualign nw --help                             all options of a command

    \b
    Tab completion (bash; similar for zsh and fish):
      eval "$(_GPUALIGN_COMPLETE=bash_source gpualign)"
    """


def _report_failure(message: str, code: int) -> int:
    line = f"gpualign: error: {message}"
    with suppress(OSError):  # a terminal that has gone away
        click.echo(line, err=True)
    log_file.append_to_log(line)
    return code


def run() -> int:
    """Run one command and return its exit code. Errors are reported as messages."""
    stdout = sys.stdout
    try:
        if "_GPUALIGN_COMPLETE" in os.environ:  # a shell asks for completions
            import gpualign.cli.options.bash_completion  # noqa: F401  tells Click how bash cuts words
        result = cli.main(prog_name="gpualign", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except BaseException as error:
        with suppress(signals.Stopped):  # a second signal during the cleanup
            signals.run_cleanups()
        # A library that a signal interrupts may raise any exception.
        if stopped := signals.exit_message_and_code():
            return _report_failure(*stopped)
        return _report_error(error, stdout)


def _is_from_click(error: BaseException) -> bool:
    """Return whether Click itself raised an error. It reads and writes nothing but standard streams."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith("click.")


def _report_error(error: BaseException, stdout: object) -> int:
    """Report `error` and return the exit code. stdout: `sys.stdout` before the command ran; Click replaces it if the reader of its output
    is gone."""
    if isinstance(error, SystemExit) and sys.stdout is stdout:  # by Click, after it has written a completion
        raise error
    if isinstance(error, click.ClickException):
        if isinstance(error, click.NoSuchOption):
            error = with_option_suggestion(error, cli.commands)
        elif isinstance(error, click.MissingParameter):
            error = with_example(error)
        elif isinstance(error, click.UsageError):
            error = with_file_advice(error)
        with suppress(OSError):  # stderr cannot be written
            error.show()
        return error.exit_code
    has_no_room = isinstance(error, ImportError) and "failed to map segment" in str(error)  # for a library (ulimit -v)
    has_no_room |= isinstance(error, OSError) and error.errno == errno.ENOMEM
    if isinstance(error, MemoryError) or has_no_room:  # before anything is imported, which takes memory
        return _report_failure(f"out of memory; lower --memory or --threads{signals.resume_hint_suffix()}", 1)
    if isinstance(error, ImportError) and not isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("gpualign"):
        return _report_failure(f"a library cannot be loaded: {error}{signals.resume_hint_suffix()}", 1)
    from gpualign.jobs.output.atomic_files import ClosedPipeError

    if isinstance(error, (ClosedPipeError, BrokenPipeError, SystemExit)):
        # The reader has stopped reading (`| head`). Python flushes stdout once more at exit, so let it write to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, GpualignError):
        return _report_failure(f"{command_line_message(error.message)}{signals.resume_hint_suffix()}", error.exit_code)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else "cannot write standard output: " if _is_from_click(error) else ""
        return _report_failure(f"{place}{error.strerror or error}{signals.resume_hint_suffix()}", 1)
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        limits = "the limit of processes (ulimit -u) or of memory (ulimit -v) is reached; raise it, or lower --threads"
        return _report_failure(f"cannot start a thread: {limits}{signals.resume_hint_suffix()}", 1)
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        return _report_failure("interrupted", 130)
    import shlex
    import traceback

    traceback.print_exception(error)
    log_file.append_to_log("".join(traceback.format_exception(error)))
    command = shlex.join(["gpualign", *sys.argv[1:]])
    return _report_failure(f"this is a bug in gpualign {__version__}; please report it with the lines above and the command: {command}", 1)
