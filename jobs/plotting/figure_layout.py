"""Where the parts of a heat map are, in inches, and how large its text is."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.jobs.plotting.heatmap import HeatMap, Order, cell_texts, shown_names

MOST_NUMBERS = 30
"""Records of which every cell shows its value."""
MOST_LABELS = 150
"""Records that have their ids beside the rows and columns; more would be too small to read."""
DIAGONAL = (204, 204, 204, 255)
MISSING = (255, 255, 255, 255)
"""Colours that are in no map of values: of records with themselves, and of pairs without a value."""

TITLE, LABEL, SMALL, _LEAST = 10.0, 8.0, 7.0, 5.0
"""Sizes of text in points; _LEAST is the smallest that journals print."""

STRIP = 0.16
"""Inches of a strip of groups."""


class Parts:
    """Sizes and places in inches. `margin` is below the matrix, for the ids of columns."""

    def __init__(self, heat: HeatMap, order: Order, strips: int) -> None:
        rows, columns = heat.values.shape
        self.row_names = _names(heat.rows, order.rows)
        self.column_names = _names(heat.columns, order.columns)
        texts = cell_texts(heat) if max(rows, columns) <= MOST_NUMBERS else None
        self.texts = texts and [[texts[i][j] for j in order.columns] for i in order.rows]
        number = max(width_of(text, number_size(rows, columns)) for line in texts for text in line) if texts else 0.0
        self.high, self.wide = _side(rows, number), _side(columns, number)
        self.row_size, self.column_size = (
            min(LABEL, max(_LEAST, 0.88 * 72 * side / count)) for side, count in ((self.high, rows), (self.wide, columns))
        )
        self.margin = 0.1 + max((width_of(name, self.column_size) for name in self.column_names), default=0.2)
        self.tree = 1.3
        self.strips = strips * STRIP
        self.left = 0.1 + (self.tree + 0.06 if order.tree is not None else 0) + (self.strips + 0.05 if strips else 0)
        self.histogram = 0.0 if texts else 0.4
        beside = 0.25 + max((width_of(name, self.row_size) for name in self.row_names), default=0)
        self.bar_left = self.left + self.wide + beside + self.histogram
        self.width = self.bar_left + 1.2
        self.height = self.margin + self.high + 0.1
        self.bar = min(2.4, max(1.2, 0.6 * self.high))

    def place(self, figure: Any, left: float, bottom: float, wide: float, high: float) -> Any:
        """New axes; bottom: above the lower edge of the matrix."""
        return figure.add_axes((left / self.width, (self.margin + bottom) / self.height, wide / self.width, high / self.height))


def _names(ids: list[str], order: npt.NDArray[np.intp]) -> list[str]:
    names = shown_names(ids) if len(ids) <= MOST_LABELS else []
    return [names[k] for k in order] if names else []


def number_size(rows: int, columns: int) -> float:
    """Points of the numbers in cells."""
    return SMALL if max(rows, columns) <= 12 else 6.0


def _side(count: int, number: float) -> float:
    """Inches of the matrix along `count` records. number: width of the widest number in a cell, 0 without any."""
    if number:
        return max(count * max(0.27, number + 0.08), min(1.8, 0.6 * count))
    return 7.0 if count > MOST_LABELS else max(0.078 * count, min(6.5, 0.24 * count))


def width_of(text: str, size: float) -> float:
    """Inches of a line of text of `size` points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]) / 72


def wrapped(text: str, inches: float, size: float) -> str:
    """In lines of about so many inches."""
    return "\n".join(textwrap.wrap(text, max(10, int(inches * 72 / (size * 0.55)))))


def ticks(exponent: int) -> Any:
    """Numbers along a scale, in units of ten to the power of `exponent`."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: f"{value / 10.0**exponent:,.6g}".replace("-", "−"))
