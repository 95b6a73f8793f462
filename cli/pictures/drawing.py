"""A heat map as a matplotlib figure: tree, cells, ids, bar of colours and legend."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.cli.pictures.heatmaps import HeatMap, Order, Scale, block_means, branches, cell_texts, shown_names
from gpualign.core.dataclass import dataclass

MOST_NUMBERS = 30
"""Records of which every cell shows its value."""
MOST_LABELS = 150
"""Records that have their ids beside the rows and columns; more would be too small to read."""
MOST_CELLS = 800
"""Cells along a side; of more records a cell is the mean of several, so that a picture of thousands is a file of 2 MB at most."""
_BRACKETS = 1000
"""Of a tree in one path: few elements in a vector file, and none too long for the rasterizer."""

DIAGONAL = (204, 204, 204, 255)
MISSING = (255, 255, 255, 255)
"""Colours that are in no map of values: of records with themselves, and of pairs without a value."""

_TITLE, _LABEL, _SMALL, _LEAST = 10.0, 8.0, 7.0, 5.0
"""Sizes of text in points; _LEAST is the smallest that journals print."""

Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Style:
    """What a user may choose; None is the default. low, high: values of the first and the last colour."""

    title: str | None = None
    cmap: str | None = None
    linkage: str = "average"
    low: float | None = None
    high: float | None = None


class _Parts:
    """Sizes and places in inches. `margin` is below the matrix, for the ids of columns."""

    def __init__(self, heat: HeatMap, order: Order) -> None:
        rows, columns = heat.values.shape
        self.row_names = _names(heat.rows, order.rows)
        self.column_names = _names(heat.columns, order.columns)
        texts = cell_texts(heat) if max(rows, columns) <= MOST_NUMBERS else None
        self.texts = texts and [[texts[i][j] for j in order.columns] for i in order.rows]
        number = max(_width(text, _number_size(rows, columns)) for line in texts for text in line) if texts else 0.0
        self.high, self.wide = _side(rows, number), _side(columns, number)
        self.row_size, self.column_size = (
            min(_LABEL, max(_LEAST, 0.88 * 72 * side / count)) for side, count in ((self.high, rows), (self.wide, columns))
        )
        self.margin = 0.1 + max((_width(name, self.column_size) for name in self.column_names), default=0.2)
        self.tree = 1.3
        self.left = 0.1 + (self.tree + 0.06 if order.tree is not None else 0)
        self.bar_left = self.left + self.wide + 0.25 + max((_width(name, self.row_size) for name in self.row_names), default=0)
        self.width = self.bar_left + 1.2
        self.height = self.margin + self.high + 0.1

    def place(self, figure: Any, left: float, bottom: float, wide: float, high: float) -> Any:
        """New axes; bottom: above the lower edge of the matrix."""
        return figure.add_axes((left / self.width, (self.margin + bottom) / self.height, wide / self.width, high / self.height))


def draw(heat: HeatMap, order: Order, scale: Scale, style: Style) -> Any:
    """The figure. Ids, numbers and a diagonal of their own are drawn while they can be read, and left out beyond."""
    from matplotlib.figure import Figure

    parts = _Parts(heat, order)
    figure = Figure(figsize=(parts.width, parts.height))
    if order.tree is not None:
        axes = parts.place(figure, parts.left - 0.06 - parts.tree, 0, parts.tree, parts.high)
        _draw_tree(axes, parts, order, heat.exponent, style.linkage)
    colours = _colours(heat, style.cmap, scale)
    rows, columns = heat.values.shape
    block = -(-rows // MOST_CELLS), -(-columns // MOST_CELLS)
    pixels = _pixels(heat, order, block, colours)
    cells = parts.place(figure, parts.left, 0, parts.wide, parts.high)
    cells.imshow(pixels, aspect="auto", interpolation="nearest", extent=(-0.5, columns - 0.5, rows - 0.5, -0.5))
    _draw_frame(cells, heat, parts, block)
    if parts.texts:
        _draw_numbers(cells, parts.texts, pixels, _number_size(rows, columns))
    _draw_bar(figure, parts, heat, colours, scale, block == (1, 1))
    if style.title:
        letters = max(24, int((parts.width - parts.left) * 72 / (_TITLE * 0.55)))
        above = (parts.margin + parts.high + 0.1) / parts.height
        title = "\n".join(textwrap.wrap(style.title, letters))
        figure.text(parts.left / parts.width, above, title, fontsize=_TITLE, va="bottom", parse_math=False)
    return figure


def _names(ids: list[str], order: npt.NDArray[np.intp]) -> list[str]:
    names = shown_names(ids) if len(ids) <= MOST_LABELS else []
    return [names[k] for k in order] if names else []


def _number_size(rows: int, columns: int) -> float:
    return _SMALL if max(rows, columns) <= 12 else 6.0


def _side(count: int, number: float) -> float:
    """Inches of the matrix along `count` records. number: width of the widest number in a cell, 0 without any."""
    if number:
        return max(count * max(0.27, number + 0.08), min(1.8, 0.6 * count))
    return 7.0 if count > MOST_LABELS else max(0.078 * count, min(6.5, 0.24 * count))


def _width(text: str, size: float) -> float:
    """Inches of a line of text of `size` points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]) / 72


def _wrapped(text: str, inches: float, size: float) -> str:
    return "\n".join(textwrap.wrap(text, max(10, int(inches * 72 / (size * 0.55)))))


def _ticks(exponent: int) -> Any:
    """Numbers along a scale, in units of ten to the power of `exponent`."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: f"{value / 10.0**exponent:,.6g}".replace("-", "−"))


def _draw_tree(axes: Any, parts: _Parts, order: Order, exponent: int, method: str) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    assert order.tree is not None
    corners = branches(order.tree)
    wide = min(0.8, 0.4 * 72 * parts.high / len(corners))  # points; so that leaves do not run into each other
    for start in range(0, len(corners), _BRACKETS):
        points = corners[start : start + _BRACKETS].reshape(-1, 2)
        path = Path(points, np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO], len(points) // 4))
        path.should_simplify = False
        patch = PathPatch(path, facecolor="none", edgecolor="0.2", linewidth=wide, joinstyle="miter", capstyle="butt")
        patch.set_clip_on(False)  # merges at 0 are on the edge
        axes.add_patch(patch)
    axes.set_xlim(float(order.tree[:, 2].max()) * 1.02 or 1.0, 0)
    axes.set_ylim(len(corners) + 0.5, -0.5)
    axes.yaxis.set_visible(False)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_position(("outward", 3))
    axes.locator_params(axis="x", nbins=3)
    axes.xaxis.set_major_formatter(_ticks(exponent))
    axes.tick_params(axis="x", labelsize=_SMALL, length=3, pad=2)
    axes.set_xlabel(f"{_wrapped(order.heights, parts.tree, _SMALL)}\n({method} linkage)", fontsize=_SMALL, labelpad=3, parse_math=False)


def _colours(heat: HeatMap, cmap: str | None, scale: Scale) -> Any:
    """Values to colours; by default the dark end is that of alike records."""
    import matplotlib
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    name = cmap or ("viridis_r" if heat.kind in ("identity", "score") else "viridis")
    return ScalarMappable(Normalize(scale.low, scale.high), matplotlib.colormaps[name])


def _pixels(heat: HeatMap, order: Order, block: tuple[int, int], colours: Any) -> Pixels:
    """Colours of the cells, each of a block of pairs, rows x columns: uint8[rows][columns][4]. Means leave out the diagonal."""
    values = heat.values[np.ix_(order.rows, order.columns)]
    if block != (1, 1):
        if heat.one_set:
            np.fill_diagonal(values, np.nan)
        values = block_means(values, *block)
    pixels: Pixels = colours.to_rgba(values, bytes=True)
    pixels[np.isnan(values)] = MISSING
    if heat.one_set and block == (1, 1):
        pixels[np.diag_indices(len(pixels))] = DIAGONAL
    elif heat.one_set and len(heat.rows) % block[0] == 1:  # the last cell is one record with itself
        pixels[-1, -1] = DIAGONAL
    return pixels


def _draw_frame(axes: Any, heat: HeatMap, parts: _Parts, block: tuple[int, int]) -> None:
    """Ids, or in their place how many records there are."""
    axes.yaxis.tick_right()
    axes.set_yticks(range(len(parts.row_names)), parts.row_names, fontsize=parts.row_size, parse_math=False)
    axes.set_xticks(range(len(parts.column_names)), parts.column_names, fontsize=parts.column_size, parse_math=False, rotation=90)
    axes.tick_params(length=0, pad=3)
    for spine in axes.spines.values():
        spine.set_linewidth(0.5)
        spine.set_color("0.4")
    mean = f", a cell is the mean of {block[0]} x {block[1]} pairs" if block != (1, 1) else ""
    rows, columns = heat.values.shape
    if not parts.column_names:
        axes.set_xlabel(f"{columns:,} {'samples' if heat.one_set else 'columns'}{mean}", fontsize=_LABEL, labelpad=4)
    if not parts.row_names and not heat.one_set:
        axes.yaxis.set_label_position("right")
        axes.set_ylabel(f"{rows:,} rows{'' if not parts.column_names else mean}", fontsize=_LABEL, labelpad=4)


def _draw_numbers(axes: Any, texts: list[list[str]], pixels: Pixels, size: float) -> None:
    """Values in their cells, in black or white, whichever stands out."""
    bright = pixels[..., :3] @ np.array([0.2126, 0.7152, 0.0722]) > 125
    for i, line in enumerate(texts):
        for j, text in enumerate(line):
            colour = "black" if bright[i, j] else "white"
            number = axes.text(j, i, text, fontsize=size, ha="center", va="center_baseline", color=colour, parse_math=False)
            number.set_in_layout(False)  # they are inside the matrix anyway, and to measure 900 takes seconds


def _hex(colour: tuple[int, int, int, int]) -> str:
    return f"#{bytes(colour[:3]).hex()}"


def _draw_bar(figure: Any, parts: _Parts, heat: HeatMap, colours: Any, scale: Scale, apart: bool) -> None:
    """The bar of colours, level with the top of the matrix; the legend of the other colours below. apart: the diagonal has its own."""
    from matplotlib.patches import Patch

    high = min(2.4, max(1.2, 0.6 * parts.high))
    bottom = parts.high - high
    axes = parts.place(figure, parts.bar_left, bottom, 0.16, high)
    bar = figure.colorbar(colours, cax=axes, extend=scale.extend, extendfrac=0.05)
    bar.outline.set_linewidth(0.5)
    axes.locator_params(axis="y", nbins=5, integer=heat.whole)
    axes.yaxis.set_major_formatter(_ticks(heat.exponent))
    axes.tick_params(labelsize=_SMALL, length=3, width=0.5, pad=2)
    bar.set_label(_wrapped(heat.label + heat.unit, high, _LABEL), fontsize=_LABEL, labelpad=5, parse_math=False)
    others = []
    if heat.one_set and apart:
        others.append((DIAGONAL, "with itself"))
    if np.isnan(heat.others).any():
        others.append((MISSING, "no distance" if heat.kind == "distance" else "no value"))
    if others:
        patches = [Patch(facecolor=_hex(colour), edgecolor="0.4", linewidth=0.5, label=text) for colour, text in others]
        figure.legend(
            handles=patches,
            loc="upper left",
            bbox_to_anchor=(parts.bar_left / parts.width, (parts.margin + bottom - 0.12) / parts.height),
            frameon=False,
            fontsize=_SMALL,
            handlelength=1.0,
            handleheight=1.0,
            handletextpad=0.6,
            borderpad=0,
            borderaxespad=0,
        )
