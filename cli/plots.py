"""Clustered heat maps of matrices of all pairs, drawn with matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.cli.files import OutputFiles, naming_output
from gpualign.core.errors import InputError, RunError

_FORMATS = ("png", "svg", "pdf")
_ORDERED = 400
"""Leaves of a tree are put in the best order up to so many samples: the time grows with their square."""

_MOST_LABELS = 130
_DOTS_PER_INCH = 150

Matrix = npt.NDArray[Any]


@dataclass(frozen=True)
class Picture:
    """Where a heat map goes."""

    path: Path
    format: str


def check_plot(output: str, square: bool) -> Picture:
    """Raises `InputError` for what cannot be drawn, `RunError` without the libraries, before any work is done."""
    path = Path(output)
    format = path.suffix.lower().removeprefix(".")
    if format not in _FORMATS:
        raise InputError(f"{output}: a picture ends in {', '.join('.' + f for f in _FORMATS)}")
    if not square:
        raise InputError("a heat map is of all pairs of one set; it goes with neither two inputs nor --max-distance")
    if missing := missing_libraries("matplotlib", "scipy"):
        raise RunError(f"drawing needs {missing}: pip install 'gpualign[plot]'")
    return Picture(path, format)


def missing_libraries(*names: str) -> str:
    """Those that are not installed, for people."""
    return " and ".join(name for name in names if find_spec(name) is None)


def write_plot(picture: Picture, matrix: Matrix, ids: list[str], label: str, files: OutputFiles) -> None:
    """Draw a square or condensed matrix into a file of `files`. label: what the colours mean."""
    from scipy.spatial.distance import squareform

    square = squareform(matrix) if matrix.ndim == 1 else np.asarray(matrix)
    with naming_output(picture.path):
        figure = draw(square, ids, label)
        figure.savefig(files.open(picture.path), format=picture.format, dpi=_DOTS_PER_INCH, metadata=_undated(picture.format))


def _undated(format: str) -> dict[str, None]:
    """No time in the file: the same matrix is the same picture."""
    return {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format, {})


def to_distances(matrix: Matrix) -> Matrix:
    """Distances to cluster by: of a matrix of scores or identities s the excess (s_ii + s_jj) / 2 - s_ij, else the matrix itself.

    Distances have no larger value than another on the diagonal. What is not defined counts as the largest distance.
    """
    values = matrix.astype(np.float64)
    if np.isnan(values).all():
        return np.zeros_like(values)
    diagonal = np.diagonal(values)
    if np.any(diagonal > np.nanmin(values)):
        values = (diagonal[:, None] + diagonal[None, :]) / 2 - values
    values = np.maximum(np.where(np.isnan(values), np.nanmax(values, initial=0), values), 0)
    symmetric: Matrix = (values + values.T) / 2
    np.fill_diagonal(symmetric, 0)
    return symmetric


def draw(matrix: Matrix, ids: list[str], label: str) -> Any:
    """A figure: the tree of average linkage, the matrix in the order of its leaves, names as far as they can be read."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "gpualign"  # names inside the file are the same each time
    from matplotlib.figure import Figure
    from scipy.cluster.hierarchy import dendrogram, linkage
    from scipy.spatial.distance import squareform

    count = len(ids)
    order, tree = [0], None
    if count > 1:
        tree = linkage(squareform(to_distances(matrix), checks=False), method="average", optimal_ordering=count <= _ORDERED)
        order = dendrogram(tree, no_plot=True)["leaves"]
    shown = matrix[np.ix_(order, order)]

    step = -(-count // _MOST_LABELS)
    names = [ids[k] if len(ids[k]) <= 24 else ids[k][:23] + "…" for k in order]
    labels = -(-count // step)
    # Inches: of the matrix, of its labels, of the tree and of the scale.
    side = min(16.0, max(3.2, 0.17 * labels))
    font = min(9.0, max(4.5, 0.8 * 72 * side / max(labels, 1)))
    margin = 0.15 + max(len(name) for name in names) * font * 0.62 / 72
    branches, scale, gap = 1.3, 0.18, 0.12
    width = gap + branches + side + margin + scale + 0.75
    height = 0.35 + side + margin
    figure = Figure(figsize=(width, height))

    def place(left: float, bottom: float, wide: float, high: float) -> Any:
        return figure.add_axes((left / width, bottom / height, wide / width, high / height))

    left = place(gap, margin, branches, side)
    left.axis("off")
    if tree is not None:
        found = dendrogram(tree, no_plot=True)
        for across, along in zip(found["dcoord"], found["icoord"], strict=True):
            left.plot(across, np.array(along) / 10 - 0.5, color="0.35", linewidth=0.7 if count < 300 else 0.3, solid_joinstyle="miter")
        left.set_xlim(max(tree[:, 2].max(), 1e-12) * 1.02, 0)
    left.set_ylim(count - 0.5, -0.5)

    cells = place(gap + branches, margin, side, side)
    low, high, extend = _colour_range(matrix)
    smooth = "nearest" if count < 500 else "antialiased"
    image = cells.imshow(shown, cmap="viridis", vmin=low, vmax=high, aspect="auto", interpolation=smooth)
    cells.yaxis.tick_right()
    ticks = list(range(0, count, step))
    for axis in (cells.xaxis, cells.yaxis):
        axis.set_ticks(ticks, [names[k] for k in ticks], fontsize=font)
    cells.tick_params(axis="x", rotation=90, length=0, pad=2)
    cells.tick_params(axis="y", length=0, pad=2)
    for spine in cells.spines.values():
        spine.set_visible(False)
    title = f"{count:,} samples" + (f", every {step}{_ordinal(step)} of them named" if step > 1 else "")
    cells.set_title(title, fontsize=9, loc="left", pad=4)

    bar = figure.colorbar(image, cax=place(gap + branches + side + margin, margin + side * 0.25, scale, side * 0.5), extend=extend)
    bar.ax.tick_params(labelsize=8)
    bar.set_label(label, fontsize=8)
    return figure


def _colour_range(matrix: Matrix) -> tuple[float, float, str]:
    """The range of the values off the diagonal, and which end the diagonal lies beyond: colours are for what tells samples apart."""
    others = matrix[~np.eye(len(matrix), dtype=bool)]
    if not others.size or np.isnan(others).all():
        return 0.0, 1.0, "neither"
    low, high = float(np.nanmin(others)), float(np.nanmax(others))
    if low == high:
        low = min(0.0, low)
    diagonal = np.diagonal(matrix)
    return low, high, "max" if np.nanmax(diagonal) > high else "min" if np.nanmin(diagonal) < low else "neither"


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
