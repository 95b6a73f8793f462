"""The row of a query that SAM flags as primary: its best, wherever it is among the others."""

import re

import numpy as np
import pytest
from command import gpualign, gpualign_here
from places import ROOT

from gpualign.core.common.errors import RunError


def sam_rows(path):
    """(query, target, flag, score) of each row."""
    rows = [line.split("\t") for line in path.read_text().splitlines() if line[0] != "@"]
    return [(row[0], row[2], int(row[1]), int(re.search(r"\tAS:i:(-?\d+)", "\t".join(row))[1])) for row in rows]


def write(path, prefix, sequences):
    path.write_text("".join(f">{prefix}{k}\n{one}\n" for k, one in enumerate(sequences)))


@pytest.fixture
def sets(tmp_path, rng):
    """Return reads, many of which fit two references equally well, and references."""
    references = ["".join(rng.choice(list("ACGT"), 60)) for _ in range(7)]
    references += [references[3], references[5]]
    pieces = [references[k][start : start + 25] for k, start in zip(rng.integers(0, 9, 30), rng.integers(0, 36, 30), strict=True)]
    complement = str.maketrans("ACGT", "TGCA")
    write(tmp_path / "q.fa", "q", [one if rng.random() < 0.5 else one[::-1].translate(complement) for one in pieces])
    write(tmp_path / "t.fa", "t", references)
    return tmp_path


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "words",
    [
        ["q.fa", "t.fa"],
        ["t.fa"],
        ["q.fa", "t.fa", "--edit"],
        ["q.fa", "t.fa", "--strand", "both", "--end-gaps", "query"],
        ["q.fa", "t.fa", "--strand", "both", "--end-gaps", "query", "--min-identity", "0.6"],
        ["t.fa", "--edit", "--max-distance", "45"],
        ["q.fa", "t.fa", "--nearest", "3"],
    ],
    ids=" ".join,
)
def test_the_primary_row_is_the_first_of_the_best(sets, monkeypatch, words, threads):
    monkeypatch.chdir(sets)
    gpualign_here("nw", "-q", *words, "--threads", threads, "-o", "x.sam")
    best = {}
    for query, target, _, score in (rows := sam_rows(sets / "x.sam")):
        if query not in best or score > best[query][1]:
            best[query] = target, score
    assert [not flag & 256 for _, _, flag, _ in rows] == [best[query][0] == target for query, target, _, _ in rows]
    assert any(best[query][0] != next(target for one, target, _, _ in rows if one == query) for query in best)


def test_the_best_of_more_targets_than_are_written_at_a_time(tmp_path, rng):
    targets = ["".join(row) for row in rng.choice(list("ACGT"), (40_000, 8))]
    targets[35_000] = "ACGTTCAG"
    write(tmp_path / "t.fa", "t", targets)
    (tmp_path / "q.fa").write_text(">q\nACGTTCAG\n>r\nTTGACA\n")
    words = ["nw", "-q", "--edit", tmp_path / "q.fa", tmp_path / "t.fa", "-o", tmp_path / "x.sam"]
    gpualign_here(*words)
    rows = sam_rows(tmp_path / "x.sam")
    assert len(rows) == 2 * len(targets)
    first = min(k for k, one in enumerate(targets) if one == "ACGTTCAG")
    assert [target for query, target, flag, _ in rows if query == "q" and not flag & 256] == [f"t{first}"]
    assert np.count_nonzero([flag & 256 == 0 for _, _, flag, _ in rows]) == 2
    with pytest.raises(RunError, match=r"--format sam compares all pairs of a query, whose results need [\d,]+ bytes of it"):
        gpualign_here(*words, "--memory", "6M")


def test_reads_are_mapped_by_the_command_of_the_start_page(tmp_path):
    """A read is a piece of the second reference, or of its reverse complement."""
    (command,) = re.findall(r"`gpualign (nw reads\.fa references\.fa [^`]*)`", (ROOT / "docs" / "start.md").read_text())
    first, second = "ACGTAGCTTGACCATGGATCCTTAGACA", "GGCATTACGGCTAAACTTGCGTATCCAG"
    (tmp_path / "references.fa").write_text(f">A\n{first}\n>B\n{second}\n")
    (tmp_path / "reads.fa").write_text(f">piece\n{second[5:20]}\n>reverse\n{second[5:20][::-1].translate(str.maketrans('ACGT', 'TGCA'))}\n")
    gpualign(*command.split(), cwd=tmp_path)
    rows = [line.split("\t")[:6] for line in (tmp_path / "mapped.sam").read_text().splitlines() if line[0] != "@"]
    assert rows == [["piece", "0", "B", "6", "255", "15="], ["reverse", "16", "B", "6", "255", "15="]]
