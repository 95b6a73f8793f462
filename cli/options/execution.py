"""Options of how the work is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from gpualign.cli.options import F, stack
from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import DeviceType, PathType
from gpualign.cli.options.param_types import ShardType, SizeType


def kernel_option(names: Sequence[str], paper: str) -> Callable[[F], F]:
    """Which kernel computes: the choice of this program, or one of a paper."""
    return click.option(
        "--kernel",
        type=ChoiceType(["auto", *names]),
        default="auto",
        show_default=True,
        help=f"auto: the fastest one. The others are those of {paper}, for a GPU, kept to learn from and to measure.",
    )


def global_kernel_options(function: F) -> F:
    """The kernels of Li 2014."""
    return stack(
        kernel_option(["rodinia", "tiled-dscan", "dscan", "rscan", "li-auto"], "Li et al. 2014 (linear gaps)"),
        click.option(
            "--transfer",
            type=ChoiceType(["pageable", "pinned", "double"]),
            help="How Li's matrices are copied back: pageable memory, page-locked memory, or that with two batches at a time.  [double]",
        ),
    )(function)


def local_kernel_option(function: F) -> F:
    """The kernels of Munekawa 2008."""
    return kernel_option(["munekawa-scalar", "munekawa-vector"], "Munekawa et al. 2008")(function)


def going_on_options(function: F) -> F:
    """A job in several runs."""
    return stack(
        click.option(
            "--resume", is_flag=True, help="Go on with the output of the same command that was interrupted; if there is none, start."
        ),
        click.option(
            "--shard",
            type=ShardType(),
            metavar="K/N",
            help="Do the K-th of N shares of equal work, into FILE.K-of-N.part; `gpualign merge` joins them.",
        ),
    )(function)


def nodes_option(function: F) -> F:
    """Who computes."""
    return click.option(
        "--cluster",
        metavar="NAME",
        help="Compute on other machines: tls://HOST:PORT or dask://HOST:PORT, a Dask scheduler; dask:N, N processes of this machine; mpi,"
        " under mpirun. --device, --threads and --memory then apply to each worker's machine.  [this process]",
    )(function)


def log_option(function: F) -> F:
    """What is said, in a file."""
    return _log_option("")(function)


def _log_option(more: str) -> Callable[[F], F]:
    return click.option(
        "--log", type=PathType(), metavar="FILE", help=f"Also write the messages to this file, with times, even with -q{more}."
    )


def run_options(function: F, resumable: bool = True) -> F:
    """How the work is done. resumable: the command has --resume."""
    return stack(
        click.option(
            "--device",
            type=DeviceType(),
            default="auto",
            show_default=True,
            metavar="NAME",
            help="auto (the first GPU, or the CPU if it is faster or there is no GPU), cpu, cuda, cuda:0,1, cuda:all, all (every GPU "
            "and the CPU), or a list such as cpu,cuda:0.",
        ),
        click.option("--threads", type=click.IntRange(min=1), metavar="N", help="CPU threads.  [the CPUs this process may use]"),
        click.option(
            "--memory", type=SizeType(), metavar="SIZE", help="Memory budget, for instance 500M.  [2G, at most half of the memory there is]"
        ),
        click.option(
            "--dry-run",
            is_flag=True,
            help="Print the plan, its memory, and estimates of the time and the size of the output; write nothing.",
        ),
        _log_option("; --resume appends to it" if resumable else ""),
        click.option(
            "--summary",
            type=PathType(),
            metavar="FILE",
            help="Also write what the run read, did and wrote to this file, as JSON; NAME_mqc.json is a section for MultiQC.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="No notes and no progress on stderr."),
        click.option("-v", "--verbose", is_flag=True, help="Also report which kernel runs and how the work is cut."),
    )(function)
