"""Chooses the colours shown beside the rows of a heat map, for groups of records, numbers and dates. Draws nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.common.colours import CATEGORY_COLOURS
from gpualign.core.common.dataclass import dataclass
from gpualign.jobs.plotting.quantities import Quantity

if TYPE_CHECKING:
    from gpualign.jobs.record_groups import Grouping

_MAX_COLOURS = 20
"""Maximum number of colours that can be told apart at all; the remaining groups share one colour."""

_OTHER_COLOUR = "#000000"

_GRADIENTS = ("Oranges", "Blues", "Greens")
"""Names of matplotlib colour maps. Each has a single hue, so the order of its colours is visible without colour vision and in greyscale."""

_PALEST_FRACTION = 0.2
"""Fraction of a colour map that is skipped at its pale end, so that no colour of a gradient looks white, which means no value."""


@dataclass(frozen=True)
class Gradient:
    """Colours for a range of values.

    colours: ordered from `low` to `high`
    low, high: ends of the range
    ticks: (value, label) of each tick
    """

    colours: Sequence[str]
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]


@dataclass(frozen=True)
class ColourStrip:
    """A strip of colours beside the rows.

    title: title of the column that the strip shows
    legend: (label, colour) for each colour in use, except the colours of a gradient
    row_colours: colour of each row; None if the row has no group or value
    """

    title: str
    legend: Sequence[tuple[str, str]]
    row_colours: Sequence[str | None]
    gradient: Gradient | None = None


def colour_strips_of(columns: Sequence[Grouping | Quantity], max_lines: int) -> list[ColourStrip]:
    """Return a strip for each column. max_lines: maximum number of coloured lines in a legend."""
    strips: list[ColourStrip] = []
    for column in columns:
        if isinstance(column, Quantity):
            number = sum(one.gradient is not None for one in strips)
            strips.append(gradient_strip(column, _GRADIENTS[number % len(_GRADIENTS)]))
        else:
            strips.append(group_strip(column, max_lines))
    return strips


def gradient_strip(quantity: Quantity, name: str) -> ColourStrip:
    """Return a strip coloured with a matplotlib colour map, for numbers or dates of which at least two differ."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    colours = [to_hex(colour) for colour in colormaps[name](np.linspace(_PALEST_FRACTION, 1, 256))]
    low, high = float(np.nanmin(quantity.values)), float(np.nanmax(quantity.values))
    unit = 2 if np.isinf(high - low) else 1  # halves have a finite difference
    places = (quantity.values / unit - low / unit) / (high / unit - low / unit) * (len(colours) - 1)
    rows = [None if np.isnan(place) else colours[round(place)] for place in places.tolist()]
    return ColourStrip(
        quantity.title, [], rows, Gradient(colours, low, high, _day_ticks(low, high) if quantity.are_dates else _round_ticks(quantity))
    )


def _day_ticks(low: float, high: float) -> list[tuple[float, str]]:
    return [(float(day), date.fromordinal(day).isoformat()) for day in sorted({int(low), int(low + high) // 2, int(high)})]


def _round_ticks(quantity: Quantity) -> list[tuple[float, str]]:
    """Return two to four round numbers with their labels."""
    from matplotlib.ticker import MaxNLocator

    known = quantity.values[~np.isnan(quantity.values)]
    low, high = float(known.min()), float(known.max())
    locator = MaxNLocator(nbins=3, steps=[1, 2, 2.5, 5, 10], integer=bool((known == np.rint(known)).all()), min_n_ticks=2)
    unit = 1000.0 if np.isinf(high - low) else 1.0  # of values so far apart that their difference is no number
    inside = [float(tick) * unit for tick in locator.tick_values(low / unit, high / unit) if low / unit <= tick <= high / unit]
    # Years have no comma.
    return [(tick, f"{tick:{',' if abs(tick) >= 10_000 else ''}.10g}".replace("-", "−")) for tick in inside]


def group_strip(grouping: Grouping, max_lines: int = _MAX_COLOURS) -> ColourStrip:
    """Return a strip of group colours. If there are more groups than colours or legend lines, the smallest groups share the last colour."""
    count, max_colours = len(grouping.labels), min(max_lines, _MAX_COLOURS)
    if min(count, max_colours) <= len(CATEGORY_COLOURS):
        palette: Sequence[str] = CATEGORY_COLOURS
    else:
        from matplotlib import colormaps
        from matplotlib.colors import to_hex

        palette = [to_hex(colour) for colour in colormaps["tab20"].colors]  # type: ignore[attr-defined]
    if count <= max_colours:
        shown = list(range(count))
    else:
        sizes = Counter(number for number in grouping.label_indices if number >= 0)
        shown = sorted(sorted(range(count), key=lambda k: -sizes[k])[: max_colours - 1])
    colours = {number: palette[k] for k, number in enumerate(shown)}
    legend = [(grouping.labels[number], colours[number]) for number in shown]
    if count > max_colours:
        legend.append((f"{count - len(shown):,} others", _OTHER_COLOUR))
    return ColourStrip(
        grouping.title, legend, [None if number < 0 else colours.get(number, _OTHER_COLOUR) for number in grouping.label_indices]
    )
