"""`gpualign bench`: benchmarks the published methods on this machine."""

from __future__ import annotations

import click

from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import DeviceType, PathType
from gpualign.cli.options.headings import CommandWithHeadings, Heading


@click.command(cls=CommandWithHeadings, short_help="Measure the methods of three papers on this machine.")
@click.argument("paper", type=ChoiceType(["payne", "li", "munekawa", "all"]))
@Heading.INPUT.option(
    "--size",
    type=ChoiceType(["small", "paper", "large"]),
    default="small",
    show_default=True,
    help="Size of the data; paper: as published.",
)
@Heading.OUTPUT.option(
    "-o",
    "--output",
    type=PathType(is_folder=True),
    required=True,
    metavar="FOLDER",
    help="Folder for results.json, table.md, ladder.png and ladder.svg.",
)
@Heading.EXECUTION.option(
    "--device",
    type=DeviceType(),
    default="auto",
    show_default=True,
    metavar="NAME",
    help="The GPU to measure: auto (the first, if there is one), cuda or cuda:0. With cpu, only the CPU parts run.",
)
@Heading.MESSAGES.option("-q", "--quiet", is_flag=True, help="No notes.")
def bench(paper: str, size: str, output: str, device: str, quiet: bool) -> None:
    """Measure the methods of the three papers that gpualign grew out of, and gpualign's own kernels, on generated data.

    \b
    payne     Payne et al. 2010: all-pairs distance, from a loop on the CPU to shared memory on the GPU
    li        Li et al. 2013: Needleman-Wunsch of many pairs, four kernels and three ways of transfer
    munekawa  Munekawa et al. 2008: Smith-Waterman database search, scalar and with char4

    Without a GPU only the CPU parts run, and the report says what is missing. The chart needs gpualign[plot].

    \b
    Example:
      gpualign bench all --size paper -o report
    """
    from pathlib import Path

    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.jobs.devices.local_engines import bench_device
    from gpualign.jobs.devices.resources import checked_resources
    from gpualign.jobs.output.atomic_files import OutputFiles, translate_output_errors
    from gpualign.jobs.plotting.output import missing_libraries
    from gpualign.papers import bench_li as li
    from gpualign.papers import bench_munekawa as munekawa
    from gpualign.papers import bench_payne as payne
    from gpualign.papers.host_description import describe_benchmark_run
    from gpualign.papers.report import draw_charts, to_json, to_markdown

    reporter = ConsoleReporter.from_options("bench", quiet)
    checked_resources(device, None, None)
    folder = Path(output)
    with translate_output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    papers = {"payne": payne.run_benchmark, "li": li.run_benchmark, "munekawa": munekawa.run_benchmark}
    gpu = bench_device(device, reporter)
    sections = []
    for name in papers if paper == "all" else [paper]:
        reporter.note(f"{name}, size {size} ...")
        sections.append(papers[name](gpu, size))
    machine = describe_benchmark_run(gpu.name if gpu else None, size)
    with OutputFiles(reporter.note) as files:
        files.open(folder / "results.json").write(to_json(sections, machine).encode())
        page = to_markdown(sections, "; ".join(str(value) for value in machine.values()))
        files.open(folder / "table.md").write(page.encode())
        if missing := missing_libraries("matplotlib"):
            reporter.note(f"no chart: {missing} is not installed (pip install 'gpualign[plot]')")
        else:
            draw_charts(sections, {format: files.open(folder / f"ladder.{format}") for format in ("png", "svg")})
    click.echo(page)
