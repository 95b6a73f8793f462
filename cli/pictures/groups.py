"""Groups of records, as colours beside the rows of a heat map. Nothing is drawn here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpualign.core.dataclass import dataclass

if TYPE_CHECKING:
    from gpualign.cli.inputs.groups import Grouping

_FEW = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#000000")
"""Okabe and Ito 2008: told apart without colour vision too."""

_MOST = 20
"""Colours that can be told apart at all; further groups share one."""

_OTHER = "#000000"


@dataclass(frozen=True)
class Coloured:
    """legend: (label, colour) of each colour in use. rows: the colour of each row, None: it has no group."""

    title: str
    legend: Sequence[tuple[str, str]]
    rows: Sequence[str | None]


def coloured(grouping: Grouping, lines: int = _MOST) -> Coloured:
    """Colours for groups; the smallest share the last one where there are more groups than colours, or than lines of a legend."""
    count, most = len(grouping.labels), min(lines, _MOST)
    if min(count, most) <= len(_FEW):
        palette: Sequence[str] = _FEW
    else:
        from matplotlib import colormaps
        from matplotlib.colors import to_hex

        palette = [to_hex(colour) for colour in colormaps["tab20"].colors]  # type: ignore[attr-defined]
    if count <= most:
        shown = list(range(count))
    else:
        sizes = Counter(number for number in grouping.of if number >= 0)
        shown = sorted(sorted(range(count), key=lambda k: -sizes[k])[: most - 1])
    colours = {number: palette[k] for k, number in enumerate(shown)}
    legend = [(grouping.labels[number], colours[number]) for number in shown]
    if count > most:
        legend.append((f"{count - len(shown):,} others", _OTHER))
    return Coloured(grouping.title, legend, [None if number < 0 else colours.get(number, _OTHER) for number in grouping.of])
