"""How the rows of heat maps are told apart and put in order, and the histogram of values."""

import re
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from command import gpualign

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from matplotlib.colors import to_hex
from scipy.cluster.hierarchy import leaves_list

from gpualign.cli.inputs.newick import read_tree
from gpualign.cli.inputs.record_groups import read_groups, read_order
from gpualign.core.common.errors import InputError
from gpualign.jobs.plotting.figure import Style, draw_heatmap
from gpualign.jobs.plotting.group_colours import group_strip
from gpualign.jobs.plotting.heatmap import colour_scale, heatmap_of_matrix, linkage_of, tree_order
from gpualign.jobs.plotting.output import RowOrder
from gpualign.jobs.record_groups import Grouping

IDS = ["a", "b", "c", "d"]


def written(tmp_path, text):
    path = tmp_path / "groups.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def some_distances(rng, count, largest=9):
    values = np.triu(rng.integers(1, largest, (count, count)), 1)
    return heatmap_of_matrix(
        values + values.T, [f"s{k}" for k in range(count)], [f"s{k}" for k in range(count)], True, "distance", "distance"
    )


def drawn(heatmap, rows, **style):
    style = Style(**style)
    return draw_heatmap(heatmap, rows.order(heatmap, style.linkage), colour_scale(heatmap, style.vmin, style.vmax), style, rows.groups)


# ---- what is read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\tx\nb\ty\nc\tx\nd\ty\n", [("group", ["x", "y"], [0, 1, 0, 1])]),
        ("id\tward\nd\ty\na\tx\n\nzzz\tw\n", [("ward", ["y", "x"], [1, -1, -1, 0])]),
        (
            'id,ward,ST\r\na,x,1\r\nb,NA,2\r\nc,"x, y",1\r\nd,,2',
            [("ward", ["x", "x, y"], [0, -1, 1, -1]), ("ST", ["1", "2"], [0, 1, 0, 1])],
        ),
        ('"","id","ward"\n"1","a","x"\n"2","d","y"\n', [("ward", ["x", "y"], [0, -1, -1, 1])]),
        (",sample,ward\n0,a,x\n1,d,y\n", [("ward", ["x", "y"], [0, -1, -1, 1])]),
        ('"id" "ward"\n"1" "a" "x"\n"2" "d" "y"\n', [("ward", ["x", "y"], [0, -1, -1, 1])]),
        (",n,ward\na,1,x\nd,2,y\n", [("n", ["1", "2"], [0, -1, -1, 1]), ("ward", ["x", "y"], [0, -1, -1, 1])]),
        ("# made by x, y\nid,ward\na,x\nd,y\n", [("ward", ["x", "y"], [0, -1, -1, 1])]),
        ("# made by x\n\n# in 2026\nstrain\tward\na\tx\nd\ty\n", [("ward", ["x", "y"], [0, -1, -1, 1])]),
        ("# made by x\n#id\tward\na\tx\nd\ty\n", [("ward", ["x", "y"], [0, -1, -1, 1])]),
        ("# made by x\na\tx\nd\ty\n", [("group", ["x", "y"], [0, -1, -1, 1])]),
        ("#made\n#id\tward\na\tx\nd\ty\n", [("ward", ["x", "y"], [0, -1, -1, 1])]),
        ("# made by x, y\nd,y\na,x\n", [("group", ["y", "x"], [1, -1, -1, 0])]),
        ("#ward\na\tx\nd\ty\n", [("#ward", ["x", "y"], [0, -1, -1, 1])]),  # R writes no title above row names
        ('a\t"\nb\tx\n', [("group", ['"', "x"], [0, 1, -1, -1])]),
        (b"\xef\xbb\xbfa\t\xff\n", [("group", ["\udcff"], [0, -1, -1, -1])]),
    ],
)
def test_tables_of_groups(tmp_path, text, expected):
    found = read_groups(written(tmp_path, text), IDS, pytest.fail)
    assert [(g.title, list(g.labels), list(g.label_indices)) for g in found] == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("a\nb\n", "line 1 has one column"),
        ("a\tx\nb\n", "line 2 has 1 columns, line 1 has 2"),
        ("id\tward\n1\tzz\tx\n2\tz\ty\n", "line 2 has 3 columns, line 1 has 2"),
        ("id\tward\na\tx\nb\ty\na\ty\n", "lines 2 and 4 put 'a' in different groups"),
        ("id\tward\nzz\tx\n", "none of its ids is one of the matrix, whose first is 'a'"),
    ],
)
def test_tables_that_are_refused(tmp_path, text, reason):
    with pytest.raises(InputError, match=rf"groups.tsv: .*{reason}"):
        read_groups(written(tmp_path, text), IDS, pytest.fail)


def test_lists_of_ids(tmp_path):
    assert read_order(written(tmp_path, "d\r\nx\n\nb\na\nc"), IDS, pytest.fail) == {"d": 1, "x": 2, "b": 4, "a": 5, "c": 6}
    with pytest.raises(InputError, match="2 of 4 ids of the matrix are not in it, 'b' first"):
        read_order(written(tmp_path, "a\nd\n"), IDS, pytest.fail)
    with pytest.raises(InputError, match="'a' is on lines 1 and 3"):
        read_order(written(tmp_path, "a\nd\na\n"), IDS, pytest.fail)


# ---- colours


@pytest.mark.parametrize("count", [1, 8, 9, 20])
def test_each_group_has_its_own_colour(count):
    found = group_strip(Grouping("g", [f"g{k}" for k in range(count)], [*range(count), -1]))
    assert [label for label, _ in found.legend] == [f"g{k}" for k in range(count)]
    assert list(found.row_colours) == [colour for _, colour in found.legend] + [None]
    assert len(set(found.row_colours)) == count + 1


def test_small_groups_share_a_colour_where_there_are_many(rng):
    of = rng.permutation([k for k in range(30) for _ in range(30 - k)])
    found = group_strip(Grouping("g", [f"g{k}" for k in range(30)], list(of)))
    assert [label for label, _ in found.legend] == [*(f"g{k}" for k in range(19)), "11 others"]
    assert len({colour for _, colour in found.legend}) == 20
    shared = found.legend[-1][1]
    assert [colour == shared for colour in found.row_colours] == [number >= 19 for number in of]


def test_strips_are_beside_their_rows(rng):
    heatmap = some_distances(rng, 12)
    own = [k % 3 - 1 for k in range(12)]
    groups = [Grouping("ward", ["x", "y"], own), Grouping("ST", ["1"], [0] * 12)]
    figure = drawn(heatmap, RowOrder(groups))
    strips = next(axes for axes in figure.axes if [text.get_text() for text in axes.get_xticklabels()] == ["ward", "ST"])
    pixels = np.asarray(strips.images[0].get_array())
    wards = group_strip(groups[0])
    order = tree_order(heatmap, "average").rows
    assert [to_hex(pixel) for pixel in pixels[:, 0]] == [wards.row_colours[k] or "#ffffff" for k in order]
    assert {to_hex(pixel) for pixel in pixels[:, 1]} == {"#e69f00"}
    shown = [(legend.get_title().get_text(), [text.get_text() for text in legend.get_texts()]) for legend in figure.legends]
    assert shown == [("", ["with itself"]), ("ward", ["x", "y", "none"]), ("ST", ["1"])]


def test_the_groups_that_have_no_line_share_a_colour():
    found = group_strip(Grouping("g", list("abcdef"), [0, 1, 1, 2, 3, 3, 4, 5, 5, 5, -1]), 4)
    assert [label for label, _ in found.legend] == ["b", "d", "f", "3 others"]
    assert [label for colour in found.row_colours for label, own in found.legend if own == colour] == (
        ["3 others", "b", "b", "3 others", "d", "d", "3 others", "f", "f", "f"]
    )


def many_groups(rng, rows, title, count, label):
    own = [int(k) for k in rng.integers(-1, count, rows)]
    return Grouping(title, [label.format(k) for k in range(count)], own)


@pytest.mark.parametrize("rows", [1, 2, 5, 31, 200])
@pytest.mark.parametrize("strips", [1, 3, 9])
def test_legends_are_no_higher_than_the_matrix(rng, rows, strips):
    groups = [
        many_groups(rng, rows, f"a title of many words, {k}", 2 + 40 * (k % 3), "a place of a long name, ward {:04}") for k in range(strips)
    ]
    figure = drawn(some_distances(rng, rows), RowOrder(groups))
    cells = max((axes for axes in figure.axes if axes.images), key=lambda axes: axes.get_position().width).get_window_extent()
    bar = next(axes for axes in figure.axes if axes.get_ylabel() == "distance")
    boxes = [legend.get_window_extent() for legend in figure.legends]
    assert len(boxes) == strips + 1
    for box in boxes:
        assert min(cells.y0, bar.get_window_extent().y0) - 1 <= box.y0 < box.y1 <= cells.y1 + 1
    for box, other in combinations([*boxes, bar.get_tightbbox()], 2):
        assert not box.overlaps(other)
    for legend, grouping in zip(figure.legends[1:], groups, strict=True):
        counted = [int(text.get_text().split()[0]) for text in legend.get_texts() if text.get_text().endswith("others")]
        shown = [text.get_text() for text in legend.get_texts() if "others" not in text.get_text() and text.get_text() != "none"]
        assert len(shown) + sum(counted) == len(grouping.labels)


def test_long_texts_of_legends_are_cut(rng):
    figure = drawn(some_distances(rng, 12), RowOrder([Grouping("t" * 99, ["x" * 50 + "\udcff"], [0] * 12)]))
    texts = [figure.legends[1].get_title().get_text(), figure.legends[1].get_texts()[0].get_text()]
    assert texts == ["t" * 20 + "…" + "t" * 19, "x" * 20 + "…" + "x" * 18 + "\N{REPLACEMENT CHARACTER}"]


# ---- order


def test_rows_in_other_orders(rng):
    heatmap = some_distances(rng, 9)
    leaves = list(leaves_list(linkage_of(heatmap, "average")))
    own = [2, 0, 1, -1, 0, 1, 2, 0, -1]
    by_groups = RowOrder([Grouping("g", ["x", "y", "z"], own)], "groups").order(heatmap, "average")
    assert list(by_groups.rows) == sorted(leaves, key=lambda k: own[k] if own[k] >= 0 else 3) == list(by_groups.columns)
    assert list(RowOrder(criterion="input").order(heatmap, "average").rows) == list(range(9))
    places = {f"s{k}": k * 5 % 9 for k in range(9)}
    listed = RowOrder(criterion="list", positions=places).order(heatmap, "average")
    assert [places[heatmap.row_ids[k]] for k in listed.rows] == list(range(9)) == [places[heatmap.column_ids[k]] for k in listed.columns]
    for order in (by_groups, listed):
        assert order.tree is None
    assert len(drawn(heatmap, RowOrder(criterion="input")).axes) == 2  # cells and bar, no tree


def test_two_inputs_in_other_orders(rng):
    heatmap = heatmap_of_matrix(rng.integers(0, 9, (3, 4)), ["q1", "q2", "q3"], ["t1", "t2", "t3", "t4"], False, "distance", "distance")
    by_groups = RowOrder([Grouping("g", ["x", "y"], [1, 0, 1])], "groups").order(heatmap, "average")
    assert by_groups.rows[0] == 1
    assert list(by_groups.columns) == list(tree_order(heatmap, "average").columns)
    places = {name: place for place, name in enumerate(["t4", "q3", "t1", "q1", "t2", "q2", "t3"])}
    listed = RowOrder(criterion="list", positions=places).order(heatmap, "average")
    assert [heatmap.row_ids[k] for k in listed.rows] == ["q3", "q1", "q2"]
    assert [heatmap.column_ids[k] for k in listed.columns] == ["t4", "t1", "t2", "t3"]


# ---- histogram


def histogram_of(figure):
    axes = next((axes for axes in figure.axes if axes.get_xlabel() == "pairs"), None)
    return axes and axes.patches[0].get_data()


def test_small_matrices_show_numbers_and_no_histogram(rng):
    assert histogram_of(drawn(some_distances(rng, 30), RowOrder())) is None
    assert histogram_of(drawn(some_distances(rng, 31), RowOrder())) is not None


@pytest.mark.parametrize(("low", "high"), [(None, None), (3, 6), (2.5, 6.5)])
def test_counts_have_a_line_each(rng, low, high):
    heatmap = some_distances(rng, 40)
    data = histogram_of(drawn(heatmap, RowOrder(), vmin=low, vmax=high))
    upper = heatmap.values[np.triu_indices(40, 1)]
    expected = Counter(int(v) for v in upper if (low or 0) <= v <= (high or 8))
    found = {int(edge + 0.5): int(count) for edge, count in zip(data.edges, data.values, strict=False) if count}
    assert found == expected


def test_other_values_are_counted_in_bins(rng):
    values = rng.random((35, 50))
    values[0, 0] = np.nan
    heatmap = heatmap_of_matrix(values, [f"q{k}" for k in range(35)], [f"t{k}" for k in range(50)], False, "identity", "identity")
    data = histogram_of(drawn(heatmap, RowOrder()))
    assert data.values.sum() == 35 * 50 - 1
    assert (data.edges[0], data.edges[-1]) == (np.nanmin(values), 1)


def test_where_no_pair_has_a_value_there_is_no_line():
    heatmap = heatmap_of_matrix(
        np.full((40, 40), np.nan), [f"s{k}" for k in range(40)], [f"s{k}" for k in range(40)], True, "distance", "distance"
    )
    assert histogram_of(drawn(heatmap, RowOrder())).values.sum() == 0


# ---- the command


def test_the_command_draws_groups(tmp_path, rng):
    heatmap = some_distances(rng, 6)
    np.savez(tmp_path / "d.npz", distances=heatmap.values.astype(np.int32), ids=np.array(heatmap.row_ids))
    (tmp_path / "g.csv").write_text("id,ward\n" + "".join(f"s{k},ward {k % 2}\n" for k in range(6)))
    gpualign("plot", "d.npz", "-o", "x.svg", "--groups", "g.csv", "--order", "groups", cwd=tmp_path)
    text = (tmp_path / "x.svg").read_text()
    assert "<!-- ward 0 -->" in text
    assert "linkage" not in text
    for arguments, reason in (
        (["--order", "groups"], "--order groups: give --groups too"),
        (["--order", "gruops"], "--order gruops: expected tree, input, groups or a file of ids"),
        (["--groups", "d.npz"], "d.npz: "),
        (["--groups", "x.svg"], "x.svg"),
    ):
        done = gpualign("plot", "d.npz", "-o", "x.svg", *arguments, cwd=tmp_path, check=False)
        assert done.returncode == 2
        assert reason in done.stderr.decode()
        assert b"Traceback" not in done.stderr
    assert (tmp_path / "x.svg").read_text() == text


# ---- a tree of the user's


def read(tmp_path, text):
    (tmp_path / "t.nwk").write_text(text)
    return read_tree(str(tmp_path / "t.nwk"), [], pytest.fail)


def test_a_given_tree_is_drawn_with_its_lengths(tmp_path, rng):
    heatmap = some_distances(rng, 4)
    tree = read(tmp_path, "((s2:1,s0:2.5)x:1,s3:0.5,'s1':4);\n")
    order = RowOrder(tree=tree).order(heatmap, "average")
    assert list(order.rows) == [2, 0, 3, 1] == list(order.columns)
    np.testing.assert_allclose(order.tree.leaf_heights, [2, 0.5, 3.5, 0])
    # s2, s0 and their parent at height 3; then that with s3, and s3 with s1, at height 4, the root's.
    np.testing.assert_allclose(order.tree.brackets[:, :, 0], [[2, 3, 3, 0.5], [3, 4, 4, 3.5], [3.5, 4, 4, 0]])
    np.testing.assert_allclose(order.tree.brackets[:, :, 1], [[0, 0, 1, 1], [0.5, 0.5, 2, 2], [2, 2, 3, 3]])
    figure = drawn(heatmap, RowOrder(tree=tree))
    assert figure.axes[0].get_xlabel() == "length of branches"
    assert len(figure.axes[0].collections) == 1  # dotted lines from the leaves to their rows


def test_branches_without_lengths_are_equally_long(tmp_path):
    tree = read(tmp_path, "((a,b),c);")
    assert sorted(tree.lengths.tolist()) == [0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a tree in Newick format, which begins with '('"),
        ("(s0,s1);\n(s2,s3);\n", "more than one tree; expected one"),
        ("(s0,s1", "not a tree in Newick format: 1 '(' without ')'"),
        ("(s0,s1,,s2);", "a leaf has no name"),
        ("(s0,(s1,s0));", "two leaves are called 's0'"),
        ("(s0:1,s1:1e999);", "a branch has the length '1e999' (character 10); expected a finite number"),
        ("(s0,s1,s2);", "tree: 's3' is only in the matrix; the leaves must be the records of the matrix"),
        ("(s0,s1);", "tree: 's2' and 1 more are only in the matrix"),
        ("(s0,s1,s2,s3,zz);", "tree: 'zz' is only in the tree"),
        (f"(s0,s1,s2,s3,{'z' * 99});", "tree: 'zzzzzzzzzzzzzzzzzzzz\\u2026zzzzzzzzzzzzzzzzzzz' is only in the tree"),
        ("(s0,s1,s2,S3);", "tree: 's3' is only in the matrix, and 'S3' is only in the tree; the leaves"),
        (">s0\nACGT\n", "not a tree in Newick format, which begins with '('"),
    ],
)
def test_trees_that_are_refused(tmp_path, rng, text, reason):
    with pytest.raises(InputError, match=re.escape(reason)):
        RowOrder(tree=read(tmp_path, text)).order(some_distances(rng, 4), "average")


def test_a_tree_of_two_inputs_is_refused(tmp_path, rng):
    heatmap = heatmap_of_matrix(rng.integers(0, 9, (2, 2)), ["a", "b"], ["c", "d"], False, "distance", "distance")
    with pytest.raises(InputError, match="the matrix is of two sets"):
        RowOrder(tree=read(tmp_path, "(a,b);")).order(heatmap, "average")
