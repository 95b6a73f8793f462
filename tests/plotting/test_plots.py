"""Heat maps: what is drawn, from what, and what is refused."""

import io
import zipfile
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from command import gpualign, gpualign_here
from places import DATA

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from scipy.cluster.hierarchy import cophenet, dendrogram
from scipy.spatial.distance import squareform

from gpualign.core.common.errors import InputError
from gpualign.jobs.plotting.figure import Style, draw_heatmap
from gpualign.jobs.plotting.heatmap import (
    block_means,
    cell_texts,
    colour_scale,
    guess_kind,
    heatmap_of_matrix,
    heatmap_to_distances,
    linkage_of,
    shorten_names,
    tree_order,
)
from gpualign.jobs.plotting.heatmap_colours import DIAGONAL_COLOUR, MISSING_COLOUR

pytestmark = pytest.mark.slow


def heat_of(values, kind="distance", ids=None, columns=None):
    """Of a square matrix of one set, or with `columns` of two sets."""
    values = np.asarray(values)
    ids = ids or [f"s{k}" for k in range(len(values))]
    return heatmap_of_matrix(values, ids, columns or ids, columns is None, kind, kind)


def figure_of(heatmap, **style):
    style = Style(**style)
    return draw_heatmap(heatmap, tree_order(heatmap, style.linkage), colour_scale(heatmap, style.vmin, style.vmax), style)


def cells_of(figure):
    return next(axes for axes in figure.axes if axes.images)


def bar_of(figure):
    """The axes of the bar of colours, which are as narrow as no other."""
    return min(figure.axes, key=lambda axes: axes.get_position().width)


def pixels_of(figure):
    return np.asarray(cells_of(figure).images[0].get_array())


def legend_of(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def symmetric(rng, low, high, count):
    values = np.triu(rng.integers(low, high, (count, count)), 1)
    return values + values.T


def blocks(rng, count):
    """Distances of two groups whose members alternate."""
    group = np.arange(count) % 2
    distances = np.where(group[:, None] == group[None, :], 1.0, 9.0) + rng.random((count, count)) / 10
    distances = (distances + distances.T) / 2
    np.fill_diagonal(distances, 0)
    return distances


# ---- what the colours say


def brightness(pixels):
    return pixels[..., :3] @ np.array([0.2126, 0.7152, 0.0722])


def test_isolates_that_are_all_far_apart_show_no_cluster(rng):
    values = symmetric(rng, 88, 109, 10)
    values[0, 1:3] = values[1:3, 0] = 88, 108
    figure = figure_of(heat_of(values))
    assert bar_of(figure).get_ylim() == (0, 108)
    pixels = pixels_of(figure)
    diagonal = np.eye(10, dtype=bool)
    assert (pixels[diagonal] == DIAGONAL_COLOUR).all()
    assert not (pixels[~diagonal] == DIAGONAL_COLOUR).all(axis=-1).any()
    # The smallest distance is drawn at 88/108 of the map: in its bright half, where the colour of 0 is nearly black.
    assert brightness(pixels[~diagonal]).min() > 130
    assert legend_of(figure) == ["with itself"]


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("distance", [[0, 3], [3, 0]], (0, 3, "neither")),
        ("distance", [[0, 0], [0, 0]], (0, 1, "neither")),
        ("distance", [[0, np.nan], [np.nan, 0]], (0, 1, "neither")),
        ("identity", [[1, 0.7], [0.7, 1]], (0.7, 1, "neither")),
        ("identity", [[1, 1], [1, 1]], (0, 1, "neither")),
        ("score", [[9, 5], [5, 8]], (0, 5, "neither")),
        ("score", [[9, -5], [-5, 8]], (-5, 0, "neither")),
    ],
)
def test_the_scale_begins_at_what_is_the_same(kind, values, expected):
    scale = colour_scale(heat_of(values, kind), None, None)
    assert (scale.low, scale.high, scale.extend) == expected


def test_given_ends_of_the_scale():
    heatmap = heat_of([[0, 3, 7], [3, 0, 9], [7, 9, 0]])
    found = [colour_scale(heatmap, low, high) for low, high in ((None, 8), (4, None), (4, 8), (1, 20))]
    assert [(s.low, s.high, s.extend) for s in found] == [(0, 8, "max"), (4, 9, "min"), (4, 8, "both"), (1, 20, "neither")]
    with pytest.raises(InputError, match=r"vmin=10: the colours would go from 10 to 9; values are from 3 to 9"):
        colour_scale(heatmap, 10, None)


def test_identities_look_like_their_distances(rng):
    distances = symmetric(rng, 0, 100, 12) / 128
    first, second = figure_of(heat_of(distances)), figure_of(heat_of(1 - distances, "identity"))
    np.testing.assert_allclose(brightness(pixels_of(first)), brightness(pixels_of(second)), atol=2)


def test_pairs_without_a_value_have_a_colour_of_their_own(rng):
    values = symmetric(rng, 5, 90, 6).astype(float)
    values[1, 4] = values[4, 1] = np.nan
    values[2, 3] = values[3, 2] = np.inf
    figure = figure_of(heat_of(values))
    assert legend_of(figure) == ["with itself", "no distance"]
    assert (pixels_of(figure) == MISSING_COLOUR).all(axis=-1).sum() == 4
    assert bar_of(figure).get_ylim()[1] == values[np.isfinite(values)].max()
    assert legend_of(figure_of(heat_of(np.full((3, 3), np.nan), "score"))) == ["with itself", "no value"]


def test_means_of_many_pairs(rng):
    values = rng.random((7, 5))
    values[0:2, 0:2] = np.nan
    values[4, 4] = np.nan
    means = block_means(values, 2, 3)
    assert means.shape == (4, 2)
    for i in range(4):
        for j in range(2):
            block = values[2 * i : 2 * i + 2, 3 * j : 3 * j + 3]
            np.testing.assert_allclose(means[i, j], block[~np.isnan(block)].mean())
    assert np.isnan(block_means(np.full((2, 2), np.nan), 2, 2)).all()
    figure = figure_of(heat_of(blocks(rng, 801)))
    assert pixels_of(figure).shape == (401, 401, 4)
    assert "801 samples, a cell is the mean of 2 x 2 pairs" in cells_of(figure).get_xlabel()
    assert legend_of(figure) == []  # the diagonal is in no mean
    assert (pixels_of(figure) == DIAGONAL_COLOUR).all(axis=-1).sum() == 1  # the last record, which is in a cell of its own


# ---- order and tree


@pytest.mark.parametrize("count", [2, 10, 100, 150, 700])
def test_alike_samples_stand_together(rng, count):
    heatmap = heat_of(blocks(rng, count))
    groups = [k % 2 for k in tree_order(heatmap, "average").rows]
    assert sum(a != b for a, b in pairwise(groups)) == 1
    figure = figure_of(heatmap)
    cells = cells_of(figure)
    names = [label.get_text() for label in cells.get_yticklabels()]
    assert len(names) == (count if count <= 150 else 0)
    assert len(cells.texts) == (count * count if count <= 30 else 0)
    if names:
        assert [int(name[1:]) % 2 for name in names] == groups
        size = cells.get_yticklabels()[0].get_fontsize()
        assert size >= 5
        assert count * size <= figure.get_size_inches()[1] * cells.get_position().height * 72  # names do not overlap


@pytest.mark.parametrize("method", ["average", "complete", "single", "weighted"])
def test_the_tree_is_that_of_scipy(rng, method):
    values = blocks(rng, 40)
    order = tree_order(heat_of(values), method)
    joins = linkage_of(heat_of(values), method)
    theirs = dendrogram(joins, no_plot=True)
    assert theirs["leaves"] == list(order.rows)
    ours = order.tree.brackets
    expected = sorted(zip(theirs["dcoord"], (np.array(theirs["icoord"]) / 10 - 0.5).tolist(), strict=True))
    found = sorted((list(corners[:, 0]), list(corners[:, 1])) for corners in ours)
    np.testing.assert_allclose(found, expected)
    if method == "single":  # the largest step of the best way between two samples: Floyd and Warshall's recurrence
        steps = values.copy()
        for k in range(len(steps)):
            steps = np.minimum(steps, np.maximum(steps[:, k, None], steps[None, k, :]))
        np.testing.assert_allclose(squareform(cophenet(joins)), steps)


def test_a_chain_of_thousands_is_drawn(rng):
    """Single linkage joins one sample after another, and a function that calls itself a merge would go too deep."""
    places = np.cumsum(np.arange(3000))
    order = tree_order(heat_of(np.abs(places[:, None] - places[None, :])), "single")
    assert sorted(order.rows) == list(range(3000))
    assert order.tree.brackets[:, 1, 0].max() == 2999


def test_the_tree_has_an_axis():
    heatmap = heat_of(np.array([[0, 2, 8], [2, 0, 10], [8, 10, 0]]))
    figure = figure_of(heatmap, linkage="complete")
    tree = figure.axes[0]
    assert tree.get_xlabel() == "distance\n(complete linkage)"
    assert tree.xaxis.get_visible()
    left, right = tree.get_xlim()
    assert left >= 10 > right == 0
    assert tree.get_position().x1 < cells_of(figure).get_position().x0
    for kind, expected in (("identity", "1 − identity"), ("score", "mean self-score − score")):
        assert tree_order(heat_of([[1, 0.5], [0.5, 1]], kind), "average").tree.height_label == f"{expected}\n(average linkage)"


def test_scores_are_turned_into_distances():
    scores = np.array([[10, 8, 1], [8, 12, 2], [1, 2, 6]])
    np.testing.assert_allclose(heatmap_to_distances(heat_of(scores, "score")), [[0, 3, 7], [3, 0, 7], [7, 7, 0]])
    condensed = heatmap_of_matrix(np.array([8, 1, 2]), list("abc"), list("abc"), True, "score", "score")
    np.testing.assert_allclose(heatmap_to_distances(condensed), [[0, 0, 7], [0, 0, 6], [7, 6, 0]])
    distances = np.array([[0, 3, np.nan], [3, 0, 5], [np.nan, 5, 0]])
    np.testing.assert_array_equal(heatmap_to_distances(heat_of(distances)), [[0, 3, 5], [3, 0, 5], [5, 5, 0]])


def test_two_sets_are_ordered_by_their_profiles(rng):
    rows, columns = np.arange(40) % 2, np.arange(14) % 2
    values = np.where(rows[:, None] == columns, 3, 50) + rng.integers(0, 5, (40, 14))
    heatmap = heat_of(values, columns=[f"t{k}" for k in range(14)])
    order = tree_order(heatmap, "average")
    assert order.tree is None
    for found in (rows[order.rows], columns[order.columns]):
        assert sum(a != b for a, b in pairwise(found)) == 1
    figure = figure_of(heatmap)
    assert legend_of(figure) == []
    assert [t.get_text() for t in cells_of(figure).get_xticklabels()] == [f"t{k}" for k in order.columns]
    # The largest rectangles stay in the order of their files, so that drawing ends.
    assert list(tree_order(heat_of(np.zeros((3000, 1500)), columns=["t"] * 1500), "average").rows) == list(range(3000))


# ---- names and numbers


def test_long_ids_are_cut_in_the_middle():
    ids = [f"hCoV-19/England/CAMC-1234567{k}/2021|EPI_ISL_123456{k}|2021-03-1{k}" for k in range(5)]
    for name, whole in zip(shorten_names(ids), ids, strict=True):
        head, tail = name.split("…")
        assert len(name) == 40
        assert whole.startswith(head)
        assert whole.endswith(tail)
    same_ends = [f"{'a' * 40}{k}{'b' * 40}" for k in range(3)]
    assert shorten_names(same_ends) == same_ends  # cut, they would be one
    assert shorten_names(["x" * 40, "y"]) == ["x" * 40, "y"]
    assert shorten_names([]) == []
    assert shorten_names(["a\x07b\udcff"]) == ["a\ufffdb\ufffd"]


def test_ids_are_no_formulas():
    figure = figure_of(heat_of([[0, 1], [1, 0]], ids=["$x_1$", "50%_a^b"]), title="$y")
    figure.savefig(io.BytesIO())
    assert {t.get_text() for t in cells_of(figure).get_yticklabels()} == {"$x_1$", "50%_a^b"}


def test_nothing_overlaps_and_nothing_is_cut_off(tmp_path, rng):
    """On the page: the ids' boxes are beside each other, the bar is right of all of them, and the file shows every text."""
    ids = [f"2024-ward-{k}-" + "W" * 20 for k in range(40)]
    figure = figure_of(heat_of(symmetric(rng, 0, 60, 40), ids=ids), title="A title of many words " * 9)
    figure.savefig(tmp_path / "x.png", dpi=72, bbox_inches="tight")
    cells = cells_of(figure)
    right = [label.get_window_extent() for label in cells.get_yticklabels()]
    below = [label.get_window_extent() for label in cells.get_xticklabels()]
    assert all(a.y0 >= b.y1 - 1 for a, b in pairwise(right))
    assert all(a.x1 <= b.x0 + 1 for a, b in pairwise(below))
    assert max(box.x1 for box in right) < bar_of(figure).get_window_extent().x0
    title = figure.texts[0].get_window_extent()
    assert title.y0 >= cells.get_window_extent().y1
    assert title.x1 <= figure.get_tightbbox().x1 * figure.dpi + 1


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("distance", [[0, 108], [108, 0]], "108"),
        ("distance", [[0, 0.25], [0.25, 0]], "0.250"),
        ("distance", [[0, 1.234e-5], [1.234e-5, 0]], "1.23"),
        ("distance", [[0, 1234567], [1234567, 0]], "1.23"),
        ("identity", [[1, 0.97251], [0.97251, 1]], "0.973"),
        ("score", [[7800, -12], [-12, 7800]], "-12"),
        ("distance", [[0, np.nan], [np.nan, 0]], ""),
    ],
)
def test_numbers_in_cells(kind, values, expected):
    heatmap = heat_of(values, kind)
    assert cell_texts(heatmap)[0][1] == expected
    assert sorted(t.get_text() for t in cells_of(figure_of(heatmap)).texts).count(expected) >= 2


def test_small_and_large_numbers_have_a_unit():
    figure = figure_of(heat_of([[0, 4e-5], [4e-5, 0]]))
    assert bar_of(figure).get_ylabel() == "distance (× 10⁻⁵)"
    assert figure.axes[0].get_xlabel().startswith("distance (× 10⁻⁵)")
    figure.draw_without_rendering()
    labels = [t.get_text() for axes in (bar_of(figure).yaxis, figure.axes[0].xaxis) for t in axes.get_ticklabels()]
    assert {"0", "4"} <= set(labels)
    assert not any("e" in text for text in labels)


@pytest.mark.parametrize(
    ("values", "name", "one_set", "expected"),
    [
        ([[0, 3], [3, 0]], None, True, "distance"),
        ([[0, 3], [3, 0]], "scores", True, "distance"),
        ([[0, -3], [-3, 0]], "scores", True, "score"),
        ([[0, -1, -2], [-1, 0, -3], [-2, -3, 0]], None, True, "score"),
        ([[0, -1, 5], [-1, 0, 6], [5, 6, 0]], None, True, "distance"),
        ([[0, -1, 5], [-1, 0, 6], [5, 6, 0]], "scores", True, "score"),
        ([[1, 0.5], [0.5, 0.99]], None, True, "identity"),
        ([[9, 5], [5, 8]], None, True, "score"),
        ([[1, 0.5], [0.5, 1]], "distances", True, "distance"),
        ([[1, 0.5], [0.5, 1]], None, False, "value"),
        ([[1, 0.5], [0.5, 1]], "identity", False, "identity"),
        ([[1, 5]], "scores", False, "score"),
        ([3, 4, 5], None, True, "distance"),
        ([3, 4, 5], "distance", True, "distance"),
        ([3, 4, 5], "scores", True, None),
        ([3, 4, -5], None, True, None),
    ],
)
def test_what_a_matrix_holds(values, name, one_set, expected):
    assert guess_kind(np.array(values), name, one_set) == expected


# ---- the commands: in this process, which has matplotlib, where no more is asked than what they draw


def texts_of(figure_svg):
    """The texts of an .svg, which matplotlib writes as comments beside their outlines."""
    return [line.strip()[5:-4] for line in figure_svg.read_text().splitlines() if line.strip().startswith("<!-- ")]


def test_commands_draw_what_they_computed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gpualign("dist", DATA / "snps.tsv", "-o", "d.npy", "--plot", "direct.svg", "--device", "cpu", cwd=tmp_path)
    label = "hamming distance (differing sites)"
    for name in ("d.npy", "d.npz", "c.npy"):
        if name != "d.npy":
            extra = ["--condensed"] if name == "c.npy" else []
            gpualign_here("dist", DATA / "snps.tsv", "-o", name, *extra, "--device", "cpu")
        gpualign_here("plot", name, "-o", f"{name}.svg", "--label", label)
        assert (tmp_path / f"{name}.svg").read_bytes() == (tmp_path / "direct.svg").read_bytes(), name
    ElementTree.parse(tmp_path / "direct.svg")
    done = gpualign("plot", "-", "-o", "p.png", "--title", "Ward 3", stdin=(tmp_path / "d.npz").read_bytes(), cwd=tmp_path)
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert b"gpualign plot: drawing 16 samples as p.png\ngpualign plot: ordered in " in done.stderr
    assert gpualign_here("plot", "-q", "d.npy", "-o", "p.pdf") == (b"", "")
    assert (tmp_path / "p.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ([], "score"),
        (["--value", "identity"], "identity"),
        (["--value", "distance"], "distance (1 − identity)"),
        (["--edit"], "edit distance"),
    ],
)
def test_nw_draws_its_matrix(tmp_path, monkeypatch, options, label):
    monkeypatch.chdir(tmp_path)
    records = (DATA / "16s_small.fasta").read_text().split(">")[1:7]
    (tmp_path / "x.fa").write_text("".join(f">{record}" for record in records))
    _, errors = gpualign_here("nw", "x.fa", *options, "-o", "m.npz", "--plot", "m.svg", "--device", "cpu")
    texts = texts_of(tmp_path / "m.svg")
    assert label in " ".join(texts)  # in lines as long as the bar
    assert {"with itself", records[0].split()[0]} <= set(texts)
    assert "drawing 6 samples as m.svg" in errors
    gpualign_here("plot", "m.npz", "-o", "later.svg", "--label", label)
    assert (tmp_path / "later.svg").read_bytes() == (tmp_path / "m.svg").read_bytes()


def test_two_inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.fa").write_text(">q1\nACGTACGT\n>q2\nACGAAAGT\n")
    (tmp_path / "t.fa").write_text(">t1\nACGTACGT\n>t2\nACTTAGGT\n>t3\nTTTTTTTT\n")
    for name in ("m.npy", "m.npz", "m.tsv"):
        gpualign_here("nw", "q.fa", "t.fa", "-o", name, "--format", "matrix" if name == "m.tsv" else name[2:], "--device", "cpu")
        gpualign_here("plot", name, "-o", f"{name}.svg", "--value", "score")
        assert (tmp_path / f"{name}.svg").read_bytes() == (tmp_path / "m.npy.svg").read_bytes()
    assert {"q1", "q2", "t1", "t2", "t3", "score"} <= set(texts_of(tmp_path / "m.npy.svg"))
    assert "with itself" not in texts_of(tmp_path / "m.npy.svg")
    alignment = tmp_path / "core.aln"
    alignment.write_text(">a\nACGT\n>b\nACGA\n")
    gpualign_here("dist", alignment, alignment, "-o", "d.npz", "--plot", "d.svg", "--device", "cpu")
    assert "hamming distance" in texts_of(tmp_path / "d.svg")


def test_the_same_ids_in_two_files_are_two_sets(tmp_path):
    """Only a symmetric matrix is of one set."""
    (tmp_path / "m.tsv").write_text("\ta\tb\na\t3\t1\nb\t2\t0\n")
    gpualign("plot", "m.tsv", "-o", "m.svg", cwd=tmp_path)
    assert "with itself" not in texts_of(tmp_path / "m.svg")
    assert "value" in texts_of(tmp_path / "m.svg")


def test_pictures_of_thousands_are_small(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = rng.random((1940, 1940))
    np.save(tmp_path / "m.npy", np.tril(values, -1) + np.tril(values, -1).T)
    for name in ("m.png", "m.svg"):
        gpualign_here("plot", "m.npy", "-o", name)

    assert (tmp_path / "m.png").stat().st_size < 2_000_000
    root = ElementTree.parse(tmp_path / "m.svg").getroot()
    names = [element.tag.split("}")[1] for element in root.iter()]
    assert names.count("image") >= 1
    assert len(names) < 500


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["plot", "m.tsv", "-o", "m.gif"], "m.gif: expected a name that ends in .png, .svg, .pdf"),
        (
            ["plot", "m.tsv", "-o", "m.png", "--cmap", "virids"],
            "--cmap virids: matplotlib has no colours of this name; it has for instance viridis",
        ),
        (["plot", "m.tsv", "-o", "m.png", "--vmin", "9"], "--vmin 9: the colours would go from 9 to 3"),
        (["plot", "m.tsv", "-o", "m.png", "--vmax", "nan"], "'--vmax': expected a number from -2^53 to 2^53, found 'nan'"),
        (["plot", "m.npz", "-o", "m.png"], "say which with --value"),
        (["plot", "n.tsv", "-o", "m.png"], "n.tsv: distances by its diagonal of 0, but -1 is negative; write nan if a pair has no"),
        (["plot", "no.npy", "-o", "m.png"], "no.npy: no such file"),
        (["nw", "m.fa", "--plot", "m.png"], "--plot draws a matrix, and tsv is a table of pairs"),
        (["nw", "m.fa", "-o", "m.npy", "--plot", "m.bmp"], "m.bmp: expected a name that ends in"),
        (["dist", "m.fa", "--max-distance", "3", "--plot", "m.png"], "--plot draws every pair"),
    ],
)
def test_refusals(tmp_path, command, message):
    (tmp_path / "m.tsv").write_text("\ta\tb\na\t0\t3\nb\t3\t0\n")
    (tmp_path / "n.tsv").write_text("\ta\tb\tc\na\t0\t-1\t5\nb\t-1\t0\t6\nc\t5\t6\t0\n")
    (tmp_path / "m.fa").write_text(">a\nACGT\n>b\nACGA\n")
    np.savez(tmp_path / "m.npz", scores=np.array([3]))
    before = sorted(tmp_path.iterdir())
    done = gpualign(*command, cwd=tmp_path, check=False)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr.decode()
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_that_is_not_there_is_found_out_before_the_work(tmp_path):
    (tmp_path / "m.fa").write_text(">a\nACGT\n>b\nACGA\n")
    done = gpualign("nw", "m.fa", "-o", "m.npy", "--plot", "no/m.png", "--device", "cpu", cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert b"cannot write no/m.png" in done.stderr
    assert not (tmp_path / "m.npy").exists()


def test_only_drawing_imports_the_libraries(tmp_path):
    (tmp_path / "m.fa").write_text(">a\nACGT\n>b\nACGA\n")
    done = gpualign("nw", "m.fa", "-o", "m.npy", "--device", "cpu", cwd=tmp_path, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert b"gpualign.jobs.output.pairs" in done.stderr
    assert b"matplotlib" not in done.stderr
    assert b"scipy" not in done.stderr


@pytest.mark.parametrize("value", [5e-324, 1e-310, 2e-308, 1e-300])
def test_values_below_the_normal_ones_are_drawn(tmp_path, value):
    np.save(tmp_path / "m.npy", np.array([[0, value, value / 2], [value, 0, value], [value / 2, value, 0]]))
    gpualign_here("plot", tmp_path / "m.npy", "-o", tmp_path / "m.png")
    assert (tmp_path / "m.png").stat().st_size > 1000


@pytest.mark.parametrize("option", ["--label", "--title"])
def test_bytes_that_are_no_text_are_no_label(tmp_path, option):
    np.save(tmp_path / "m.npy", np.array([[0, 1.0], [1, 0]]))
    with pytest.raises(InputError, match=rf"{option} 'a\\udcff': these bytes are not text in UTF-8"):
        gpualign_here("plot", tmp_path / "m.npy", "-o", tmp_path / "m.png", option, "a\udcff")


def test_ids_beyond_the_last_code_point_are_damage(tmp_path):
    arrays = {"distance": np.array([[0, 1.0], [1, 0]]), "ids": np.array(["a", "b"])}
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        for name, array in arrays.items():
            file = io.BytesIO()
            np.save(file, array)
            raw = file.getvalue()
            archive.writestr(f"{name}.npy", raw if name == "distance" else raw[:-4] + (0x110000).to_bytes(4, "little"))
    for command in (("tree", tmp_path / "m.npz"), ("cluster", "--distances", tmp_path / "m.npz", "--max-distance", "1")):
        with pytest.raises(InputError, match=r"damaged \.npz file \(the array 'ids'"):
            gpualign_here(*command)
