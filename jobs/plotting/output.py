"""Checks the options of pictures, and writes them: heat maps, and figures of any kind."""

from __future__ import annotations

import io
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, RunError, parameter
from gpualign.core.common.libraries import check_room_for_library
from gpualign.core.common.suggestions import did_you_mean
from gpualign.jobs.output.atomic_files import check_writable, translate_output_errors
from gpualign.jobs.plotting.figure import Style, draw_heatmap
from gpualign.jobs.plotting.heatmap import DrawnOrder, Heatmap, colour_scale, input_order, order_by_tree, sorted_order, tree_order

if TYPE_CHECKING:
    from gpualign.core.trees.tree import Tree
    from gpualign.jobs.plotting.quantities import Quantity
    from gpualign.jobs.record_groups import Grouping
    from gpualign.jobs.reporter import Reporter

_PICTURE_FORMATS = ("png", "svg", "pdf")
_DOTS_PER_INCH = 300
_LARGE_FILE_BYTES = 1_500_000


@dataclass(frozen=True)
class PlotFile:
    """File to which a picture is written.

    path: path of the file
    format: "png", "svg" or "pdf"
    """

    path: Path
    format: str


@dataclass(frozen=True)
class RowOrder:
    """Order and groups of the rows, and of the columns if they are the same records.

    groups: row groups, each drawn as a strip of colours
    criterion: "tree", "input" (order of the matrix), "groups" (those of the first strip), or "list" (the order in `positions`)
    tree: tree that determines the order; None: built from the distances
    positions: position of each id, if the criterion is "list"
    """

    groups: Sequence[Grouping | Quantity] = ()
    criterion: str = "tree"
    tree: Tree | None = None
    positions: Mapping[str, int] = field(default_factory=dict)

    def order(self, heatmap: Heatmap, method: str) -> DrawnOrder:
        """Return the order in which rows and columns are drawn. method: linkage method."""
        if self.criterion == "tree":
            return tree_order(heatmap, method) if self.tree is None else order_by_tree(heatmap, self.tree)
        if self.criterion == "groups":
            own = self.groups[0].sort_keys()
            return sorted_order(tree_order(heatmap, method), own, own if heatmap.one_set else None)
        if self.criterion == "input":
            return input_order(heatmap)
        return sorted_order(
            input_order(heatmap), [self.positions[name] for name in heatmap.row_ids], [self.positions[name] for name in heatmap.column_ids]
        )


def check_plot(output: str, no_matrix_reason: str | None = None) -> PlotFile:
    """Check the output path of a plot before any work is done, and return the file to draw. no_matrix_reason: why the run will have no
    matrix; None: it will have one.

    Raises `InputError` if the plot cannot be drawn, `RunError` if a library is missing or the file cannot be written.
    """
    path = Path(output)
    format = path.suffix.lower().removeprefix(".")
    if format not in _PICTURE_FORMATS:
        suffixes = [f".{one}" for one in _PICTURE_FORMATS]
        raise InputError(f"{output}: expected a name that ends in {', '.join(suffixes)}{did_you_mean(path.suffix, suffixes)}")
    if no_matrix_reason is not None:
        raise InputError(f"{parameter('plot')} draws every pair; it cannot be combined with {no_matrix_reason}")
    with translate_output_errors(path):
        check_writable(path)
    if missing := missing_libraries("matplotlib", "scipy"):
        raise RunError(f"drawing needs {missing}: pip install 'gpualign[plot]'")
    check_room_for_library("matplotlib")
    return PlotFile(path, format)


def check_text(name: str, text: str | None) -> None:
    """Raise `InputError` for a parameter whose text no font can draw, such as arbitrary bytes from a command line. name: name of the
    parameter."""
    if text is not None and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"{parameter(name)} {text!a}: these bytes are not text in UTF-8")


def check_order(order: str, has_groups: bool, has_tree: bool) -> None:
    """Raise `InputError` for an order by groups without groups, or one that contradicts a tree. has_groups, has_tree: whether the user
    gives groups or a tree."""
    if order == "groups" and not has_groups:
        raise InputError(f"{parameter('order')} {order}: give {parameter('groups')} too")
    if has_tree and order != "tree":
        raise InputError(f"{parameter('order')} {order}: with {parameter('tree')} the records are in the order of the tree")


def check_style(style: Style) -> None:
    """Raise `InputError` for a colour map unknown to matplotlib, or for value limits that are not finite."""
    from gpualign.jobs.plotting.heatmap_colours import check_colour_map

    for name, value in (("vmin", style.vmin), ("vmax", style.vmax)):
        if value is not None and not math.isfinite(value):
            raise InputError(f"{parameter(name, f'{value:g}')}: expected a finite number")
    check_colour_map(style.cmap)


def missing_libraries(*names: str) -> str:
    """Return the names of the libraries that are not installed, as human-readable text."""
    return " and ".join(name for name in names if find_spec(name) is None)


def write_plot(
    file: BinaryIO, plot_file: PlotFile, heatmap: Heatmap, reporter: Reporter, style: Style | None = None, row_order: RowOrder | None = None
) -> None:
    """Order the records and draw the heat map into the open `file`; report both steps to `reporter`.

    Raises `InputError` if the colours cannot be scaled, and the same errors as `RowOrder.order`.
    """
    style, row_order = style or Style(), row_order or RowOrder()
    scale = colour_scale(heatmap, style.vmin, style.vmax)
    rows, columns = heatmap.values.shape
    records = f"{rows:,} x {columns:,}" if not heatmap.one_set else f"{rows:,}"
    reporter.note(f"drawing {records} sample{'' if records == '1' else 's'} as {plot_file.path}")
    if undefined := int(np.isnan(heatmap.pair_values).sum()):
        what = "distance" if heatmap.value_kind == "distance" else "value"
        reporter.note(f"{undefined:,} of {heatmap.pair_values.size:,} cells have no {what}; to order the others they count as the farthest")
    start = time.perf_counter()
    order = row_order.order(heatmap, style.linkage)
    clustered = time.perf_counter()
    write_figure(file, plot_file, lambda: draw_heatmap(heatmap, order, scale, style, row_order.groups), reporter)
    reporter.note(f"ordered in {clustered - start:.1f} s, drawn in {time.perf_counter() - clustered:.1f} s")


def write_figure(file: BinaryIO, plot_file: PlotFile, draw: Callable[[], Any], reporter: Reporter) -> None:
    """Draw a figure into the open `file`, with matplotlib's default settings. draw: returns the figure"""
    with _default_settings(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _save_figure(draw(), file, plot_file.format)
    if any("Glyph" in str(warning.message) for warning in caught):
        reporter.note("the font lacks some characters of the ids; a box is drawn for each of them")


@contextmanager
def _default_settings() -> Iterator[None]:
    """Use matplotlib's defaults instead of the user's settings, so that the same matrix always gives the same picture."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["svg.hashsalt"] = "gpualign"  # names inside the file are the same each time
        matplotlib.rcParams["pdf.fonttype"] = 42  # letters stay letters, which can be found and edited
        yield


def _save_figure(figure: Any, file: BinaryIO, format: str) -> None:
    """Write the figure without cropping, however long the ids are. A large .png is reduced to 256 colours, which looks the same."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, format=format, dpi=_DOTS_PER_INCH, bbox_inches="tight", pad_inches=0.08, metadata=_undated_metadata(format))
    if format == "png" and len(drawn.getvalue()) > _LARGE_FILE_BYTES:
        with Image.open(drawn) as image:
            few = image.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        few.save(file, "png", dpi=(_DOTS_PER_INCH, _DOTS_PER_INCH))
    else:
        file.write(drawn.getvalue())


def _undated_metadata(format: str) -> dict[str, None]:
    """Return metadata without timestamps, so that the same matrix always gives the same picture."""
    return {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format, {})
