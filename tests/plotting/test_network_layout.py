"""Places of a network's circles: nothing overlaps and nothing crosses, whatever the tree."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpualign.jobs.plotting.network import Network
from gpualign.jobs.plotting.network_labels import place_names
from gpualign.jobs.plotting.network_layout import GAP, layout_network


def network(parents, sizes, distances):
    """The network in which cluster k + 1 is linked with parents[k]; None: it begins a tree."""
    links = [(parent, k) for k, parent in enumerate(parents, 1) if parent is not None]
    own = [distances[k - 1] for k, parent in enumerate(parents, 1) if parent is not None]
    ends = np.cumsum([0, *sizes]).tolist()
    members = [list(range(a, b)) for a, b in pairwise(ends)]
    ids = [f"s{k}" for k in range(ends[-1])]
    return Network(ids, members, np.array(links, dtype=np.int64).reshape(-1, 2), np.array(own, dtype=float))


@st.composite
def networks(draw, largest=40):
    count = draw(st.integers(1, largest))
    reach = draw(st.sampled_from([1, 3, largest]))  # chains, slim trees, any
    parents = [draw(st.none() if draw(st.integers(0, 20)) == 0 else st.integers(max(0, k - reach), k - 1)) for k in range(1, count)]
    sizes = draw(st.lists(st.sampled_from([1, 1, 1, 2, 5, 40, 3000]), min_size=count, max_size=count))
    distances = draw(st.lists(st.sampled_from([1e-9, 0.5, 1, 2, 7, 400, 1e6]), min_size=count, max_size=count))
    return network(parents, sizes, distances)


def from_segment(point, start, end):
    """Distance of a point from a segment."""
    step = end - start
    along = min(1.0, max(0.0, float((point - start) @ step / (step @ step))))
    return math.dist(point, start + along * step)


def side(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def cross(a, b, c, d):
    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def check(one, layout):
    places, radii, links = layout.places, layout.radii, one.links.tolist()
    for a, b in combinations(range(len(radii)), 2):
        assert math.dist(places[a], places[b]) > radii[a] + radii[b] + 0.9 * GAP
    for a, b in links:
        for k in set(range(len(radii))) - {a, b}:
            assert from_segment(places[k], places[a], places[b]) > radii[k] + 0.4 * GAP
    for (a, b), (c, d) in combinations(links, 2):
        if not {a, b} & {c, d}:
            assert not cross(places[a], places[b], places[c], places[d])
    assert (places - radii[:, None] > -1e-3).all()
    assert (places + radii[:, None] < np.array((layout.width, layout.height)) + 1e-3).all()


@settings(max_examples=60, deadline=None)
@given(networks())
@example(network([0] * 39, [1] * 40, [1] * 40))
@example(network([0] * 39, [3000] + [1, 3000, 1] * 13, [1] * 40))
@example(network(range(39), [1] * 40, [1] * 40))
@example(network([k // 2 for k in range(39)], [40] * 40, [1] * 40))
@example(network([None] * 30, [1, 2, 3] * 10 + [1], [1] * 30))
def test_nothing_overlaps_and_nothing_crosses(one):
    check(one, layout_network(one))


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["star", "chain", "binary", "comb", "random"])
def test_large_networks(rng, shape):
    count = 200
    parents = {
        "star": [0] * (count - 1),
        "chain": list(range(count - 1)),
        "binary": [k // 2 for k in range(count - 1)],
        "comb": [k - k % 2 for k in range(count - 1)],
        "random": [int(rng.integers(0, k)) for k in range(1, count)],
    }[shape]
    one = network(parents, rng.choice([1, 2, 30], count).tolist(), rng.integers(1, 50, count).tolist())
    check(one, layout_network(one))


def test_areas_are_numbers_of_records():
    radii = layout_network(network([0, 0, 0], [1, 4, 9, 900], [1, 1, 1])).radii
    np.testing.assert_allclose(radii**2 / radii[0] ** 2, [1, 4, 9, 900])
    assert layout_network(network([0], [1, 10_000], [1])).radii.max() < 0.6


def test_larger_distances_have_longer_lines():
    """Each doubling adds the same length."""
    layout = layout_network(network(range(4), [1, 2, 1, 5, 1], [1, 2, 4, 8]))
    steps = np.hypot(*np.diff(layout.places, axis=0).T) - layout.radii[1:] - layout.radii[:-1]
    np.testing.assert_allclose(np.diff(steps), np.diff(steps)[0], atol=1e-3)
    assert np.diff(steps)[0] > 0.1


def test_the_layout_depends_on_the_network_alone(rng):
    one = network([int(rng.integers(0, k)) for k in range(1, 60)], [1] * 60, rng.integers(1, 9, 60).tolist())
    first, second = layout_network(one), layout_network(one)
    assert first.places.tolist() == second.places.tolist() == np.round(first.places, 4).tolist()


def test_trees_of_a_forest_stand_in_rows():
    layout = layout_network(network([0, 1, None, 3, *[None] * 80], [1] * 85, [1] * 85))
    assert layout.width < 10.5
    assert layout.height > 0.5
    # the highest first, of equal ones that with the first cluster
    firsts = layout.places[[0, 3, 5, 84]]
    assert (firsts[0] < firsts[1])[0]
    assert firsts[3][1] < firsts[0][1]


@settings(max_examples=60, deadline=None)
@given(networks(largest=12))
def test_names_are_beside_their_circles(one):
    layout = layout_network(one, 0.6)
    widths = [0.3 + 0.05 * (k % 4) for k in range(len(one.members))]
    corners = place_names(widths, 0.1, layout, one.links)
    for (x, y), width, place, radius in zip(corners.tolist(), widths, layout.places, layout.radii, strict=True):
        nearest = np.clip(place, (x, y), (x + width, y + 0.1))
        assert math.dist(nearest, place) <= 1.1 * radius + 0.05
        assert math.dist((x + width / 2, y + 0.05), place) > 0.7 * radius
    # A name for which there is room covers nothing.
    lone = network([], [1], [])
    assert place_names([0.5], 0.1, layout_network(lone), lone.links).shape == (1, 2)
