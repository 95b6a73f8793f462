"""Hits with scores adjusted to compositions, against Biopython's aligner and blastp."""

import math
import shutil
import subprocess
import threading
from contextlib import closing

import numpy as np
import pytest
from Bio import Align
from Bio.Align import substitution_matrices
from command import gpualign
from places import DATA
from work import sequence_set

from gpualign.core.execution.totals import NullProgress
from gpualign.core.scoring.composition import ADJUST, UNITS_PER_POINT, matrix_model
from gpualign.core.scoring.masking import mask
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment import _kernels
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.alignment.hit_adjustment import TARGET_SEG
from gpualign.gpu.alignment import engine as cuda
from gpualign.jobs.sequence_loading import Inputs
from gpualign.jobs.sw import SwOptions, prepare

QUERY, DB = DATA / "proteins_query.fasta", DATA / "proteins_db.fasta"


def table(*arguments):
    done = gpualign("sw", "-q", "--device", "cpu", *arguments)
    names, *rows = (line.split("\t") for line in done.stdout.decode().splitlines())
    return [dict(zip(names, row, strict=True)) for row in rows]


def records(path):
    return {part.split()[0]: "".join(part.split("\n")[1:]) for part in ("\n" + path.read_text()).split("\n>")[1:]}


def encoded(text):
    return PROTEIN.encoding[np.frombuffer(text.encode(), dtype=np.uint8)]


def test_scores_and_paths_are_those_of_an_aligner_with_the_matrix_of_each_pair():
    model = matrix_model(make_scoring(PROTEIN, ScoringOptions(), local=True), ADJUST)
    made = _kernels.MatrixAdjuster(
        model.target_frequencies, model.ungapped_lambda, model.stop_score, model.stop_stop_score, model.only_scales
    )
    queries, targets = records(QUERY), records(DB)
    aligner = Align.PairwiseAligner(mode="local", open_gap_score=-12 * UNITS_PER_POINT, extend_gap_score=-UNITS_PER_POINT)
    rows = table(QUERY, DB, "--max-hits", "8", "--fields", "query,target,score,bits,qstart,qend,tstart,tend,cigar")
    assert len(rows) == 24
    for row in rows:
        query, target = encoded(queries[row["query"]]), encoded(targets[row["target"]])
        plain = SequenceSet("t", ["t"], target, np.array([0, len(target)]))
        options = {}
        for kind, codes in (("masked", mask(plain, PROTEIN, TARGET_SEG).sequences.codes), ("as it is", target)):
            scores = np.asarray(made.scores(query, codes))[: len(PROTEIN), : len(PROTEIN)]
            aligner.substitution_matrix = substitution_matrices.Array(PROTEIN.letters, 2, scores.astype(float))
            letters = ["".join(PROTEIN.letters[code] for code in one) for one in (query, codes)]
            options[kind] = aligner.score(*letters)
        expected = {round((0.267 * score / UNITS_PER_POINT - math.log(0.041)) / math.log(2), 1): score for score in options.values()}
        assert float(row["bits"]) in expected
        assert int(row["score"]) == int(expected[float(row["bits"])] + UNITS_PER_POINT // 2) // UNITS_PER_POINT


def test_evalues_of_blastp():
    """With Smith-Waterman alignments, as its heuristics end some alignments early."""
    if shutil.which("blastp") is None:
        pytest.skip("blastp is not installed")
    options = ["-use_sw_tback", "-evalue", "1e-3", "-max_hsps", "1", "-outfmt", "6 qseqid sseqid score evalue"]
    text = subprocess.run(["blastp", "-query", QUERY, "-subject", DB, *options], capture_output=True, text=True, check=True).stdout
    theirs = {tuple(line.split("\t")[:2]): line.split("\t")[2:] for line in text.splitlines()}
    ours = {(row["query"], row["target"]): row for row in table(QUERY, DB, "--max-evalue", "1e-3")}
    assert len(theirs) > 20
    assert set(theirs) <= set(ours)
    ratios = [math.log(float(ours[pair]["evalue"]) / float(evalue)) for pair, (_, evalue) in theirs.items() if float(evalue) > 1e-170]
    assert sum(abs(ratio) < math.log(1.05) for ratio in ratios) >= 0.9 * len(ratios)
    assert max(map(abs, ratios)) < math.log(2)


def test_methods_and_the_default():
    plain, scaled, adjusted = (table(QUERY, DB, "--composition", method, "--mask", "none") for method in ("none", "scale", "adjust"))
    assert len({tuple(row["evalue"] for row in rows) for rows in (plain, scaled, adjusted)}) == 3
    assert table(QUERY, DB) == adjusted
    assert table(QUERY, DB, "--evalue", "none", "--fields", "query,target,score") == [
        {name: row[name] for name in ("query", "target", "score")} for row in plain
    ]


def test_threads_do_not_change_bytes():
    one, three = (
        gpualign("sw", "-q", "--device", "cpu", "--threads", threads, QUERY, DB, "--max-evalue", "10").stdout for threads in ("1", "3")
    )
    assert one == three
    assert one.count(b"\n") > 30


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([QUERY, DB, "--composition", "adjust", "--evalue", "none"], "--composition adjust needs E-values"),
        ([QUERY, DB, "--composition", "adjust", "--match", "5"], "--composition adjust: expected one of the matrices BLOSUM45"),
        ([QUERY, DB, "--all", "--composition", "scale"], "--composition applies to hits; it cannot be combined with --all"),
        ([DATA / "16s_small.fasta", "--composition", "scale"], "--composition scale is for proteins; these are dna sequences"),
    ],
)
def test_refusals(arguments, message):
    done = gpualign("sw", *arguments, check=False)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert not done.stdout


@pytest.mark.slow
def test_batches_of_a_device_are_aligned_at_a_time(rng, device, monkeypatch):
    """Several bands are scored and aligned at the same time. Closing the results early leaves no thread behind."""
    monkeypatch.setattr(cuda, "_SEARCH_BAND_SECONDS", 1e-9)
    monkeypatch.setattr(cuda, "_LETTERS_PER_SECOND", 1e15)
    genes = [rng.integers(0, 20, 60) for _ in range(8)]
    relatives = [np.where(rng.random(60) < 0.3, rng.integers(0, 20, 60), genes[k % 8]) for k in range(60)]
    inputs = Inputs(sequence_set(genes), sequence_set(relatives), PROTEIN, "made up")
    found = []
    for engine in (CpuEngine(1), cuda.CudaEngine([device])):
        job = prepare(inputs, SwOptions(), engine=engine)
        results, totals = job.run(NullProgress())
        blocks = [block.hits for item in results for block, _ in item.blocks]
        found.append([np.concatenate([getattr(hits, name) for hits in blocks]) for name in ("queries", "targets", "scores")])
        assert totals.hit_count == len(found[-1][0]) > 100
    np.testing.assert_array_equal(*found)
    assert job.search_plan.plan.band_count == 8
    threads = set(threading.enumerate())
    with closing(job.run(NullProgress())[0]) as results:
        next(results)
    assert set(threading.enumerate()) <= threads


@pytest.mark.parametrize("options", [[], ["--max-hsps", "3"]])
def test_hits_that_do_not_fit_in_a_share_of_the_memory_are_traced(rng, tmp_path, options):
    """Their paths need more than the share of one of two threads, with the scores of the search and with adjusted ones."""
    first = rng.integers(0, 20, 7000)
    second = np.where(rng.random(7000) < 0.6, rng.integers(0, 20, 7000), np.roll(first, 300))
    letters = np.array(list("ARNDCQEGHILKMFPSTWYV"))
    (tmp_path / "x.fa").write_text("".join(f">{k}\n{''.join(letters[codes])}\n" for k, codes in enumerate((first, second, first[:200]))))
    run = ("sw", "-q", "--device", "cpu", "--threads", "2", tmp_path / "x.fa", *options)
    assert gpualign(*run, "--memory", "8M").stdout == gpualign(*run).stdout
