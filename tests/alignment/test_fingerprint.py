"""By what processes know that they work on the same."""

from dataclasses import replace

import numpy as np
import pytest
from work import sequence_set, two_valued

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.task_fingerprint import fingerprint
from gpualign.core.sequences.sequence_set import SequenceSet


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


def test_every_one_of_many_ids_counts(task):
    """Also where one ends and the next begins: more than are joined at a time."""
    count = 140_000
    ids = [f"r{k}" for k in range(count)]

    def of(ids):
        many = SequenceSet("many", ids, np.zeros(count, np.uint8), np.arange(count + 1))
        return fingerprint(replace(task, queries=many, targets=many))

    prints = {of(ids)}
    for k in (0, 1, 65_535, 65_536, 131_071, count - 2):
        first, second = ids[k : k + 2]
        prints.add(of([*ids[:k], f"{first}{second[0]}", second[1:], *ids[k + 2 :]]))
    assert len(prints) == 7
    assert of(list(ids)) in prints
