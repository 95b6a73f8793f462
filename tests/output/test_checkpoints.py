"""How far an output is: what has been written when a mark is taken."""

import pytest
from work import sequence_set, two_valued

from gpualign.core.alignment.task import Task
from gpualign.core.execution.runner import compute_pair_bands, plan_task
from gpualign.core.execution.totals import NullProgress
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import BANDS_IN_FLIGHT, Pairing
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.jobs.output.result_writing import write_results


class Told:
    """A sink, and marks of which every `every`-th is taken: then the pairs of the queries before it have been written, and no others."""

    def __init__(self, every):
        self.every, self.told, self.pairs, self.taken = every, 0, [], [0]

    def begin(self, plan):
        pass

    def register_counts_function(self, get_counts):
        return {}

    def header_written(self):
        pass

    def write(self, results):
        band = results.band
        self.pairs += [(i, j) for i in range(band.start, band.stop) for j in range(band.first_target, band.target_stop)]

    def rows_written(self, rows):
        self.told += 1
        if self.told % self.every == 0 and rows > self.taken[-1]:
            assert self.pairs == [(i, j) for i in range(rows) for j in range(40)]
            self.taken.append(rows)

    def finish(self):
        pass


@pytest.mark.parametrize("every", [1, 2, 3, 5])
def test_no_query_is_marked_behind_which_more_is_written(every, rng):
    """Bands of one query with some of its targets: a run that goes on at a mark writes all pairs of the queries behind it."""
    sets = [sequence_set([rng.integers(0, 4, 8) for _ in range(count)]) for count in (6, 40)]
    task = Task(*sets, two_valued(4, 5, -4, 10, 1))
    prepared = CpuEngine(1).prepare(task, Budget(BANDS_IN_FLIGHT * (task.query_bytes + 16 * task.pair_bytes), 1 << 28))
    plan = plan_task(prepared, Pairing.ALL)
    assert plan.targets_per_band < 40
    told = Told(every)
    write_results(told, plan, compute_pair_bands(plan, prepared, NullProgress()), told)
    assert len(told.taken) > 1
