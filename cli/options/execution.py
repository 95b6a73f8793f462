"""Execution options: kernels, devices, memory, shards and messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from gpualign.cli.options import F, combine_options
from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import DeviceType, PathType
from gpualign.cli.options.headings import Heading
from gpualign.cli.options.param_types import IntegerType, ShardType, SizeType


def kernel_option(names: Sequence[str], paper: str) -> Callable[[F], F]:
    """Return the option --kernel. names: kernels to choose from, in addition to auto; paper: the paper that they reproduce, for the
    help."""
    return Heading.PAPERS.option(
        "--kernel",
        type=ChoiceType(["auto", *names]),
        default="auto",
        show_default=True,
        help=f"auto picks the fastest kernel. The others reproduce {paper}, GPU only, for study and benchmarks.",
    )


def global_kernel_options(function: F) -> F:
    """Add --kernel, which offers the kernels of Li et al. (2013), and --transfer."""
    return combine_options(
        kernel_option(["rodinia", "tiled-dscan", "dscan", "rscan", "li-auto"], "Li et al. 2013 (linear gaps)"),
        Heading.PAPERS.option(
            "--transfer",
            type=ChoiceType(["pageable", "pinned", "double"]),
            help="How the matrices of Li's kernels are copied back: through pageable memory, through pinned (page-locked) memory, or"
            " through pinned memory with double buffering.  [double]",
        ),
    )(function)


def local_kernel_option(function: F) -> F:
    """Add --kernel, which offers the kernels of Munekawa et al. (2008)."""
    return kernel_option(["munekawa-scalar", "munekawa-vector"], "Munekawa et al. 2008")(function)


def long_run_options(function: F) -> F:
    """Add --resume and --shard."""
    return combine_options(
        Heading.LONG_RUNS.option(
            "--resume", is_flag=True, help="Resume an interrupted run of the same command; start from scratch if there is none."
        ),
        Heading.LONG_RUNS.option(
            "--shard",
            type=ShardType(),
            metavar="K/N",
            help="Compute only the K-th of N equal shares of the work, into FILE.K-of-N.part; `gpualign merge` joins them.",
        ),
    )(function)


def executor_option(function: F) -> F:
    """Add --cluster."""
    return Heading.EXECUTION.option(
        "--cluster",
        metavar="NAME",
        help="Compute with other processes or machines: those of a Dask scheduler (tls://HOST:PORT or dask://HOST:PORT), N processes on"
        " this machine (dask:N), or the processes of mpirun (mpi). --device, --threads and --memory then apply to each worker's machine."
        "  [this process]",
    )(function)


def log_option(function: F) -> F:
    """Add --log, for commands without --resume."""
    return _log_option("")(function)


def _log_option(extra_help: str) -> Callable[[F], F]:
    return Heading.MESSAGES.option(
        "--log", type=PathType(), metavar="FILE", help=f"Also write all messages to this file, with timestamps, even with -q{extra_help}."
    )


def run_options(function: F, resumable: bool = True) -> F:
    """Add the options for devices, memory, messages and --dry-run. resumable: whether the command has --resume."""
    return combine_options(
        Heading.EXECUTION.option(
            "--device",
            type=DeviceType(),
            default="auto",
            show_default=True,
            metavar="NAME",
            help="auto (the first GPU, or the CPU if that is faster or there is no GPU), cpu, cuda, cuda:0,1, cuda:all, all (every GPU "
            "and the CPU), or a list such as cpu,cuda:0.",
        ),
        Heading.EXECUTION.option("--threads", type=IntegerType(1, inf), metavar="N", help="CPU threads.  [the CPUs this process may use]"),
        Heading.EXECUTION.option(
            "--memory",
            type=SizeType(),
            metavar="SIZE",
            help="Memory budget, for instance 500M.  [2G in addition to the input, at most half of the machine's memory]",
        ),
        Heading.LONG_RUNS.option(
            "--dry-run",
            is_flag=True,
            help="Print the plan, the memory it needs, and the estimated time and output size, without running it.",
        ),
        Heading.MESSAGES.option("-q", "--quiet", is_flag=True, help="No notes and no progress on stderr."),
        Heading.MESSAGES.option("-v", "--verbose", is_flag=True, help="Also report which kernel runs and how the work is divided."),
        _log_option("; --resume appends to it" if resumable else ""),
        Heading.MESSAGES.option(
            "--summary",
            type=PathType(),
            metavar="FILE",
            help="Also write a JSON summary of the run (inputs, work, outputs) to this file; NAME_mqc.json makes a MultiQC section.",
        ),
    )(function)
