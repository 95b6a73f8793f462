"""`gpualign.tree`: the trees of `gpualign tree`."""

import io
import logging

import numpy as np
import pytest
from command import gpualign as run

import gpualign

pytest.importorskip("scipy")

import Bio
from Bio import Phylo

BIOPYTHON = tuple(int(part) for part in Bio.__version__.split(".")[:2])
TREES = [("nj", None), ("nj", "midpoint"), ("nj", "outgroup"), ("upgma", None), ("mst", None)]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "root"), TREES)
@pytest.mark.parametrize("value", ["distance", "identity", "edit"])
def test_a_tree_is_that_of_the_command(tmp_path, small_16s, value, method, root):
    genes = gpualign.read(small_16s)
    root = genes.ids[7] if root == "outgroup" else root
    made = {"scoring": gpualign.EDIT} if value == "edit" else {"value": value}
    run("nw", small_16s, "-o", tmp_path / "m.npz", *(["--edit"] if value == "edit" else ["--value", value]))
    told = run("tree", tmp_path / "m.npz", "--method", method, *(["--root", root] if root else [])).stdout.decode()
    found = gpualign.tree(gpualign.nw(genes, **made), method=method, root=root)
    assert f"{found}\n" == told
    assert found.newick == str(found)
    assert repr(found) == f"<Tree: 60 records, {method}>"
    assert {clade.name for clade in Phylo.read(io.StringIO(found.newick), "newick").find_clades() if clade.name} == set(genes.ids)


@pytest.mark.skipif(BIOPYTHON < (1, 85), reason="Biopython before 1.85 misreads a doubled quote")
def test_a_tree_of_samples():
    rng = np.random.default_rng(3)
    found = gpualign.dist(rng.integers(0, 3, (12, 200)), metric="ibs", ids=[f"it's {k}" for k in range(12)])
    read = Phylo.read(io.StringIO(str(gpualign.tree(found, "upgma"))), "newick")
    assert sorted(leaf.name for leaf in read.get_terminals()) == sorted(found.ids)
    heights = read.depths()
    assert np.allclose([heights[leaf] for leaf in read.get_terminals()], max(heights.values()))


def test_parts_without_known_distances_are_trees_of_their_own(caplog):
    found = gpualign.dist([["A", "C", None], ["A", "A", None], [None, None, "A"]], ids=["a", "b", "c"])
    with caplog.at_level(logging.INFO, "gpualign"):
        assert gpualign.tree(found, "mst").newick == "(b:1)a;\nc;"
    assert gpualign.tree(found, "mst", leaves=True).newick == "c;\n(a:0,b:1);"
    with pytest.raises(gpualign.InputError, match="leaves is for the method mst"):
        gpualign.tree(found, "upgma", leaves=True)
    assert "2 trees, as no known distance leads from one to the other" in caplog.text


def test_small_matrices():
    calls = [["A", "C"], ["T", "T"]]
    assert str(gpualign.tree(gpualign.dist(calls[:1], ids=["a"]), "upgma")) == "a;"
    assert str(gpualign.tree(gpualign.dist(calls, ids=["a", "b"]), "upgma")) == "(a:1,b:1);"
