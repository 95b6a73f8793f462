"""Every golden file by every engine: whatever computes, a command writes the same bytes."""

import pytest
from command import gpualign, gpualign_here
from goldens import GOLDENS, INPUTS
from places import GOLDEN


@pytest.mark.parametrize("case", GOLDENS, ids=lambda case: case.name)
def test_bytes(golden, engine, case, tmp_path, monkeypatch, request):
    if request.config.getoption("--update-golden") and not engine.first:
        pytest.skip("golden files are written by one engine")
    monkeypatch.chdir(tmp_path)

    def run(*words):
        written, messages = gpualign_here(*words, *engine.words)
        assert engine.told in messages.splitlines()[-1]
        return written

    golden(case.name, case.written(run, tmp_path))


@pytest.mark.parametrize(
    "name",
    [
        *("pairs.tsv", "matrix.npz", "alignments_free.sam", "hits.m8", "hits_dna.aln", "dist/square.tsv", "dist/failed_near.tsv"),
        *("cluster/average.tsv", "cluster/greedy.uc"),
    ],
)
def test_the_executable_writes_them(tmp_path, name):
    (case,) = (case for case in GOLDENS if case.name == name)
    assert case.written(lambda *words: gpualign(*words, cwd=tmp_path).stdout, tmp_path) == case.path.read_bytes()


def test_each_golden_file_has_a_command():
    names = [case.name for case in GOLDENS]
    assert len(names) == len(set(names))
    assert {GOLDEN / name for name in names} == {path for path in GOLDEN.rglob("*") if path.is_file()} - INPUTS
