"""`gpualign cluster` with more near pairs, or a larger linkage, than the memory holds."""

import json
import os
import re
import shlex
import signal
import subprocess

import numpy as np
import pytest
from cluster_command import clusters, refused
from command import GPUALIGN, LIMIT, gpualign, gpualign_here, shell
from processes import started

from gpualign.core.clustering.stored_edges import EdgeWriter
from gpualign.jobs import cluster, cluster_distances

pytest.importorskip("scipy")


def test_a_linkage_that_takes_more_than_the_memory_is_refused(tmp_path):
    chain = "".join(f"r{k}\tr{k + 1}\t1\n" for k in range(2000))
    (tmp_path / "chain").write_text(chain)
    message = refused(["--edges", "chain", "--max-distance", "1", "--method", "complete", "--memory", "1M"], tmp_path, code=1)
    assert "2,001 records are connected, and complete linkage of them takes" in message
    found = gpualign("cluster", "--edges", "chain", "--max-distance", "1", "--method", "complete", "--memory", "100M", cwd=tmp_path)
    assert max(np.bincount(list(clusters(found.stdout).values()))) == 2


@pytest.fixture(scope="module")
def crowds(tmp_path_factory):
    """Files of records that are all near each other: the same 5,000 times, and 3,000 that are different."""
    folder, random = tmp_path_factory.mktemp("crowds"), np.random.default_rng(1)
    ancestor = random.integers(0, 4, 100)
    family = np.repeat(ancestor[None], 3000, axis=0)
    for _ in range(3):
        family[np.arange(3000), random.integers(0, 100, 3000)] = random.integers(0, 4, 3000)
    for name, codes in (("same", [ancestor] * 5000), ("alike", family)):
        texts = ("".join("ACGT"[code] for code in record) for record in codes)
        (folder / name).write_text("".join(f">r{k}\n{text}\n" for k, text in enumerate(texts)))
    return folder


@pytest.mark.parametrize("method", ["single", "complete", "average", "greedy"])
@pytest.mark.parametrize(("name", "memory", "records"), [("same", 32, 5000), ("alike", 200, 3000)])
def test_records_that_are_all_near_fit_the_memory(crowds, tmp_path, method, name, memory, records):
    """Some hundred megabytes are what Python, NumPy and scipy take."""
    words = ["--edit", "--max-distance", "6", "--method", method, "--threads", "2", "--device", "cpu", "--memory", f"{memory}M"]
    found = gpualign("cluster", crowds / name, *words, "--summary", tmp_path / "s.json").stdout
    assert set(clusters(found).values()) == {1}
    told = json.loads((tmp_path / "s.json").read_text())
    with_the_centroid = records - 1
    assert told["results"]["near_pairs"] == (with_the_centroid if method == "greedy" else records * (records - 1) // 2)
    assert told["peak_memory"] < (memory + 120) << 20


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    """Eight families of 300 records, of whose 360,000 pairs, which take 5.7 MB, most are near at 5; as sequences, lists and a matrix."""
    folder, random = tmp_path_factory.mktemp("families"), np.random.default_rng(1)
    ancestors = np.repeat(random.integers(0, 4, (8, 60)), 300, axis=0)
    for _ in range(3):
        ancestors[np.arange(2400), random.integers(0, 60, 2400)] = random.integers(0, 4, 2400)
    texts = ["".join("ACGT"[code] for code in record) for record in random.permutation(ancestors)]
    (folder / "seqs").write_text("".join(f">r{k}\n{text}\n" for k, text in enumerate(texts)))
    gpualign("nw", "seqs", "--edit", "--max-distance", "12", "-o", "sorted.tsv", "--device", "cpu", cwd=folder)
    header, *lines = (folder / "sorted.tsv").read_text().splitlines()
    turned = ["\t".join((*reversed(line.split("\t")[:2]), *line.split("\t")[2:])) for line in lines]
    shuffled = random.permutation([*lines, *turned[::3]]).tolist()
    (folder / "shuffled").write_text("\n".join([header, *shuffled]) + "\n")
    gpualign("nw", "seqs", "--edit", "--value", "score", "-o", "matrix.npz", "--device", "cpu", cwd=folder)
    return folder


INPUTS = {
    "sequences": ["seqs"],
    "list": ["--edges", "sorted.tsv"],
    "shuffled list": ["seqs", "--edges", "shuffled"],
    "matrix": ["--distances", "matrix.npz"],
}


@pytest.mark.parametrize(
    ("given", "method"),
    [
        (given, method)
        for given in INPUTS
        for method in ("single", "complete", "average", "greedy", "levels")
        if (given, method) != ("sequences", "greedy")  # which finds only pairs with a centroid
    ],
)
def test_near_pairs_that_do_not_fit_the_memory_are_clustered_from_a_file(families, monkeypatch, method, given):
    monkeypatch.chdir(families)
    chosen = ["--levels", "5,2,1,0"] if method == "levels" else ["--max-distance", "5", "--method", method]
    words = ["cluster", *INPUTS[given], "--edit", *chosen, "--threads", "1", "--device", "cpu"]
    in_memory = gpualign_here(*words)
    written = []
    write = EdgeWriter.write
    monkeypatch.setattr(EdgeWriter, "write", lambda self, *pairs: write(self, *pairs) or written.append(len(pairs[0])))
    if given == "sequences":
        for module in (cluster, cluster_distances):
            monkeypatch.setattr(module, "near_pair_memory", lambda *_: 2 << 20)  # what finds the pairs needs more than that
    else:
        words += ["--memory", "8M"]
    assert gpualign_here(*words) == in_memory
    assert sum(written) > 290_000


def test_near_pairs_of_sequences_that_do_not_fit_the_memory(crowds, tmp_path):
    words = ["--edit", "--max-distance", "6", "--threads", "2", "--device", "cpu", "--memory", "70M"]
    (tmp_path / "tmp").mkdir()
    found = gpualign("cluster", crowds / "alike", *words, "--summary", tmp_path / "s.json", env={"TMPDIR": str(tmp_path / "tmp")}).stdout
    assert set(clusters(found).values()) == {1}
    told = json.loads((tmp_path / "s.json").read_text())
    assert told["results"]["near_pairs"] == 3000 * 2999 // 2
    assert told["peak_memory"] < (70 + 120) << 20
    assert list((tmp_path / "tmp").iterdir()) == []


def test_memory_stays_within_its_limit_while_pairs_are_in_a_file(tmp_path):
    """A list of 2.2 million lines, in both directions: 36 MB, and 18 MB without the repeated ones."""
    (tmp_path / "pairs").write_text("".join(f"r{i}\tr{j}\t{1 + (i * j) % 9}\n" for i in range(1500) for j in range(1500) if i != j))
    peaks = []
    for memory in ("16M", "2G"):
        words = ["--edges", "pairs", "--max-distance", "9", "--method", "greedy", "--memory", memory]
        gpualign("cluster", *words, "--summary", "s.json", cwd=tmp_path, env={"TMPDIR": str(tmp_path)})
        peaks.append(json.loads((tmp_path / "s.json").read_text())["peak_memory"])
    assert peaks[0] < 120 << 20
    assert peaks[1] > peaks[0] + (6 << 20), peaks


@pytest.mark.parametrize("given", ["shuffled list", "matrix"])
def test_a_full_disk_ends_the_run(families, tmp_path, given):
    limits = "ulimit -f 1000"  # files of 1 MB
    line = shlex.join([GPUALIGN, "cluster", *INPUTS[given], "--edit", "--max-distance", "5", "--memory", "4M"])
    before = sorted(families.rglob("*"))
    done = shell(f"{limits}; {line} -o {tmp_path / 'out.tsv'}", cwd=families, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 1
    message = f"cannot write a temporary file in {tmp_path}: File too large; set the environment variable TMPDIR to a folder with room"
    assert message in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []
    assert sorted(families.rglob("*")) == before


def test_nothing_is_left_of_an_interrupted_run(families, tmp_path):
    """Ctrl-C while the command waits for the rest of a list whose first part is already in a file."""
    words = ["cluster", "--edges", "-", "--edit", "--max-distance", "5", "--memory", "1M", "-o", tmp_path / "out.tsv"]
    with started([GPUALIGN, *words], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}) as job:
        job.stdin.write((families / "sorted.tsv").read_bytes())
        job.stdin.flush()
        job.send_signal(signal.SIGINT)
        errors = job.communicate(timeout=LIMIT)[1].decode()
    assert job.returncode == 130
    assert "interrupted" in errors
    assert list(tmp_path.iterdir()) == []


def test_the_plan_says_how_many_near_pairs_fit(families):
    words = ["--edges", "sorted.tsv", "--edit", "--max-distance", "5", "--memory", "4M", "--dry-run"]
    plan = gpualign("cluster", *words, cwd=families).stdout.decode()
    assert re.search(r"near pairs +up to 131,072 in memory, more in a temporary file, 16 bytes each", plan)


def test_the_plan_says_how_many_near_pairs_of_greedy_centroids_fit(families):
    """In batches, as many as in half of the memory of all near pairs."""
    held = {}
    for method, limit in (("single", "up to"), ("greedy", "at least")):
        words = ["seqs", "--edit", "--max-distance", "5", "--method", method, "--dry-run"]
        found = re.search(rf"near pairs +{limit} ([0-9,]+) in memory", gpualign("cluster", *words, cwd=families).stdout.decode())
        held[method] = int(found[1].replace(",", ""))
    assert held["greedy"] == held["single"] // 2
