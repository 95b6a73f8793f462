"""Clusters beside near pairs, against plain loops: what breaks a threshold, and how the fewest records are changed."""

import io
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.core.clustering import repair
from gpualign.core.clustering.edge_builder import EdgeStorage, collect_edges
from gpualign.core.clustering.given_clusters import GivenClusters
from gpualign.core.clustering.repair import heaviest_independent, repair_representatives
from gpualign.core.clustering.verification import (
    ProblemKind,
    find_connection_problems,
    find_representative_problems,
    member_distances,
)
from gpualign.core.near_pairs.deduplication import DuplicateGroups

FAR = 99


class Case:
    """Records, some of them equal, with the near pairs of the different ones, and clusters of the records."""

    def __init__(self, group_of, matrix, most, labels, representatives, order):
        _, first, group_of = np.unique(group_of, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        self.groups = DuplicateGroups(rank[group_of], np.sort(first))
        count = len(self.groups)
        self.distance = np.triu(np.array(matrix)[:count, :count], 1)
        self.distance = self.distance + self.distance.T
        self.most, self.order = most, np.array(order, dtype=np.int64)
        names, labels = np.unique([*labels, -1], return_inverse=True)  # clusters are numbered from 0, and -1 stays
        self.labels = labels.reshape(-1)[:-1] - 1
        members = [np.flatnonzero(self.labels == k).tolist() for k in range(len(names) - 1)]
        of = [own[place % len(own)] for own, place in zip(members, representatives, strict=False)]
        self.given = GivenClusters([f"c{k}" for k in range(len(members))], self.labels, np.array(of, dtype=np.int64))

    def between(self, one, other):
        """The distance of two records, FAR if they are not near."""
        a, b = self.groups.group_of[one], self.groups.group_of[other]
        return 0 if a == b else self.distance[a, b] if self.distance[a, b] <= self.most else FAR

    def far_distance(self, one, other):
        return far_distances(*np.sort(self.groups.group_of[[one, other]])[:, None]).item()

    def edges(self, storage=None):
        i, j = np.nonzero(np.triu(self.distance <= self.most, 1))
        edges = [(i[k : k + 3], j[k : k + 3], self.distance[i, j][k : k + 3].astype(float)) for k in range(0, len(i), 3)]
        return collect_edges(len(self.groups), edges, storage)

    def leaders(self, records):
        """Of equal ones among these records the first, by record."""
        return {r: min(s for s in records if self.groups.group_of[s] == self.groups.group_of[r]) for r in records}

    def near_pairs(self, records):
        """The near pairs among these records, as they are listed."""
        leader = self.leaders(records)
        equal = [(leader[r], r, 0) for r in records if leader[r] != r]
        firsts = sorted(set(leader.values()))
        return sorted([*equal, *((a, b, self.between(a, b)) for a, b in itertools.combinations(firsts, 2) if self.between(a, b) != FAR)])


@st.composite
def cases(draw, most_records=12):
    count = draw(st.integers(1, most_records))
    numbers = lambda low, high, size: st.lists(st.integers(low, high), min_size=size, max_size=size)  # noqa: E731
    return Case(
        draw(numbers(0, draw(st.integers(0, count)), count)),
        np.array(draw(numbers(0, 5, count * count))).reshape(count, count),
        draw(st.integers(0, 4)),
        draw(numbers(-1, draw(st.integers(0, count)), count)),
        draw(numbers(0, count, count)),
        draw(st.permutations(range(count))),
    )


def far_distances(one, other):
    """A known distance of each pair that is not near: a number that tells both groups."""
    assert (one < other).all()
    assert len(set(zip(one.tolist(), other.tolist(), strict=True))) == len(one)
    return 100.0 + 20 * one + other


def representative_problems(case, edges, storage=None):
    return rows(find_representative_problems(case.given, case.groups, edges, storage, far_distances))


def rows(problems):
    """The problems as (kind, record, other record, distance), with FAR for unknown."""
    return [
        (kind, i, j, FAR if np.isnan(d) else d)
        for kind, one, other, distances in problems.chunks()
        for i, j, d in zip(one.tolist(), other.tolist(), distances.tolist(), strict=True)
    ]


def missing(case):
    return [(ProblemKind.MISSING, int(r), -1, FAR) for r in np.flatnonzero(case.labels < 0)]


@given(cases())
def test_representatives_by_plain_loops(case):
    of = case.given.representatives
    members = [(r, of[label]) for r, label in enumerate(case.labels) if label >= 0]
    expected = [(ProblemKind.FAR, r, s, case.far_distance(r, s)) for r, s in members if case.between(r, s) == FAR]
    expected += [(ProblemKind.NEAR, *pair) for pair in case.near_pairs(sorted(of.tolist()))]
    assert representative_problems(case, case.edges()) == expected + missing(case)
    found = find_representative_problems(case.given, case.groups, case.edges(), None, far_distances)
    assert found.counts == {kind: [row[0] for row in rows(found)].count(kind) for kind in found.counts}


def components(case):
    count = len(case.groups)
    reach = (case.distance <= case.most) | np.eye(count, dtype=bool)
    for k in range(count):
        reach |= reach[:, [k]] & reach[[k], :]
    return reach.argmax(axis=1)


@given(cases())
def test_connections_by_plain_loops(case):
    component = components(case)[case.groups.group_of]
    expected = []
    for record, label in enumerate(case.labels):
        earlier = [r for r in range(record) if case.labels[r] == label]
        if label >= 0 and earlier and component[record] not in [component[r] for r in earlier]:
            expected.append((ProblemKind.SPLIT, record, earlier[0], FAR))
    nearest = {}
    for i, j, d in case.near_pairs(np.flatnonzero(case.labels >= 0).tolist()):
        clusters = frozenset((case.labels[i], case.labels[j]))
        if len(clusters) == 2:
            nearest[clusters] = min(nearest.get(clusters, (FAR,)), (d, i, j))
    expected += [(ProblemKind.JOINED, i, j, d) for i, j, d in sorted((i, j, d) for d, i, j in nearest.values())]
    found = find_connection_problems(case.given, case.groups, case.edges(), components(case))
    assert rows(found) == expected + missing(case)


@given(cases())
def test_clusters_are_those_of_single_linkage_if_nothing_is_listed(case):
    component = components(case)[case.groups.group_of]
    pairs = itertools.combinations(range(len(component)), 2)
    same = all((component[a] == component[b]) == (case.labels[a] == case.labels[b]) for a, b in pairs)
    listed = rows(find_connection_problems(case.given, case.groups, case.edges(), components(case)))
    assert bool(listed) == (not same or (case.labels < 0).any())


# ---- repair


def weights(case):
    records = range(len(case.labels))
    return [sum(case.labels[r] == k and case.between(r, s) != FAR for r in records) for k, s in enumerate(case.given.representatives)]


def is_independent(case, clusters):
    of = case.given.representatives
    return all(case.between(of[a], of[b]) == FAR for a, b in itertools.combinations(clusters, 2))


def best_clusters(case):
    """Of all sets of clusters that may remain together the one with the most near members, the earliest of several."""
    count, own = len(case.given.clusters), weights(case)
    sets = (chosen for size in range(count + 1) for chosen in itertools.combinations(range(count), size))
    allowed = [chosen for chosen in sets if is_independent(case, chosen)]
    return max(allowed, key=lambda chosen: (sum(own[k] for k in chosen), [k in chosen for k in range(count)]))


def heaviest_first(case):
    kept = []
    own = weights(case)
    for cluster in sorted(range(len(own)), key=lambda k: (-own[k], k)):
        if is_independent(case, [*kept, cluster]):
            kept.append(cluster)
    return tuple(sorted(kept))


def moved_by_loops(case, kept):
    """The representative of each record once only these clusters remain."""
    of, found = case.given.representatives, {}
    for record, label in enumerate(case.labels):
        if label in kept and case.between(record, of[label]) != FAR:
            found[record] = int(of[label])
    representatives = [int(of[k]) for k in kept]
    moving = [r for r in case.order.tolist() if r not in found]
    for record in moving:
        if all(case.between(record, s) == FAR for s in representatives):
            representatives.append(record)
    for record in moving:
        found[record] = min(representatives, key=lambda s: (case.between(record, s), representatives.index(s)))
    return [found[r] for r in range(len(case.labels))]


def repaired(case, storage=None):
    edges = case.edges(storage)
    distances = member_distances(case.given.representative_of, case.groups, edges.chunks())
    return repair_representatives(case.given, distances, case.groups, edges, case.order, storage).tolist()


@given(cases())
def test_the_fewest_records_are_changed(case):
    """No choice of representatives that remain changes fewer, and of equally good ones it is the one with the earliest clusters."""
    assert repaired(case) == moved_by_loops(case, best_clusters(case))


@given(cases())
def test_large_components_keep_the_heaviest_first(case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repair, "MAX_EXACT", 0)
        assert repaired(case) == moved_by_loops(case, heaviest_first(case))


@given(cases())
def test_repaired_clusters_have_no_problems_and_stay(case):
    found = np.array(repaired(case))
    names, labels = np.unique(found, return_inverse=True)
    case.given = GivenClusters(list(map(str, names)), labels.reshape(-1), names)
    assert representative_problems(case, case.edges()) == []
    case.labels = case.given.labels
    assert repaired(case) == found.tolist()


@given(cases())
@settings(max_examples=20)
def test_pairs_in_a_temporary_file(case):
    storage = EdgeStorage(0, io.BytesIO)
    assert repaired(case, storage) == repaired(case)
    expected = representative_problems(case, case.edges())
    assert representative_problems(case, case.edges(), storage) == expected
    assert representative_problems(case, case.edges(storage), storage) == expected


@given(st.data())
def test_heaviest_independent_sets_by_all_subsets(data):
    count = data.draw(st.integers(1, 10))
    pairs = [pair for pair in itertools.combinations(range(count), 2) if data.draw(st.booleans())]
    own = data.draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    sets = [chosen for chosen in itertools.product([False, True], repeat=count) if not any(chosen[a] and chosen[b] for a, b in pairs)]
    best = max(sets, key=lambda chosen: (sum(itertools.compress(own, chosen)), chosen))
    assert tuple(heaviest_independent(pairs, own)) == best


@pytest.mark.parametrize("length", [3, repair.MAX_EXACT])
def test_a_ring_of_near_representatives(length):
    """Every second one remains; the number of steps stays small."""
    pairs = [tuple(sorted((k, (k + 1) % length))) for k in range(length)]
    assert heaviest_independent(pairs, [1] * length) == [k % 2 == 0 and k + 1 < length for k in range(length)]
