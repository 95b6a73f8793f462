"""`gpualign dist --exclude` and `--min-called`: the same as of files that have the other samples alone."""

import json

import numpy as np
import pytest
from command import gpualign_here
from dist_command import dist, refused, write_alignment
from sites import vcf_text, write_fileset, write_pgen

import gpualign as python
from gpualign.core.distance.calls import MISSING

LEFT_OUT = [1, 4, 10]
KEPT = [k for k in range(12) if k not in LEFT_OUT]
EXCLUDE = ["--exclude", "s4", "--exclude", "drop.txt"]
SITES = ["--regions", "NC_1:6-150,NC_1:180-", "--mask", "m.bed"]
SHARES = ["--core", "0.75", "--maf", "0.2"]


@pytest.fixture
def rows(rng, tmp_path, monkeypatch):
    """Letters of 12 samples at 200 sites, of which those that are left out have the fewest calls; many sites lack calls of these alone."""
    monkeypatch.chdir(tmp_path)
    rows = np.repeat(rng.choice(np.array([*b"ACGT"], np.uint8), (1, 200)), 12, axis=0)
    changed = rng.random(rows.shape) < rng.choice([0, 0.1, 0.3], 200)
    rows[changed] = rng.choice(np.array([*b"ACGT"], np.uint8), rows.shape)[changed]
    lacking = np.full(rows.shape, 0.05) * rng.choice([0, 1], 200)
    lacking[LEFT_OUT] = 0.6
    rows[rng.random(rows.shape) < lacking] = ord("N")
    write_alignment(tmp_path / "full.aln", rows)
    (tmp_path / "drop.txt").write_text("# failed\n\ns1\n  s10  \n")
    (tmp_path / "m.bed").write_text("NC_1\t10\t40\n")
    return rows


def write_left(path, rows, kept=KEPT):
    path.write_bytes(b"".join(b">s%d\n%s\n" % (k, bytes(rows[k])) for k in kept))


OTHERS = [
    [],
    ["--metric", "tn93"],
    ["--missing", "complete"],
    ["--missing", "complete", "--metric", "fraction"],
    ["--missing", "complete", "--metric", "tn93", *SITES],
    ["--missing", "as-difference"],
    ["--all-letters"],
    ["--max-distance", 12],
    ["--max-distance", 12, "--compared"],
    ["--core", "1"],
    [*SITES, *SHARES],
    [*SHARES, "--max-distance", "0.1", "--metric", "fraction"],
]


@pytest.mark.parametrize("more", OTHERS, ids=lambda more: " ".join(map(str, more)))
def test_an_alignment_of_the_samples_that_are_left(rows, tmp_path, more):
    write_left(tmp_path / "left.aln", rows)
    expected = dist("left.aln", *more)[0]
    assert dist("full.aln", *EXCLUDE, *more)[0] == expected
    if "--all-letters" not in more:  # N is a call then
        assert dist("full.aln", "--min-called", "0.7", *more)[0] == expected


def test_calls_are_counted_at_the_sites_of_regions_and_mask_and_before_shares(rows, tmp_path):
    """s3 has calls outside the region alone; sites that it lacks are core sites without it."""
    rows[3, :100] = ord("N")
    write_alignment(tmp_path / "full.aln", rows)
    expected = [k for k in KEPT if k != 3]
    write_left(tmp_path / "left.aln", rows, expected)
    found, note = dist("full.aln", "--regions", "NC_1:1-100", "--min-called", "0.7", "--core", "1")
    assert (found, note) == dist("left.aln", "--regions", "NC_1:1-100", "--core", "1")
    assert dist("full.aln", "--min-called", "50")[0].count("\ns3\t") == 1


def test_what_is_said(rows, tmp_path):
    _, notes = dist("full.aln", *EXCLUDE)
    assert "--exclude leaves out 3 of 12 samples" in notes
    _, notes = dist("full.aln", "--exclude", "s4", "--min-called", "0.7", "--summary", "s.json", "-o", "x.tsv")
    called = {f"s{k}": np.count_nonzero(rows[k] != ord("N")) for k in (1, 10)}
    poorest = sorted(called, key=called.get)
    named = f"{poorest[0]} ({called[poorest[0]]} of 200), {poorest[1]} ({called[poorest[1]]})"
    assert f"--min-called leaves out 2 of 11 samples, with calls at fewer than 140 sites: {named}" in notes
    results = json.loads((tmp_path / "s.json").read_text())["results"]
    assert (results["samples_read"], results["samples_left_out"]) == (12, {"exclude": 1, "min_called": 2})
    assert (results["samples"], results["pairs"]) == (9, 36)
    _, notes = dist("full.aln", "--min-called", "0.1", "--summary", "s.json", "-o", "x.tsv")
    assert not any("--min-called leaves out" in note for note in notes)
    assert json.loads((tmp_path / "s.json").read_text())["results"]["samples_left_out"] == {"min_called": 0}
    dist("full.aln", "--summary", "s.json", "-o", "x.tsv")
    assert "samples_read" not in json.loads((tmp_path / "s.json").read_text())["results"]


def test_two_inputs_and_added_ones(rows, tmp_path):
    for name, some in (("new", range(5)), ("old", range(5, 12))):
        write_left(tmp_path / f"{name}.aln", rows, some)
        write_left(tmp_path / f"{name}_left.aln", rows, [k for k in some if k in KEPT])
    for more in ([], ["--missing", "complete"], ["--core", "1"]):
        expected = dist("new_left.aln", "old_left.aln", *more)[0]
        assert dist("new.aln", "old.aln", *EXCLUDE, *more)[0] == dist("new.aln", "old.aln", "--min-called", "0.7", *more)[0] == expected
    added = ["--max-distance", 20, "--compared"]
    assert dist("new.aln", "--add", "old.aln", *EXCLUDE, *added)[0] == dist("new_left.aln", "--add", "old_left.aln", *added)[0]
    write_left(tmp_path / "again.aln", rows, [0, 1])
    _, notes = dist("again.aln", "--add", "new.aln", "--max-distance", 20, "--exclude", "s1")
    assert any(note.startswith("one id is also in new.aln, first 's0'") for note in notes)
    assert refused("new.aln", "old.aln", *(word for k in range(5, 12) for word in ("--exclude", f"s{k}"))) == (
        "no sample of the second input is left: --exclude names all of them"
    )


@pytest.mark.parametrize("kind", ["vcf", "bed", "pgen", "tsv"])
def test_other_inputs(rng, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    codes = rng.integers(0, 3, (12, 150), dtype=np.uint8)
    codes[rng.random(codes.shape) < 0.03] = MISSING
    codes[np.ix_(LEFT_OUT, rng.permutation(150)[:90])] = MISSING
    if kind == "vcf":
        pytest.importorskip("cyvcf2")
    if kind == "pgen":
        pytest.importorskip("pgenlib")

    def write(name, some):
        path = tmp_path / f"{name}.{kind}"
        if kind == "vcf":
            calls = [("AC", ["./." if c == MISSING else ("0/0", "0/1", "1/1")[c] for c in column]) for column in codes[some].T.tolist()]
            path.write_text(vcf_text([f"p{k}" for k in some], calls))
        elif kind == "tsv":
            cells = [[f"p{k}", *("NA" if code == MISSING else str(code) for code in codes[k].tolist())] for k in some]
            path.write_text("".join("\t".join(row) + "\n" for row in [["id", *(f"rs{k}" for k in range(150))], *cells]))
        else:
            {"bed": write_fileset, "pgen": write_pgen}[kind](path, codes[some])
            people = path.with_suffix(".fam" if kind == "bed" else ".psam")
            lines = people.read_text().splitlines(keepends=True)
            head = lines[: len(lines) - len(some)]
            renamed = zip(lines[len(head) :], enumerate(some), strict=True)
            people.write_text("".join([*head, *(line.replace(f"p{n}", f"p{k}") for line, (n, k) in renamed)]))
        return path

    full, left = write("full", list(range(12))), write("left", KEPT)
    exclude = [word for k in LEFT_OUT for word in ("--exclude", f"p{k}")]
    for more in ([], ["--missing", "complete", "--metric", "ibs"], [*SHARES, "--metric", "king"], ["--core", "1", "--metric", "grm"]):
        expected = dist(left, *more)[0]
        assert len(expected.splitlines()) == 10
        assert dist(full, *exclude, *more)[0] == dist(full, "--min-called", "0.6", *more)[0] == expected


def test_alleles(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbers = rng.integers(1, 40, (6, 30))
    rows = [
        "\t".join([f"s{k}", *("LNF" if k == 2 and site > 4 else str(n) for site, n in enumerate(row))]) for k, row in enumerate(numbers)
    ]
    head = "\t".join(["FILE", *(f"L{k}" for k in range(30))])
    (tmp_path / "full.tsv").write_text("\n".join([head, *rows]) + "\n")
    (tmp_path / "left.tsv").write_text("\n".join([head, *(row for k, row in enumerate(rows) if k != 2)]) + "\n")
    for more in ([], ["--missing", "complete"], ["--core", "1"]):
        expected = dist("left.tsv", *more)[0]
        assert dist("full.tsv", "--exclude", "s2", *more)[0] == dist("full.tsv", "--min-called", "0.5", *more)[0] == expected


def test_in_shares_and_again(rows, tmp_path):
    write_left(tmp_path / "left.aln", rows)
    options = [*EXCLUDE, "--max-distance", 30]
    expected = dist("left.aln", *options[-2:])[0]
    for k in (1, 2):
        dist("full.aln", *options, "--shard", f"{k}/2", "-o", "x.tsv")
    gpualign_here("merge", "x.tsv.1-of-2.part", "x.tsv.2-of-2.part", "-o", "x.tsv")
    assert (tmp_path / "x.tsv").read_text() == expected
    dist("full.aln", *options, "--resume", "-o", "y.tsv")
    assert (tmp_path / "y.tsv").read_text() == expected

    for k in (1, 2):
        dist("full.aln", *options, "--shard", f"{k}/2", "-o", "x.tsv")
    dist("full.aln", "--exclude", "s4", "--max-distance", 30, "--shard", "2/2", "-o", "x.tsv")
    with pytest.raises(python.InputError, match=r"it was started with --exclude s4;"):
        gpualign_here("merge", "x.tsv.1-of-2.part", "x.tsv.2-of-2.part", "-o", "x.tsv")
    (tmp_path / "drop.txt").write_text("s1\n")
    dist("full.aln", *options, "--shard", "2/2", "-o", "x.tsv")
    with pytest.raises(python.InputError, match="it was started with other input"):
        gpualign_here("merge", "x.tsv.1-of-2.part", "x.tsv.2-of-2.part", "-o", "x.tsv")


def test_refusals(rows, tmp_path):
    assert refused("full.aln", "--exclude", "s44") == "--exclude (no file of this name, so an id): no sample 's44'; did you mean s4?"
    (tmp_path / "drop.txt").write_text("s1\n\nsample9\n")
    assert refused("full.aln", "--exclude", "drop.txt") == "drop.txt: line 3: no sample 'sample9'"
    (tmp_path / "none.txt").write_text("# nobody\n")
    assert refused("full.aln", "--exclude", "none.txt") == "--exclude none.txt: no ids; expected one per line"
    most = np.count_nonzero(rows != ord("N"), axis=1).max()
    found = refused("full.aln", "--min-called", "201")
    assert found == f"no sample is left: --min-called asks for calls at 201 of 200 sites, and the most that a sample has is {most}"
    assert "--min-called is a whole number of sites from 1 on (50), or a fraction" in refused("full.aln", "--min-called", "0")
    write_alignment(tmp_path / "one.aln", rows[:1])
    assert refused("one.aln", "--exclude", "s0") == "no sample is left: --exclude names all of them"


def test_in_python(rows, tmp_path):
    full = python.dist(tmp_path / "full.aln")
    found = python.dist(tmp_path / "full.aln", exclude=["s1", "s4", "s10"])
    assert found.ids == [f"s{k}" for k in KEPT]
    np.testing.assert_array_equal(found.values, full.values[np.ix_(KEPT, KEPT)])
    np.testing.assert_array_equal(python.dist(tmp_path / "full.aln", min_called=0.7).values, found.values)
    calls = np.array([[0, 1, 2, 0], [0, -1, -1, -1], [1, 1, 2, 0]])
    assert python.dist(calls, min_called=2, missing="complete").values.tolist() == [[0, 1], [1, 0]]
    assert python.dist(calls, exclude=["2"], missing="complete").ids == ["1", "3"]
    with pytest.raises(python.InputError, match="exclude: no sample '4'"):
        python.dist(calls, exclude=["4"])
    with pytest.raises(python.InputError, match="exclude 's1': expected a list of ids"):
        python.dist(calls, exclude="s1")
