"""Trees in Newick format: what is written comes back, and what other programs write is read."""

import re

import numpy as np
import pytest
from command import gpualign
from fuzz.trees import NAMES, spellings
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.common.errors import InputError
from gpualign.core.sequences.ids import match_changed_ids
from gpualign.core.trees.newick import format_newick, parse_newick
from gpualign.core.trees.tree import Tree


def test_every_spelling():
    wrong = []
    for one in spellings():
        tree = parse_newick(one.text, "x")
        if tree.ids != one.names or tree.lengths[:3].tolist() != one.lengths:
            wrong.append((one.text, tree.ids, tree.lengths.tolist()))
    assert not wrong


def back(ids):
    """Leaves of a star as they are read again."""
    tree = Tree(ids, np.array([len(ids)] * len(ids) + [-1]), np.arange(len(ids) + 1.0))
    return parse_newick("".join(format_newick(tree)), "x")


@given(st.lists(st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=8), min_size=2, max_size=6, unique=True))
def test_any_names_come_back(ids):
    tree = back(ids)
    assert tree.ids == ids
    assert tree.lengths.tolist() == [*range(len(ids)), 0]


def test_odd_names_come_back_through_the_commands(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("scipy")
    names = [name for name in NAMES if "\t" not in name]  # no id has a tab
    places = np.arange(len(names))
    np.savez(tmp_path / "m.npz", distance=abs(places[:, None] - places), ids=np.array(names))
    gpualign("tree", "-q", "m.npz", "-o", "m.nwk", cwd=tmp_path)
    assert sorted(parse_newick((tmp_path / "m.nwk").read_text(), "x").ids) == sorted(names)
    assert gpualign("plot", "m.npz", "--tree", "m.nwk", "-o", "m.svg", cwd=tmp_path).stderr.count(b"underscores") == 0


def test_a_deep_tree_is_read():
    depth = 20_000
    tree = parse_newick("(" * depth + "a" + "".join(f",b{k})" for k in range(depth)) + ";", "x")
    assert len(tree.ids) == depth + 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(a,b));", "line 1: ');' is out of place"),
        ("(a,\n(b)(c));", "line 2: '(c));' is out of place"),
        ("(a,'b' c);", None),  # a quote that does not end its name is a letter of it
        ("(a:1:2,b);", "line 1: ':2,b);' is out of place"),
        ("(a:x,b);", "a branch has the length 'x' (character 4)"),
        ("(a:,b);", "a branch has the length '' (character 4)"),
        ("(a:1_0,b);", "a branch has the length '1_0'"),
        ("#NEXUS\nbegin trees;", "a NEXUS file; export its tree as Newick"),
        ("[&R]", "which begins with '('"),
        ("(a,b", "1 '(' without ')'"),
    ],
)
def test_texts_that_are_no_trees(text, reason):
    if reason is None:
        assert parse_newick(text, "x").ids == ["a", "'b' c"]
        return
    with pytest.raises(InputError, match=re.escape(reason)):
        parse_newick(text, "x")


# ---- names that formats have changed


@pytest.mark.parametrize(
    ("names", "ids", "changed"),
    [
        (["A_b", "B"], ["A b", "B"], {"A_b": "A b"}),
        (["A b"], ["A_b"], {"A b": "A_b"}),
        (["A_b_c"], ["A b_c"], {"A_b_c": "A b_c"}),
        (["A_b"], ["A b", "A_b"], {}),  # it is an id itself
        (["A_b"], ["A b", "A\u00a0b"], {}),  # two can be meant
        (["A_b", "A b"], ["A b"], {}),  # the other name is the id
        (["A_b", "A b"], ["A\u00a0b"], {}),  # two names for one
        (["x"], ["y"], {}),
    ],
)
def test_ids_with_blanks(names, ids, changed):
    assert match_changed_ids(names, ids) == changed


def test_names_that_phylip_changed(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "m.tsv").write_text("\tA b\tB\tC c\nA b\t0\t1\t2\nB\t1\t0\t3\nC c\t2\t3\t0\n")
    (tmp_path / "t.nwk").write_text("((A_b:1,B:2):1,C_c:3);\n")
    (tmp_path / "groups.tsv").write_text("id\tward\nA_b\t1\nB\t1\nC_c\t2\n")
    (tmp_path / "order.txt").write_text("C_c\nB\nA_b\n")
    for words in (["--tree", "t.nwk"], ["--groups", "groups.tsv"], ["--order", "order.txt"]):
        done = gpualign("plot", "m.tsv", *words, "-o", "m.svg", cwd=tmp_path)
        said = f"{words[1]}: 2 names match ids if blanks and underscores are alike, such as 'A_b' for 'A b'"
        assert said in done.stderr.decode()
