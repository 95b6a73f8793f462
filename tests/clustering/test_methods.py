"""Clusters by all methods: against scipy on whole matrices, plain loops, and vsearch."""

import itertools
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("scipy")

from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

import gpualign
from gpualign.core.clustering.abundances import abundances
from gpualign.core.clustering.clusters import clustering_from_centroids, clustering_from_labels, renumber_labels
from gpualign.core.clustering.edges import Edges
from gpualign.core.clustering.greedy import clustering_order, first_copies, greedy_centroids
from gpualign.core.clustering.linkage import average_linkage, complete_linkage, largest_linked_count, single_linkage
from gpualign.core.common.errors import InputError


def near(matrix, most):
    """The near pairs of a square matrix."""
    i, j = np.nonzero(np.triu(matrix <= most, 1))
    return Edges(len(matrix), i, j, matrix[i, j].astype(float))


def condensed_of(matrix):
    return lambda groups: (squareform(matrix[np.ix_(members, members)], checks=False) for members in groups)


def labels_by(method, matrix, most):
    edges = near(matrix, most)
    if method == "average":
        return average_linkage(edges, most, condensed_of(matrix))
    return {"single": single_linkage, "complete": complete_linkage}[method](edges)


def symmetric(values):
    out = np.triu(values, 1)
    return out + out.T


@st.composite
def matrices(draw, most=9):
    """Small whole distances, many of them equal; up to 12 records."""
    count = draw(st.integers(1, 12))
    return symmetric(np.array(draw(st.lists(st.integers(0, most), min_size=count * count, max_size=count * count))).reshape(count, count))


def same(found, expected):
    assert renumber_labels(found).tolist() == renumber_labels(np.asarray(expected)).tolist()


# ---- linkage


@pytest.mark.parametrize("method", ["single", "complete", "average"])
@pytest.mark.parametrize("most", [0.02, 0.1, 0.3, 0.8, 1.0])
def test_scipy_on_the_whole_matrix_finds_the_same(rng, method, most):
    """Distances that differ all, so that there is one right answer."""
    for count in (2, 3, 17, 60):
        matrix = symmetric(rng.permutation(count * count).reshape(count, count) / count**2)
        same(labels_by(method, matrix, most), fcluster(linkage(squareform(matrix), method), most, "distance"))


@given(matrices(), st.integers(0, 9))
def test_single_linkage_reaches_what_is_connected(matrix, most):
    count = len(matrix)
    reach = (matrix <= most) | np.eye(count, dtype=bool)
    for k in range(count):
        reach |= reach[:, [k]] & reach[[k], :]
    same(single_linkage(near(matrix, most)), [int(row.argmax()) for row in reach])


@given(matrices(), st.integers(0, 9))
def test_complete_linkage_with_ties(matrix, most):
    """Whatever the order of equal distances: all pairs of a cluster are near, and no two clusters could be joined."""
    labels = complete_linkage(near(matrix, most))
    groups = [np.flatnonzero(labels == one) for one in np.unique(labels)]
    assert all(matrix[np.ix_(group, group)].max() <= most for group in groups)
    assert all(matrix[np.ix_(one, other)].max() > most for one, other in itertools.combinations(groups, 2))


@given(matrices(), st.integers(0, 9))
def test_average_linkage_with_ties(matrix, most):
    """No two clusters could be joined, and what is joined is connected."""
    edges = near(matrix, most)
    labels = average_linkage(edges, most, condensed_of(matrix))
    groups = [np.flatnonzero(labels == one) for one in np.unique(labels)]
    assert all(matrix[np.ix_(one, other)].mean() > most for one, other in itertools.combinations(groups, 2))
    components = single_linkage(edges)
    assert all(len(set(components[group])) == 1 for group in groups)


@pytest.mark.parametrize("method", ["single", "complete", "average"])
def test_few_and_equal_records(method):
    same(labels_by(method, np.zeros((1, 1)), 0.5), [0])
    same(labels_by(method, symmetric(np.full((5, 5), 0.6)), 0.5), range(5))
    same(labels_by(method, np.zeros((5, 5)), 0.0), [0] * 5)
    same(labels_by(method, symmetric(np.full((7, 7), 0.03)), 0.03), [0] * 7)


def test_means_at_the_cut_are_within_it():
    """Decimal fractions have no exact sums: the mean of 0.1, 0.1, 0.1 and 0.3 is 0.15 but for rounding."""
    matrix = np.zeros((5, 5))
    matrix[4, :4] = matrix[:4, 4] = [0.1, 0.1, 0.1, 0.3]
    assert linkage(squareform(matrix), "average")[-1, 2] > 0.15
    same(labels_by("average", matrix, 0.15), [0, 0, 0, 0, 0])
    same(labels_by("average", matrix, 0.1499), [0, 0, 0, 0, 1])


def test_only_components_that_are_no_cliques_are_linked():
    matrix = np.full((6, 6), 9)
    matrix[:3, :3] = 1
    edges = near(matrix, 1)
    assert largest_linked_count(edges) == 0
    asked = []
    same(average_linkage(edges, 1, lambda groups: asked.extend(groups) or iter(())), [0, 0, 0, 1, 2, 3])
    assert asked == []
    matrix[2, 3] = matrix[3, 2] = 1
    assert largest_linked_count(near(matrix, 1)) == 4


# ---- greedy centroids


def plain_greedy(matrix, most, order):
    """As it is told: each record joins the nearest centroid, the earliest of several."""
    centroids, chosen = [], {}
    for record in order:
        best = min(centroids, key=lambda centroid: matrix[record, centroid], default=None)
        if best is None or matrix[record, best] > most:
            centroids.append(record)
            best = record
        chosen[record] = best
    return [chosen[record] for record in range(len(matrix))]


@given(matrices(), st.integers(0, 9), st.randoms(use_true_random=False))
def test_greedy_is_the_plain_loop(matrix, most, shuffler):
    order = list(range(len(matrix)))
    shuffler.shuffle(order)
    assert greedy_centroids(near(matrix, most), np.array(order)).tolist() == plain_greedy(matrix, most, order)


def test_orders():
    ids = ["b", "a;size=2", "c;size=2;", "d;size=x", "size=30", "A"]
    assert abundances(ids) == [1, 2, 2, 1, 30, 1]
    assert abundances(["a", "resize=3"]) is None
    lengths = np.array([5, 4, 4, 5, 4, 5])
    assert clustering_order("input", ids, None).tolist() == [0, 1, 2, 3, 4, 5]
    assert clustering_order("length", ids, lengths).tolist() == [5, 0, 3, 4, 1, 2]
    assert clustering_order("size", [*ids[:3], "d", *ids[4:]], None).tolist() == [4, 1, 2, 5, 0, 3]
    for annotation in ("size=x", "size=1,000", "size=1e3", "Size=99", "size=3.5", "size="):
        with pytest.raises(
            InputError, match=f"record 'd;{annotation}': '{annotation}' is not an abundance; expected 'size=' and a whole number"
        ):
            clustering_order("size", [*ids[:3], f"d;{annotation}"], None)
    with pytest.raises(InputError, match="order='size': no id has an abundance"):
        clustering_order("size", ["a", "b"], None)
    with pytest.raises(InputError, match="order='length': the lengths are not known"):
        clustering_order("length", ids, None)


@pytest.mark.parametrize("order", ["length", "size"])
def test_vsearch_without_its_filter_chooses_the_same_centroids(rng, tmp_path, order):
    """Substitutions far from the ends, so that both align alike, and identities that are often equal."""
    if shutil.which("vsearch") is None:
        pytest.skip("vsearch is not installed")
    letters = np.array(list("ACGT"))
    ids, texts = [], []
    for family in range(4):
        ancestor = rng.integers(0, 4, 200 + family % 2)
        for member in range(15):
            copy = ancestor.copy()
            places = rng.choice(np.arange(20, 180), rng.integers(0, 8), replace=False)
            copy[places] = (copy[places] + rng.integers(1, 4, len(places))) % 4
            texts.append("".join(letters[copy]))
            ids.append(f"r{rng.integers(10**6)}_{family}_{member};size={rng.integers(1, 4)}")
    fasta = tmp_path / "x.fa"
    fasta.write_text("".join(f">{name}\n{text}\n" for name, text in zip(ids, texts, strict=True)))
    command = {"length": "--cluster_fast", "size": "--cluster_size"}[order]
    all_of_them = ["--maxaccepts", "0", "--maxrejects", "0", "--minwordmatches", "0", "--qmask", "none"]
    subprocess.run(["vsearch", command, fasta, "--id", "0.97", "--uc", tmp_path / "x.uc", *all_of_them, "--quiet"], check=True)
    rows = [line.split("\t") for line in (tmp_path / "x.uc").read_text().splitlines()]
    expected = {row[8]: row[9] if row[0] == "H" else row[8] for row in rows if row[0] != "C"}
    # vsearch's weights: with cheaper gaps two substitutions side by side may become two gaps, and seven differences six.
    weights = gpualign.Scoring(match=2, mismatch=-4, gap_open=22, gap_extend=2)
    found = gpualign.pairs(gpualign.Sequences(texts, ids), scoring=weights, min_identity=0.97)
    edges = Edges(len(ids), found.i, found.j, 1 - found.value)
    centroids = greedy_centroids(edges, clustering_order(order, ids, np.array([len(text) for text in texts])))
    assert {ids[k]: ids[centroid] for k, centroid in enumerate(centroids)} == expected
    assert 4 < len(set(expected.values())) < 60


# ---- copies of records


@st.composite
def copied_matrices(draw):
    """(a matrix of few records, copies of these: which record each is a copy of, numbered by their first copies)."""
    matrix = draw(matrices())
    more = draw(st.lists(st.integers(0, len(matrix) - 1), max_size=12))
    copies = draw(st.permutations([*range(len(matrix)), *more]))
    firsts = list(dict.fromkeys(copies))
    return matrix[np.ix_(firsts, firsts)], np.array([firsts.index(one) for one in copies])


def told(found):
    return found.labels.tolist(), found.representatives.tolist(), np.nan_to_num(found.distances, nan=-1).tolist()


@given(copied_matrices(), st.integers(0, 9), st.randoms(use_true_random=False))
def test_copies_join_what_their_first_copy_in_the_order_joins(given, most, shuffler):
    """Plain greedy on one of each, the first that is looked at, and the others beside it."""
    matrix, of = given
    looked_at = list(range(len(of)))
    shuffler.shuffle(looked_at)
    order, leaders = first_copies(np.array(looked_at), of)
    assert order.tolist() == list(dict.fromkeys(of[looked_at].tolist()))
    expected = plain_greedy(matrix, most, order.tolist())
    edges = near(matrix, most)
    found = clustering_from_centroids(greedy_centroids(edges, order), edges).expand_copies(of, leaders)
    first = {one: next(k for k in looked_at if of[k] == one) for one in of.tolist()}
    assert found.representatives[found.labels].tolist() == [first[expected[one]] for one in of.tolist()]
    assert found.distances.tolist() == [matrix[one, expected[one]] for one in of.tolist()]


@given(copied_matrices(), st.integers(0, 9))
def test_single_linkage_and_representatives_of_copies(given, most):
    """What all copies give, each a record of its own."""
    matrix, of = given
    every = near(matrix[np.ix_(of, of)], most)
    edges, copies, firsts = near(matrix, most), np.bincount(of), np.unique(of, return_index=True)[1]
    assert edges.near_pair_count(copies) == len(every)
    assert told(clustering_from_labels(single_linkage(edges), edges, copies).expand_copies(of, firsts)) == told(
        clustering_from_labels(single_linkage(every), every)
    )


@pytest.mark.parametrize("method", ["complete", "average"])
@pytest.mark.parametrize("most", [0.1, 0.3, 0.8])
def test_linkage_counts_copies(rng, method, most):
    """As scipy does on the whole matrix of the copies; distances of different records differ all."""
    for count, more in ((2, 3), (9, 9), (17, 30)):
        matrix = symmetric((1 + rng.permutation(count * count).reshape(count, count)) / count**2)
        of = rng.permutation(np.concatenate((np.arange(count), rng.integers(0, count, more))))
        firsts = list(dict.fromkeys(of.tolist()))
        matrix, of = matrix[np.ix_(firsts, firsts)], np.array([firsts.index(one) for one in of])
        whole = matrix[np.ix_(of, of)]
        edges = near(matrix, most)
        labels = complete_linkage(edges, of) if method == "complete" else average_linkage(edges, most, condensed_of(matrix), of)
        expected = fcluster(linkage(squareform(whole), method), most, "distance")
        same(labels[of], expected)
        every = near(whole, most)
        assert largest_linked_count(edges, of) == largest_linked_count(every)
        found = clustering_from_labels(labels, edges, np.bincount(of)).expand_copies(of, np.unique(of, return_index=True)[1])
        assert told(found) == told(clustering_from_labels(expected, every))


# ---- representatives


def test_the_medoid_represents_records_that_are_all_near():
    matrix = symmetric(np.array([[0, 3, 2, 9], [0, 0, 2, 9], [0, 0, 0, 9], [0, 0, 0, 0]]))
    edges = near(matrix, 4)
    found = clustering_from_labels(complete_linkage(edges), edges)
    assert found.labels.tolist() == [0, 0, 0, 1]
    assert found.representatives.tolist() == [2, 3]
    assert found.distances.tolist() == [2, 2, 0, 0]
    assert found.sizes.tolist() == [3, 1]


@pytest.mark.parametrize("scale", [0.1, 1.0, 1 / 3])
def test_of_equal_sums_the_first_record_represents(scale):
    """Whatever the order in which distances are added: 1 + 2 + 3 and 3 + 2 + 1."""
    i, j = np.array([0, 0, 0, 1, 1, 1]), np.array([2, 3, 4, 2, 3, 4])
    star = Edges(5, i, j, np.array([1, 2, 3, 3, 2, 1]) * scale)
    assert clustering_from_labels(single_linkage(star), star).representatives.tolist() == [0]
    turned = Edges(5, i, j, np.array([3, 2, 1.01, 3, 2, 1]) * scale)
    assert clustering_from_labels(single_linkage(turned), turned).representatives.tolist() == [1]


def test_the_hub_represents_a_chain():
    chain = Edges(5, np.arange(4), np.arange(1, 5), np.array([1.0, 2, 1, 1]))
    found = clustering_from_labels(single_linkage(chain), chain)
    assert found.representatives.tolist() == [3]  # two near records, as 1 and 2 have, but at 2 in all
    assert np.isnan(found.distances).tolist() == [True, True, False, False, False]


def test_clusters_are_numbered_by_their_first_records():
    edges = Edges(4, np.array([0, 1]), np.array([3, 2]), np.array([1.0, 1.0]))
    found = clustering_from_centroids(greedy_centroids(edges, np.array([3, 2, 1, 0])), edges)
    assert found.labels.tolist() == [0, 1, 1, 0]
    assert found.representatives.tolist() == [3, 2]
