"""Places the names of clusters beside their circles, so that they cover as little as possible. Draws nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpualign.core.common.arrays import Integers, Reals
from gpualign.jobs.plotting.network_layout import NetworkLayout

_OFFSET = 0.02
"""Space between a circle and its name, in inches."""

_SIDES = ((1, 0), (0, -1), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, -1), (-1, 1))
"""Directions in which a name may lie from its circle, best first."""

_LINK_POINTS = 16
"""Number of points of each link that are tested for whether a name covers them."""

_CIRCLE_COST, _NAME_COST, _LINK_COST = 3.0, 3.0, 1.0
"""Cost of covering another circle or name, and a link."""


def place_names(widths: Sequence[float], height: float, layout: NetworkLayout, links: Integers) -> Reals:
    """Return the lower left corner of each name, float64[clusters][2], in inches like those of the layout. Names are placed in the order of
    the clusters, each on the side on which it covers least.

    widths, height: sizes of the names, in inches
    links: numbers of the two clusters that each link joins, int64[links][2]
    """
    places, radii = layout.places, layout.radii
    steps = np.linspace(0, 1, _LINK_POINTS)[None, :, None]
    points = (places[links[:, :1]] * (1 - steps) + places[links[:, 1:]] * steps).reshape(-1, 2)
    corners = np.zeros((len(radii), 2))
    for number, width in enumerate(widths):
        size = np.array((width, height))
        others = np.arange(len(radii)) != number
        taken = corners[:number], corners[:number] + np.stack((np.asarray(widths[:number]), np.full(number, height)), axis=1)
        costs, candidates = [], []
        for side in _SIDES:
            reach = radii[number] * (0.75 if all(side) else 1.0) + _OFFSET
            low = places[number] + np.array(side) * (reach + size / 2) - size / 2
            high = low + size
            away = np.hypot(*(places[others] - np.clip(places[others], low, high)).T)
            circles = np.count_nonzero(away < radii[others])
            names = np.count_nonzero(((low < taken[1]) & (taken[0] < high)).all(axis=1))
            covered = np.count_nonzero(((low < points) & (points < high)).all(axis=1)) / _LINK_POINTS
            costs.append(_CIRCLE_COST * circles + _NAME_COST * names + _LINK_COST * covered)
            candidates.append(low)
        corners[number] = candidates[int(np.argmin(costs))]
    return corners
