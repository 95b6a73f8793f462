"""Chooses colours beside the rows of a heat map, for groups of records, numbers and dates. Nothing is drawn here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.jobs.plotting.quantities import Quantity

if TYPE_CHECKING:
    from gpualign.jobs.record_groups import Grouping

_FEW = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#000000")
"""Colours of Okabe and Ito 2008, which can also be distinguished without colour vision."""

_MAX_COLOURS = 20
"""Largest number of colours that can be distinguished at all; further groups share one."""

_OTHER = "#000000"

_GRADIENTS = ("Oranges", "Blues", "Greens")
"""Names of matplotlib's maps. Each is of one hue, whose order is visible without colour vision and in grey."""

_PALEST = 0.2
"""Start of a gradient, so that nothing in it looks white, which stands for no value."""


@dataclass(frozen=True)
class Gradient:
    """Colours of a range of values.

    colours: from that of `low` to that of `high`
    ticks: (value, label)
    """

    colours: Sequence[str]
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]


@dataclass(frozen=True)
class Coloured:
    """A strip of colours beside the rows.

    legend: (label, colour) of each colour in use, except those of a gradient
    rows: the colour of each row; None: it has no group, or no value
    """

    title: str
    legend: Sequence[tuple[str, str]]
    rows: Sequence[str | None]
    gradient: Gradient | None = None


def strips_of(columns: Sequence[Grouping | Quantity], lines: int) -> list[Coloured]:
    """Return the strip of each column. lines: largest number of lines in a legend."""
    strips: list[Coloured] = []
    for column in columns:
        if isinstance(column, Quantity):
            number = sum(one.gradient is not None for one in strips)
            strips.append(graded(column, _GRADIENTS[number % len(_GRADIENTS)]))
        else:
            strips.append(coloured(column, lines))
    return strips


def graded(quantity: Quantity, name: str) -> Coloured:
    """Return a strip with the colours of one of matplotlib's maps for numbers or dates, at least two of which differ."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    colours = [to_hex(colour) for colour in colormaps[name](np.linspace(_PALEST, 1, 256))]
    low, high = float(np.nanmin(quantity.values)), float(np.nanmax(quantity.values))
    places = (quantity.values / 2 - low / 2) / (high / 2 - low / 2) * (len(colours) - 1)  # halves, whose difference is finite
    rows = [None if np.isnan(place) else colours[round(place)] for place in places.tolist()]
    return Coloured(quantity.title, [], rows, Gradient(colours, low, high, _day_ticks(low, high) if quantity.dates else _ticks(quantity)))


def _day_ticks(low: float, high: float) -> list[tuple[float, str]]:
    return [(float(day), date.fromordinal(day).isoformat()) for day in sorted({int(low), int(low + high) // 2, int(high)})]


def _ticks(quantity: Quantity) -> list[tuple[float, str]]:
    """Return two to four round numbers with their labels."""
    from matplotlib.ticker import MaxNLocator

    known = quantity.values[~np.isnan(quantity.values)]
    low, high = float(known.min()), float(known.max())
    locator = MaxNLocator(nbins=3, steps=[1, 2, 2.5, 5, 10], integer=bool((known == np.rint(known)).all()), min_n_ticks=2)
    inside = [float(tick) for tick in locator.tick_values(low, high) if low <= tick <= high]
    # Years have no comma.
    return [(tick, f"{tick:{',' if abs(tick) >= 10_000 else ''}.10g}".replace("-", "−")) for tick in inside]


def coloured(grouping: Grouping, lines: int = _MAX_COLOURS) -> Coloured:
    """Return a strip with colours for groups. If there are more groups than colours, or than lines of a legend, the smallest share the last
    colour."""
    count, max_colours = len(grouping.labels), min(lines, _MAX_COLOURS)
    if min(count, max_colours) <= len(_FEW):
        palette: Sequence[str] = _FEW
    else:
        from matplotlib import colormaps
        from matplotlib.colors import to_hex

        palette = [to_hex(colour) for colour in colormaps["tab20"].colors]  # type: ignore[attr-defined]
    if count <= max_colours:
        shown = list(range(count))
    else:
        sizes = Counter(number for number in grouping.of if number >= 0)
        shown = sorted(sorted(range(count), key=lambda k: -sizes[k])[: max_colours - 1])
    colours = {number: palette[k] for k, number in enumerate(shown)}
    legend = [(grouping.labels[number], colours[number]) for number in shown]
    if count > max_colours:
        legend.append((f"{count - len(shown):,} others", _OTHER))
    return Coloured(grouping.title, legend, [None if number < 0 else colours.get(number, _OTHER) for number in grouping.of])
