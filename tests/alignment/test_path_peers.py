"""Paths and identities against tools that are not ours: vsearch, parasail, Biopython, edlib."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from Bio import Align
from command import gpualign
from oracle import rescore
from path_cases import SCHEMES
from path_files import parse_cigar, rows_of, sequences_of
from work import run_paths, sequence_set, two_valued

from gpualign.core.alignment.task import EndGaps

pytestmark = pytest.mark.slow


def unique_paths(queries, targets):
    """Paths by pair with 5/-4 and 10/1, of pairs for which, nearly always, no other path is as good: the tie rule finds the same one from
    either end, and a thousandth more or less for a match or a mismatch does not change it."""
    scheme = two_valued(4, 5, -4, 10, 1)
    turned = [sequence_set([r[::-1] for r in split(s)]) for s in (queries, targets)]
    backward = run_paths(*turned, scheme)
    moved = [run_paths(queries, targets, two_valued(4, 5000 + a, -4000 + b, 10_000, 1000)) for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    paths = run_paths(queries, targets, scheme).paths
    return {p: path for p, path in paths.items() if backward.paths[p] == path[::-1] and all(other.paths[p] == path for other in moved)}


def split(sequences):
    return np.split(sequences.codes, sequences.offsets[1:-1])


def encoded(texts):
    table = np.zeros(256, dtype=np.uint8)
    table[[ord(c) for c in "ACGT"]] = np.arange(4)
    return sequence_set([table[np.frombuffer(t.encode(), dtype=np.uint8)] for t in texts])


@pytest.fixture
def close(rng):
    """Relatives that differ in one letter of 25, so that most paths are unique; by name."""
    ancestor = rng.choice(list("ACGT"), 600)
    out = {}
    for k in range(30):
        letters = np.where(rng.random(600) < 0.04, rng.choice(list("ACGT"), 600), ancestor)
        at, size = rng.integers(20, 550), rng.integers(1, 9)
        shorter = rng.random() < 0.5
        letters = np.delete(letters, slice(at, at + size)) if shorter else np.insert(letters, at, rng.choice(list("ACGT"), size))
        out[f"s{k}"] = "".join(letters[rng.integers(0, 9) : len(letters) - rng.integers(0, 9)])
    return out


def expand_caln(text, query, target):
    """vsearch's CIGAR, whose D is a letter of the query alone, with = and X for M."""
    out, i, j = [], 0, 0
    for length, op in re.findall(r"(\d*)([MDI])", text):
        for _ in range(int(length or 1)):
            out.append({"D": "I", "I": "D"}.get(op) or "X="[query[i] == target[j]])
            i, j = i + (op != "I"), j + (op != "D")
    return "".join(out)


@pytest.mark.skipif(shutil.which("vsearch") is None, reason="vsearch is not installed")
def test_identities_equal_those_of_vsearch(tmp_path, close):
    plain = close
    fasta = tmp_path / "plain.fa"
    fasta.write_text("".join(f">{name}\n{text}\n" for name, text in plain.items()))
    # A gap of n letters costs open + n * extend there, so 9 and 1 are 10 and 1 here.
    command = ["vsearch", "--allpairs_global", fasta, "--acceptall", "--match", "5", "--mismatch", "-4", "--gapopen", "9", "--gapext", "1"]
    columns = "query+target+id0+id1+id2+id3+id4+ids+mism+caln"
    command += ["--threads", "1", "--userout", tmp_path / "v.tsv", "--userfields", columns]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    theirs = {}
    for line in (tmp_path / "v.tsv").read_text().splitlines():
        query, target, *values = line.split("\t")
        theirs[query, target] = values
    ours = []
    for definition in range(5):
        fields = "query,target,score,identity,matches,mismatches,cigar"
        done = gpualign("nw", "-q", "--match", "5", "--mismatch", "-4", "--fields", fields, "--identity-def", definition, fasta)
        ours.append({(row["query"], row["target"]): row for row in rows_of(done.stdout)})
    sequences = encoded(plain.values())
    unique = unique_paths(sequences, sequences)
    names = list(plain)
    compared = 0
    assert len(unique) > 40
    for (i, j), path in unique.items():
        pair = names[i], names[j]
        if i >= j or pair not in theirs:
            continue
        row = ours[0][pair]
        assert parse_cigar(row["cigar"]) == path
        their_path = expand_caln(theirs[pair][7], plain[pair[0]], plain[pair[1]])
        if rescore(their_path, split(sequences)[i], split(sequences)[j], two_valued(4, 5, -4, 10, 1)) != int(row["score"]):
            continue  # now and then the path of vsearch 2.22 is not the best
        assert theirs[pair][5:7] == [row["matches"], row["mismatches"]]
        for definition in range(5):
            assert abs(100 * float(ours[definition][pair]["identity"]) - float(theirs[pair][definition])) <= 0.0501, (pair, definition)
        compared += 1
    assert compared > 10


@pytest.fixture
def few(small_16s):
    return [t for t in sequences_of(small_16s).values() if set(t) <= set("ACGT")][:14]


def test_unique_paths_equal_those_of_parasail(close):
    parasail = pytest.importorskip("parasail")
    few = list(close.values())
    sequences = encoded(few)
    matrix = parasail.matrix_create("ACGT", 5, -4)
    unique = unique_paths(sequences, sequences)
    assert len(unique) > len(few)
    for (i, j), path in unique.items():
        cigar = parasail.nw_trace_scan_32(few[i], few[j], 10, 1, matrix).cigar.decode.decode()
        assert parse_cigar(cigar) == path


@pytest.mark.parametrize("ends", EndGaps)
def test_biopython_finds_no_better_alignment(few, ends):
    aligner = Align.PairwiseAligner(match_score=5, mismatch_score=-4, open_gap_score=-10, extend_gap_score=-1)
    if ends.query_gaps_are_free:
        aligner.end_insertion_score = 0  # a gap in the first sequence, which Biopython calls the target
    if ends.target_gaps_are_free:
        aligner.end_deletion_score = 0
    found = run_paths(encoded(few[:6]), encoded(few[6:]), SCHEMES["default"], ends)
    for (i, j), score in np.ndenumerate(found.scores):
        assert aligner.score(few[i], few[6 + j]) == score


@pytest.mark.parametrize(("ends", "mode"), [(EndGaps.PENALISED, "NW"), (EndGaps.QUERY, "HW")])
def test_distances_and_ends_equal_those_of_edlib(few, ends, mode):
    edlib = pytest.importorskip("edlib")
    queries = [t[200:700] for t in few[:6]] if mode == "HW" else few[:6]
    found = run_paths(encoded(queries), encoded(few[6:]), SCHEMES["edit"], ends)
    for (i, j), distance in np.ndenumerate(found.scores):
        theirs = edlib.align(queries[i], few[6 + j], mode=mode, task="path")
        assert theirs["editDistance"] == distance
        path = found.paths[i, j]
        assert len(path) - path.count("=") == distance
        if mode == "HW":
            assert found.statistics[i, j][8] - 1 in [end for _, end in theirs["locations"]]
