"""Places the circles of a network, so that none overlaps another and no link crosses another. Draws nothing.

A tree is placed by equal angles, and its branches are then turned to share the free room equally (Felsenstein 2004, Inferring Phylogenies,
chapter 34: equal-angle and equal-daylight algorithms). If circles still overlap, the links to the branches that they are on are stretched.

- By equal angles each branch has a sector of its own, seen from the node that it leaves. Sectors of two branches do not meet, so links do
  not cross, whatever their lengths. No sector is wider than half of the plane, so whatever lies beyond a link is no nearer to its beginning
  than its end is, and circles do not overlap those on the way to the root.
- Branches are turned about a node, as rigid bodies, into sectors that do not meet, each just wide enough for all circles of its branch. So
  two circles of different branches do not overlap afterwards, and no link crosses one of another branch; within a branch nothing changes.
- Stretching ends: as the links to two branches grow, their circles move apart without limit, because each stays as far inside its own
  sector of equal angles as that link reaches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpualign.core.common.arrays import Booleans, Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.jobs.plotting.network import Network

GAP = 0.05
"""Minimum space between two circles, and between a circle and a link, in inches."""

_ONE_RECORD_RADIUS, _MAX_RADIUS = 0.09, 0.55
"""Radius of a circle for one record, unless the largest circle would exceed the second number; in inches."""

_SHORTEST_LINK, _DOUBLING = 0.25, 0.12
"""Visible length of the shortest links, and what each doubling of the distance adds, in inches."""

_NAME_ROOM = 0.5
"""Width of a name beyond which links do not become longer for it, in inches."""

_STRETCH = 1.1
_SWEEPS = 3
"""Number of times that all branches are turned."""

_WIDEST_TURN = 0.95 * np.pi
"""Largest angle between a link and a circle beyond it, seen from the beginning of the link, for which it is clear on which side it lies."""

_ROTATIONS = 36
"""Number of rotations of a tree that are tried, over half a turn."""

_DECIMALS = 4
"""Number of decimals of coordinates, so that they are the same on machines whose sines and cosines differ in the last bit."""

_WIDEST_ROW = 10.0
"""Width of a row of trees, in inches, beyond which a new row begins."""


@dataclass(frozen=True)
class NetworkLayout:
    """Circles in a rectangle, in inches from its lower left corner.

    places: centres, float64[clusters][2]
    radii: float64[clusters]; areas are in proportion to the numbers of records
    width, height: size of the rectangle
    """

    places: Reals
    radii: Reals
    width: float
    height: float


def _radius_of(size: int, largest: int) -> float:
    """Return the radius of the circle of a cluster. size: number of its records; largest: number of records in the largest cluster."""
    return float(min(_ONE_RECORD_RADIUS, _MAX_RADIUS / largest**0.5) * size**0.5)


def layout_network(network: Network, name_width: float = 0.0) -> NetworkLayout:
    """Return the layout of a network. It depends on nothing else, so the same network always looks the same.

    name_width: width of the widest name beside a circle, in inches, for which some room is made; 0: no names
    """
    largest = int(network.sizes.max(initial=1))
    radii = np.array([_radius_of(size, largest) for size in network.sizes.tolist()])
    lengths = radii[network.links].sum(axis=1) + _visible_lengths(network.distances) + min(name_width, _NAME_ROOM) / 2
    neighbours: list[list[tuple[int, float]]] = [[] for _ in network.members]
    for (a, b), length in zip(network.links.tolist(), lengths.tolist(), strict=True):
        neighbours[a].append((b, length))
        neighbours[b].append((a, length))
    trees = []
    for start in _first_nodes(neighbours):
        tree = _RootedTree(neighbours, start, radii)
        trees.append((tree.nodes, *_rotated(_place_apart(tree, radii[tree.nodes]), radii[tree.nodes])))
    return _arrange_in_rows(trees, radii, 4 * GAP + name_width)


def _visible_lengths(distances: Reals) -> Reals:
    """Return the length of each link between its circles."""
    positive = distances[distances > 0]
    if not len(positive):
        return np.full(len(distances), _SHORTEST_LINK)
    times = np.maximum(distances, positive.min()) / positive.min()
    lengths: Reals = _SHORTEST_LINK + _DOUBLING * np.log2(times)
    return lengths


def _first_nodes(neighbours: Sequence[Sequence[tuple[int, float]]]) -> list[int]:
    """Return the first node of each tree."""
    seen, firsts = [False] * len(neighbours), []
    for start in range(len(neighbours)):
        if seen[start]:
            continue
        firsts.append(start)
        seen[start], waiting = True, [start]
        while waiting:
            for other, _ in neighbours[waiting.pop()]:
                if not seen[other]:
                    seen[other] = True
                    waiting.append(other)
    return firsts


class _RootedTree:
    """A tree of a network, with its root in the middle.

    nodes: int64[nodes], each after its parent
    parents: index in `nodes` of each node's parent, int64[nodes]; -1 for the root
    lengths: length of the link to the parent, float64[nodes]
    weights: room that each node needs with all nodes below it: the sum of its leaves' radii, with gaps, float64[nodes]
    """

    def __init__(self, neighbours: Sequence[Sequence[tuple[int, float]]], start: int, radii: Reals) -> None:
        self._build(neighbours, start, radii)
        total, heaviest = float(self.weights[0]), 0
        # The root is the node of which no branch needs more than half of the room.
        while True:
            below = [k for k in range(len(self.nodes)) if self.parents[k] == heaviest and self.weights[k] > total / 2]
            if not below:
                break
            heaviest = below[0]
        if heaviest:
            self._build(neighbours, int(self.nodes[heaviest]), radii)

    def _build(self, neighbours: Sequence[Sequence[tuple[int, float]]], root: int, radii: Reals) -> None:
        """Set the attributes for this root."""
        nodes, parents, lengths = [root], [-1], [0.0]
        for place, node in enumerate(nodes):  # grows meanwhile
            before = nodes[parents[place]] if parents[place] >= 0 else -1
            for other, length in sorted(neighbours[node]):
                if other != before:
                    nodes.append(other)
                    parents.append(place)
                    lengths.append(length)
        weights = np.zeros(len(nodes))
        for place in range(len(nodes) - 1, -1, -1):
            if not weights[place]:
                weights[place] = radii[nodes[place]] + GAP / 2
            if parents[place] >= 0:
                weights[parents[place]] += weights[place]
        self.nodes, self.parents = np.array(nodes), np.array(parents)
        self.lengths, self.weights = np.array(lengths), weights

    def angles(self) -> Reals:
        """Return the direction of the link to each node, the middle of its sector: float64[nodes]."""
        count = len(self.nodes)
        angles, widths = np.zeros(count), np.full(count, 2 * np.pi)
        taken = np.zeros(count)  # of each node's sector, by children so far
        rooms = np.bincount(self.parents[1:], self.weights[1:], count) if count > 1 else np.zeros(count)
        for place in range(1, count):
            parent = self.parents[place]
            share = widths[parent] * self.weights[place] / rooms[parent]
            angles[place] = angles[parent] - widths[parent] / 2 + taken[parent] + share / 2
            taken[parent] += share
            widths[place] = min(share, np.pi)
        return angles

    def branches(self) -> Integers:
        """Return, for nodes a and b, the child of their last common ancestor on the way to a: int64[nodes][nodes]; -1 where a is that
        ancestor."""
        count = len(self.nodes)
        branches = np.full((count, count), -1)
        ancestors = np.zeros((count, count), dtype=np.int64)
        for node in range(1, count):
            parent = int(self.parents[node])
            ancestors[node, :node] = ancestors[parent, :node]
            ancestors[:node, node] = ancestors[node, :node]
            ancestors[node, node] = node
            branches[node, :node] = np.where(ancestors[parent, :node] == parent, node, branches[parent, :node])
            branches[:node, node] = branches[:node, parent]
        return branches


def _place_apart(tree: _RootedTree, radii: Reals) -> Reals:
    """Return the places of a tree's nodes, with links stretched until nothing overlaps: float64[nodes][2]."""
    angles, lengths = tree.angles(), tree.lengths.copy()
    steps = np.stack((np.cos(angles), np.sin(angles)), axis=1)
    branches = tree.branches()
    while True:
        places = np.zeros((len(radii), 2))
        for node in range(1, len(radii)):
            places[node] = places[tree.parents[node]] + lengths[node] * steps[node]
        for _ in range(_SWEEPS):
            for node in range(len(radii)):
                _share_room(node, tree.parents, branches[:, node], places, radii)
        one, other = np.nonzero(_overlaps(places, radii, tree.parents) & (branches >= 0) & (branches.T >= 0))
        if not len(one):
            return places
        lengths[np.unique(np.concatenate((branches[one, other], branches[other, one])))] *= _STRETCH


def _share_room(node: int, parents: Integers, towards: Integers, places: Reals, radii: Reals) -> None:
    """Turn the branches below a node about it, so that the angles between them, and between them and the rest of the tree, are equal. Leave
    them where their sectors together take more than the whole circle, or one takes nearly all of it.

    towards: child of the node on the way to each node, int64[nodes]; the node itself stands for what is not below it
    places: changed in place
    """
    children = np.flatnonzero(parents == node)
    ends = [*children.tolist(), *([int(parents[node])] if parents[node] >= 0 else [])]
    if len(ends) < 2:
        return
    offsets = places - places[node]
    away, angles = np.hypot(*offsets.T), np.arctan2(offsets[:, 1], offsets[:, 0])
    branch = np.full(len(places), len(ends) - 1)  # the rest of the tree is the last one, if there is a parent
    for k, child in enumerate(children.tolist()):
        branch[towards == child] = k
    others = np.arange(len(places)) != node
    branch, away = branch[others], away[others]
    turned = angles[others] - angles[ends][branch]
    turned -= 2 * np.pi * np.round(turned / (2 * np.pi))
    margins = np.arcsin(np.minimum(1.0, (radii[others] + GAP / 2) / away))
    low, high = np.zeros(len(ends)), np.zeros(len(ends))
    np.minimum.at(low, branch, turned - margins)
    np.maximum.at(high, branch, turned + margins)
    free = 2 * np.pi - float((high - low).sum())
    if free < 0 or max(float(high.max()), float(-low.min())) > _WIDEST_TURN:
        return
    first = len(ends) - 1 if parents[node] >= 0 else 0
    around = (angles[ends] - angles[ends[first]]) % (2 * np.pi)
    around[first] = 0.0
    order = np.argsort(around, kind="stable")
    turns, place = np.zeros(len(ends)), angles[ends[first]] + low[first]
    for k in order.tolist():
        turns[k] = place - low[k] - angles[ends[k]]
        place += high[k] - low[k] + free / len(ends)
    turns[first] = 0.0
    cosines, sines = np.cos(turns)[branch], np.sin(turns)[branch]
    x, y = offsets[others].T
    places[others] = places[node] + np.stack((x * cosines - y * sines, x * sines + y * cosines), axis=1)


def _overlaps(places: Reals, radii: Reals, parents: Integers) -> Booleans:
    """Return whether the circle of a node is too near to the circle of another, or to the link between that one and its parent:
    bool[nodes][nodes]."""
    away = np.hypot(*(places[:, None] - places[None, :]).transpose(2, 0, 1))
    too_near: Booleans = away < radii[:, None] + radii[None, :] + 0.99 * GAP  # up to rounding
    np.fill_diagonal(too_near, False)
    if len(places) > 1:
        starts = places[parents[1:]]
        links = places[1:] - starts
        offsets = places[:, None] - starts[None, :]
        along = np.clip((offsets * links).sum(axis=2) / (links**2).sum(axis=1), 0, 1)
        away = np.hypot(*(offsets - along[..., None] * links).transpose(2, 0, 1))
        crossed = away < radii[:, None] + 0.49 * GAP  # sectors leave half of a gap, up to rounding
        crossed[np.arange(1, len(places)), np.arange(len(places) - 1)] = False
        crossed[parents[1:], np.arange(len(places) - 1)] = False
        too_near[:, 1:] |= crossed
    return too_near


def _rotated(places: Reals, radii: Reals) -> tuple[Reals, tuple[float, float]]:
    """Return (the places, rotated so that they take the least height, and moved to the first quadrant: float64[nodes][2]; width and height
    of the tree)."""
    rotations = []
    for k in range(_ROTATIONS):
        angle = np.pi * k / _ROTATIONS
        cosine, sine = np.cos(angle), np.sin(angle)
        rotated = places @ np.array([[cosine, sine], [-sine, cosine]])
        low, high = (rotated - radii[:, None]).min(axis=0), (rotated + radii[:, None]).max(axis=0)
        width, height = (high - low).tolist()
        rotations.append((round(height, _DECIMALS), k, rotated - low, (width, height)))
    return min(rotations, key=lambda one: one[:2])[2:]


def _arrange_in_rows(trees: Sequence[tuple[Integers, Reals, tuple[float, float]]], radii: Reals, gap: float) -> NetworkLayout:
    """Return the layout of a forest: trees side by side in rows from top to bottom, the highest tree first.

    trees: (nodes, their places, (width, height)) of each tree
    gap: space between two trees of a row, in inches
    """
    places = np.zeros((len(radii), 2))
    order = sorted(trees, key=lambda tree: (-round(tree[2][1], _DECIMALS), int(tree[0].min())))
    widest = max(_WIDEST_ROW, *(width for _, _, (width, _) in trees))
    left, top, row_height, width = 0.0, 0.0, 0.0, 0.0
    for nodes, own_places, (own_width, own_height) in order:
        if left and left + own_width > widest:
            left, top, row_height = 0.0, top - row_height - 4 * GAP, 0.0
        places[nodes] = own_places + np.array((left, top - own_height))
        left += own_width + gap
        width, row_height = max(width, left - gap), max(row_height, own_height)
    height = row_height - top
    places[:, 1] += height
    return NetworkLayout(np.round(places, _DECIMALS), radii, width, height)
