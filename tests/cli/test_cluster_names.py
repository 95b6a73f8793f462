"""`gpualign cluster --levels`: names of clusters at several thresholds, from every source, and how later runs continue them."""

import csv
import json
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from cluster_command import clusters, refused, rows
from command import gpualign, gpualign_here

from gpualign.core.clustering.clusters import renumber_labels

pytest.importorskip("scipy")

LEVELS = ["--levels", "5,2,0"]
WEEKS = [
    "query\ttarget\tdistance\na\tb\t1\na\tc\t6\nc\td\t0\n",
    "query\ttarget\tdistance\ne\ta\t2\ne\tc\t2\n",  # e joins two clusters, which are also nearer than before
]
IDS = ["a\nb\nc\nd\nz\n", "e\n"]


@pytest.fixture
def folder(tmp_path):
    for week, (pairs, ids) in enumerate(zip(WEEKS, IDS, strict=True)):
        (tmp_path / f"near{week}.tsv").write_text(pairs)
        (tmp_path / f"ids{week}.txt").write_text(ids)
    return tmp_path


def run(folder, week, *words):
    return gpualign("cluster", "--edges", f"near{week}.tsv", "--ids", f"ids{week}.txt", *LEVELS, *words, cwd=folder)


def two_weeks(folder):
    run(folder, 0, "-o", "week0.tsv")
    return run(folder, 1, "--previous", "week0.tsv", "-o", "week1.tsv").stderr.decode()


def history(folder, name):
    """The lines of a log of merges, without dates."""
    first, *others = (folder / name).read_text().splitlines()[1:]
    assert first == "date\tlevel\tkept\tmerged\tsamples"
    assert all(re.match(r"20\d\d-\d\d-\d\d\t", line) for line in others)
    return [line.split("\t", 1)[1] for line in others]


def read_bytes(folder, *names):
    return [(folder / name).read_bytes() for name in names]


# ---- what is written


def test_names_of_two_weeks(folder):
    said = two_weeks(folder)
    assert (folder / "week0.tsv").read_text() == (
        "id\taddress\tt5\tt2\tt0\na\t1.1.1\t1\t1\t1\nb\t1.1.2\t1\t1\t2\nc\t2.2.3\t2\t2\t3\nd\t2.2.3\t2\t2\t3\nz\t3.3.4\t3\t3\t4\n"
    )
    assert (folder / "week1.tsv").read_text() == (
        "id\taddress\tt5\tt2\tt0\na\t1.1.1\t1\t1\t1\nb\t1.1.2\t1\t1\t2\nc\t1.1.3\t1\t1\t3\nd\t1.1.3\t1\t1\t3\nz\t3.3.4\t3\t3\t4\ne\t1.1.5\t1\t1\t5\n"
    )
    assert history(folder, "week0.tsv.log") == []
    assert history(folder, "week1.tsv.log") == ["5\t1\t2\te", "2\t1\t2\te"]
    assert "6 records, 1 of them new, 2 near pairs; clusters: 2 at 5, 2 at 2, 5 at 0, 2 merges (in week1.tsv.log)" in said


def test_a_batch_that_is_run_twice_changes_nothing(folder):
    two_weeks(folder)
    said = run(folder, 1, "--previous", "week1.tsv", "-o", "again.tsv").stderr.decode()
    assert read_bytes(folder, "again.tsv", "again.tsv.log") == read_bytes(folder, "week1.tsv", "week1.tsv.log")
    assert "0 of them new" in said
    assert "merge" not in said


def test_a_command_that_is_repeated_keeps_the_dates_of_its_merges(folder):
    two_weeks(folder)
    log = folder / "week1.tsv.log"
    log.write_text(re.sub(r"^20\d\d-\d\d-\d\d", "2020-02-29", log.read_text(), flags=re.MULTILINE))
    run(folder, 1, "--previous", "week0.tsv", "-o", "week1.tsv")
    assert [line.split("\t")[0] for line in log.read_text().splitlines()[2:]] == ["2020-02-29"] * 2
    (folder / "near2.tsv").write_text("query\ttarget\tdistance\nf\tz\t2\nf\te\t0\n")
    (folder / "ids2.txt").write_text("f\n")
    run(folder, 2, "--previous", "week1.tsv", "-o", "week2.tsv")
    assert history(folder, "week2.tsv.log") == ["5\t1\t2\te", "2\t1\t2\te", "5\t1\t3\tf", "2\t1\t3\tf"]
    assert [line.split("\t")[0] for line in (folder / "week2.tsv.log").read_text().splitlines()[2:4]] == ["2020-02-29"] * 2


def test_all_records_or_only_the_added_ones(folder):
    two_weeks(folder)
    (folder / "near2.tsv").write_text(WEEKS[0] + WEEKS[1])
    (folder / "ids2.txt").write_text("".join(IDS))
    run(folder, 2, "--previous", "week0.tsv", "-o", "week2.tsv")
    assert read_bytes(folder, "week2.tsv", "week2.tsv.log") == read_bytes(folder, "week1.tsv", "week1.tsv.log")


def test_a_compressed_table_in_the_order_of_a_spreadsheet(folder):
    run(folder, 0, "-o", "week0.tsv.gz")
    expected = two_weeks(folder) and read_bytes(folder, "week1.tsv")
    header, *lines = gpualign("cluster", "--edges", "near0.tsv", "--ids", "ids0.txt", *LEVELS, cwd=folder).stdout.decode().splitlines()
    (folder / "week0.tsv").write_text("\n".join([f"{header}\tward", *(f"{line}\twest" for line in lines), ""]))
    run(folder, 1, "--previous", "week0.tsv", "-o", "from_more.tsv")
    run(folder, 1, "--previous", "week0.tsv.gz", "-o", "from_gz.tsv")
    assert read_bytes(folder, "from_more.tsv") == read_bytes(folder, "from_gz.tsv") == expected


def test_names_on_standard_output_have_no_log(folder):
    done = run(folder, 0)
    assert rows(done.stdout)[3] == {"id": "d", "address": "2.2.3", "t5": "2", "t2": "2", "t0": "3"}
    assert b"cannot be continued with --previous: for that, write them to a file with -o" in done.stderr
    assert not list(folder.glob("*.log"))


def test_the_summary(folder):
    two_weeks(folder)
    run(folder, 1, "--previous", "week0.tsv", "-o", "week1.tsv", "--summary", "run.json")
    run(folder, 1, "--previous", "week0.tsv", "-o", "week1.tsv", "--summary", "run_mqc.json")
    summary = json.loads((folder / "run.json").read_text())
    assert summary["results"] == {
        "sequences": 6,
        "near_pairs": 2,
        "clusters_at": {"t5": 2, "t2": 2, "t0": 5},
        "new_sequences": 1,
        "merges": 2,
    }
    assert [one["path"] for one in summary["outputs"]] == ["week1.tsv.log", "week1.tsv"]
    assert [one["path"] for one in summary["inputs"]] == ["near1.tsv", "ids1.txt", "week0.tsv", "week0.tsv.log"]
    assert summary["options"]["levels"] == [5, 2, 0]


def test_a_dry_run_writes_nothing(folder):
    done = run(folder, 0, "-o", "week0.tsv", "--dry-run")
    assert b"output     5 rows" in done.stdout
    assert not list(folder.glob("week*"))


# ---- the same clusters as at one threshold


def partitions(output):
    """The clusters of each level, by the titles of the columns, in the order of the ids."""
    table = sorted(csv.DictReader(output.decode().splitlines(), delimiter="\t"), key=lambda row: row["id"])
    levels = [title for title in table[0] if title.startswith("t")]
    return {title[1:]: renumber_labels(np.array([int(row[title]) for row in table])).tolist() for title in levels}


def at_one_threshold(output):
    found = clusters(output)
    return renumber_labels(np.array([found[name] for name in sorted(found)])).tolist()


def test_levels_of_edits_are_runs_of_one_threshold(small_16s):
    levels = ["350", "300", "100", "0"]
    found = partitions(gpualign_here("cluster", small_16s, "--edit", "--levels", ",".join(reversed(levels)))[0])
    assert list(found) == levels
    for level in levels:
        assert found[level] == at_one_threshold(gpualign_here("cluster", small_16s, "--edit", "--max-distance", level)[0])
    assert len({max(labels) for labels in found.values()}) > 2


@pytest.mark.slow
@pytest.mark.parametrize("source", ["sequences", "list", "float64", "float32"])
def test_levels_of_identities_are_runs_of_one_threshold(small_16s, tmp_path, source):
    """With distances of pairs as levels, which rounding must not keep apart."""
    gpualign_here("nw", small_16s, "--value", "identity", "-o", tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as stored:
        values = dict(stored)
    name = next(name for name, array in values.items() if array.ndim == 2 and array.dtype.kind == "f")
    np.savez(tmp_path / "float32.npz", **(values | {name: values[name].astype(np.float32)}))
    gpualign_here("nw", small_16s, "--fields", "query,target,identity", "-o", tmp_path / "list.tsv")
    words = {
        "sequences": [small_16s, "--min-coverage", 0],
        "list": ["--edges", tmp_path / "list.tsv"],
        "float64": ["--distances", tmp_path / "m.npz"],
        "float32": ["--distances", tmp_path / "float32.npz"],
    }[source]
    listed = sorted({round(1 - float(line.split("\t")[2]), 6) for line in (tmp_path / "list.tsv").read_text().splitlines()[1:]})
    levels = [f"{level:g}" for level in (0.35, 0.3, listed[40], 0.2, listed[10], listed[0])]
    levels = sorted(set(levels), key=float, reverse=True)
    found = partitions(gpualign_here("cluster", *words, "--levels", ",".join(levels))[0])
    assert list(found) == levels
    for level in levels:
        assert found[level] == at_one_threshold(gpualign_here("cluster", *words, "--max-distance", level)[0])


def test_copies_of_a_sequence_have_one_name(tmp_path):
    (tmp_path / "x.fa").write_text(">a\nACGT\n>b\nACGA\n>c\nACGT\n")
    out = gpualign("cluster", "x.fa", "--edit", "--levels", "1,0", cwd=tmp_path).stdout
    assert [row["address"] for row in rows(out)] == ["1.1", "1.2", "1.1"]


def test_sequences_are_named_with_the_earlier_ones(tmp_path):
    (tmp_path / "old.fa").write_text(">b\nACGT\n>a\nAGGA\n")
    (tmp_path / "new.fa").write_text(">c\nACGA\n")
    (tmp_path / "all.fa").write_text((tmp_path / "old.fa").read_text() + (tmp_path / "new.fa").read_text())
    words = ["--edit", "--levels", "1,0"]
    gpualign("cluster", "old.fa", *words, "-o", "week0.tsv", cwd=tmp_path)
    said = refused(["new.fa", *words, "--previous", "week0.tsv", "-o", "week1.tsv"], tmp_path)
    assert "2 of the 2 records with names are not in the input, 'a' the first" in said
    gpualign("cluster", "all.fa", *words, "--previous", "week0.tsv", "-o", "week1.tsv", cwd=tmp_path)
    assert [row["address"] for row in rows((tmp_path / "week1.tsv").read_bytes())] == ["1.1", "1.2", "1.3"]
    assert history(tmp_path, "week1.tsv.log") == ["1\t1\t2\tc"]


# ---- what is refused


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--max-distance", "5"], "--levels has the thresholds already; leave out --max-distance"),
        (["--min-identity", "0.9"], "--levels has the thresholds already; leave out --min-identity"),
        (["--method", "complete"], "--levels are levels of single linkage; they cannot be combined with --method complete"),
        (["--method", "greedy"], "--levels are levels of single linkage; they cannot be combined with --method greedy"),
        (["--order", "size"], "--order is for greedy centroids"),
        (["--uc", "x.uc"], "--levels writes names of clusters, and --uc is about clusters at one threshold"),
        (["--format", "csv"], "--levels writes names of clusters as tsv or microreact; found csv"),
        (["-o", "x.parquet"], "--levels writes names of clusters as tsv or microreact; found parquet"),
        (["--previous", "none.tsv", "-o", "x.tsv"], "none.tsv: no such file"),
        (["--previous", "ids0.txt", "-o", "x.tsv"], "ids0.txt.log: no such file; it has the codes of merged clusters"),
        (["--previous", "-", "-o", "x.tsv"], "--previous: name a file"),
        (["--previous", "week0.tsv"], "--previous needs -o FILE"),
        (["--previous", "week0.tsv", "-o", "/dev/null"], "--previous needs -o FILE"),
        (["--previous", "week0.tsv", "-o", "week0.tsv"], "the output week0.tsv is also an input"),
        (["--previous", "week0.tsv", "-o", "week0.tsv.log"], "does not determine the format"),
        (["-o", "x.tsv", "--log", "x.tsv.log"], "named for two outputs"),
        (["--levels", "5,2,x"], "'x' is not a number"),
        (["--levels", "5,2,5"], "5 is in the list twice"),
        (["--levels", "5,-2"], "expected distances of 0 or more, found -2"),
        (["--levels", "5,2", "--previous", "week0.tsv", "-o", "x.tsv"], "week0.tsv: its names are those of --levels 5,2,0"),
        (["--levels", "5,2,0,0.5", "--previous", "week0.tsv", "-o", "x.tsv"], "stay only at the same levels; found --levels 5,2,0.5,0"),
    ],
)
def test_options_that_are_refused(folder, words, says):
    run(folder, 0, "-o", "week0.tsv")
    assert says in refused(["--edges", "near1.tsv", *LEVELS, *words], folder)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--previous", "week0.tsv", "-o", "x.tsv", "--edit", "--max-distance", "3"], "--previous continues the names of --levels"),
        (["--levels", "3"], "--levels is a list of 1 - identity, unless --edit counts letters, each from 0 to 1; found 3"),
        (["--levels", "3,2.5", "--edit"], "--levels: expected whole numbers; found 2.5"),
    ],
)
def test_levels_of_sequences_that_are_refused(tmp_path, words, says):
    (tmp_path / "x.fa").write_text(">a\nACGT\n>b\nACGA\n")
    assert says in refused(["x.fa", *words], tmp_path)


@pytest.mark.parametrize(("table", "log"), [("week0.tsv", "week1.tsv.log"), ("week1.tsv", "week0.tsv.log")])
def test_files_of_different_runs_are_not_continued(folder, table, log):
    """As a run leaves them that is killed after it has given one of two files its name, over an earlier run's."""
    two_weeks(folder)
    shutil.copy(folder / table, folder / "x.tsv")
    shutil.copy(folder / log, folder / "x.tsv.log")
    said = refused(["--edges", "near1.tsv", *LEVELS, "--previous", "x.tsv", "-o", "y.tsv"], folder)
    assert "x.tsv: x.tsv.log does not belong to it" in said


def test_a_run_that_is_killed_between_its_two_files(folder):
    """The next run says that they do not belong together, and the week can be run again."""
    two_weeks(folder)
    (folder / "near1.tsv").write_text(f"{WEEKS[1]}f\tz\t1\n")
    (folder / "ids1.txt").write_text("e\nf\n")
    words = ["cluster", "--edges", "near1.tsv", "--ids", "ids1.txt", *LEVELS, "--previous", "week0.tsv", "-o", "week1.tsv"]
    kill = "def kill(*names):\n    replace(*names)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    code = f"import os, signal, sys\nfrom gpualign.cli.main import run\nreplace = os.replace\n{kill}os.replace = kill\nsys.exit(run())"
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=folder, capture_output=True)
    assert done.returncode == -signal.SIGKILL
    again = ["--edges", "near1.tsv", *LEVELS, "--previous", "week1.tsv", "-o", "week2.tsv"]
    assert "week1.tsv: week1.tsv.log does not belong to it" in refused(again, folder)
    gpualign(*words, cwd=folder)
    gpualign("cluster", *again, cwd=folder)
    assert read_bytes(folder, "week2.tsv", "week2.tsv.log") == read_bytes(folder, "week1.tsv", "week1.tsv.log")


def test_no_merge_of_a_log_is_lost(folder):
    two_weeks(folder)
    said = refused(["--edges", "near0.tsv", *LEVELS, "-o", "week1.tsv"], folder)
    assert r"the log of the output has 2 merges that these names lack, and which would be lost, first '2\t1\t2\te'" in said


def test_a_log_of_something_else_is_not_overwritten(folder):
    (folder / "week0.tsv.log").write_text("2026-11-27 12:00:00 gpualign dist: 5 samples\n")
    said = refused(["--edges", "near0.tsv", *LEVELS, "-o", "week0.tsv"], folder)
    assert "week0.tsv.log: not a log of merges" in said
    assert "it would be overwritten" in said
