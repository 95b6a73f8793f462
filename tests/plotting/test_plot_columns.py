"""Columns of a table of metadata beside a heat map: which are read, and what is drawn of numbers and dates."""

from datetime import date
from itertools import combinations

import numpy as np
import pytest
from command import gpualign
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from matplotlib.colors import to_hex, to_rgb

from gpualign.cli.inputs.record_groups import read_columns, split_file_and_columns
from gpualign.core.common.errors import InputError
from gpualign.jobs.plotting.figure import Style, draw_heatmap
from gpualign.jobs.plotting.group_colours import colour_strips_of, gradient_strip
from gpualign.jobs.plotting.heatmap import colour_scale, heatmap_of_matrix
from gpualign.jobs.plotting.output import RowOrder
from gpualign.jobs.plotting.quantities import Quantity, parse_quantity
from gpualign.jobs.record_groups import Grouping

IDS = ["a", "b", "c", "d"]
TABLE = "sample\tcountry\tyear\tdate\tST\na\tFR\t2015\t2020-02-03\t5\nb\tDE\t2020\t\t398\nc\tFR\tNA\t2021-XX-XX\t5\nzz\tIT\tx\tx\tx\n"


def written(tmp_path, text, name="meta.tsv"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def some_distances(rng, count):
    values = np.triu(rng.integers(1, 9, (count, count)), 1)
    ids = [f"s{k}" for k in range(count)]
    return heatmap_of_matrix(values + values.T, ids, ids, True, "distance", "distance")


# ---- which columns


@pytest.mark.parametrize(
    ("files", "argument", "expected"),
    [
        (["m.tsv"], "m.tsv", ("m.tsv", None)),
        (["m.tsv"], "m.tsv:country", ("m.tsv", ["country"])),
        (["m.tsv"], "m.tsv:country, year", ("m.tsv", ["country", "year"])),
        (["m.tsv"], 'm.tsv:"age, in years",ward', ("m.tsv", ["age, in years", "ward"])),
        (["m.tsv"], "m.tsv:host: species", ("m.tsv", ["host: species"])),
        (["m.tsv"], "m.tsv:", ("m.tsv", [""])),
        (["run 1:m.tsv"], "run 1:m.tsv", ("run 1:m.tsv", None)),
        (["run 1:m.tsv"], "run 1:m.tsv:year", ("run 1:m.tsv", ["year"])),
        (["m", "m:n"], "m:n:year", ("m:n", ["year"])),
        (["m", "m:n"], "m:year", ("m", ["year"])),
        (["m"], "-:year", ("-", ["year"])),
        (["m"], "-", ("-", None)),
        (["m"], "n:year", ("n:year", None)),
    ],
)
def test_where_the_name_of_the_file_ends(tmp_path, monkeypatch, files, argument, expected):
    monkeypatch.chdir(tmp_path)
    for name in files:
        (tmp_path / name).touch()
    assert split_file_and_columns(argument) == expected


def test_columns_are_read_in_the_order_in_which_they_are_named(tmp_path):
    date_, country, year, kind = read_columns(written(tmp_path, TABLE), ["date", "country", "year", "ST"], IDS, pytest.fail)
    assert (date_.title, date_.are_dates) == ("date", True)
    np.testing.assert_array_equal(date_.values, [date(2020, 2, 3).toordinal(), np.nan, date(2021, 1, 1).toordinal(), np.nan])
    assert (country.labels, country.label_indices) == (["FR", "DE"], [0, 1, 0, -1])
    assert (year.title, year.are_dates) == ("year", False)
    np.testing.assert_array_equal(year.values, [2015, 2020, np.nan, np.nan])
    assert (kind.labels, kind.label_indices) == (["5", "398"], [0, 1, 0, -1])


@pytest.mark.parametrize(
    "text",
    [
        'id,"age, in years",ward\na,1,x\nb,2,"y, z"\n',
        'id;"age, in years";ward\na;1;x\nb;2;y, z\n',
        '"age, in years"\t"ward"\n"a"\t1\t"x"\n"b"\t2\t"y, z"\n',  # as R writes it
    ],
)
def test_quotes_and_delimiters_are_those_of_other_tables(tmp_path, text):
    age, ward = read_columns(written(tmp_path, text), ["age, in years", "ward"], IDS, pytest.fail)
    assert age.values[:2].tolist() == [1, 2]
    assert list(ward.labels) == ["x", "y, z"]


def test_ids_of_receptors_are_in_a_column_of_their_own(tmp_path):
    """As Cell Ranger writes them: the cell is first, and has two chains."""
    text = "cell_id\tclone_id\tsequence_id\tjunction_aa\nc1\t2\ta\tCASF\nc1\t\tb\tCATF\nc2\t3\tc\tCASF\n"
    clone, cell = read_columns(written(tmp_path, text), ["clone_id", "cell_id"], IDS, pytest.fail)
    assert (clone.labels, clone.label_indices) == (["2", "3"], [0, -1, 1, -1])
    assert (cell.labels, cell.label_indices) == (["c1", "c2"], [0, 0, 1, -1])
    with pytest.raises(InputError, match="besides the ids its columns are 'cell_id', 'clone_id', 'junction_aa'"):
        read_columns(written(tmp_path, text), ["ward"], IDS, pytest.fail)
    with pytest.raises(InputError, match="line 3 has 2 columns, line 1 has 4"):
        read_columns(written(tmp_path, text.replace("c1\t\tb\tCATF", "c1\tb")), ["clone_id"], IDS, pytest.fail)
    plain = text.replace("junction_aa", "ward")  # no table of receptors
    with pytest.raises(InputError, match="none of its ids is one of the matrix"):
        read_columns(written(tmp_path, plain.replace("c1\t\tb", "c3\t\tb")), ["clone_id"], IDS, pytest.fail)


def test_only_what_is_wanted_must_agree(tmp_path):
    path = written(tmp_path, "id\tward\tnote\na\tx\tfirst\na\tx\tsecond\nb\ty\t\n")
    (ward,) = read_columns(path, ["ward", "ward"], IDS, pytest.fail)
    assert ward.label_indices == [0, 1, -1, -1]
    with pytest.raises(InputError, match="lines 2 and 3 put 'a' in different groups"):
        read_columns(path, ["note"], IDS, pytest.fail)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ("Year", r"no column is called 'Year'; besides the ids its columns are 'country', 'year', 'date', 'ST'; did you mean year\?"),
        ("", "no column is called ''; besides the ids its columns are 'country'"),
        ("sample", "no column is called 'sample'"),
    ],
)
def test_unknown_columns_are_answered_with_those_that_are_there(tmp_path, column, reason):
    with pytest.raises(InputError, match=rf"meta.tsv: {reason}"):
        read_columns(written(tmp_path, TABLE), ["country", column], IDS, pytest.fail)


def test_of_many_columns_some_are_named(tmp_path):
    path = written(tmp_path, "id\t" + "\t".join(f"c{k}" for k in range(300)) + "\na" + "\t1" * 300 + "\n")
    with pytest.raises(InputError, match=r"'c18', 'c19' and 280 more$"):
        read_columns(path, ["zzz"], IDS, pytest.fail)


def test_a_title_of_two_columns_is_refused(tmp_path):
    with pytest.raises(InputError, match="2 columns are called 'x'; give them different names"):
        read_columns(written(tmp_path, "id\tx\tx\na\t1\t2\n"), ["x"], IDS, pytest.fail)


# ---- numbers and dates


@pytest.mark.parametrize(
    ("title", "cells", "expected"),
    [
        ("ct", ["1.5", "-2", "1e3", ""], [1.5, -2, 1000, None]),
        ("ct", ["1", "NA", "not collected", "2"], [1, None, None, 2]),
        ("year", ["2020", "2021", "2020", "nan"], [2020, 2021, 2020, None]),
        ("day", ["2020-01-02", "2020-01-01", "2019", "2020-03"], [date(2020, 1, 2), date(2020, 1, 1), date(2019, 1, 1), date(2020, 3, 1)]),
        ("day", ["2020/1/2", "2020-01-02T09:30", "2020-01-XX", "?"], [date(2020, 1, 2), date(2020, 1, 2), date(2020, 1, 1), None]),
        ("ct", ["1", "1", "1", ""], None),  # one colour is all that there is
        ("ct", ["", "NA", "", ""], None),
        ("ct", ["1", "2", "x", ""], None),
        ("ct", ["1", "inf", "2", ""], None),
        ("ct", ["1,5", "2,5", "1", ""], None),
        ("ct", ["1_000", "2", "3", ""], None),
        ("day", ["2020-02-30", "2020-01-01", "", ""], None),
        ("day", ["01.02.2020", "03.02.2020", "", ""], None),
        *(
            (title, ["1", "2", "3", ""], None)
            for title in ("ST", "MLST", "ST (Achtman)", "CC", "SNP cluster", "SequenceType", "HC5", "ward", "t5", "t0.5")
        ),
        *(("depth", ["30", word, "41"], [30, None, 41]) for word in ("NA", "#N/A", "<NA>", "None", "NULL", ".")),
        *(
            (title, ["1", "2", "3", ""], [1, 2, 3, None])
            for title in ("stay", "accuracy", "days", "age", "latitude", "distance", "t", "set1")
        ),
    ],
)
def test_what_is_a_number_or_a_date(title, cells, expected):
    found = parse_quantity(title, cells)
    if expected is None:
        assert found is None
        return
    dates = any(isinstance(one, date) for one in expected)
    numbers = [np.nan if one is None else one.toordinal() if dates else one for one in expected]
    assert found.are_dates == dates
    np.testing.assert_array_equal(found.values, numbers)


values = st.lists(st.floats(-1e300, 1e300) | st.integers(1900, 2100), min_size=2, max_size=30).filter(lambda some: len(set(some)) > 1)


@given(values)
@example([0.0, 5e-324])
@example([-1.7e308, 0.0, 1.7e308])
def test_colours_are_in_the_order_of_the_numbers(numbers):
    cells = [*map(repr, numbers), ""]
    quantity = parse_quantity("x", cells)
    strip = gradient_strip(quantity, "Oranges")
    gradient = strip.gradient
    assert strip.row_colours[-1] is None
    assert strip.row_colours[numbers.index(min(numbers))] == gradient.colours[0]
    assert strip.row_colours[numbers.index(max(numbers))] == gradient.colours[-1]
    brightness = [sum(to_rgb(colour)) for colour in strip.row_colours[:-1]]
    for (one, bright), (other, other_bright) in combinations(zip(numbers, brightness, strict=True), 2):
        assert (other_bright - bright) * np.sign(other - one) <= 0
    ranks = quantity.sort_keys()
    assert [ranks[k] for k in np.argsort(numbers, kind="stable")] == sorted(ranks[:-1])
    assert ranks[-1] > max(ranks[:-1])
    places = [place for place, _ in gradient.ticks]
    assert 1 <= len(places) <= 4
    assert min(numbers) <= min(places) <= max(places) <= max(numbers)


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["2015", "2022"], ["2015", "2020"]),
        (["0", "1"], ["0", "1"]),
        (["-3", "2"], ["−2", "0", "2"]),
        (["0.1", "0.13"], ["0.1", "0.11", "0.12", "0.13"]),
        (["4300000", "4500000"], ["4,300,000", "4,400,000", "4,500,000"]),
        (["2020-01-01", "2020-01-02"], ["2020-01-01", "2020-01-02"]),
        (["2018-01-03", "2023-12-27"], ["2018-01-03", "2020-12-30", "2023-12-27"]),
        (["0001", "9999-12-31"], ["0001-01-01", "5000-07-02", "9999-12-31"]),
    ],
)
def test_ticks_are_few_and_round(cells, labels):
    assert [label for _, label in gradient_strip(parse_quantity("x", cells), "Blues").gradient.ticks] == labels


# ---- what is drawn


@pytest.mark.parametrize("rows", [2, 5, 31, 200])
def test_gradients_and_their_legends(rng, rows):
    heatmap = some_distances(rng, rows)
    columns = [
        Quantity("year", np.append(rng.integers(2010, 2020, rows - 1), 2030).astype(float), False),
        Grouping("place", [f"ward {k}" for k in range(rows)], list(range(rows))),
        Quantity("date", np.append(np.nan, np.linspace(737000, 738000, rows - 1)) if rows > 2 else np.array([737000.0, 738000.0]), True),
        Quantity("ct", rng.random(rows), False),
    ]
    order = RowOrder(columns).order(heatmap, "average")
    figure = draw_heatmap(heatmap, order, colour_scale(heatmap, None, None), Style(), columns)
    strips = next(axes for axes in figure.axes if [text.get_text() for text in axes.get_xticklabels()] == ["year", "place", "date", "ct"])
    pixels = np.asarray(strips.images[0].get_array())
    for k, strip in enumerate(colour_strips_of(columns, 20)):
        if strip.gradient:
            assert [to_hex(pixel) for pixel in pixels[:, k]] == [strip.row_colours[row] or "#ffffff" for row in order.rows]
    cells = max((axes for axes in figure.axes if axes.images), key=lambda axes: axes.get_position().width).get_window_extent()
    bar = next(axes for axes in figure.axes if axes.get_ylabel() == "distance")
    gradients = [axes for axes in figure.axes if axes.images and axes.get_window_extent().x0 > cells.x1 and axes is not bar]
    assert len(gradients) == 3
    assert {text.get_text() for text in figure.texts} == {"year", "date", "ct"}
    boxes = [one.get_tightbbox() for one in gradients] + [one.get_window_extent() for one in (*figure.texts, *figure.legends)]
    for box in boxes:
        assert min(cells.y0, bar.get_window_extent().y0) - 2 <= box.y0 < box.y1 <= cells.y1 + 6
    for box, other in combinations([*boxes, bar.get_tightbbox()], 2):
        assert not box.overlaps(other)


def test_rows_in_the_order_of_a_quantity(rng):
    heatmap = some_distances(rng, 6)
    ages = Quantity("age", np.array([30, np.nan, 4.5, 71, 2, 30]), False)
    order = RowOrder([ages], "groups").order(heatmap, "average")
    assert ages.values[order.rows].tolist()[:5] == [2, 4.5, 30, 30, 71]
    assert order.rows[-1] == 1


# ---- the command


@pytest.fixture
def folder(tmp_path):
    np.savez(tmp_path / "d.npz", distances=np.array([[0, 1, 5, 6], [1, 0, 4, 6], [5, 4, 0, 2], [6, 6, 2, 0]]), ids=np.array(IDS))
    written(tmp_path, TABLE)
    return tmp_path


@pytest.mark.parametrize("suffix", ["svg", "pdf", "png"])
def test_the_command_draws_columns(folder, suffix):
    for name in ("x", "again"):
        gpualign("plot", "d.npz", "-o", f"{name}.{suffix}", "--groups", "meta.tsv:country,year,date", "--order", "groups", cwd=folder)
    drawn = (folder / f"x.{suffix}").read_bytes()
    assert drawn == (folder / f"again.{suffix}").read_bytes()
    if suffix == "svg":
        for text in ("country", "FR", "year", "2016", "2020-02-03", "none"):
            assert f"<!-- {text} -->".encode() in drawn
        assert b"<!-- 2,0" not in drawn


def test_the_command_takes_a_table_from_elsewhere(folder):
    (folder / "meta.tsv").rename(folder / "a:b.tsv")
    for argument, stdin in (("a:b.tsv:year", None), ("-:year", TABLE.encode())):
        gpualign("plot", "d.npz", "-o", "x.svg", "--groups", argument, stdin=stdin, cwd=folder)
        assert "<!-- year -->" in (folder / "x.svg").read_text()
    gpualign("plot", "d.npz", "-o", "x.svg", "--groups", "a:b.tsv", cwd=folder)
    assert "<!-- 2015 -->" in (folder / "x.svg").read_text()  # as a group


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--groups", "meta.tsv:county"], "meta.tsv: no column is called 'county'; besides the ids its columns are 'country', 'year', "),
        (["--groups", "mata.tsv:year"], "mata.tsv:year: no such file"),
        (["--groups", "d.npz:year"], "d.npz: "),
        (["--groups", "meta.tsv:year", "-o", "meta.tsv"], "meta.tsv"),
    ],
)
def test_refusals(folder, arguments, reason):
    done = gpualign("plot", "d.npz", "-o", "x.svg", *arguments, cwd=folder, check=False)
    assert done.returncode == 2
    assert reason in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert not (folder / "x.svg").exists()


def test_numbers_too_far_apart_for_a_difference_have_ticks():
    ticks = gradient_strip(parse_quantity("x", ["1e308", "-1.7e308", "0"]), "Blues").gradient.ticks
    assert 2 <= len(ticks) <= 4
    assert all(-1.7e308 <= place <= 1e308 for place, _ in ticks)
