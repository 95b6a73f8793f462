"""What `nw` and `cluster` say before they align every pair."""

import re

import pytest
from command import gpualign_here

from gpualign.core.common.units import format_duration
from gpualign.jobs import every_pair_subset, threshold_advice


@pytest.fixture
def genes(rng, tmp_path, monkeypatch):
    """500 unrelated records of 60 letters, taken as many enough for times: really those are for jobs of minutes."""
    monkeypatch.setattr(threshold_advice, "MIN_CELLS", 1_000_000)
    records = ("".join(rng.choice(list("ACGT"), 60)) for _ in range(500))
    path = tmp_path / "genes.fa"
    path.write_text("".join(f">r{k}\n{letters}\n" for k, letters in enumerate(records)))
    return path


TIME = r"about \d+(\.\d)? s"


@pytest.mark.parametrize("dry_run", [False, True])
def test_both_times_are_said(genes, tmp_path, dry_run):
    words = ["--dry-run"] if dry_run else []
    _, messages = gpualign_here("nw", genes, "--min-identity", 0.97, "-o", tmp_path / "x.tsv", *words)
    assert re.search(f"every pair is aligned, which takes {TIME}: gaps at the ends do not count in --identity-def 2;", messages)
    assert re.search(f"; --min-coverage 0.8 takes {TIME}\n", messages)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nw", "--min-identity", 0.97, "--min-coverage", 0.3], "the thresholds allow as many edits as unrelated sequences have\n"),
        (["nw", "--min-identity", 0.97, "--identity-def", 3], "--identity-def 3 counts a gap of any length as one difference; "),
        (["cluster", "--min-identity", 0.4, "--min-coverage", 0], "gaps at the ends do not count in --identity-def 2; "),
    ],
)
def test_a_coverage_that_would_save_nothing_is_not_advised(genes, words, reason):
    command, *options = words
    _, messages = gpualign_here(command, genes, *options, "--method", "greedy") if command == "cluster" else gpualign_here(*words, genes)
    assert re.search(f"every pair is aligned, which takes {TIME}: {re.escape(reason)}", messages)
    assert "0.8 takes" not in messages


@pytest.mark.parametrize("words", [["--min-identity", 0.97, "--min-coverage", 0.9], ["--min-score", 250], ["--nearest", 1], []])
def test_nothing_is_said_where_pairs_are_skipped_or_all_are_wanted(genes, words):
    assert "every pair" not in gpualign_here("nw", genes, *words)[1]


@pytest.mark.parametrize("only_centroids", [True, False])
def test_the_time_of_greedy_clusters_is_at_most_that_of_all_pairs(genes, monkeypatch, only_centroids):
    monkeypatch.setattr(every_pair_subset, "_MIN_SECONDS", 0 if only_centroids else 100)
    options = [genes, "--min-identity", 0.97, "--min-coverage", 0, "--device", "cpu", "--dry-run"]
    output, messages = gpualign_here("cluster", *options, "--method", "greedy")
    assert bool(re.search(f"every pair with a centroid is aligned, which takes at most {TIME}: gaps ", messages)) == only_centroids
    assert bool(re.search(f"every pair is aligned, which takes {TIME}: gaps ", messages)) != only_centroids
    assert bool(re.search(rb"^estimate +at most ", output, re.MULTILINE)) == only_centroids
    output, messages = gpualign_here("cluster", *options)
    assert b"at most" not in output
    assert "every pair is aligned, which takes about " in messages


def test_small_jobs_are_told_the_reason_alone(genes, monkeypatch):
    monkeypatch.setattr(threshold_advice, "MIN_CELLS", 10**12)
    assert "every pair is aligned: gaps at the ends" in gpualign_here("nw", genes, "--min-identity", 0.97)[1]
    monkeypatch.setattr(threshold_advice, "MIN_PAIR_COUNT", 10**6)
    assert "every pair" not in gpualign_here("nw", genes, "--min-identity", 0.97)[1]


def test_durations():
    found = [format_duration(seconds) for seconds in (0.04, 9.94, 59.4, 61, 3540, 3600, 16_800, 90_000, 864_000)]
    assert found == ["0.0 s", "9.9 s", "59 s", "1 min", "59 min", "1 h 0 min", "4 h 40 min", "1 d 1 h", "10 d 0 h"]


@pytest.mark.parametrize("command", ["nw", "cluster"])
def test_a_distance_of_1_that_may_be_an_edit(command, tmp_path):
    path = tmp_path / "x.fa"
    path.write_text(">a\nACGTACGT\n>b\nACGTACGA\n")
    said = "--max-distance 1 is 1 - identity, so pairs of any identity pass; for at most 1 edit add --edit, for at most 1 unequal letter "
    method = ["--method", "greedy"] if command == "cluster" else []
    assert said in gpualign_here(command, path, "--max-distance", 1, *method)[1]
    for words in (["--max-distance", 0.5], ["--max-distance", 1, "--edit"], ["--max-distance", 1, "--hamming"]):
        assert "any identity" not in gpualign_here(command, path, *words, *method)[1]
