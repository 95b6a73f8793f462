"""A small share of the fuzz test, with seeds that stay, and the cases that it once found. All of it: `python tests/fuzz`."""

import subprocess
import sys

import pytest
from command import LIMIT
from fuzz import journals
from fuzz.binaries import variants
from fuzz.cases import CASES
from fuzz.inprocess import check
from fuzz.process import heard_signals, run
from fuzz.runner import FAMILIES, run_cases
from fuzz.verdict import judge

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("family", FAMILIES)
def test_runs(family):
    tally = run_cases(range(7), seed=1, family=family)
    assert not tally.findings, f"python tests/fuzz --seed 1 --family {family} --case N repeats case N of:\n{tally.report()}"


def test_damaged_journals():
    """Many in forks of one process, which does not start anew for each."""
    done = subprocess.run([sys.executable, journals.__file__, "1", "7", "33"], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "33 damaged journals and parts" in done.stdout


def test_readers(tmp_path):
    found = [fault for number in range(400) if (fault := check(1, number, tmp_path))]
    assert not found


@pytest.mark.parametrize("name", CASES)
def test_what_was_found(name):
    with heard_signals():
        case = CASES[name]
        assert judge(case, run(case)).findings == []


def test_the_harness_sees_what_is_wrong(monkeypatch):
    """A judge that expects something else, and a budget that nothing keeps."""
    from fuzz import verdict
    from fuzz.case import Case

    case = Case(
        "x", ["nw", "in.fa", "-o", "out.tsv"], {"in.fa": b">a\nACGT\n>b\nACG\n"}, None, "out.tsv", lambda _: "another", memory=1 << 20
    )
    monkeypatch.setattr(verdict, "BASE", 0)
    with heard_signals():
        outcome = run(case)
        assert [kind for kind, _ in judge(case, outcome).findings] == ["memory (nw)", "wrong output (x)"]
        case.words[1] = "none.fa"
        case.good = True
        assert "good input refused (x)" in [kind for kind, _ in judge(case, run(case)).findings]


def test_packed_variants_are_tried():
    pytest.importorskip("cyvcf2")
    assert variants("x.bcf", "wb").startswith(b"\x1f\x8b")
