"""Draws a network as a matplotlib figure: circles for clusters, links with their distances, and legends."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpualign.core.common.units import format_count
from gpualign.jobs.plotting.figure_layout import MIN_TITLE_CHARS, SMALL_FONT_SIZE, TITLE_FONT_SIZE, Canvas, text_width, wrap_text
from gpualign.jobs.plotting.group_colours import ColourStrip
from gpualign.jobs.plotting.heatmap import shorten_names
from gpualign.jobs.plotting.legends import draw_legend_columns, legend_of
from gpualign.jobs.plotting.network import Network, cluster_shares
from gpualign.jobs.plotting.network_labels import place_names
from gpualign.jobs.plotting.network_layout import NetworkLayout, layout_network

MAX_LABELLED_CLUSTERS = 60
"""Maximum number of clusters whose names are drawn; with more, names would cover circles."""
_MIN_LABELLED_LENGTH = 0.12
"""Minimum visible length of a link, in inches, for its distance to be written on it."""

_PLAIN_COLOUR, _LINE_COLOUR = "#56b4e9", "0.35"
_MAX_SIDE = 14.0
"""Side length beyond which the network is drawn at a smaller scale, in inches. Text keeps its size."""
_NUMBER_SIZE = 6.0
_MIN_CAPTION_WIDTH = 3.0


def draw_network(network: Network, strip: ColourStrip | None, label: str, title: str | None) -> Any:
    """Return the figure.

    strip: colours of the records; None: all clusters have the same colour
    label: what the distances are
    """
    from matplotlib.figure import Figure

    names = shorten_names(network.names()) if len(network.members) <= MAX_LABELLED_CLUSTERS else []
    widths = [text_width(name, SMALL_FONT_SIZE) for name in names]
    layout = layout_network(network, max(widths, default=0.0))
    scale = min(1.0, _MAX_SIDE / max(layout.width, layout.height))
    legend = None if strip is None else legend_of(strip)
    height = max(layout.height * scale, 0.0 if legend is None else legend.height)
    beside = max(widths, default=0.0) + 0.1
    canvas = Canvas(beside + layout.width * scale + beside + 2.0, height + 0.6, 0.5)
    figure = Figure(figsize=(canvas.width, canvas.height))
    axes = canvas.add_axes(figure, beside, height - layout.height * scale, layout.width * scale, layout.height * scale)
    axes.set_xlim(0, layout.width)
    axes.set_ylim(0, layout.height)
    axes.axis("off")
    _draw_links(axes, network, layout, scale)
    _draw_circles(axes, network, layout, strip)
    if names:
        line = SMALL_FONT_SIZE / 72
        corners = place_names([width / scale for width in widths], line / scale, layout, network.links)
        for name, (x, y) in zip(names, corners, strict=True):
            axes.text(x, y + line / scale / 2, name, fontsize=SMALL_FONT_SIZE, va="center", parse_math=False, zorder=5)
    if legend is not None:
        left = beside + layout.width * scale + beside + 0.1
        draw_legend_columns(figure, canvas, [legend], (left, height), (0, height), left)
    _draw_caption(figure, canvas, network, label)
    if title:
        shown = wrap_text(title, canvas.width, TITLE_FONT_SIZE, MIN_TITLE_CHARS)
        figure.text(0.05 / canvas.width, (canvas.margin + height + 0.2) / canvas.height, shown, fontsize=TITLE_FONT_SIZE, parse_math=False)
    return figure


def _draw_links(axes: Any, network: Network, layout: NetworkLayout, scale: float) -> None:
    """Draw the lines, and their distances where there is room. scale: inches in the figure for an inch of the layout."""
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(list(layout.places[network.links]), colors=_LINE_COLOUR, linewidths=0.8, zorder=1))
    for (a, b), distance in zip(network.links.tolist(), network.distances.tolist(), strict=True):
        step = layout.places[b] - layout.places[a]
        length = float(np.hypot(*step))
        if scale * (length - layout.radii[a] - layout.radii[b]) < _MIN_LABELLED_LENGTH:
            continue
        # The middle of the visible part of the line.
        x, y = layout.places[a] + step * (layout.radii[a] + length - layout.radii[b]) / (2 * length)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
        axes.text(x, y, f"{distance:.3g}", fontsize=_NUMBER_SIZE, ha="center", va="center_baseline", bbox=box, zorder=2, color="0.2")


def _draw_circles(axes: Any, network: Network, layout: NetworkLayout, strip: ColourStrip | None) -> None:
    from matplotlib.patches import Circle, Wedge

    shares = [[(_PLAIN_COLOUR, len(own))] for own in network.members] if strip is None else cluster_shares(network, strip)
    for (x, y), radius, own in zip(layout.places.tolist(), layout.radii.tolist(), shares, strict=True):
        total, start = sum(count for _, count in own), 0
        for colour, count in own if len(own) > 1 else ():
            ends = [90 - 360 * place / total for place in (start + count, start)]  # clockwise from the top
            axes.add_patch(Wedge((x, y), radius, *ends, facecolor=colour, edgecolor="white", linewidth=0.3, zorder=3, clip_on=False))
            start += count
        face = "none" if len(own) > 1 else own[0][0]
        axes.add_patch(Circle((x, y), radius, facecolor=face, edgecolor="0.2", linewidth=0.7, zorder=4, clip_on=False))


def _draw_caption(figure: Any, canvas: Canvas, network: Network, label: str) -> None:
    largest = int(network.sizes.max(initial=1))
    joined = f"at distances up to {network.collapse:g}" if network.collapse else "at distance 0"
    lines = [
        f"{format_count(len(network.ids), 'sample')} in {format_count(len(network.members), 'circle')}, which join those {joined}",
        f"areas are numbers of samples (largest {largest:,}); numbers on lines: {label}",
    ]
    text = "\n".join(wrap_text(line, max(canvas.width, _MIN_CAPTION_WIDTH), SMALL_FONT_SIZE) for line in lines)
    place = 0.05 / canvas.width, (canvas.margin - 0.2) / canvas.height
    figure.text(*place, text, fontsize=SMALL_FONT_SIZE, va="top", color="0.3", parse_math=False)
