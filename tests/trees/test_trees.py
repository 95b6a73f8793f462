"""Trees: neighbour joining, UPGMA and spanning trees against plain definitions, Newick's format, and `gpualign tree`."""

import gzip
import io
import math
import re
import shlex
from itertools import combinations

import numpy as np
import pytest
from command import gpualign
from hypothesis import given, settings
from hypothesis import strategies as st
from some_trees import names, path_lengths, random_tree

pytest.importorskip("scipy")

from Bio import Phylo
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from gpualign.core.clustering.edges import Edges
from gpualign.core.trees._joining import Joining
from gpualign.core.trees.methods import dense_spanning_tree, neighbour_joining, sparse_spanning_tree, upgma
from gpualign.core.trees.newick import format_newick
from gpualign.core.trees.tree import Tree


def splits(tree):
    """Of the records, that each branch makes: those on the side without the first."""
    children = tree.children()
    count = len(tree.ids)
    below = {}

    def of(node):
        below[node] = frozenset([node] if node < count else []) | frozenset().union(*(of(child) for child in children[node]))
        return below[node]

    of(int(tree.roots[0]))
    sides = {side if 0 not in side else frozenset(range(count)) - side for side in below.values()}
    return {side for side in sides if 1 < len(side) < count - 1}


def plain_joining(d):
    """Saitou and Nei's recurrence as it is written: (pairs of sets of records that are joined, in their order)."""
    d = d.copy()
    nodes = [(k,) for k in range(len(d))]
    joins = []
    while len(nodes) > 3:
        r = len(nodes)
        u = d.sum(axis=1) / (r - 2)
        q = d - u[:, None] - u[None, :]
        i, j = min(combinations(range(r), 2), key=lambda pair: (q[pair], pair))
        joins.append({nodes[i], nodes[j]})
        made = (d[i] + d[j] - d[i, j]) / 2
        keep = [k for k in range(r) if k not in (i, j)]
        d = np.block([[d[np.ix_(keep, keep)], made[keep][:, None]], [made[keep][None, :], np.zeros((1, 1))]])
        nodes = [nodes[k] for k in keep] + [tuple(sorted(nodes[i] + nodes[j]))]
    return joins


def joins_of(tree):
    """The same of a tree."""
    children, count = tree.children(), len(tree.ids)

    def records(node):
        return (node,) if node < count else tuple(sorted(k for child in children[node] for k in records(child)))

    return [{records(child) for child in children[node]} for node in range(count, len(tree.parents) - 1)]


def some_distances(rng, count, dimensions=4):
    points = rng.random((count, dimensions))
    return np.linalg.norm(points[:, None] - points[None, :], axis=-1)


# ---- neighbour joining


@pytest.mark.parametrize("count", [3, 4, 5, 20, 150])
def test_distances_of_a_tree_give_it_back(rng, count):
    whole = random_tree(rng, count)
    distances = path_lengths(whole)
    tree = neighbour_joining(names(count), squareform(distances, checks=False))
    np.testing.assert_allclose(path_lengths(tree), distances, atol=1e-9)
    assert splits(tree) == splits(whole)


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 30), st.integers(0, 2**32))
def test_it_joins_what_the_recurrence_joins(count, seed):
    """Distances that are no tree's, none of them equal."""
    distances = some_distances(np.random.default_rng(seed), count)
    tree = neighbour_joining(names(count), squareform(distances, checks=False))
    found, expected = joins_of(tree), plain_joining(distances)
    assert found[:-1] == expected[:-1]
    # Of the last four nodes two pairs are equally good, which is the same tree.
    assert len(found) == len(expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 16), st.integers(1, 3), st.integers(0, 2**32))
def test_of_equal_pairs_the_first_is_joined(count, largest, seed):
    """Few different distances, all of them whole numbers."""
    rng = np.random.default_rng(seed)
    values = np.triu(rng.integers(0, largest + 1, (count, count)), 1).astype(float)
    values += values.T
    tree = neighbour_joining(names(count), squareform(values, checks=False))
    first = joins_of(tree)[0]
    sums = values.sum(axis=1)
    q = {pair: (count - 2) * values[pair] - sums[pair[0]] - sums[pair[1]] for pair in combinations(range(count), 2)}
    assert first == {(k,) for k in min(q, key=lambda pair: (q[pair], pair))}


def test_the_join_of_many_nodes_is_in_steps(rng):
    distances = some_distances(rng, 50)
    whole, steps = Joining(distances), Joining(distances)
    assert whole.join(1000) == 0
    assert [steps.join(10) for _ in range(5)] == [37, 27, 17, 7, 0]
    np.testing.assert_array_equal(whole.parents(), steps.parents())
    np.testing.assert_array_equal(whole.lengths(), steps.lengths())
    with pytest.raises(ValueError, match="at least three records"):
        Joining(distances[:2, :2].copy())


def test_records_that_are_all_the_same():
    tree = neighbour_joining(names(40), np.zeros(780))
    assert not tree.lengths.any()
    assert len(tree.roots) == 1


# ---- UPGMA


@pytest.mark.parametrize("count", [2, 3, 60])
def test_upgma_has_the_heights_of_average_linkage(rng, count):
    condensed = squareform(some_distances(rng, count), checks=False)
    tree = upgma(names(count), condensed)
    np.testing.assert_allclose(squareform(path_lengths(tree), checks=False), cophenet(linkage(condensed, "average")), atol=1e-9)


# ---- spanning trees


def kruskal(count, edges):
    """(i, j, distance) of the edges that join parts, shortest first, of equal ones the first."""
    part = list(range(count))
    chosen = set()
    for distance, i, j in sorted((d, i, j) for i, j, d in edges):
        if part[i] != part[j]:
            part = [part[j] if one == part[i] else one for one in part]
            chosen.add((i, j, distance))
    return chosen


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 25), st.floats(0, 1), st.integers(0, 2**32))
def test_the_spanning_forest_is_kruskals(count, share, seed):
    rng = np.random.default_rng(seed)
    pairs = [(i, j, float(rng.integers(0, 4))) for i, j in combinations(range(count), 2) if rng.random() < share]
    i, j, d = (np.array([pair[k] for pair in pairs], dtype=type_) for k, type_ in ((0, np.int64), (1, np.int64), (2, float)))
    condensed = np.full(count * (count - 1) // 2, np.nan)
    condensed[i * (2 * count - i - 1) // 2 + j - i - 1] = d
    tree = sparse_spanning_tree(names(count), Edges(count, i, j, d))
    for one in (tree, dense_spanning_tree(names(count), condensed)):
        branches = enumerate(zip(one.parents.tolist(), one.lengths.tolist(), strict=True))
        found = {(min(node, parent), max(node, parent), length) for node, (parent, length) in branches if parent >= 0}
        assert found == kruskal(count, pairs)
        assert one.parents.tolist() == tree.parents.tolist()
    for root in tree.roots.tolist():  # the first of its part
        assert root == min(k for k in range(count) if root in _way_up(tree, k))


def _way_up(tree, node):
    while node >= 0:
        yield node
        node = int(tree.parents[node])


# ---- Newick's format


def _along(tree):
    """Distances between the records along the trees; infinite between two trees."""

    def way(node):
        found, length = {}, 0.0
        while node >= 0:
            found[node] = length
            length += tree.lengths[node]
            node = tree.parents[node]
        return found

    ways = [way(node) for node in range(len(tree.ids))]
    return [[min((a[node] + b[node] for node in a.keys() & b.keys()), default=math.inf) for b in ways] for a in ways]


@given(st.integers(1, 9), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_every_record_as_a_leaf(count, share, seed):
    """Distances along the tree stay, no record has children, and unnamed nodes have several."""
    rng = np.random.default_rng(seed)
    condensed = np.where(rng.random(count * (count - 1) // 2) < share, rng.integers(0, 4, count * (count - 1) // 2), np.nan)
    tree = dense_spanning_tree(names(count), condensed)
    leaves = tree.with_records_as_leaves()
    assert _along(leaves) == _along(tree)
    children = leaves.children()
    assert not any(children[:count])
    assert all(len(below) >= 2 for below in children[count:])
    read = [Phylo.read(io.StringIO(line), "newick") for line in format_newick(leaves)]
    assert sorted(leaf.name for one in read for leaf in one.get_terminals()) == sorted(names(count))


def test_a_line_for_each_tree():
    tree = Tree(["a", "b", "c d", "it's", ""], np.array([5, 5, 6, -1, 3, 6, -1]), np.array([1, 0.5, 1 / 3, 0, 2, 1e-12, 0]))
    assert list(format_newick(tree)) == ["('':2)'it''s';\n", "('c d':0.3333333333,(a:1,b:0.5):1e-12);\n"]


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 40), st.integers(0, 2**32))
def test_biopython_reads_what_is_written(count, seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, count)
    found = Phylo.read(io.StringIO("".join(format_newick(tree))), "newick")
    depths = {clade.name: depth for clade, depth in found.depths().items() if clade.is_terminal()}
    assert set(depths) == set(tree.ids)
    own = [sum(tree.lengths[node] for node in _way_up(tree, k)) for k in range(count)]
    np.testing.assert_allclose([depths[name] for name in tree.ids], own, rtol=1e-8)


def test_a_chain_of_thousands_is_written():
    count = 5000
    tree = Tree(names(count), np.arange(-1, count - 1), np.ones(count))
    (line,) = format_newick(tree)
    assert line.count("(") == count - 1
    assert line.endswith(")s1:1)s0;\n")


# ---- the command


@pytest.fixture
def folder(tmp_path):
    values = np.rint(some_distances(np.random.default_rng(1), 12) * 40).astype(np.int32)  # of which some are near and some are not
    np.savez(tmp_path / "d.npz", distances=values, ids=np.array(names(12)))
    near = [f"s{i}\ts{j}\t{values[i, j]}\n" for i, j in combinations(range(12), 2) if values[i, j] <= 18]
    (tmp_path / "near.tsv").write_text("query\ttarget\tdistance\n" + "".join(near))
    return tmp_path


def test_the_command_writes_trees(folder):
    values = np.load(folder / "d.npz")["distances"].astype(float)
    for method, make in (("nj", neighbour_joining), ("upgma", upgma)):
        done = gpualign("tree", "d.npz", "--method", method, cwd=folder)
        tree, _ = make(names(12), squareform(values, checks=False)).without_negative_lengths()
        assert done.stdout.decode() == "".join(format_newick(tree))
    gpualign("tree", "d.npz", "--method", "mst", "-o", "links.tsv", cwd=folder)
    rows = [line.split("\t") for line in (folder / "links.tsv").read_text().splitlines()]
    assert rows[0] == ["query", "target", "distance"]
    every = [(i, j, values[i, j]) for i, j in combinations(range(12), 2)]
    assert {(int(a[1:]), int(b[1:]), float(d)) for a, b, d in rows[1:]} == kruskal(12, every)
    done = gpualign("tree", "--edges", "-", "--method", "mst", stdin=(folder / "near.tsv").read_bytes(), cwd=folder)
    assert done.stdout.count(b";") == done.stdout.count(b"\n") >= 1
    gpualign("tree", "-q", "d.npz", "-o", "t.nwk.gz", cwd=folder)
    assert (folder / "t.nwk.gz").read_bytes().startswith(b"\x1f\x8b")


def test_records_without_ids_are_numbered_and_that_is_told(folder):
    np.save(folder / "alone.npy", np.load(folder / "d.npz")["distances"])
    done = gpualign("tree", "alone.npy", "--method", "mst", cwd=folder)
    assert b"alone.npy: no ids in it or beside it; records are numbered from 1\n" in done.stderr
    assert done.stdout.rstrip().endswith(b")1;")


def test_similarities_in_phylip(folder):
    """Percent identities, as fastANI and skani write them, are no distances; fractions are those of a table."""
    rows = [("A", [1, 0.98, 0.97]), ("B", [0.98, 1, 0.8]), ("C", [0.97, 0.8, 1])]
    for name, factor in (("percent", 100), ("fractions", 1)):
        lines = ["\t".join([record, *(f"{factor * value:g}" for value in values)]) + "\n" for record, values in rows]
        (folder / f"{name}.phy").write_text("3\n" + "".join(lines))
        (folder / f"{name}.tsv").write_text("\tA\tB\tC\n" + "".join(lines))
    lower = "3\nA.fa\nB.fa\t98.1\nC.fa\t97.2\t80\n"
    (folder / "fastani.matrix").write_text(lower)
    (folder / "with_diagonal.phy").write_text("3\nA.fa\t0\nB.fa\t98.1\t0\nC.fa\t97.2\t80\t0\n")
    for name in ("percent.phy", "percent.tsv"):
        assert (
            b"holds scores, kinships or percent identities, which are not distances"
            in gpualign("tree", name, cwd=folder, check=False).stderr
        )
    assert b"percent identities (fastANI, skani); write 100 - value" in gpualign("tree", "fastani.matrix", cwd=folder, check=False).stderr
    assert gpualign("tree", "fractions.phy", cwd=folder).stdout == gpualign("tree", "fractions.tsv", cwd=folder).stdout
    assert b"B.fa" in gpualign("tree", "with_diagonal.phy", cwd=folder).stdout
    (folder / "snps.phy").write_text(lower.replace(".1", "").replace(".2", ""))  # whole numbers may be counts of differences
    assert b"B.fa" in gpualign("tree", "snps.phy", cwd=folder).stdout


SQUARE = "\tA\tB\tC\nA\t{0}\t{1}\t{2}\nB\t{1}\t{0}\t{3}\nC\t{2}\t{3}\t{0}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SQUARE.format("", 99.5, 80.2, 81.7), "has no diagonal, so distances and percent identities cannot be told apart"),
        (SQUARE.format("NA", 99.5, 0, 81.7), "has no diagonal, so distances and percent identities cannot be told apart"),
        (SQUARE.format("", 99.5, 45.2, 81.7), "has no diagonal, so distances and percent identities cannot be told apart"),  # Geneious
        (SQUARE.format("", 99.5, 0.2, 81.7), None),
        (SQUARE.format("", 199.5, 60.2, 81.7), None),
        (SQUARE.format("", 99, 45, 81), None),
        (SQUARE.format("", 99, 80, 0), "its whole numbers from 70 to 100, without a diagonal, are taken for distances"),
        (SQUARE.format(0, 99.5, 80.2, 81.7), None),
        ("\tA\tB\tC\nA\nB\t95.5\nC\t90.2\t91.1\n", "may be percent identities (fastANI, skani); write 100 - value, or add"),
        ("\tA\tB\tC\nA\nB\t95\nC\t90\t91\n", "its whole numbers from 70 to 100, without a diagonal, are taken for distances"),
        ("\tA\tB\tC\nA\t\t95.5\t90\nB\t\t\t91.1\nC\t\t\t\n", "may be percent identities (fastANI, skani); write 100 - value, or add"),
        ("4\nA\nB\t99.10\nC\t0.00\t0.00\nD\t0.00\t0.00\t98.30\n", "may be percent identities (fastANI, skani)"),
        ("4\nA\nB\t99\nC\t0\t0\nD\t0\t0\t98\n", "its whole numbers from 70 to 100, without a diagonal, are taken for distances"),
        ("3\nA\nB\t99.1\nC\t0\t60\n", None),
        ("3\nA\nB\t0\nC\t0\t0\n", None),
    ],
)
def test_percent_identities_without_a_diagonal(tmp_path, text, said):
    (tmp_path / "m").write_text(text)
    done = gpualign("tree", "m", cwd=tmp_path, check=False)
    is_note = said is None or "whole numbers" in said
    assert (done.returncode, bool(done.stdout)) == ((0, True) if is_note else (2, False))
    assert (said or "3 records") in done.stderr.decode()
    assert said is not None or b"percent" not in done.stderr


def test_percent_identities_of_a_vector(tmp_path):
    np.save(tmp_path / "m.npy", [99.5, 80.2, 81.7])
    done = gpualign("tree", "m.npy", cwd=tmp_path, check=False)
    assert b"m.npy: has no diagonal, so distances and percent identities cannot be told apart" in done.stderr


@pytest.mark.parametrize("kind", ["distances", "identities"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_errors_on_the_diagonal(tmp_path, kind, dtype):
    values = np.array([[-2.2e-16, 0.5, -2.2e-16], [0.5, 0, 0.75], [-2.2e-16, 0.75, 3e-8]])
    values = (1 - values if kind == "identities" else values).astype(dtype)
    exact = values.round(6)
    for name, some in (("found", values), ("exact", exact)):
        np.save(tmp_path / f"{name}.npy", some)
        rows = "".join(f"{record}\t" + "\t".join(map(repr, row)) + "\n" for record, row in zip("123", some.tolist(), strict=True))
        (tmp_path / f"{name}.tsv").write_text(f"\t1\t2\t3\n{rows}")
        (tmp_path / f"{name}.phy").write_text(f"3\n{rows}")
        (tmp_path / f"{name}.csv").write_text("A,B,C\n" + "".join(",".join(map(repr, row)) + "\n" for row in some.tolist()))
    for suffix in ("npy", "tsv", "phy", "csv"):
        assert gpualign("tree", f"found.{suffix}", cwd=tmp_path).stdout == gpualign("tree", f"exact.{suffix}", cwd=tmp_path).stdout


def test_identities_are_distances_from_one(folder):
    values = np.load(folder / "d.npz")["distances"] / 100
    np.savez(folder / "i.npz", identity=1 - values, ids=np.array(names(12)))
    np.savez(folder / "f.npz", distances=1 - (1 - values), ids=np.array(names(12)))
    assert gpualign("tree", "i.npz", cwd=folder).stdout == gpualign("tree", "f.npz", cwd=folder).stdout


def test_negative_branches_are_told_and_written_as_none(tmp_path):
    (tmp_path / "d.tsv").write_text("\ta\tb\tc\td\na\t0\t1\t9\t9\nb\t1\t0\t1\t9\nc\t9\t1\t0\t1\nd\t9\t9\t1\t0\n")
    done = gpualign("tree", "d.tsv", cwd=tmp_path)
    assert b":-" not in done.stdout
    assert b"negative length, as happens where distances are not those of a tree; 0 is written" in done.stderr


def test_upgma_has_no_branches_of_rounding():
    """Means that are equal, such as of 0.1, 0.2 and 0.3 in two orders, leave no length between two joins."""
    for seed in range(30):
        points = np.random.default_rng(seed).integers(0, 4, (7, 3)) * 0.1
        square = abs(points[:, None] - points[None]).sum(axis=2)
        lengths = upgma([str(k) for k in range(7)], squareform(square, checks=False)).lengths
        assert ((lengths == 0) | (abs(lengths) > 1e-9)).all()


def test_neighbour_joining_has_no_branches_of_rounding(rng):
    """Distances with one decimal, on which sums of floats differ by their order: joined as whole numbers of tenths they are exact."""
    for _ in range(50):
        count = int(rng.integers(3, 8))
        tenths = rng.integers(0, 6, count * (count - 1) // 2)
        ids = [f"r{k}" for k in range(count)]
        found, exact = neighbour_joining(ids, tenths / 10), neighbour_joining(ids, tenths.astype(float))
        if (found.parents == exact.parents).all():  # sums that differ by rounding may make another pair the best
            assert not found.lengths[exact.lengths == 0].any()
        assert (abs(found.lengths[found.lengths != 0]) > 1e-13).all()


def test_what_rounding_makes_of_no_length_is_none(tmp_path):
    """1 - 0.9 and 1 - 0.8 are no sum of tenths to the last bit."""
    (tmp_path / "i.tsv").write_text("\ta\tb\tc\na\t1\t0.9\t0.7\nb\t0.9\t1\t0.8\nc\t0.7\t0.8\t1\n")
    done = gpualign("tree", "i.tsv", cwd=tmp_path)
    assert b":-" not in done.stdout
    assert b"negative" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "give a matrix of distances, or a list of pairs with --edges"),
        (["d.npz", "--edges", "near.tsv"], "found both"),
        (["--edges", "near.tsv"], "--method nj needs the distances of all pairs (--method mst does not), and "),
        (["d.npz", "-o", "x.png"], "to draw it use gpualign plot MATRIX --tree FILE -o x.png"),
        (["--edges", "n.parquet", "--method", "mst"], "n.parquet: a binary file; expected a list of pairs, as .tsv or .csv"),
        (["csr.npz"], "csr.npz: a sparse matrix lacks pairs"),
        (["d.npz", "-o", "x.tsv"], "only --method mst has a table of edges"),
        (["d.npz", "--method", "mst", "-o", "x.csv"], "tree writes Newick, or with --method mst and FILE.tsv a table of edges"),
        (["d.npz", "--leaves"], "--leaves is for --method mst as Newick; other trees have no records inside"),
        (["d.npz", "--leaves", "--method", "mst", "-o", "x.tsv"], "--leaves is for --method mst as Newick; a table has no leaves"),
        (["d.npz", "--method", "upgmma"], "did you mean upgma?"),
        (["d.npz", "-o", "d.npz"], "d.npz"),
        (
            ["nan.tsv", "--method", "upgma"],
            "all pairs (--method mst does not), and 'a' and 'b' have none: make the matrix without such records, as gpualign dist does with"
            " --min-called 0.5",
        ),
        (
            ["scores.npz"],
            "holds scores, kinships or percent identities, which are not distances; write distances: nw with --value distance",
        ),
        (["none"], "none: no such file"),
    ],
)
def test_refusals(folder, arguments, reason):
    (folder / "nan.tsv").write_text("\ta\tb\na\t0\tnan\nb\tnan\t0\n")
    np.savez(folder / "scores.npz", scores=np.array([[5, 2], [2, 5]]), ids=np.array(["a", "b"]))
    (folder / "n.parquet").write_bytes(b"DATA\x15\0\x15\n")
    np.savez(folder / "csr.npz", indices=np.zeros(1), indptr=np.zeros(3), data=np.ones(1), shape=np.array([2, 2]), format=np.array(b"csr"))
    before = sorted(path.name for path in folder.iterdir())
    done = gpualign("tree", *arguments, cwd=folder, check=False)
    assert done.returncode == 2
    assert reason in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("command", [["tree"], ["plot", "-o", "x.png"]], ids=["tree", "plot"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("name", "content", "kind", "commands"),
    [
        ("my genes.fa", b">a\nACGTAC\n>b\nACGAAC\n>c\nTTGAAC\n", "FASTA", ["nw", "dist"]),
        ("r.fq", b"@a\nACGT\n+\nIIII\n@b\nACGA\n+\nIIII\n", "FASTQ", ["nw"]),
        ("x.vcf", b"##fileformat=VCFv4.2\n#CHROM\tPOS\n", "VCF", ["dist"]),
        ("x.bcf", b"BCF\2\2\0\0", "BCF", ["dist"]),
        ("x.bed", b"\x6c\x1b\x01\xff", "a PLINK fileset", ["dist"]),
    ],
)
def test_what_a_matrix_is_made_of_is_named(tmp_path, command, pack, name, content, kind, commands):
    (tmp_path / name).write_bytes(pack(content))
    done = gpualign(*command, name, cwd=tmp_path, check=False)
    assert done.returncode == 2
    told = done.stderr.decode()
    assert f"error: {name} is {kind}; make a matrix first: gpualign {commands[0]} " in told
    advised = [shlex.split(one)[1:] for one in re.findall("gpualign (?:nw|dist) .*?-o x.npz", told)]
    assert [words[0] for words in advised] == commands
    if kind in ("FASTA", "FASTQ"):
        for words in advised:
            gpualign(*words, cwd=tmp_path)
            gpualign(*command, "x.npz", cwd=tmp_path)


def test_records_of_standard_input_have_no_name():
    done = gpualign("tree", "-", stdin=b">a\nACGT\n", check=False)
    assert b"; make a matrix first: gpualign nw FILE --value distance -o x.npz, or for an alignment gpualign dist FILE" in done.stderr


@pytest.mark.parametrize("command", [["tree"], ["plot", "-o", "x.png"]], ids=["tree", "plot"])
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("near.tsv", "query\ttarget\tscore\na\tb\t7\n", "is a list of pairs; expected a matrix: write one"),
        ("near.csv", "query,target,distance\na,b,7\n", "gpualign tree --edges near.csv --method mst"),
        ("my tree.nwk", "((a:1,b:2):1,c:3);\n", "gpualign plot MATRIX --tree 'my tree.nwk' draws both"),
    ],
)
def test_lists_and_trees_are_named(tmp_path, command, name, content, said):
    (tmp_path / name).write_text(content)
    done = gpualign(*command, name, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert said in done.stderr.decode()


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_condensed_matrix_of_one_record(tmp_path, suffix):
    """It has no pairs; its list of ids says that there is a record."""
    (tmp_path / "x.aln").write_text(">only\nACGT\n")
    gpualign("dist", "x.aln", "--condensed", "-o", f"x{suffix}", cwd=tmp_path)
    assert gpualign("tree", f"x{suffix}", cwd=tmp_path).stdout == b"only;\n"
    np.save(tmp_path / "none.npy", np.empty(0))
    assert b"none.npy: an array of 0; expected a matrix" in gpualign("tree", "none.npy", cwd=tmp_path, check=False).stderr
