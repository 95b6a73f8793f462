"""Roots of neighbour joining's trees: where they are, beside Biopython's, and `gpualign tree --root`."""

import io
import re

import numpy as np
import pytest
from command import gpualign
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("scipy")

from Bio import Phylo
from scipy.spatial.distance import squareform
from some_trees import path_lengths, random_tree

from gpualign.core.trees.methods import neighbour_joining
from gpualign.core.trees.newick import format_newick, parse_newick
from gpualign.core.trees.rooting import root_at_midpoint, root_at_outgroup
from gpualign.core.trees.tree import Tree

LENGTHS = {
    "all lengths": lambda rng: rng.uniform(0.1, 2),
    "often none": lambda rng: float(rng.integers(0, 3)),  # and many pairs that are equally far apart
}
TREES = given(st.integers(3, 25), st.sampled_from(sorted(LENGTHS)), st.integers(0, 2**32))


def below_root(tree):
    """(records below, length of the branch) of each child of the root."""
    (root,) = tree.roots.tolist()

    def records(node):
        children = [k for k, parent in enumerate(tree.parents.tolist()) if parent == node]
        return frozenset().union(*map(records, children)) if children else frozenset([tree.ids[node]])

    return [(records(k), float(tree.lengths[k])) for k, parent in enumerate(tree.parents.tolist()) if parent == root]


def depths(tree):
    """From the root to each record."""
    found = []
    for node in range(len(tree.ids)):
        length = 0.0
        while node >= 0:
            length, node = length + tree.lengths[node], int(tree.parents[node])
        found.append(length)
    return np.array(found)


def biopythons(tree):
    return Phylo.read(io.StringIO("".join(format_newick(tree))), "newick")


def clades(tree):
    """{records below a branch: its length} of a tree of Biopython's, but for the branch to its root."""
    inner = (clade for clade in tree.find_clades() if clade is not tree.root)
    return {frozenset(leaf.name for leaf in clade.get_terminals()): clade.branch_length for clade in inner}


def assert_same_but_for_its_root(rooted, tree):
    np.testing.assert_allclose(path_lengths(rooted), path_lengths(tree), atol=1e-9)
    assert rooted.ids == tree.ids
    assert len(rooted.parents) == len(tree.parents) + 1
    assert (rooted.lengths >= 0).all()
    assert len(below_root(rooted)) == 2


def assert_like_biopythons(rooted, expected):
    """Biopython 1.88 makes a branch that leaves the old root longer when it divides it; such trees are left out."""
    if expected.total_branch_length() == pytest.approx(rooted.lengths.sum(), rel=1e-6):
        assert clades(biopythons(rooted)) == pytest.approx(clades(expected), abs=1e-7)


@settings(max_examples=60, deadline=None)
@TREES
def test_the_outgroup_has_half_of_its_branch_to_itself(count, lengths, seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, count, LENGTHS[lengths])
    outgroup = int(rng.integers(count))
    rooted = root_at_outgroup(tree, outgroup)
    assert_same_but_for_its_root(rooted, tree)
    half = tree.lengths[outgroup] / 2
    assert (frozenset([tree.ids[outgroup]]), half) in below_root(rooted)
    expected = biopythons(tree)
    expected.root_with_outgroup(tree.ids[outgroup], outgroup_branch_length=half)
    assert_like_biopythons(rooted, expected)


@settings(max_examples=60, deadline=None)
@TREES
def test_the_midpoint_is_half_way_between_the_farthest_records(count, lengths, seed):
    tree = random_tree(np.random.default_rng(seed), count, LENGTHS[lengths])
    rooted = root_at_midpoint(tree)
    assert_same_but_for_its_root(rooted, tree)
    farthest = path_lengths(tree).max()
    sides = [max(depths(rooted)[[tree.ids.index(name) for name in records]]) for records, _ in below_root(rooted)]
    np.testing.assert_allclose(sides, farthest / 2, atol=1e-9)
    if lengths == "all lengths":  # where a branch has none, the midpoint is at several nodes
        expected = biopythons(tree)
        expected.root_at_midpoint()
        assert_like_biopythons(rooted, expected)


def test_a_midpoint_that_is_a_node():
    star = Tree(["a", "b", "c"], np.array([3, 3, 3, -1]), np.array([2.0, 2.0, 1.0, 0.0]))
    assert [length for _, length in below_root(root_at_midpoint(star))] == [2, 0]
    assert "".join(format_newick(root_at_midpoint(star))) == "(a:2,(b:2,c:1):0);\n"


def test_records_that_are_all_the_same_have_a_root():
    tree = neighbour_joining([f"s{k}" for k in range(40)], np.zeros(780))
    for rooted in (root_at_midpoint(tree), root_at_outgroup(tree, 7)):
        assert_same_but_for_its_root(rooted, tree)


@pytest.mark.parametrize("count", [1, 2])
def test_one_record_and_two_have_one_root(count):
    tree = neighbour_joining(["a", "b"][:count], np.array([3.0][: count - 1]))
    assert root_at_midpoint(tree) is tree
    assert root_at_outgroup(tree, 0) is tree


def test_a_deep_tree_has_a_root():
    """A chain of 20,000: neither recursion nor a time that grows with the square of the records."""
    count = 20_000
    parents = np.concatenate((np.arange(count, 2 * count - 2), [2 * count - 3, 2 * count - 3], np.arange(count + 1, 2 * count - 2), [-1]))
    tree = Tree([f"s{k}" for k in range(count)], parents.astype(np.int64), np.append(np.ones(2 * count - 3), 0.0))
    rooted = root_at_midpoint(tree)
    # From s0, below the first node of count - 2, to a record of the last are count - 1 branches.
    assert depths(Tree(rooted.ids[:1], rooted.parents, rooted.lengths))[0] == (count - 1) / 2
    assert below_root_lengths(root_at_outgroup(tree, 0)) == [0.5, 0.5]


def below_root_lengths(tree):
    return tree.lengths[tree.parents == tree.roots[0]].tolist()


# ---- the command


@pytest.fixture
def folder(tmp_path):
    ids = ["a b", "it's", "(x)", "plain", "other_1", "other_2", "other_3", "OUT"]
    points = np.random.default_rng(2).random((8, 3)) * [[1], [1], [1], [1], [1], [1], [1], [9]]
    np.savez(tmp_path / "d.npz", distances=np.linalg.norm(points[:, None] - points[None], axis=-1), ids=np.array(ids))
    return tmp_path


@pytest.mark.parametrize("name", ["a b", "it's", "(x)", "plain", "OUT"])
def test_the_command_roots_at_a_record(folder, name):
    done = gpualign("tree", "d.npz", "--root", name, cwd=folder)
    rooted = parse_newick(done.stdout.decode(), "x")
    sides = dict(below_root(rooted))
    assert sides[frozenset([name])] == pytest.approx(sides[frozenset(rooted.ids) - {name}], rel=1e-9)
    assert f"8 records, nj, rooted at {name!a}\n" in done.stderr.decode()
    plain = parse_newick(gpualign("tree", "d.npz", cwd=folder).stdout.decode(), "x")
    order = [rooted.ids.index(one) for one in plain.ids]
    np.testing.assert_allclose(path_lengths(rooted)[np.ix_(order, order)], path_lengths(plain), atol=1e-8)


def test_the_command_roots_at_the_midpoint(folder):
    done = gpualign("tree", "d.npz", "--root", "midpoint", "-o", "t.nwk", cwd=folder)
    assert b"8 records, nj, rooted at its midpoint\n" in done.stderr
    rooted = parse_newick((folder / "t.nwk").read_text(), "x")
    assert depths(rooted).max() == pytest.approx(path_lengths(rooted).max() / 2, rel=1e-8)
    pytest.importorskip("matplotlib")
    gpualign("plot", "d.npz", "--tree", "t.nwk", "-o", "t.svg", cwd=folder)


def test_negative_branches_are_none_before_the_root_is_found(tmp_path):
    """Else the rooted tree would have distances that the same tree without a root does not have."""
    (tmp_path / "d.tsv").write_text("\ta\tb\tc\td\na\t0\t1\t9\t9\nb\t1\t0\t1\t9\nc\t9\t1\t0\t1\nd\t9\t9\t1\t0\n")
    plain = parse_newick(gpualign("tree", "-q", "d.tsv", cwd=tmp_path).stdout.decode(), "x")
    lengths = dict(zip(plain.ids, plain.lengths, strict=False))
    assert 0 in lengths.values()
    for root in ("a", "b", "c", "d", "midpoint"):
        done = gpualign("tree", "d.tsv", "--root", root, cwd=tmp_path)
        assert b":-" not in done.stdout
        assert b"negative length" in done.stderr
        rooted = parse_newick(done.stdout.decode(), "x")
        order = [rooted.ids.index(one) for one in plain.ids]
        np.testing.assert_allclose(path_lengths(rooted)[np.ix_(order, order)], path_lengths(plain), atol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--root", "other_4"], "--root: no record is called 'other_4'; similar ids: 'other_1', 'other_2', 'other_3'"),
        (["--root", "out"], "--root: no record is called 'out'; similar ids: 'OUT'"),
        (["--root", "a_b"], "similar ids: 'a b'"),
        (["--root", "zzzzz"], "--root: no record is called 'zzzzz'; the first id is 'a b'"),
        (["--root", ""], "a name is empty"),
        (["--root", "midpoint", "--method", "upgma"], "--root is for neighbour joining, whose tree has no root of its own; UPGMA's tree"),
        (["--root", "plain", "--method", "mst"], "a spanning tree's is a record"),
    ],
)
def test_refusals(folder, arguments, reason):
    done = gpualign("tree", "d.npz", "-o", "t.nwk", *arguments, cwd=folder, check=False)
    assert done.returncode == 2
    assert reason in re.sub(r"\s+", " ", done.stderr.decode())
    assert not (folder / "t.nwk").exists()


def test_a_record_called_midpoint_is_ambiguous(tmp_path):
    (tmp_path / "d.tsv").write_text("\ta\tb\tmidpoint\na\t0\t1\t9\nb\t1\t0\t1\nmidpoint\t9\t1\t0\n")
    done = gpualign("tree", "d.tsv", "--root", "midpoint", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert b"--root midpoint: a record is called so too, and either could be meant; rename the record" in done.stderr


def test_two_trees_of_the_same_matrix_agree(folder):
    """Rooting changes neither the splits nor the lengths that neighbour joining finds."""
    values = np.load(folder / "d.npz")["distances"]
    ids = np.load(folder / "d.npz")["ids"].tolist()
    tree, _ = neighbour_joining(ids, squareform(values, checks=False)).without_negative_lengths()
    expected = "".join(format_newick(root_at_outgroup(tree, ids.index("OUT"))))
    assert gpualign("tree", "-q", "d.npz", "--root", "OUT", cwd=folder).stdout.decode() == expected
