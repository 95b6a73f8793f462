"""What --dry-run says of the time and of the size of the output, beside what the run then writes."""

import os
import re
import time

import numpy as np
import pytest
from command import GPUALIGN, gpualign_here, shell

from gpualign.core.common.errors import RunError
from gpualign.jobs.near_pairs import NearPairJob

DNA = "ACGT"


def plan_of(*words):
    return dict(line.split(maxsplit=1) for line in gpualign_here(*words, "--dry-run")[0].decode().splitlines())


def size_of(text):
    """The first size that a plan tells, in bytes."""
    number, unit = re.search(r"([\d.]+) (B|KiB|MiB)", text).groups()
    return float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[unit]


def written(folder):
    return sum(os.path.getsize(folder / name) for name in os.listdir(folder))


@pytest.fixture
def genes(rng, tmp_path):
    """Families of near records, some of them equal, of several lengths."""
    founders = ["".join(rng.choice(list(DNA), 60 + 3 * k)) for k in range(12)]
    records = []
    for number in range(160):
        record = list(founders[number % 12])
        for at in rng.integers(0, len(record), number % 4):
            record[at] = str(rng.choice(list(DNA)))
        records.append("".join(record))
    path = tmp_path / "genes.fa"
    path.write_text("".join(f">gene{number}\n{record}\n" for number, record in enumerate(records)))
    return path


@pytest.mark.parametrize(
    "words", ["x.npy", "x.npy --condensed", "x.npz", "x.npz --value identity", "x.npz --edit --condensed", "x.npy --self"]
)
def test_arrays_are_as_large_as_the_plan_says(genes, tmp_path, words):
    folder = tmp_path / "out"
    folder.mkdir()
    name, *more = words.split()
    arguments = ["nw", genes, "-o", folder / name, *more]
    told = plan_of(*arguments)["output"]
    assert not os.listdir(folder)
    gpualign_here(*arguments)
    assert told.endswith(f"({written(folder):,} bytes)")


@pytest.mark.parametrize("format", ["tsv", "csv", "sam", "paf", "m8", "fasta", "aln", "arrow", "matrix", "phylip", "csr"])
def test_every_pair_takes_about_what_the_plan_says(genes, tmp_path, format):
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = ["nw", genes, "-o", folder / "x", "--format", format]
    told = plan_of(*arguments)["output"]
    gpualign_here(*arguments)
    assert told.startswith("about ")
    assert 0.8 < size_of(told) / written(folder) < 1.25
    if format not in ("matrix", "phylip"):
        assert "12,720 rows" in told


THRESHOLDS = [
    "--edit --max-distance 4",
    "--edit --max-distance 1",
    "--min-identity 0.9 --min-coverage 0.9",
    "--identity-def 1 --max-distance 0.1",
    "--edit --max-distance 4 --strand both",
    "--min-score 150",
    "--edit --max-distance 4 --nearest 2",
]


@pytest.mark.parametrize("thresholds", THRESHOLDS)
@pytest.mark.parametrize("format", ["tsv", "csr"])
def test_near_pairs_take_about_what_the_plan_says(genes, tmp_path, thresholds, format):
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = ["nw", genes, *thresholds.split(), "-o", folder / "x", "--format", format]
    plan = plan_of(*arguments)
    gpualign_here(*arguments)
    assert float(plan["estimate"].split()[0]) >= 0
    assert "by a sample" in plan["output"]
    assert 0.7 < size_of(plan["output"]) / written(folder) < 1.4
    if "nearest" not in thresholds:
        assert "12,720 rows" in plan["output"]


def test_a_sample_without_near_pairs_bounds_the_output(rng, tmp_path):
    file = tmp_path / "far.fa"
    file.write_text("".join(f">{k}\n{''.join(rng.choice(list(DNA), 100))}\n" for k in range(300)))
    plan = plan_of("nw", file, "--edit", "--max-distance", "3")
    assert plan["output"].startswith("probably less than ")
    assert "of a sample of 22,500 pairs none passes; 44,850 rows, " in plan["output"]
    assert plan["estimate"].endswith(" s, measured on 300 of 300 records")


def test_equal_records_are_near_without_a_sample(tmp_path):
    file = tmp_path / "equal.fa"
    file.write_text("".join(f">{k}\nACGTACGT\n" for k in range(300)))
    told = plan_of("nw", file, "--edit", "--max-distance", "0")["output"]
    assert "about 45,000 rows" in told


def test_the_plan_of_large_sets_is_of_a_sample(tmp_path):
    """Neither tiles nor pairs are gone through."""
    file = tmp_path / "many.txt"
    file.write_text("".join(f">{k}\n{'ACGT'[k % 4]}{'ACGT'[k // 4 % 4]}{'C' * (k % 5)}\n" for k in range(200_000)))
    plan = plan_of("nw", file, "--edit", "-o", tmp_path / "x.npy")
    assert plan["output"].startswith("149.0 GiB (")
    assert plan["tiles"].startswith("at least ")


def test_packed_text_is_measured_before_it_is_packed(genes, tmp_path):
    assert "before compression" in plan_of("nw", genes, "-o", tmp_path / "x.tsv.gz")["output"]
    assert "before compression" not in plan_of("nw", genes, "-o", tmp_path / "x.tsv")["output"]


@pytest.mark.parametrize("words", ["--format tsv", "-o x.npy"])
def test_one_record_makes_no_pairs(tmp_path, words):
    file = tmp_path / "one.fa"
    file.write_text(">a\nACGT\n")
    words = words.replace("x.npy", str(tmp_path / "x.npy")).split()
    assert size_of(plan_of("nw", file, *words)["output"]) < 200


@pytest.fixture
def alignment(rng, tmp_path):
    """Samples of a few lineages, in no order."""
    lineages = [rng.choice(np.array([*b"ACGT"], np.uint8), 400) for _ in range(1)]
    for _ in range(14):
        lineages.append(np.where(rng.random(400) < 0.06, rng.choice(np.array([*b"ACGT"], np.uint8), 400), lineages[0]))
    rows = []
    for number in range(300):
        row = lineages[int(rng.integers(0, 15))].copy()
        row[rng.integers(0, 400, number % 6)] = ord("A")
        rows.append(f">sample{number}\n{row.tobytes().decode()}\n")
    path = tmp_path / "core.aln"
    path.write_text("".join(rows))
    return path


DISTANCES = [
    "x.npy",
    "x.npz --compared",
    "x.npy --condensed --compared",
    "x.tsv",
    "x.csv --metric fraction",
    "x.tsv --compared",
    "x.phy",
    "x.meg",
    "x --format molten",
    "x --format csr",
    "x.arrow",
    "x.tsv --max-distance 12",
    "x.arrow --max-distance 12",
    "x --format csr --max-distance 12",
]


@pytest.mark.parametrize("words", DISTANCES)
def test_distances_take_about_what_the_plan_says(alignment, tmp_path, words):
    folder = tmp_path / "out"
    folder.mkdir()
    name, *more = words.split()
    arguments = ["dist", alignment, "-o", folder / name, *more]
    told = plan_of(*arguments)["output"]
    assert not os.listdir(folder)
    gpualign_here(*arguments)
    if "np" in name:
        assert told.endswith(f"({written(folder):,} bytes)")
    assert 0.7 < size_of(told) / written(folder) < 1.4
    if "--max-distance" in words:
        assert "by a sample; 44,850 rows, " in told


@pytest.mark.parametrize("words", ["tsv", "m8", "sam", "aln", "arrow", "tsv --max-hits 3", "tsv --min-score 100", "tsv --no-traceback"])
def test_hits_take_about_what_the_plan_says(genes, tmp_path, words):
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = ["sw", genes, genes, "-o", folder / "x", "--format", *words.split()]
    told = plan_of(*arguments)["output"]
    assert not os.listdir(folder)
    gpualign_here(*arguments)
    assert 0.7 < size_of(told) / written(folder) < 1.4
    assert "rows, " in told


@pytest.mark.parametrize(
    "words",
    ["nw genes.fa", "sw genes.fa genes.fa", "dist genes.tsv", "cluster genes.fa --edit --max-distance 2"],
)
@pytest.mark.parametrize("option", ["-o", "--summary", "--log"])
def test_what_the_run_could_not_write_is_refused(genes, tmp_path, monkeypatch, words, option):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "genes.tsv").write_text("sample\tx\ty\na\t0\t1\nb\t1\t1\n")
    (tmp_path / "folder.tsv").mkdir()
    for name, reason in (("missing/x.tsv", "there is no folder missing"), ("folder.tsv", "Is a directory")):
        with pytest.raises(RunError, match=f"^cannot write {name}: {reason}$"):
            gpualign_here(*words.split(), option, name, "--dry-run")


def test_a_folder_that_takes_no_files(tmp_path, monkeypatch, genes):
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(tmp_path / "closed"))
    (tmp_path / "closed").mkdir()
    with pytest.raises(RunError, match=r"^cannot write .*/closed/x\.tsv: files cannot be created in the folder .*/closed$"):
        gpualign_here("nw", genes, "-o", tmp_path / "closed" / "x.tsv", "--dry-run")


def test_the_log_of_the_run_is_kept(genes, tmp_path):
    log = tmp_path / "run.log"
    gpualign_here("nw", genes, "-o", tmp_path / "x.tsv", "--log", log)
    said = log.read_bytes()
    gpualign_here("nw", genes, "-o", tmp_path / "x.tsv", "--log", log, "--dry-run")
    assert log.read_bytes() == said


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_named(genes):
    done = shell(f"{GPUALIGN} nw -q --dry-run {genes} > /dev/full")
    assert (done.returncode, done.stderr) == (1, b"gpualign: error: cannot write standard output: No space left on device\n")


def test_the_first_alignments_do_not_count(monkeypatch, small_16s):
    """They also take what is done once for all records."""
    align, aligned = NearPairJob.align_pairs, []

    def slow_at_first(self, pairs, *rest):
        time.sleep(0 if aligned else 2)
        aligned.append(len(pairs))
        return align(self, pairs, *rest)

    monkeypatch.setattr(NearPairJob, "align_pairs", slow_at_first)
    plan = plan_of("nw", small_16s, "--min-identity", "0.9", "--min-coverage", "0.8", "--device", "cpu")
    assert len(aligned) == 3
    assert len(set(aligned)) == 1
    assert float(plan["estimate"].split()[0]) < 2
