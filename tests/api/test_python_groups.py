"""`groups`, `between` and `within` of `gpualign.pairs` and `iter_pairs`: the pairs that `gpualign nw` writes with these options."""

import datetime
import re

import numpy as np
import pytest
from command import gpualign as run
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualign

FOUNDER = "ACGTTGCAAGTCCATGGACT"
IDS = ["a", "b", "c", "d", "e", "f"]
GENES = gpualign.Sequences([FOUNDER[k:] + "A" * k for k in range(len(IDS))], ids=IDS)
GROUPS = {"a": "x", "b": "y", "c": "x", "d": "z", "e": "y", "f": "x", "others": "w"}


def wanted(rows, groups, within):
    return [row for row in rows if (groups[row["query"]] == groups[row["target"]]) == within]


def rows_of(*sets, **arguments):
    return [row for table in gpualign.iter_pairs(*sets, fields=["query", "target", "cigar"], batch=4, **arguments) for row in table]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["x", "y", "z"]), min_size=6, max_size=6), st.booleans(), st.integers(1, 6))
def test_pairs_are_those_of_all_that_groups_want(groups, within, queries):
    groups = dict(zip(IDS, groups, strict=True))
    chosen = {"groups": groups, "within": within, "between": not within}
    assert rows_of(GENES, **chosen) == wanted(rows_of(GENES), groups, within)
    assert rows_of(GENES[:queries], GENES, **chosen) == wanted(rows_of(GENES[:queries], GENES), groups, within)
    for how in ({"min_identity": 0.5}, {"scoring": gpualign.EDIT, "max_distance": 4}):
        found, every = gpualign.pairs(GENES, **how, **chosen), gpualign.pairs(GENES, **how)
        assert list(found) == [pair for pair in every if (groups[pair[0]] == groups[pair[1]]) == within]


@pytest.mark.parametrize("option", ["between", "within"])
def test_pairs_are_those_of_the_command(tmp_path, small_16s, option):
    genes = gpualign.read(small_16s)
    groups = {name: f"g{k % 4}" for k, name in enumerate(genes.ids)}
    (tmp_path / "g.tsv").write_text("".join(f"{name}\t{group}\n" for name, group in groups.items()))
    told = run("nw", small_16s, "--edit", "--max-distance", "150", "--groups", tmp_path / "g.tsv", f"--{option}").stdout.decode()
    found = gpualign.pairs(genes, scoring=gpualign.EDIT, max_distance=150, groups=groups, **{option: True})
    assert [f"{query}\t{target}\t{value}" for query, target, value in found] == told.splitlines()[1:]
    assert len(found)


def test_groups_of_pandas():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(GROUPS)
    frame = series.to_frame("ward")
    given = [series, frame, frame.reset_index(), frame.to_dict(), {name: np.int64(ord(ward)) for name, ward in GROUPS.items()}]
    expected = wanted(rows_of(GENES), GROUPS, True)
    assert all(rows_of(GENES, groups=groups, within=True) == expected for groups in given)
    numbers = pandas.Series({name: {"x": 1, "y": 2, "z": 3}.get(ward) for name, ward in GROUPS.items()})  # floats, as one is missing
    assert rows_of(GENES, groups=numbers, within=True) == expected
    dates = {name: datetime.date(2020, 1, ord(ward) - 100) for name, ward in GROUPS.items()}
    assert rows_of(GENES, groups=dates, within=True) == expected
    unnamed = pandas.DataFrame({"ward": [1, 2, 1]})  # of records without ids, 0, 1 and 2
    assert [row["target"] for row in rows_of([FOUNDER, "ACGT", "AC"], groups=unnamed, within=True)] == ["2"]


def test_sorted_and_filtered_dataframes():
    """Their index still has the row numbers that pandas gave them, which are not ids."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.Series(GROUPS).rename_axis("id").reset_index(name="ward")
    repeated = pandas.concat([frame, pandas.DataFrame({"id": ["another"], "ward": ["x"]})])
    expected = wanted(rows_of(GENES), GROUPS, True)
    for groups in (frame[::-1], frame.sample(frac=1, random_state=1), repeated[repeated["id"] != "none"]):
        assert rows_of(GENES, groups=groups, within=True) == expected
    records = gpualign.Sequences([FOUNDER, "ACGT", "AC"], ids=["7", "8", "9"])
    numbered = pandas.DataFrame({"ward": [1, 2, 1], "host": ["x", "y", "z"]}, index=[9, 8, 7])[["ward"]]
    assert [row["target"] for row in rows_of(records, groups=numbered, within=True)] == ["9"]


def test_names_that_other_formats_change():
    genes = gpualign.Sequences(["ACGT", "ACGA"], ids=["a 1", "a 2"])
    with pytest.warns(gpualign.InputWarning, match="groups: 2 names match ids if blanks and underscores are alike"):
        assert len(rows_of(genes, groups={"a_1": "x", "a_2": "x"}, within=True)) == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"between": True}, "between needs the group of each record: give groups too"),
        ({"groups": GROUPS}, "groups chooses pairs with between (different groups) or within (the same group)"),
        ({"groups": GROUPS, "between": True, "within": True}, "between and within together select all pairs; give one of them, or neither"),
        ({"groups": GROUPS, "within": "yes"}, "within: expected True or False; found 'yes'"),
        ({"groups": list(GROUPS), "within": True}, "groups: expected a dict of ids and their groups, or a pandas.DataFrame"),
        ({"groups": "g.tsv", "within": True}, "with the ids as its index; found str"),
        ({"groups": {}, "within": True}, "groups: empty; expected ids and their groups"),
        ({"groups": {"a": ["x"]}, "within": True}, "groups: expected text, a number, a date or None as a group; found ['x']"),
        ({"groups": {"1": "x", 1: "y"}, "within": True}, "groups: '1' is in different groups, 'x' and 'y'"),
        ({"groups": {"zz": "x"}, "within": True}, "groups: none of its ids is one of the sequences, whose first is 'a'"),
        ({"groups": {**GROUPS, "c": None}, "within": True}, "groups: 1 of 6 records have no group, 'c' the first; give each one"),
        ({"groups": {"a": "x", "b": float("nan")}, "within": True}, "groups: 5 of 6 records have no group, 'b' the first"),
        ({"groups": {"ward": GROUPS, "ST": GROUPS}, "within": True}, "groups: 2 columns of groups, 'ward', 'ST'"),
    ],
)
def test_refusals(arguments, reason):
    for call in (gpualign.iter_pairs, lambda genes, **rest: gpualign.pairs(genes, min_identity=0.5, **rest)):
        with pytest.raises(gpualign.InputError, match=re.escape(reason)):
            call(GENES, **arguments)
