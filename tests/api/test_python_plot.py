"""`gpualign.plot`: the pictures of `gpualign plot`, `nw --plot` and `dist --plot`, byte for byte."""

import logging
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from command import gpualign_here as run

import gpualign

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

import matplotlib

from gpualign.jobs import matrix_memory

IDS = [f"s{k}" for k in range(7)]
CALLS = np.random.default_rng(5).integers(0, 3, (7, 60))


@pytest.fixture(scope="module")
def matrix():
    return gpualign.dist(CALLS, metric="ibs", ids=IDS)


@pytest.fixture(scope="module")
def stored(matrix, tmp_path_factory):
    path = tmp_path_factory.mktemp("plot") / "m.npz"
    np.savez(path, distance=matrix.values, ids=np.array(matrix.ids))
    return path


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--value", "identity"], {"value": "identity"}),
        (["--value", "distance"], {"value": "distance"}),
        ([], {}),
        (["--edit"], {"scoring": gpualign.EDIT}),
    ],
    ids=["identity", "distance", "score", "edit"],
)
def test_pictures_of_alignments_are_those_of_nw(tmp_path, small_16s, options, arguments):
    genes = gpualign.read(small_16s)[:12]
    (tmp_path / "g.fa").write_text("".join(f">{name}\n{genes[k]}\n" for k, name in enumerate(genes.ids)))
    run("nw", tmp_path / "g.fa", "-q", "-o", tmp_path / "m.npy", *options, "--plot", tmp_path / "command.svg")
    gpualign.plot(gpualign.nw(genes, **arguments), tmp_path / "python.svg")
    assert (tmp_path / "python.svg").read_bytes() == (tmp_path / "command.svg").read_bytes()


@pytest.mark.parametrize("metric", ["hamming", "ibs", "king"])
@pytest.mark.parametrize("others", [None, 4])
def test_pictures_of_samples_are_those_of_dist(tmp_path, metric, others):
    sets = [CALLS] if others is None else [CALLS[:others], CALLS[others:]]
    ids = [IDS] if others is None else [IDS[:others], IDS[others:]]
    names = [tmp_path / f"{k}.tsv" for k in range(len(sets))]
    for path, calls, own in zip(names, sets, ids, strict=True):
        rows = "".join(f"{name}\t" + "\t".join(map(str, row)) + "\n" for name, row in zip(own, calls.tolist(), strict=True))
        path.write_text("id\t" + "\t".join(f"site{k}" for k in range(CALLS.shape[1])) + "\n" + rows)
    run("dist", *names, "-q", "--metric", metric, "-o", tmp_path / "m.npy", "--plot", tmp_path / "command.png")
    found = gpualign.dist(*sets, metric=metric, ids=ids[0], **({} if others is None else {"other_ids": ids[1]}))
    gpualign.plot(found, tmp_path / "python.png")
    assert (tmp_path / "python.png").read_bytes() == (tmp_path / "command.png").read_bytes()


TABLE = "id\tcountry\tyear\ns0\tFR\t2015\ns1\tDE\t2020\ns2\tFR\t\ns4\tDE\t2018\ns5\tIT\t2011\ns6\tFR\t2015\n"
COLUMNS = {
    "country": {"s0": "FR", "s1": "DE", "s2": "FR", "s4": "DE", "s5": "IT", "s6": "FR"},
    "year": {"s0": 2015, "s1": 2020, "s2": None, "s4": 2018.0, "s5": np.int64(2011), "s6": "2015"},
}
BARE = "".join(f"s{k}\tg{k % 3}\n" for k in range(7))


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ([], {}),
        (["--title", "Ward 3", "--label", "apart", "--cmap", "cividis"], {"title": "Ward 3", "label": "apart", "cmap": "cividis"}),
        (["--linkage", "single", "--vmin", "0.1", "--vmax", "0.5"], {"linkage": "single", "vmin": 0.1, "vmax": np.float32(0.5)}),
        (["--groups", "t.tsv:country,year"], {"groups": COLUMNS}),
        (["--groups", "b.tsv", "--order", "groups"], {"groups": {f"s{k}": f"g{k % 3}" for k in range(7)}, "order": "groups"}),
        (["--order", "input"], {"order": "input"}),
        (["--order", "o.txt"], {"order": IDS[::-1]}),
        (["--tree", "t.nwk"], {"tree": "nj"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_are_those_of_plot(tmp_path, monkeypatch, matrix, stored, options, arguments):
    monkeypatch.chdir(tmp_path)
    tree = gpualign.tree(matrix)
    for name, text in {"t.tsv": TABLE, "b.tsv": BARE, "o.txt": "\n".join(IDS[::-1]), "t.nwk": str(tree)}.items():
        (tmp_path / name).write_text(text)
    run("plot", stored, "-q", "-o", "command.svg", *(options if "--label" in options else [*options, "--label", "x"]))
    arguments = {"label": "x", **arguments}
    for given in [tree, tree.newick] if "tree" in arguments else [None]:
        gpualign.plot(matrix, "python.svg", **{**arguments, **({"tree": given} if given else {})})
        assert (tmp_path / "python.svg").read_bytes() == (tmp_path / "command.svg").read_bytes()


def test_a_data_frame_of_groups(tmp_path, matrix):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(COLUMNS)
    gpualign.plot(matrix, tmp_path / "dict.svg", groups=COLUMNS)
    for groups in (frame, frame.rename_axis("id").reset_index()):
        gpualign.plot(matrix, tmp_path / "frame.svg", groups=groups)
        assert (tmp_path / "frame.svg").read_bytes() == (tmp_path / "dict.svg").read_bytes()


def test_notes_go_to_the_log_and_nothing_is_printed(tmp_path, matrix, caplog, capfd):
    with caplog.at_level(logging.INFO, "gpualign"):
        gpualign.plot(matrix, tmp_path / "x.png")
    assert "drawing 7 samples as " in caplog.text
    assert capfd.readouterr() == ("", "")


def test_several_threads_leave_a_programs_settings_as_they_were(tmp_path, matrix):
    with matplotlib.rc_context({"font.size": 23}):
        before = dict(matplotlib.rcParams)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda k: gpualign.plot(matrix, tmp_path / f"{k}.svg"), range(8)))
        assert dict(matplotlib.rcParams) == before
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_a_matrix_that_the_memory_does_not_hold(tmp_path, monkeypatch, matrix):
    monkeypatch.setattr(matrix_memory, "free_memory", lambda: 1000)
    with pytest.raises(gpualign.RunError, match=r"matrix: 7 x 7 values take about 1\.9 KiB of memory to draw, and this process may have"):
        gpualign.plot(matrix, tmp_path / "x.png")
    assert not list(tmp_path.iterdir())


def test_an_input_is_not_overwritten(tmp_path):
    found = gpualign.dist(CALLS, out=tmp_path / "m.npy")
    (tmp_path / "m.png").symlink_to(tmp_path / "m.npy")
    with pytest.raises(gpualign.InputError, match="is also an input"):
        gpualign.plot(found, tmp_path / "m.png")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"matrix": [[0, 1], [1, 0]]}, "matrix: expected a Matrix that nw or dist returned; found list"),
        ({"matrix": gpualign.Matrix(np.eye(2), ["a"], ["a"], "hamming", True)}, "matrix: expected an array of numbers of shape (1, 1)"),
        (
            {"matrix": gpualign.Matrix(np.eye(1), ["a"], ["a"], "colour", True)},
            "matrix: expected values of kind score, identity, distance, hamming,",
        ),
        ({"out": "x.jpg"}, "x.jpg: expected a name that ends in .png, .svg, .pdf"),
        ({"out": 5}, "out 5: expected the path of a file"),
        ({"title": 5}, "title: expected text; found 5"),
        ({"label": "\udcff"}, "label '\\udcff': these bytes are not text in UTF-8"),
        ({"cmap": "viridsi"}, "cmap='viridsi': matplotlib has no colours of this name"),
        ({"linkage": "ward"}, "linkage 'ward': expected one of average, complete, single, weighted"),
        ({"vmin": "1"}, "vmin '1': expected a number"),
        ({"vmax": float("inf")}, "vmax='inf': expected a finite number"),
        ({"vmin": 9}, "vmin=9: the colours would go from 9 to"),
        ({"groups": ["x"]}, "groups: expected a dict of ids and their groups"),
        ({"groups": {"zz": "x"}}, "groups: none of its ids is one of the matrix, whose first is 's0'"),
        ({"order": "groups"}, "order groups: give groups too"),
        ({"order": "sideways"}, "order 'sideways': expected tree, input, groups or a list of ids"),
        ({"order": IDS[1:]}, "order: 1 of 7 ids of the matrix are not in it, 's0' first"),
        ({"order": [*IDS, "s0"]}, "order: 's0' appears twice, at 0 and 7"),
        ({"order": IDS, "tree": "(a,b);"}, "order list of ids: with tree the records are in the order of the tree"),
        ({"tree": "(s0,s1);"}, "tree: 's2' and 4 more are only in the matrix"),
        ({"tree": "s0,"}, "tree: not a tree in Newick format"),
        ({"tree": 5}, "tree: expected what gpualign.tree returned, or text in Newick's format; found int"),
        ({"tree": "mst"}, "tree: expected a tree of nj or upgma; found a spanning tree, whose inner nodes are records too"),
    ],
)
def test_refusals(tmp_path, monkeypatch, matrix, arguments, reason):
    monkeypatch.chdir(tmp_path)
    if arguments.get("tree") == "mst":
        arguments = {"tree": gpualign.tree(matrix, "mst")}
    with pytest.raises(gpualign.InputError, match=re.escape(reason)):
        gpualign.plot(**{"matrix": matrix, "out": "x.png", **arguments})
    assert not list(tmp_path.iterdir())


def test_no_such_folder(tmp_path, matrix):
    with pytest.raises(gpualign.RunError, match=r"cannot write .*: there is no folder"):
        gpualign.plot(matrix, tmp_path / "none" / "x.png")
