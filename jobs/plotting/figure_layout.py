"""Lays out the parts of a heat map, in inches, and sizes its text."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.jobs.plotting.heatmap import DrawnOrder, Heatmap, cell_texts, shorten_names

MAX_RECORDS_WITH_VALUES = 30
"""Maximum number of records for which every cell shows its value."""
MAX_LABELLED_RECORDS = 150
"""Maximum number of records whose ids are drawn beside the rows and columns; with more, the ids would be too small to read."""

TITLE_FONT_SIZE, LABEL_FONT_SIZE, SMALL_FONT_SIZE, _MIN_FONT_SIZE = 10.0, 8.0, 7.0, 5.0
"""Text sizes in points; `_MIN_FONT_SIZE` is the smallest size that journals print."""

MIN_TITLE_CHARS = 24
"""Minimum length of the lines of a title, however narrow the figure."""

COLOUR_STRIP_WIDTH = 0.16
"""Width of a group strip, in inches."""


class Canvas:
    """A figure on which axes are placed in inches.

    width, height: size of the figure
    margin: height of the space below the drawing
    """

    def __init__(self, width: float, height: float, margin: float) -> None:
        self.width, self.height, self.margin = width, height, margin

    def add_axes(self, figure: Any, left: float, bottom: float, width: float, height: float) -> Any:
        """Return new axes at this position, in inches. left: distance from the left edge of the figure; bottom: height above the bottom
        edge of the drawing."""
        return figure.add_axes((left / self.width, (self.margin + bottom) / self.height, width / self.width, height / self.height))


class FigureLayout(Canvas):
    """Sizes and positions of the parts of a heat map, in inches. `margin` is the space below the matrix, for column ids."""

    def __init__(self, heatmap: Heatmap, order: DrawnOrder, strip_count: int) -> None:
        rows, columns = heatmap.values.shape
        self.row_names = _ordered_names(heatmap.row_ids, order.rows)
        self.column_names = _ordered_names(heatmap.column_ids, order.columns)
        texts = cell_texts(heatmap) if max(rows, columns) <= MAX_RECORDS_WITH_VALUES else None
        self.texts = texts and [[texts[i][j] for j in order.columns] for i in order.rows]
        number_width = max(text_width(text, cell_font_size(rows, columns)) for line in texts for text in line) if texts else 0.0
        self.matrix_height, self.matrix_width = _matrix_side(rows, number_width), _matrix_side(columns, number_width)
        self.row_size, self.column_size = (
            min(LABEL_FONT_SIZE, max(_MIN_FONT_SIZE, 0.88 * 72 * side / count))
            for side, count in ((self.matrix_height, rows), (self.matrix_width, columns))
        )
        margin = 0.1 + max((text_width(name, self.column_size) for name in self.column_names), default=0.2)
        self.tree_width = 1.3
        self.strips_width = strip_count * COLOUR_STRIP_WIDTH
        self.matrix_left = (
            0.1 + (self.tree_width + 0.06 if order.tree is not None else 0) + (self.strips_width + 0.05 if strip_count else 0)
        )
        self.histogram_width = 0.0 if texts else 0.4
        beside = 0.25 + max((text_width(name, self.row_size) for name in self.row_names), default=0)
        self.bar_left = self.matrix_left + self.matrix_width + beside + self.histogram_width
        super().__init__(self.bar_left + 1.2, margin + self.matrix_height + 0.1, margin)
        self.bar_height = min(2.4, max(1.2, 0.6 * self.matrix_height))


def _ordered_names(ids: list[str], order: npt.NDArray[np.intp]) -> list[str]:
    names = shorten_names(ids) if len(ids) <= MAX_LABELLED_RECORDS else []
    return [names[k] for k in order] if names else []


def cell_font_size(rows: int, columns: int) -> float:
    """Return the text size of the numbers in cells, in points."""
    return SMALL_FONT_SIZE if max(rows, columns) <= 12 else 6.0


def _matrix_side(count: int, number_width: float) -> float:
    """Return the side length of the matrix for `count` records, in inches. number_width: width of the widest number in a cell; 0 if there
    are none."""
    if number_width:
        return max(count * max(0.27, number_width + 0.08), min(1.8, 0.6 * count))
    return 7.0 if count > MAX_LABELLED_RECORDS else max(0.078 * count, min(6.5, 0.24 * count))


def text_width(text: str, size: float) -> float:
    """Return the width of a line of text at `size` points, in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]) / 72


def wrap_text(text: str, width_inches: float, size: float, min_chars: int = 10) -> str:
    """Return the text wrapped into lines about `width_inches` inches wide, but not less than `min_chars` characters."""
    return "\n".join(textwrap.wrap(text, max(min_chars, int(width_inches * 72 / (size * 0.55)))))


def tick_formatter(exponent: int) -> Any:
    """Return a formatter for the numbers along a scale, in units of 10 to the power of `exponent`."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: f"{value / 10.0**exponent:,.6g}".replace("-", "−"))
