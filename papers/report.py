"""Reports on the papers' methods: a human-readable table, numbers for programs, and a chart for talks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, field, replace
from typing import Any, BinaryIO

from gpualign.core.common.dataclass import dataclass
from gpualign.papers.timing import Timing


@dataclass(frozen=True)
class MethodMeasurement:
    """Measurement of one of several methods that are compared.

    where: hardware on which the method runs
    published: speed-up over the first method according to the paper; None if the paper gives none
    published_text: the published value as shown in the table
    """

    method: str
    where: str
    timing: Timing
    published: float | None = None
    published_text: str = ""


@dataclass(frozen=True)
class MethodComparison:
    """Comparison of methods for one task. All later methods are compared with the first.

    title: heading
    task: description of the task
    steps: measurements of the methods
    published: hardware on which the paper's values were measured
    notes: paragraphs below the table
    """

    title: str
    task: str
    steps: list[MethodMeasurement]
    published: str
    notes: list[str] = field(default_factory=list)


def without_published_values(comparison: MethodComparison) -> MethodComparison:
    """Return the comparison without the paper's values, because they were measured for a task of a different size."""
    steps = [replace(step, published=None, published_text="") for step in comparison.steps]
    return replace(comparison, steps=steps)


@dataclass(frozen=True)
class Table:
    """Additional results, formatted as text."""

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """Report on one paper.

    name: short name, such as "Li 2013"
    paper: authors, year and subject of the paper
    ladders: comparisons of methods
    tables: additional results
    left_out: measurements that were not made
    """

    name: str
    paper: str
    ladders: list[MethodComparison]
    tables: list[Table]
    left_out: list[str]


def format_milliseconds(seconds: float) -> str:
    """Return a duration in milliseconds as text, with about three significant digits."""
    value = seconds * 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def speedup(comparison: MethodComparison, measurement: MethodMeasurement) -> float:
    """Return the speed-up of a method over the first method of the comparison."""
    return comparison.steps[0].timing.median / measurement.timing.median


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def to_markdown(sections: Sequence[Section], machine: str) -> str:
    """Return all sections as one page in Markdown. machine: description of the machine"""
    parts = [f"# The papers' methods, measured\n\n{machine}\n"]
    for section in sections:
        parts.append(f"## {section.paper}\n")
        for ladder in section.ladders:
            rows, has_published = [], any(step.published_text for step in ladder.steps)
            for step in ladder.steps:
                spread = f"{format_milliseconds(step.timing.lower)} to {format_milliseconds(step.timing.upper)}"
                factor = speedup(ladder, step)
                shown = f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"
                published = [step.published_text] if has_published else []
                rows.append([step.method, step.where, format_milliseconds(step.timing.median), spread, shown, *published])
            header = ["method", "on", "ms, median", "quartiles", "speed-up"]
            header += [ladder.published] if has_published else []
            parts.append(f"### {ladder.title}\n\n{ladder.task}\n\n{_markdown_table(header, rows)}")
            parts += [f"{note}\n" for note in ladder.notes]
        for table in section.tables:
            parts.append(f"### {table.title}\n\n{_markdown_table(table.header, table.rows)}")
            parts += [f"{note}\n" for note in table.notes]
        if section.left_out:
            parts.append("Left out: " + "; ".join(section.left_out) + ".\n")
    return "\n".join(parts)


def to_json(sections: Sequence[Section], machine: dict[str, Any]) -> str:
    """Return all numbers as JSON, with unrounded seconds. machine: facts about the measurements, from `describe_benchmark_run`"""
    return json.dumps({"machine": machine, "sections": [asdict(section) for section in sections]}, indent=2) + "\n"


def draw_charts(sections: Sequence[Section], outputs: dict[str, BinaryIO]) -> None:
    """Draw a bar chart for each comparison: speed-ups over the first method, on a logarithmic axis.

    outputs: for each format, the stream to which the figure is written
    """
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "gpualign"
    from matplotlib.figure import Figure

    ladders = [(section, ladder) for section in sections for ladder in section.ladders]
    heights = [0.9 + 0.36 * len(ladder.steps) for _, ladder in ladders]
    figure = Figure(figsize=(9.5, sum(heights) + 0.2), layout="constrained")
    panels = figure.subplots(len(ladders), 1, squeeze=False, height_ratios=heights)[:, 0]
    for panel, (section, ladder) in zip(panels, ladders, strict=True):
        _draw_comparison(panel, f"{section.name}: {ladder.title}", ladder)
    for format, stream in outputs.items():
        figure.savefig(stream, format=format, dpi=160, metadata={"Date": None} if format == "svg" else None)


_BAR_COLOURS = {"paper": "#4878a8", "today": "#d07a2c"}


def _draw_comparison(panel: Any, title: str, comparison: MethodComparison) -> None:
    factors = [speedup(comparison, step) for step in comparison.steps]
    places = list(range(len(factors)))
    colours = [_BAR_COLOURS["today" if step.method.startswith("today") else "paper"] for step in comparison.steps]
    low = min([*factors, 1.0]) / 2
    panel.barh(places, [factor - low for factor in factors], left=low, color=colours, height=0.72)
    published = [(place, step.published) for place, step in zip(places, comparison.steps, strict=True) if step.published]
    if published:
        panel.scatter([m for _, m in published], [p for p, _ in published], marker="D", s=26, color="0.15", zorder=3, label="as published")
        panel.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2, fontsize=9, frameon=False)
    panel.set_xscale("log")
    high = max([*factors, *(m for _, m in published)])
    panel.set_xlim(low, high * 6)
    for place, factor, step in zip(places, factors, comparison.steps, strict=True):
        edge = max(factor, step.published or 0)
        text = f"{factor:,.0f}×" if factor >= 10 else f"{factor:.2g}×"
        panel.text(edge * 1.15, place, f"{text}  ({format_milliseconds(step.timing.median)} ms)", va="center", fontsize=9.5)
    panel.set_yticks(places, [f"{step.method}" for step in comparison.steps], fontsize=10)
    panel.invert_yaxis()
    panel.set_title(title, loc="left", fontsize=11)
    panel.set_xlabel("speed-up over the first method", fontsize=9)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
