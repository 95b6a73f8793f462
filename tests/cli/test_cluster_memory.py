"""`gpualign cluster` with more near pairs, or a larger linkage, than the memory holds."""

import json
import re

import numpy as np
import pytest
from cluster_command import clusters, refused
from command import gpualign

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
@pytest.mark.parametrize(("name", "memory", "pairs"), [("same", 32, 5000 * 4999 // 2), ("alike", 200, 3000 * 2999 // 2)])
def test_records_that_are_all_near_fit_the_memory(crowds, tmp_path, method, name, memory, pairs):
    """Some hundred megabytes are what Python, NumPy and scipy take."""
    words = ["--edit", "--max-distance", "6", "--method", method, "--threads", "2", "--device", "cpu", "--memory", f"{memory}M"]
    found = gpualign("cluster", crowds / name, *words, "--summary", tmp_path / "s.json").stdout
    assert set(clusters(found).values()) == {1}
    told = json.loads((tmp_path / "s.json").read_text())
    assert told["results"]["near_pairs"] == pairs
    assert told["peak_memory"] < (memory + 120) << 20


def test_near_pairs_that_do_not_fit_the_memory_are_refused(crowds, tmp_path):
    words = ["--edit", "--max-distance", "6", "--memory", "32M", "--threads", "1", "--device", "cpu"]
    message = refused([crowds / "alike", *words], tmp_path, code=1)
    assert re.search(
        r"records are near: they take about 5\d\.\d MiB of memory, 16 bytes each, and may take half of the budget, 15.8 MiB", message
    )
    assert re.search(r"choose a nearer threshold, or raise --memory to 12\d\.\d MiB or more", message)
    (tmp_path / "long").write_text("".join(f"a{k}\tb{k}\t1\n" for k in range(20_000)))
    words = ["--max-distance", "6", "--memory", "1M"]
    message = refused(["--edges", "long", *words], tmp_path, code=1)
    assert "long: the list does not fit into memory: reading takes 96 bytes per pair, and there are more than 10,922 lines" in message
    matrix = "\n".join([*("\t".join([f"r{k}", *["0"] * 400]) for k in range(400))])
    (tmp_path / "matrix").write_text("\t".join(["", *(f"r{k}" for k in range(400))]) + "\n" + matrix + "\n")
    assert "too many pairs of 400 records are near" in refused(["--distances", "matrix", *words], tmp_path, code=1)
