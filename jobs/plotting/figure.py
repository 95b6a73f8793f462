"""Draws a heat map as a matplotlib figure: tree, cells, ids, colour bar and legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.jobs.plotting.figure_layout import (
    LABEL_FONT_SIZE,
    MIN_TITLE_CHARS,
    SMALL_FONT_SIZE,
    TITLE_FONT_SIZE,
    FigureLayout,
    cell_font_size,
    tick_formatter,
    wrap_text,
)
from gpualign.jobs.plotting.group_colours import ColourStrip, colour_strips_of
from gpualign.jobs.plotting.heatmap import ColourScale, DrawnOrder, DrawnTree, Heatmap, block_means, shorten_text
from gpualign.jobs.plotting.heatmap_colours import DIAGONAL_COLOUR, MISSING_COLOUR, make_colour_map
from gpualign.jobs.plotting.legends import draw_colour_bar, draw_legends, legends_of, max_entries

if TYPE_CHECKING:
    from gpualign.jobs.plotting.quantities import Quantity
    from gpualign.jobs.record_groups import Grouping

MAX_CELLS_PER_SIDE = 800
"""Maximum number of cells along a side. With more records, each cell is the mean of several, so that a picture of thousands of
records takes at most 2 MB."""
_BRACKETS_PER_PATH = 1000
"""Number of tree brackets drawn as one path. Keeps the number of elements in a vector file low, and each path short enough for the
rasterizer."""

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Style:
    """Options set by the user; None means the default.

    title: text above the matrix
    cmap: name of a matplotlib colour map
    linkage: linkage method of the tree
    vmin, vmax: values of the first and the last colour
    """

    title: str | None = None
    cmap: str | None = None
    linkage: str = "average"
    vmin: float | None = None
    vmax: float | None = None


def draw_heatmap(heatmap: Heatmap, order: DrawnOrder, scale: ColourScale, style: Style, groups: Sequence[Grouping | Quantity] = ()) -> Any:
    """Return the figure. Ids, numbers and a separate diagonal colour are drawn only where they would be legible. Without numbers, a
    histogram of values appears beside the colour bar.

    groups: row groups, each drawn as a strip of colours beside the rows
    """
    from matplotlib.figure import Figure

    layout = FigureLayout(heatmap, order, len(groups))
    figure = Figure(figsize=(layout.width, layout.height))
    if order.tree is not None:
        axes = layout.add_axes(figure, 0.1, 0, layout.tree_width, layout.matrix_height)
        _draw_tree(axes, layout, order.tree, heatmap.exponent)
    strips = colour_strips_of(groups, max_entries(layout))
    if strips:
        _draw_strips(
            layout.add_axes(figure, layout.matrix_left - 0.05 - layout.strips_width, 0, layout.strips_width, layout.matrix_height),
            strips,
            order,
        )
    colours = make_colour_map(heatmap, style.cmap, scale)
    rows, columns = heatmap.values.shape
    block = -(-rows // MAX_CELLS_PER_SIDE), -(-columns // MAX_CELLS_PER_SIDE)
    pixels = _pixels(heatmap, order, block, colours)
    cells = layout.add_axes(figure, layout.matrix_left, 0, layout.matrix_width, layout.matrix_height)
    cells.imshow(pixels, aspect="auto", interpolation="nearest", extent=(-0.5, columns - 0.5, rows - 0.5, -0.5))
    _draw_frame(cells, heatmap, layout, block)
    if layout.texts:
        _draw_numbers(cells, layout.texts, pixels, cell_font_size(rows, columns))
    bar = draw_colour_bar(figure, layout, heatmap, colours, scale)
    draw_legends(figure, layout, legends_of(heatmap, block == (1, 1), strips), bar)
    if style.title:
        title = wrap_text(style.title, layout.width - layout.matrix_left, TITLE_FONT_SIZE, MIN_TITLE_CHARS)
        above = (layout.margin + layout.matrix_height + 0.1) / layout.height
        figure.text(layout.matrix_left / layout.width, above, title, fontsize=TITLE_FONT_SIZE, va="bottom", parse_math=False)
    return figure


def _draw_tree(axes: Any, layout: FigureLayout, tree: DrawnTree, exponent: int) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners, count = tree.brackets, len(tree.leaf_heights)
    wide = min(0.8, 0.4 * 72 * layout.matrix_height / count)  # points, so that adjacent leaves do not touch
    if tree.leaf_heights.any():
        axes.hlines(np.arange(count), 0, tree.leaf_heights, color="0.6", linewidth=0.6 * wide, linestyles="dotted")
    for start in range(0, len(corners), _BRACKETS_PER_PATH):
        points = corners[start : start + _BRACKETS_PER_PATH].reshape(-1, 2)
        path = Path(points, np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO], len(points) // 4))
        path.should_simplify = False
        patch = PathPatch(path, facecolor="none", edgecolor="0.2", linewidth=wide, joinstyle="miter", capstyle="butt")
        patch.set_clip_on(False)  # merges at 0 are on the edge
        axes.add_patch(patch)
    axes.set_xlim(float(corners[..., 0].max(initial=0)) * 1.02 or 1.0, 0)
    axes.set_ylim(count - 0.5, -0.5)
    axes.yaxis.set_visible(False)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_position(("outward", 3))
    axes.locator_params(axis="x", nbins=3)
    axes.xaxis.set_major_formatter(tick_formatter(exponent))
    axes.tick_params(axis="x", labelsize=SMALL_FONT_SIZE, length=3, pad=2)
    label = "\n".join(wrap_text(line, layout.tree_width, SMALL_FONT_SIZE) for line in tree.height_label.split("\n"))
    axes.set_xlabel(label, fontsize=SMALL_FONT_SIZE, labelpad=3, parse_math=False)


def _draw_strips(axes: Any, strips: Sequence[ColourStrip], order: DrawnOrder) -> None:
    """Draw strips with the colour of each row beside the rows; rows without a group are white."""
    from matplotlib.colors import to_rgba

    colours = [[to_rgba(strip.row_colours[k] or "white") for strip in strips] for k in order.rows]
    axes.imshow(np.array(colours), aspect="auto", interpolation="nearest", extent=(0, len(strips), len(order.rows) - 0.5, -0.5))
    for k in range(1, len(strips)):
        axes.axvline(k, color="white", linewidth=1.5)
    titles = [shorten_text(strip.title) for strip in strips]
    axes.set_xticks([k + 0.5 for k in range(len(strips))], titles, rotation=90, fontsize=SMALL_FONT_SIZE, parse_math=False)
    axes.yaxis.set_visible(False)
    axes.tick_params(length=0, pad=3)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _pixels(heatmap: Heatmap, order: DrawnOrder, block: tuple[int, int], colours: Any) -> Pixels:
    """Return the colours of the cells: uint8[rows][columns][4].

    block: (rows, columns) of pairs whose mean a cell shows; means exclude the diagonal
    colours: maps values to colours
    """
    values = heatmap.values[np.ix_(order.rows, order.columns)]
    if block != (1, 1):
        if heatmap.one_set:
            np.fill_diagonal(values, np.nan)
        values = block_means(values, *block)
    pixels: Pixels = colours.to_rgba(values, bytes=True)
    pixels[np.isnan(values)] = MISSING_COLOUR
    if heatmap.one_set and block == (1, 1):
        pixels[np.diag_indices(len(pixels))] = DIAGONAL_COLOUR
    elif heatmap.one_set and len(heatmap.row_ids) % block[0] == 1:  # the last cell is a single record with itself
        pixels[-1, -1] = DIAGONAL_COLOUR
    return pixels


def _draw_frame(axes: Any, heatmap: Heatmap, layout: FigureLayout, block: tuple[int, int]) -> None:
    """Draw the ids, or the number of records where there are too many ids. block: (rows, columns) of pairs whose mean a cell shows."""
    axes.yaxis.tick_right()
    axes.set_yticks(range(len(layout.row_names)), layout.row_names, fontsize=layout.row_size, parse_math=False)
    axes.set_xticks(range(len(layout.column_names)), layout.column_names, fontsize=layout.column_size, parse_math=False, rotation=90)
    axes.tick_params(length=0, pad=3)
    for spine in axes.spines.values():
        spine.set_linewidth(0.5)
        spine.set_color("0.4")
    mean = f", a cell is the mean of {block[0]} x {block[1]} pairs" if block != (1, 1) else ""
    rows, columns = heatmap.values.shape
    if not layout.column_names:
        axes.set_xlabel(f"{columns:,} {'samples' if heatmap.one_set else 'columns'}{mean}", fontsize=LABEL_FONT_SIZE, labelpad=4)
    if not layout.row_names and not heatmap.one_set:
        axes.yaxis.set_label_position("right")
        axes.set_ylabel(f"{rows:,} rows{'' if not layout.column_names else mean}", fontsize=LABEL_FONT_SIZE, labelpad=4)


def _draw_numbers(axes: Any, texts: list[list[str]], pixels: Pixels, size: float) -> None:
    """Draw the values in their cells, in black or white for contrast."""
    bright = pixels[..., :3] @ np.array([0.2126, 0.7152, 0.0722]) > 125
    for i, line in enumerate(texts):
        for j, text in enumerate(line):
            colour = "black" if bright[i, j] else "white"
            number = axes.text(j, i, text, fontsize=size, ha="center", va="center_baseline", color=colour, parse_math=False)
            number.set_in_layout(False)  # they are inside the matrix anyway, and measuring 900 of them takes seconds
