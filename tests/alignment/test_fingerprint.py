"""By what processes know that they work on the same."""

from dataclasses import replace

import numpy as np
import pytest
from work import sequence_set, two_valued

from gpualign.core.alignment import task_fingerprint
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.task_fingerprint import fingerprint


@pytest.fixture
def task(rng):
    sequences = sequence_set([rng.integers(0, 4, n) for n in rng.integers(2, 90, 50)])
    return Task(sequences, sequences, two_valued(4, 5, -4, 10, 1))


def test_whatever_changes_results_changes_the_digest(task):
    letters = task.queries.codes.copy()
    letters[7] ^= 1
    queries = task.queries
    others = [
        replace(task, queries=replace(queries, codes=letters)),
        replace(task, queries=replace(queries, ids=["x", *queries.ids[1:]])),
        replace(task, queries=replace(queries, offsets=np.concatenate(([0, 1], queries.offsets[2:])))),
        replace(task, targets=replace(queries)),  # two sets, though equal ones
        replace(task, scoring=two_valued(4, 5, -4, 10, 2)),
        replace(task, scoring=two_valued(4, 5, -3, 10, 1)),
        replace(task, detail=Detail.PATH),
        replace(task, top_count=3),
    ]
    same = replace(task, queries=queries, targets=queries)
    assert fingerprint(same) == fingerprint(task)
    assert len({fingerprint(one) for one in [task, *others]}) == 1 + len(others)


@pytest.mark.parametrize("part", [1, 7, 50])
def test_ids_are_digested_as_one_text(task, monkeypatch, part):
    whole = fingerprint(task)
    monkeypatch.setattr(task_fingerprint, "_IDS_PER_PART", part)
    assert fingerprint(task) == whole
