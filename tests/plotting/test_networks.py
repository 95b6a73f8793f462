"""`gpualign plot --network`: which circles and lines there are, in which colours, and what is refused."""

from itertools import combinations

import numpy as np
import pytest
from cluster_command import clusters
from command import gpualign, gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualign as package

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from matplotlib.colors import to_hex
from matplotlib.patches import Circle, Wedge
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import squareform

from gpualign.core.common.errors import InputError
from gpualign.core.trees.methods import dense_spanning_tree
from gpualign.jobs.plotting.group_colours import colour_strips_of
from gpualign.jobs.plotting.network import MAX_CLUSTERS, cluster_shares, network_of
from gpualign.jobs.plotting.network_figure import draw_network
from gpualign.jobs.plotting.quantities import parse_quantity
from gpualign.jobs.record_groups import make_grouping


def names(count):
    return [f"s{k}" for k in range(count)]


def network(condensed, collapse=0.0):
    condensed = np.asarray(condensed, dtype=float)
    count = round((1 + (1 + 8 * len(condensed)) ** 0.5) / 2)
    return network_of(dense_spanning_tree(names(count), condensed), collapse, collapse)


def line(*places):
    """Network of samples on a line, in which equal places are one circle."""
    return network([abs(a - b) for a, b in combinations(places, 2)])


# ---- what there is to draw


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 14), st.integers(0, 4), st.booleans(), st.integers(0, 2**32 - 1))
def test_circles_are_single_linkage_and_lines_their_spanning_tree(count, collapse, has_gaps, seed):
    rng = np.random.default_rng(seed)
    condensed = rng.integers(0, 9, count * (count - 1) // 2).astype(float)
    condensed[rng.random(len(condensed)) < 0.3 * has_gaps] = np.nan
    found = network(condensed, collapse)
    square = squareform(np.where(np.isnan(condensed), np.inf, condensed))
    label = list(range(count))
    for a, b in combinations(range(count), 2):
        if square[a, b] <= collapse:
            label = [label[b] if one == label[a] else one for one in label]
    expected = {frozenset(k for k in range(count) if label[k] == one) for one in label}
    assert [list(own) for own in found.members] == sorted(map(sorted, expected))
    between = np.array([[square[np.ix_(a, b)].min() for b in found.members] for a in found.members])
    np.fill_diagonal(between, 0)
    assert all(distance == between[a, b] for (a, b), distance in zip(found.links.tolist(), found.distances, strict=True))
    best = minimum_spanning_tree(np.where(np.isinf(between), 0, between))
    assert (len(found.links), found.distances.sum()) == (best.nnz, best.sum())


def test_names_of_circles():
    assert line(0, 3, 0, 7, 3, 0).names() == ["s0 +2", "s1 +1", "s3"]


def test_shares_of_circles():
    one = line(0, 0, 0, 5, 5, 9)
    cells = ["home", "ward", "home", "", "home", "NA"]
    (strip,) = colour_strips_of([make_grouping("place", cells, cells)], 20)
    home, ward = (colour for _, colour in strip.legend)
    assert cluster_shares(one, strip) == [[(home, 2), (ward, 1)], [(home, 1), ("#ffffff", 1)], [("#ffffff", 1)]]


def test_shares_of_dates_are_in_order():
    one = line(0, 0, 0, 0, 5)
    days = parse_quantity("sampled", ["2026-03-01", "2026-01-01", "", "2026-02-01", "2026-02-01"])
    (strip,) = colour_strips_of([days], 20)
    first, last = strip.gradient.colours[0], strip.gradient.colours[-1]
    shares = cluster_shares(one, strip)
    assert [colour for colour, _ in shares[0]] == [first, shares[1][0][0], last, "#ffffff"]


def test_too_many_circles_are_refused():
    assert len(line(*range(MAX_CLUSTERS)).members) == MAX_CLUSTERS
    with pytest.raises(
        InputError, match="a network of 501 clusters cannot be read, and at most 500 are drawn; join near ones with collapse"
    ):
        line(*range(MAX_CLUSTERS + 1))


# ---- the figure


def shapes(figure):
    """(circles, slices) of a figure, in the order in which they are drawn."""
    (axes,) = [axes for axes in figure.axes if axes.collections]
    return [one for one in axes.patches if isinstance(one, Circle)], [one for one in axes.patches if isinstance(one, Wedge)]


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_a_figure_has_a_circle_for_each_cluster_and_slices_for_its_groups():
    one = line(0, 0, 0, 0, 5, 5, 9)
    cells = ["home", "ward", "home", "home", "ward", "ward", ""]
    (strip,) = colour_strips_of([make_grouping("place", cells, cells)], 20)
    figure = draw_network(one, strip, "SNPs", "Ward 3")
    circles, slices = shapes(figure)
    home, ward = (colour for _, colour in strip.legend)
    assert [round(circle.radius / circles[2].radius, 6) for circle in circles] == [2, round(2**0.5, 6), 1]
    assert [to_hex(circle.get_facecolor(), keep_alpha=True) for circle in circles] == ["#00000000", f"{ward}ff", "#ffffffff"]
    assert [(to_hex(one.get_facecolor()), one.theta1, one.theta2) for one in slices] == [(home, -180, 90), (ward, -270, -180)]
    assert texts(figure) == ["5", "4", "s0 +3", "s4 +1", "s6"]
    assert [text.get_text() for legend in figure.legends for text in legend.get_texts()] == ["home", "ward", "none"]
    caption, title = (text.get_text() for text in figure.texts)
    assert "7 samples in 3 circles, which join those at distance 0" in caption
    assert "(largest 4); numbers on lines: SNPs" in caption
    assert title == "Ward 3"


def test_distances_are_on_the_visible_middle_of_their_lines():
    figure = draw_network(line(*[0] * 30, 5), None, "distance", None)
    (axes,) = figure.axes
    (large, small), _ = shapes(figure)
    number = next(text for text in axes.texts if text.get_text() == "5")
    places = [np.array(circle.center) for circle in (large, small)]
    ends = [np.linalg.norm(np.array(number.get_position()) - place) - one.radius for place, one in zip(places, (large, small), strict=True)]
    assert abs(ends[0] - ends[1]) < 1e-3


def test_many_circles_have_no_names_and_stay_within_a_page():
    figure = draw_network(line(*range(400)), None, "distance", None)
    circles, _ = shapes(figure)
    assert len(circles) == 400
    assert not any("s" in text for text in texts(figure))
    assert figure.get_size_inches().max() < 17


def test_names_cover_no_circle(rng):
    places = rng.integers(0, 12, (20, 2))
    figure = draw_network(network([abs(a - b).sum() for a, b in combinations(places, 2)]), None, "distance", "x")
    figure.canvas.draw()
    (axes,) = figure.axes
    circles, _ = shapes(figure)
    named = [text for text in axes.texts if text.get_text().startswith("s")]
    assert len(named) == len(circles)
    for text in named:
        extent = text.get_window_extent()
        middle = (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2
        assert not any(circle.contains_point(middle) for circle in circles)


# ---- the command


@pytest.fixture
def folder(tmp_path):
    distances = "\ta\tb\tc\td\na\t0\t1\t3\t7\nb\t1\t0\t4\t8\nc\t3\t4\t0\t9\nd\t7\t8\t9\t0\n"
    (tmp_path / "m.tsv").write_text(distances)
    (tmp_path / "near.tsv").write_text("query\ttarget\tdistance\na\tb\t1\na\tc\t3\nx\ty\t2\n")
    (tmp_path / "places.tsv").write_text("id\tplace\tweek\na\thome\t1\nb\tward\t2\nc\thome\t2\nd\tward\t3\n")
    return tmp_path


def svg_texts(path):
    """Texts of an .svg, in the order in which they are drawn; matplotlib notes each above its letters."""
    return [one.partition(" -->")[0] for one in path.read_text().split("<!-- ")[1:]]


def test_the_command_draws_a_matrix(folder):
    done = gpualign(
        "plot", "m.tsv", "--network", "-o", "x.svg", "--groups", "places.tsv:place", "--title", "Home", "--label", "SNPs", cwd=folder
    )
    assert b"drawing 4 samples in 4 circles as x.svg" in done.stderr
    found = svg_texts(folder / "x.svg")
    assert {"1", "3", "7", "a", "b", "c", "d", "Home", "home", "ward", "place"} <= set(found)
    assert any("numbers on lines: SNPs" in text for text in found)


def test_the_command_joins_near_samples(folder):
    gpualign("plot", "m.tsv", "-q", "--network", "--collapse", "3", "-o", "x.svg", cwd=folder)
    found = svg_texts(folder / "x.svg")
    assert {"a +2", "d", "7"} <= set(found)
    assert not {"b", "c", "1", "3"} & set(found)
    assert any("4 samples in 2 circles, which join those at distances up to 3" in text for text in found)


def test_the_command_draws_a_list_of_pairs_as_a_forest(folder):
    done = gpualign("plot", "--edges", "-", "--network", "-o", "x.png", cwd=folder, stdin=(folder / "near.tsv").read_bytes())
    assert b"2 trees, as no known distance leads from one to the other" in done.stderr
    assert b"drawing 5 samples in 5 circles as x.png" in done.stderr
    assert (folder / "x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("options", [[], ["--collapse", "0.1"]])
def test_a_list_of_identities_is_drawn_as_one_of_distances(folder, options):
    pairs = [("a", "b", 0.98), ("a", "c", 0.92), ("b", "c", 0.5), ("x", "y", 1.0), ("y", "a", 0.0)]
    for column, values in (("identity", [one[2] for one in pairs]), ("distance", [round(1 - one[2], 2) for one in pairs])):
        rows = [f"{i}\t{j}\t{value}\n" for (i, j, _), value in zip(pairs, values, strict=True)]
        (folder / f"{column}.tsv").write_text(f"query\ttarget\t{column}\n" + "".join(rows))
        gpualign("plot", "-q", "--edges", f"{column}.tsv", "--network", *options, "-o", f"{column}.svg", cwd=folder)
        tree = gpualign("tree", "-q", "--edges", f"{column}.tsv", "--method", "mst", cwd=folder)
        (folder / f"{column}.nwk").write_bytes(tree.stdout)
    assert sorted(svg_texts(folder / "identity.svg")) == sorted(svg_texts(folder / "distance.svg"))
    assert (folder / "identity.nwk").read_text() == (folder / "distance.nwk").read_text()


def test_circles_are_the_clusters_of_the_same_threshold(tmp_path, small_16s):
    """Also where 1 - identity is rounded."""
    gpualign_here("nw", small_16s, "--value", "identity", "-o", tmp_path / "m.npz", "-q")
    listed = gpualign("nw", small_16s, "--fields", "query,target,identity").stdout.decode().splitlines()[1:]
    for distance in sorted({f"{1 - float(row.split(chr(9))[2]):.3g}" for row in listed}, key=float)[:40:8]:
        found = clusters(gpualign_here("cluster", "--distances", tmp_path / "m.npz", "--max-distance", distance)[0])
        said = gpualign_here("plot", tmp_path / "m.npz", "--network", "--collapse", distance, "-o", tmp_path / "x.svg")[1]
        assert f" in {len(set(found.values()))} circle" in said


def test_the_same_network_is_the_same_picture(folder):
    matrix = package.Matrix(np.array([[0, 1, 3, 7], [1, 0, 4, 8], [3, 4, 0, 9], [7, 8, 9, 0]]), list("abcd"), list("abcd"), "hamming", True)
    for name in ("x.svg", "y.svg"):
        gpualign("plot", "m.tsv", "-q", "--network", "--collapse", "1", "--groups", "places.tsv:place", "-o", name, cwd=folder)
    groups = {"place": {"a": "home", "b": "ward", "c": "home", "d": "ward"}}
    package.plot(matrix, folder / "z.svg", network=True, collapse=1, groups=groups)
    assert len({(folder / name).read_bytes() for name in ("x.svg", "y.svg", "z.svg")}) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--network"], "give a matrix of distances, or with --network a list of pairs as --edges"),
        (["m.tsv", "--edges", "near.tsv", "--network"], "found both"),
        (["--edges", "near.tsv"], "--edges is for --network; give that too"),
        (["m.tsv", "--collapse", "2"], "--collapse is for --network; give that too"),
        (["m.tsv", "--network", "--collapse", "-1"], "--collapse -1: expected a distance of 0 or more"),
        (["m.tsv", "--network", "--order", "input"], "--order is for heat maps; it cannot be combined with --network"),
        (["m.tsv", "--network", "--tree", "m.tsv"], "--tree is for heat maps"),
        (["m.tsv", "--network", "--linkage", "single"], "--linkage is for heat maps"),
        (["m.tsv", "--network", "--cmap", "magma"], "--cmap is for heat maps"),
        (["m.tsv", "--network", "--vmin", "0"], "--vmin is for heat maps"),
        (["m.tsv", "--network", "--value", "distance"], "--value is for heat maps"),
        (["m.tsv", "--network", "--groups", "places.tsv"], "a network shows one column, and there are 2; name one: --groups TABLE:COLUMN"),
        (["near.tsv", "--network"], "near.tsv is a list of pairs; expected a matrix"),
        (["near.tsv", "--network"], "gpualign plot --edges near.tsv --network draws it"),
        (["scores.npz", "--network"], "scores.npz: holds scores, kinships or percent identities, which are not distances"),
        (["two.npz", "--network"], "expected distances within one set"),
        (["--edges", "empty.tsv", "--network"], "--edges empty.tsv: a header and no pairs; a network needs records"),
    ],
)
def test_refusals(folder, words, says):
    np.savez(folder / "scores.npz", scores=np.array([[9, 1], [1, 9]]), ids=np.array(["a", "b"]))
    np.savez(folder / "two.npz", distances=np.array([[1, 2]]), query_ids=np.array(["a"]), target_ids=np.array(["b", "c"]))
    (folder / "empty.tsv").write_text("query\ttarget\tdistance\n")
    done = gpualign("plot", *words, "-o", "x.svg", cwd=folder, check=False)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr.decode()
    assert not (folder / "x.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"collapse": 2}, "collapse is for network; give that too"),
        ({"network": True, "collapse": "2"}, "collapse '2': expected a number"),
        ({"network": True, "collapse": -2}, "expected a distance of 0 or more"),
        ({"network": True, "vmax": 2}, "vmax is for heat maps; it cannot be combined with network"),
        ({"network": True, "order": ["a", "b"]}, "order is for heat maps"),
        ({"network": True, "groups": {"x": {"a": 1}, "y": {"a": 2}}}, "groups: a network shows one column of groups; found 2"),
    ],
)
def test_refusals_in_python(tmp_path, arguments, says):
    matrix = package.Matrix(np.array([[0, 1], [1, 0]]), ["a", "b"], ["a", "b"], "hamming", True)
    with pytest.raises(package.InputError) as caught:
        package.plot(matrix, tmp_path / "x.svg", **arguments)
    assert says in str(caught.value)
    assert not list(tmp_path.iterdir())
