"""Draws what appears to the right of a heat map: the colour bar, the histogram of values beside it, and the legends for all other
colours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.jobs.plotting.figure_layout import (
    LABEL_FONT_SIZE,
    SMALL_FONT_SIZE,
    Canvas,
    FigureLayout,
    text_width,
    tick_formatter,
    wrap_text,
)
from gpualign.jobs.plotting.group_colours import ColourStrip, Gradient
from gpualign.jobs.plotting.heatmap import ColourScale, Heatmap, shorten_names, shorten_text
from gpualign.jobs.plotting.heatmap_colours import DIAGONAL_COLOUR, MISSING_COLOUR

_BAR_WIDTH = 0.16
"""Width of the colour bar, in inches."""

_BIN_COUNT = 60
"""Number of histogram bins over the whole bar."""

_LINE_SPACING = 1.5 * SMALL_FONT_SIZE / 72
"""Line spacing in a legend, in inches."""

_GRADIENT_LENGTH = 0.6
"""Length of a gradient's bar, in inches."""

_COLUMN_GAP = 0.2
"""Space between legend columns, in inches."""


@dataclass(frozen=True)
class Legend:
    """Legend of a figure: an optional gradient, with labelled colours below it.

    entries: (label, colour) of each labelled colour
    """

    title: str | None
    entries: Sequence[tuple[str, str]]
    gradient: Gradient | None = None

    @property
    def height(self) -> float:
        """Height in inches."""
        lines = len(self.entries) + (self.title is not None)
        return lines * _LINE_SPACING + (0 if self.gradient is None else _GRADIENT_LENGTH + _LINE_SPACING)


def draw_colour_bar(figure: Any, layout: FigureLayout, heatmap: Heatmap, colours: Any, scale: ColourScale) -> Any:
    """Draw the colour bar, aligned with the top of the matrix, and return its axes."""
    axes = layout.add_axes(figure, layout.bar_left, layout.matrix_height - layout.bar_height, _BAR_WIDTH, layout.bar_height)
    bar = figure.colorbar(colours, cax=axes, extend=scale.extend, extendfrac=0.05)
    bar.outline.set_linewidth(0.5)
    axes.locator_params(axis="y", nbins=5, integer=heatmap.is_integer)
    axes.yaxis.set_major_formatter(tick_formatter(heatmap.exponent))
    axes.tick_params(labelsize=SMALL_FONT_SIZE, length=3, width=0.5, pad=2)
    bar.set_label(
        wrap_text(heatmap.label + heatmap.scale_suffix, layout.bar_height, LABEL_FONT_SIZE),
        fontsize=LABEL_FONT_SIZE,
        labelpad=5,
        parse_math=False,
    )
    if layout.histogram_width:
        left = layout.bar_left - layout.histogram_width
        _draw_histogram(
            layout.add_axes(figure, left, layout.matrix_height - layout.bar_height, layout.histogram_width, layout.bar_height),
            heatmap,
            scale,
        )
    return axes


def _draw_histogram(axes: Any, heatmap: Heatmap, scale: ColourScale) -> None:
    """Draw the number of pairs for each value, level with the value's colour. The longest bar is labelled with its number of pairs."""
    values = heatmap.pair_values
    low, high = scale.low, scale.high
    if heatmap.is_integer and high - low < _BIN_COUNT:  # each number has a line of its own
        edges = np.arange(math.ceil(low), math.floor(high) + 2) - 0.5
    else:
        edges = np.linspace(low, high, _BIN_COUNT + 1)
    counts, _ = np.histogram(values[(values >= low) & (values <= high)], edges)
    if heatmap.one_set:
        counts = counts // 2
    axes.stairs(counts, edges, orientation="horizontal", fill=True, color="0.55")
    largest = int(counts.max(initial=0))
    axes.set_xlim(max(1, largest), 0)
    axes.set_ylim(low, high)
    axes.yaxis.set_visible(False)
    axes.set_xticks([largest], [f"{largest:,}"], fontsize=SMALL_FONT_SIZE)
    axes.tick_params(axis="x", length=2, width=0.5, pad=2)
    axes.set_xlabel("pairs", fontsize=SMALL_FONT_SIZE, labelpad=1)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_linewidth(0.5)


def legends_of(heatmap: Heatmap, has_diagonal_colour: bool, groups: Sequence[ColourStrip]) -> Iterator[Legend]:
    """Yield the legends for colours that do not represent values. has_diagonal_colour: whether diagonal cells have their own colour."""
    others = []
    if heatmap.one_set and has_diagonal_colour:
        others.append(("with itself", _hex_colour(DIAGONAL_COLOUR)))
    if np.isnan(heatmap.pair_values).any():
        others.append(("no distance" if heatmap.value_kind == "distance" else "no value", _hex_colour(MISSING_COLOUR)))
    if others:
        yield Legend(None, others)
    yield from map(legend_of, groups)


def legend_of(strip: ColourStrip) -> Legend:
    """Return the legend of a strip of colours, in which records without a group are white."""
    names = shorten_names([label for label, _ in strip.legend])
    entries = [(name, colour) for name, (_, colour) in zip(names, strip.legend, strict=True)]
    return Legend(shorten_text(strip.title), [*entries, *([("none", "#ffffff")] if None in strip.row_colours else [])], strip.gradient)


def max_entries(layout: FigureLayout) -> int:
    """Return how many entries fit in a legend as tall as the matrix or the colour bar, whichever is taller, not counting its title and a
    line for rows without a group."""
    return int(max(layout.matrix_height, layout.bar_height) / _LINE_SPACING) - 2


def draw_legends(figure: Any, layout: FigureLayout, legends: Iterator[Legend], bar: Any) -> None:
    """Draw the legends one below the other, beginning below the colour bar, whose axes are `bar`. Legends that would extend below the
    matrix go into columns to the right."""
    left, bottom = layout.bar_left, min(0.0, layout.matrix_height - layout.bar_height)
    top = layout.matrix_height - layout.bar_height - (0.42 if layout.histogram_width else 0.12)
    draw_legend_columns(figure, layout, legends, (left, top), (bottom, layout.matrix_height), bar.get_tightbbox().x1 / figure.dpi)


def draw_legend_columns(
    figure: Any, canvas: Canvas, legends: Iterable[Legend], start: tuple[float, float], limits: tuple[float, float], right: float
) -> None:
    """Draw the legends one below the other, and further columns of them to the right. Positions are in inches.

    start: (left, top) of the first legend
    limits: (bottom, top) of columns; a legend that would extend below the bottom begins a column
    right: right end of what is drawn already
    """
    (left, top), (bottom, column_top) = start, limits
    for legend in legends:
        if top - legend.height < bottom and top < column_top:
            left, top = right + _COLUMN_GAP, column_top
        draw = _draw_entries if legend.gradient is None else _draw_gradient
        right = max(right, draw(figure, canvas, legend, left, top))
        top -= legend.height + _LINE_SPACING


def _draw_entries(figure: Any, canvas: Canvas, legend: Legend, left: float, top: float) -> float:
    """Draw the entries of a legend, and return the position of their right end, in inches. left, top: position of the legend, in inches."""
    from matplotlib.patches import Patch

    figure.legend(
        handles=[Patch(facecolor=colour, edgecolor="0.4", linewidth=0.5, label=label) for label, colour in legend.entries],
        title=legend.title,
        title_fontsize=SMALL_FONT_SIZE,
        alignment="left",
        loc="upper left",
        bbox_to_anchor=(left / canvas.width, (canvas.margin + top) / canvas.height),
        frameon=False,
        fontsize=SMALL_FONT_SIZE,
        handlelength=1.0,
        handleheight=1.0,
        handletextpad=0.6,
        borderpad=0,
        borderaxespad=0,
    )
    widest = max(1.6 * SMALL_FONT_SIZE / 72 + text_width(label, SMALL_FONT_SIZE) for label, _ in legend.entries)
    return left + max(widest, text_width(legend.title or "", SMALL_FONT_SIZE))


def _draw_gradient(figure: Any, canvas: Canvas, legend: Legend, left: float, top: float) -> float:
    """Draw the gradient of a legend, and return the position of its right end, in inches. left, top: position of the legend, in inches."""
    from matplotlib.colors import to_rgb

    gradient, title = legend.gradient, legend.title or ""
    assert gradient is not None
    figure.text(left / canvas.width, (canvas.margin + top) / canvas.height, title, fontsize=SMALL_FONT_SIZE, va="top", parse_math=False)
    axes = canvas.add_axes(figure, left, top - 1.2 * _LINE_SPACING - _GRADIENT_LENGTH, _BAR_WIDTH, _GRADIENT_LENGTH)
    colours = np.array([[to_rgb(colour)] for colour in gradient.colours])
    axes.imshow(colours, aspect="auto", origin="lower", extent=(0, 1, gradient.low, gradient.high))
    axes.yaxis.tick_right()
    axes.set_yticks([value for value, _ in gradient.ticks], [label for _, label in gradient.ticks], fontsize=SMALL_FONT_SIZE)
    axes.xaxis.set_visible(False)
    axes.tick_params(axis="y", length=3, width=0.5, pad=2)
    for spine in axes.spines.values():
        spine.set_linewidth(0.5)
    if legend.entries:
        _draw_entries(figure, canvas, Legend(None, legend.entries), left, top - legend.height + len(legend.entries) * _LINE_SPACING)
    return max(float(axes.get_tightbbox().x1) / float(figure.dpi), left + text_width(title, SMALL_FONT_SIZE))


def _hex_colour(colour: tuple[int, int, int, int]) -> str:
    return f"#{bytes(colour[:3]).hex()}"
