"""Memory of sets with equal records: a run that compares only the distinct records holds these twice."""

import json

import numpy as np
import pytest
from command import gpualign
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.near_pairs.deduplication import copy_bytes, group_equal
from gpualign.core.sequences.sequence_set import SequenceSet

LETTERS = 120_000_000


@pytest.fixture(scope="module")
def long_records(tmp_path_factory):
    """2,400 records of 50,000 letters; the last one equals the first."""
    path = tmp_path_factory.mktemp("copies") / "x.fa"
    codes = np.random.default_rng(1).integers(0, 4, (2400, LETTERS // 2400), dtype=np.uint8)
    codes[-1] = codes[0]
    with path.open("wb") as file:
        for number, record in enumerate(np.frombuffer(b"ACGT", np.uint8)[codes]):
            file.write(b">r%d\n%s\n" % (number, record.tobytes()))
    return path


@pytest.mark.parametrize("command", ["nw", "cluster"])
@pytest.mark.parametrize("megabytes", [230, 400])
def test_distinct_records_are_part_of_the_memory(long_records, tmp_path, command, megabytes):
    """Too little for a copy of them, so that the run does without, and enough. Python and its libraries take up to 90 MiB."""
    if command == "cluster":
        pytest.importorskip("scipy")
    words = ["--edit", "--max-distance", "5", "--device", "cpu", "--threads", "2", "--memory", f"{megabytes}MB", "-o", tmp_path / "x.tsv"]
    done = gpualign(command, long_records, *words, "-v", "--summary", tmp_path / "s.json")
    assert done.returncode == 0, done.stderr
    assert ("equal to earlier ones" in done.stderr.decode()) == (megabytes == 400)
    assert json.loads((tmp_path / "s.json").read_text())["peak_memory"] < megabytes * 10**6 + (90 << 20)
    assert len((tmp_path / "x.tsv").read_text().splitlines()) == (2 if command == "nw" else 2401)


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=3), min_size=1))
def test_the_size_of_a_copy_is_known_before_it_is_made(records):
    codes = np.array([code for record in records for code in record], dtype=np.uint8)
    sequences = SequenceSet("x", [str(k) for k in range(len(records))], codes, np.cumsum([0, *map(len, records)]))
    groups = group_equal(sequences)
    made = sequences.select(groups.first_records)
    assert copy_bytes(sequences, groups) == (made.nbytes if groups.repeated_count else 0)
