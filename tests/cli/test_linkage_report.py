"""`gpualign cluster --linkage-report`: sizes, diameters, longest links and dates of clusters, against plain loops over the distances."""

import gzip
import itertools

import numpy as np
import pytest
from cluster_command import clusters, refused, rows
from command import gpualign, gpualign_here

pytest.importorskip("scipy")

FAR = 35
"""The largest distance at which the sequences below are near."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """x.fa: relatives, some of them equal, in the order of no tree; m.tsv: their edit distances; all.tsv and near.tsv: lists of these."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(7)
    sequences = [rng.choice(list("ACGT"), 60) for _ in range(3)]
    for _ in range(17):
        child = sequences[rng.integers(len(sequences))].copy()
        places = rng.integers(60, size=rng.integers(0, 7))
        child[places] = rng.choice(list("ACGT"), len(places))
        sequences.append(child)
    order = rng.permutation(len(sequences))
    (folder / "x.fa").write_text("".join(f">s{k}\n{''.join(sequences[at])}\n" for k, at in enumerate(order)))
    gpualign("nw", "--edit", "x.fa", "-o", "all.tsv", cwd=folder)
    gpualign("nw", "--edit", "x.fa", "--max-distance", FAR, "-o", "near.tsv", cwd=folder)
    gpualign("nw", "--edit", "x.fa", "-o", "m.npy", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def distances(folder):
    found = {}
    for row in rows((folder / "all.tsv").read_bytes()):
        found[row["query"], row["target"]] = found[row["target"], row["query"]] = int(row["distance"])
    return found


def groups(labels):
    members = {}
    for name, label in labels.items():
        members.setdefault(label, []).append(name)
    return {label: some for label, some in members.items() if len(some) > 1}


def longest_link(some, distances):
    """Prim's algorithm: (the longest distance by which a record is added, the pairs at this distance)."""
    inside, outside, longest = some[:1], some[1:], 0
    while outside:
        nearest = min(outside, key=lambda name: min(distances[name, other] for other in inside))
        longest = max(longest, min(distances[nearest, other] for other in inside))
        outside.remove(nearest)
        inside.append(nearest)
    return longest


def check(report, labels_of_levels, distances):
    """Every row, and that there is one for each cluster of two or more records."""
    expected = [(level, str(label), some) for level, labels in labels_of_levels.items() for label, some in sorted(groups(labels).items())]
    assert [(row["level"], row["cluster"]) for row in report] == [(level, label) for level, label, _ in expected]
    for row, (level, _, some) in zip(report, expected, strict=True):
        assert row["size"] == str(len(some))
        assert row["diameter"] == str(max(distances[pair] for pair in itertools.combinations(some, 2)))
        assert int(row["link"]) == longest_link(some, distances) == distances[row["query"], row["target"]] <= int(level)
        assert some.index(row["query"]) < some.index(row["target"])


SOURCES = {
    "sequences": ["x.fa", "--edit"],
    "list": ["--edges", "all.tsv", "--edit"],
    "matrix": ["--distances", "m.npy", "--edit"],
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("level", ["8", "3", "0"])
def test_clusters_at_one_threshold(folder, distances, source, level):
    out = gpualign("cluster", *SOURCES[source], "--max-distance", level, "--linkage-report", "r.tsv", cwd=folder).stdout
    report = rows((folder / "r.tsv").read_bytes())
    check(report, {level: clusters(out)}, distances)
    assert level == "0" or any(int(row["diameter"]) > int(level) for row in report)


@pytest.mark.parametrize("source", SOURCES)
def test_clusters_at_several_thresholds(folder, distances, source):
    levels = ["8", "5", "3", "0"]
    words = ["--levels", ",".join(levels), "--linkage-report", "r.tsv"]
    table = rows(gpualign("cluster", *SOURCES[source], *words, cwd=folder).stdout)
    table.sort(key=lambda row: int(row["id"][1:]))
    labels = {level: {row["id"]: int(row[f"t{level}"]) for row in table} for level in levels}
    report = rows((folder / "r.tsv").read_bytes())
    place = {row["id"]: k for k, row in enumerate(sorted(table, key=lambda row: row["id"]))}
    for row in report:  # of names, records are in the order of the ids
        assert place[row["query"]] < place[row["target"]]
        row["query"], row["target"] = sorted((row["query"], row["target"]), key=lambda name: int(name[1:]))
    check(report, labels, distances)


def test_what_a_list_of_near_pairs_does_not_tell(folder, distances):
    """A diameter is known if all pairs are in the list."""
    words = ["--edges", "near.tsv", "x.fa", "--edit", "--max-distance", FAR, "--linkage-report", "r.tsv"]
    found = groups(clusters(gpualign("cluster", *words, cwd=folder).stdout))
    known = []
    for row in rows((folder / "r.tsv").read_bytes()):
        some = found[int(row["cluster"])]
        diameter = max(distances[pair] for pair in itertools.combinations(some, 2))
        assert row["diameter"] == (str(diameter) if diameter <= FAR else "nan")
        assert int(row["link"]) == longest_link(some, distances)
        known.append(diameter <= FAR)
    gpualign("cluster", *words[:-2], "--linkage-report", "r8.tsv", "--max-distance", "3", cwd=folder)
    assert all(row["diameter"] != "nan" for row in rows((folder / "r8.tsv").read_bytes()))
    assert not all(known)


def test_sequences_without_other_distances(folder):
    """Of Hamming distances only near pairs are known."""
    gpualign("cluster", "x.fa", "--hamming", "--max-distance", "4", "--linkage-report", "r.tsv", cwd=folder)
    report = rows((folder / "r.tsv").read_bytes())
    assert {row["diameter"] == "nan" for row in report} == {True, False}
    assert all(int(row["link"]) <= 4 for row in report)


def test_identities_have_decimals(small_16s, tmp_path):
    gpualign_here("cluster", small_16s, "--min-identity", "0.97", "--linkage-report", tmp_path / "r.tsv.gz", "-o", tmp_path / "c.tsv")
    report = rows(gzip.decompress((tmp_path / "r.tsv.gz").read_bytes()))
    assert report
    for row in report:
        assert row["level"] == "0.03"
        assert 0 <= float(row["link"]) <= 0.03
        assert len(row["diameter"].split(".")[1]) == 6


# ---- names that are continued


LIST = "query\ttarget\tdistance\na\tb\t1\nb\tc\t2\na\tc\t3\n"
MORE = "query\ttarget\tdistance\nx\ta\t2\nx\tb\t2\nx\tc\t2\n"


@pytest.fixture
def weeks(tmp_path):
    (tmp_path / "near0.tsv").write_text(LIST)
    (tmp_path / "near1.tsv").write_text(MORE)
    (tmp_path / "both.tsv").write_text(LIST + MORE.partition("\n")[2])
    days = {"c": "2026-01-09", "a": "2026-01-05", "x": "2026-01-09", "b": "NA"}
    lines = "".join(f"{name}\t{day}\t1\t2026\n" for name, day in days.items())
    (tmp_path / "dates.tsv").write_text(f"id\tsampled\twest\tyear\n{lines}")
    gpualign("cluster", "--edges", "near0.tsv", "--levels", "3,0", "-o", "names0.tsv", cwd=tmp_path)
    return tmp_path


def continued(folder, edges, *words):
    given = ["--edges", edges, "--levels", "3,0", "--previous", "names0.tsv", "-o", "names1.tsv", "--linkage-report", "r.tsv"]
    gpualign("cluster", *given, *words, cwd=folder)
    return (folder / "r.tsv").read_text()


def test_links_are_not_told_from_some_of_the_pairs(weeks):
    """Pairs of earlier records may be missing in a list: x seems to be 2 from all, but b is 1 from a."""
    titles = "level\tcluster\tsize\tdiameter\tlink\tquery\ttarget\n"
    assert continued(weeks, "near1.tsv") == f"{titles}3\t1\t4\tnan\tnan\t\t\n"
    assert continued(weeks, "both.tsv") == f"{titles}3\t1\t4\t3\t2\ta\tx\n"


def test_dates(weeks):
    for column in ("", ":sampled"):
        _, row = continued(weeks, "both.tsv", "--dates", f"dates.tsv{column}").splitlines()
        assert row.split("\t")[7:] == ["a", "2026-01-05", "x", "2026-01-09"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--dates", "dates.tsv:west"], "dates.tsv: column 'west': expected dates of the records, such as 2026-11-27"),
        (["--dates", "dates.tsv:none"], "no column is called 'none'"),
        (["--dates", "two.tsv"], "two.tsv: 2 columns have dates, 'd', 'e'; choose one with TABLE:COLUMN"),
        (["--dates", "no.tsv"], "no.tsv: no column: expected dates"),
        (["--dates", "missing.tsv"], "missing.tsv: no such file"),
        (["--method", "complete"], "--linkage-report is about clusters of single linkage; it cannot be combined with --method complete"),
        (["-o", "r.tsv"], "r.tsv is named for two outputs"),
        (["--linkage-report", "near0.tsv"], "the output near0.tsv is also an input"),
        (["--dates", "dates.tsv", "--linkage-report", "dates.tsv"], "the output dates.tsv is also an input"),
        (["--linkage-report", "-"], "--linkage-report: name a file; standard output is for the clusters"),
        (["--uc", "-"], "--uc: name a file; standard output is for the clusters"),
        (["--representatives", "-"], "--representatives: name a file; standard output is for the clusters"),
    ],
)
def test_what_is_refused(weeks, words, says):
    (weeks / "two.tsv").write_text("id\td\te\na\t2026-01-01\t2026-01-02\n")
    (weeks / "no.tsv").write_text("id\tyear\na\t2026\n")
    assert says in refused(["--edges", "near0.tsv", "--max-distance", "3", "--linkage-report", "r.tsv", *words], weeks)


def test_dates_need_a_report(weeks):
    said = refused(["--edges", "near0.tsv", "--max-distance", "3", "--dates", "dates.tsv"], weeks)
    assert "--dates is for --linkage-report; give that too" in said


def test_a_chain_whose_distances_do_not_fit_the_memory(rng, tmp_path):
    """1,500 sequences, each one letter from the next: their distances take 9 MB."""
    walk = [rng.choice(list("ACGT"), 400)]
    for k in range(1499):
        step = walk[-1].copy()
        step[k % 400] = {"A": "C", "C": "G", "G": "T", "T": "A"}[str(step[k % 400])]
        walk.append(step)
    (tmp_path / "x.fa").write_text("".join(f">s{k}\n{''.join(row)}\n" for k, row in enumerate(walk)))
    words = ["x.fa", "--edit", "--max-distance", "1", "--device", "cpu", "--threads", "1", "--linkage-report", "r.tsv"]
    said = refused([*words, "--memory", "8M"], tmp_path, code=1)
    assert "the distances between 1,500 connected records take 8.6 MiB of memory; raise --memory, choose a nearer threshold" in said
