"""Colours of named clusters: `gpualign cluster --levels` with --colours, and with --format microreact."""

import csv
import gzip
import io

import numpy as np
import pytest
from cluster_command import refused
from command import gpualign
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.clustering.coloured_names import CODE_COLOURS, code_colour, write_coloured_names, write_colours
from gpualign.core.clustering.names import ClusterNames
from gpualign.core.common.colours import CATEGORY_COLOURS

LEVELS = (5.0, 2.0)


def names_of(ids, codes):
    codes = np.array(codes, dtype=np.int64).reshape(len(LEVELS), len(ids))
    return ClusterNames(ids, codes, codes.max(axis=1, initial=0))


def written(write, *arguments):
    stream = io.BytesIO()
    write(stream, *arguments)
    return stream.getvalue().decode()


def luminance(colour):
    """Relative luminance of WCAG 2.2, from 0 to 1."""
    channels = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def test_the_first_codes_have_the_colours_of_pictures_and_the_next_their_pale_ones():
    assert [code_colour(code) for code in range(1, 9)] == list(CATEGORY_COLOURS)
    assert len(set(CODE_COLOURS)) == 16
    for strong, pale in zip(CODE_COLOURS[:8], CODE_COLOURS[8:], strict=True):
        assert luminance(pale) > 1.1 * luminance(strong) + 0.02
    assert [code_colour(code) for code in range(17, 33)] == list(CODE_COLOURS)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=8, unique=True), st.sampled_from(",\t"), st.data())
def test_any_ids_come_back(ids, separator, data):
    ids = [name.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("\r", "").replace("\0", "") for name in ids]
    codes = data.draw(st.lists(st.integers(1, 99), min_size=2 * len(ids), max_size=2 * len(ids)))
    text = written(write_coloured_names, LEVELS, names_of(ids, codes), separator)
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    assert header == ["id", "address", "t5", "t5__colour", "t2", "t2__colour"]
    coarse, fine = codes[: len(ids)], codes[len(ids) :]
    assert rows == [
        [name, f"{a}.{b}", str(a), CODE_COLOURS[(a - 1) % 16], str(b), CODE_COLOURS[(b - 1) % 16]]
        for name, a, b in zip(ids, coarse, fine, strict=True)
    ]


def test_each_cluster_has_one_line_of_colours():
    text = written(write_colours, LEVELS, names_of(["c", "a", "b"], [2, 1, 1, 10, 1, 3]))
    assert text == "t5\t1\t#e69f00\nt5\t2\t#56b4e9\nt2\t1\t#e69f00\nt2\t3\t#009e73\nt2\t10\t#aad9f4\n"


@pytest.fixture
def folder(tmp_path):
    pytest.importorskip("scipy")
    (tmp_path / "near0.tsv").write_text("query\ttarget\tdistance\na\tb\t1\nb\t,c\t4\nd\te\t2\n")
    (tmp_path / "near1.tsv").write_text("query\ttarget\tdistance\n0\te\t9\nf\ta\t2\nf\td\t2\n")
    for week, ids in enumerate((["a", "b", ",c", "d", "e"], ["0", "f"])):
        (tmp_path / f"ids{week}.txt").write_text("".join(f"{name}\n" for name in ids))
    return tmp_path


def run(folder, week, *words):
    return gpualign("cluster", "--edges", f"near{week}.tsv", "--ids", f"ids{week}.txt", "--levels", "5,2", *words, cwd=folder)


def table(path, delimiter):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream, delimiter=delimiter))


def colours_of(rows, level):
    """The colour of each code in a table of names."""
    found = {(row[level], row[f"{level}__colour"]) for row in rows}
    assert len(dict(found)) == len(found)
    return dict(found)


def test_clusters_keep_their_colours_when_others_are_added(folder):
    """Week 1 adds a first id and merges the clusters 1 and 2."""
    run(folder, 0, "--format", "microreact", "-o", "week0.csv", "--colours", "colours0.tsv")
    run(folder, 1, "--format", "microreact", "-o", "week1.csv", "--colours", "colours1.tsv", "--previous", "week0.csv")
    weeks = [table(folder / f"week{week}.csv", ",") for week in (0, 1)]
    assert [row["id"] for row in weeks[1]] == [",c", "a", "b", "d", "e", "0", "f"]
    assert [[row["t5"] for row in rows] for rows in weeks] == [["1", "1", "1", "2", "2"], ["1", "1", "1", "1", "1", "3", "1"]]
    for level in ("t5", "t2"):
        before, after = (colours_of(rows, level) for rows in weeks)
        assert before.keys() & after.keys()
        assert all(before[code] == after[code] for code in before.keys() & after.keys())
        for week, colours in enumerate((before, after)):
            lines = [line.split("\t") for line in (folder / f"colours{week}.tsv").read_text().splitlines()]
            assert {code: colour for title, code, colour in lines if title == level} == colours


def test_a_table_for_microreact_is_continued_as_names(folder):
    for suffix in ("tsv", "csv"):
        run(folder, 0, "--format", "microreact", "-o", f"coloured.{suffix}")
        run(folder, 1, "--previous", f"coloured.{suffix}", "-o", f"from_{suffix}.tsv")
    run(folder, 0, "-o", "plain.tsv")
    run(folder, 1, "--previous", "plain.tsv", "-o", "from_plain.tsv")
    assert len({(folder / f"from_{one}.tsv").read_bytes() for one in ("tsv", "csv", "plain")}) == 1
    assert (folder / "coloured.tsv").read_text().startswith("id\taddress\tt5\tt5__colour\tt2\tt2__colour\n")


def test_a_table_for_microreact_goes_to_standard_output_and_is_compressed(folder):
    plain = run(folder, 0, "--format", "microreact").stdout
    run(folder, 0, "--format", "microreact", "-o", "x.tsv.gz", "--colours", "c.tsv.gz")
    assert gzip.decompress((folder / "x.tsv.gz").read_bytes()) == plain
    assert gzip.decompress((folder / "c.tsv.gz").read_bytes()).startswith(b"t5\t1\t#e69f00\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--max-distance", "5", "--format", "microreact"], "--format microreact colours the clusters of --levels; give that too"),
        (["--max-distance", "5", "--colours", "c.tsv"], "--colours are those of the clusters of --levels; give that too"),
        (["--levels", "5,2", "--colours", "-"], "--colours: name a file; standard output is for the names"),
        (["--levels", "5,2", "-o", "x.tsv", "--colours", "x.tsv"], "x.tsv is named for two outputs"),
        (["--levels", "5,2", "-o", "x.tsv", "--colours", "x.tsv.log"], "x.tsv.log is named for two outputs"),
        (["--levels", "5,2", "-o", "x.tsv", "--colours", "ids0.txt"], "the output ids0.txt is also an input"),
    ],
)
def test_refusals(folder, words, says):
    assert says in refused(["--edges", "near0.tsv", "--ids", "ids0.txt", *words], folder)
    assert not list(folder.glob("x.tsv*"))


def test_a_folder_that_is_missing_is_named(folder):
    done = gpualign("cluster", "--edges", "near0.tsv", "--levels", "5,2", "-o", "x.tsv", "--colours", "no/c.tsv", cwd=folder, check=False)
    assert done.returncode == 1
    assert b"cannot write no/c.tsv: there is no folder no" in done.stderr
    assert not list(folder.glob("x.tsv*"))
