"""Heat maps: what is drawn, from what, and what is refused."""

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from command import gpualign

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from gpualign.cli.plots import draw, to_distances

DATA = Path(__file__).parent.parent / "data"


def blocks(rng, count):
    """Distances of two groups whose members alternate."""
    group = np.arange(count) % 2
    distances = np.where(group[:, None] == group[None, :], 1.0, 9.0) + rng.random((count, count)) / 10
    distances = (distances + distances.T) / 2
    np.fill_diagonal(distances, 0)
    return distances


@pytest.mark.parametrize("count", [2, 10, 100, 700])
def test_alike_samples_stand_together(rng, count):
    ids = [f"s{k}" for k in range(count)]
    figure = draw(blocks(rng, count), ids, "distance")
    cells = next(axes for axes in figure.axes if axes.images)
    names = [label.get_text() for label in cells.get_yticklabels()]
    step = -(-count // 130)
    assert len(names) == -(-count // step)
    groups = [int(name[1:]) % 2 for name in names]
    assert sum(a != b for a, b in pairwise(groups)) == 1
    size = cells.get_yticklabels()[0].get_fontsize()
    height = figure.get_size_inches()[1] * cells.get_position().height * 72
    assert size >= 4.5
    assert len(names) * size <= height  # names do not overlap


def test_one_sample_and_undefined_values():
    draw(np.zeros((1, 1)), ["a"], "distance")
    draw(np.full((3, 3), np.nan), list("abc"), "distance")
    draw(np.array([[0, np.nan, 1], [np.nan, 0, 2], [1, 2, 0]]), list("abc"), "distance")


def test_scores_are_turned_into_distances():
    scores = np.array([[10, 8, 1], [8, 12, 2], [1, 2, 6]])
    np.testing.assert_allclose(to_distances(scores), [[0, 3, 7], [3, 0, 7], [7, 7, 0]])
    distances = np.array([[0, 3], [3, 0]])
    np.testing.assert_array_equal(to_distances(distances), distances)


def test_commands_draw_what_they_computed(tmp_path):
    gpualign("dist", DATA / "snps.tsv", "-o", "d.npy", "--plot", "direct.svg", "--device", "cpu", cwd=tmp_path)
    for name in ("d.npy", "d.tsv", "d.npz", "d.phy", "c.npy"):
        if name != "d.npy":
            extra = ["--format", "condensed"] if name == "c.npy" else []
            gpualign("dist", DATA / "snps.tsv", "-o", name, *extra, "--device", "cpu", cwd=tmp_path)
        gpualign("plot", name, "-o", f"{name}.svg", "--label", "hamming distance", cwd=tmp_path)
        assert (tmp_path / f"{name}.svg").read_bytes() == (tmp_path / "direct.svg").read_bytes(), name
    ElementTree.parse(tmp_path / "direct.svg")
    gpualign("plot", "d.npy", "-o", "p.png", cwd=tmp_path)
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_matrices_of_nw(tmp_path):
    for value in ("score", "identity", "distance"):
        gpualign("nw", DATA / "16s_small.fasta", "-o", f"{value}.npy", "--value", value, "--device", "cpu", cwd=tmp_path)
        gpualign("plot", f"{value}.npy", "-o", f"{value}.pdf", cwd=tmp_path)
        assert (tmp_path / f"{value}.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty file"),
        (b"\ta\tb\na\t0\t1\n", "line 2 has 2 values; a square matrix of 1 rows"),
        (b"\ta\na\tx\n", "line 2: could not convert"),
        (b"\x93NUMPY\x01", "damaged .npy"),
        (b"PK\x03\x04zz", "damaged .npz"),
    ],
)
def test_what_is_no_matrix(tmp_path, content, message):
    (tmp_path / "m").write_bytes(content)
    done = gpualign("plot", "m", "-o", "m.png", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_what_is_not_square(tmp_path):
    np.save(tmp_path / "m.npy", np.zeros((3, 4)))
    done = gpualign("plot", "m.npy", "-o", "m.png", cwd=tmp_path, check=False)
    assert b"a matrix of 3 x 4; a square one is drawn" in done.stderr
    np.save(tmp_path / "m.npy", np.zeros((3, 3)))
    (tmp_path / "m.ids.txt").write_text("a\nb\n")
    done = gpualign("plot", "m.npy", "-o", "m.png", cwd=tmp_path, check=False)
    assert b"3 rows, but 2 ids" in done.stderr
