"""A plan that was written down makes the same tiles, and only for the same input."""

import json
from dataclasses import replace

import numpy as np
import pytest
from work import sequence_set, two_valued

from gpualign.core.engine import Detail, Task
from gpualign.core.errors import InputError
from gpualign.core.plan import Limits, Pairing, make_plan
from gpualign.core.record import VERSION, digest_of, plan_of, record_plan


@pytest.fixture
def task(rng):
    sequences = sequence_set([rng.integers(0, 4, n) for n in rng.integers(2, 90, 50)])
    return Task(sequences, sequences, two_valued(4, 5, -4, 10, 1))


@pytest.mark.parametrize("pairing", Pairing)
def test_a_plan_read_back_makes_the_same_tiles(rng, task, pairing):
    limits = Limits(int(rng.integers(300, 20_000)), 0, 4, int(rng.integers(1, 9)), int(rng.integers(1, 10**5)))
    plan = make_plan(task.queries.lengths, task.targets.lengths, pairing, limits)
    record = json.loads(json.dumps(record_plan(plan, digest_of(task))))
    again = plan_of(record, replace(task), digest_of(task))
    assert (again.cells, again.pairs, again.band_count) == (plan.cells, plan.pairs, plan.band_count)
    for one, other in zip(plan.tiles(), again.tiles(), strict=True):
        assert (one.number, one.band, one.query_start, one.query_stop, one.cells) == (
            other.number,
            other.band,
            other.query_start,
            other.query_stop,
            other.cells,
        )
        np.testing.assert_array_equal(one.targets, other.targets)


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
        replace(task, top=3),
    ]
    same = replace(task, queries=queries, targets=queries)
    assert digest_of(same) == digest_of(task)
    assert len({digest_of(one) for one in [task, *others]}) == 1 + len(others)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": VERSION + 1}, f"version {VERSION + 1}"),
        ({"input": "0"}, "other sequences"),
        ({"queries": 49}, "other numbers"),
        ({"band_rows": 0}, "other numbers"),
        ({"limits.lanes": 0}, "into nothing"),
        ({"panel": -1}, "negative"),
        ({"panel": "1"}, "lacks"),
        ({"panel": True}, "lacks"),
        ({"limits.lanes": None}, "lacks"),
        ({"pairing": "some"}, "lacks"),
    ],
)
def test_records_of_something_else_are_refused(task, change, message):
    plan = make_plan(task.queries.lengths, task.targets.lengths, Pairing.ABOVE, Limits(10_000, 0, 4, 4, 1000))
    record = {**record_plan(plan, digest_of(task)), **change}
    with pytest.raises(InputError, match=message):
        plan_of(record, task, digest_of(task))
