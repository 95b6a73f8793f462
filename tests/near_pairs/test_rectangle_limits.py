"""Limits of the rows of a rectangle, which a GPU reads: no pair's own bound is higher."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from work import edit, sequence_set

from gpualign.core.alignment.task import Task
from gpualign.core.planning.tile_plan import Band, Pairing, Tile
from gpualign.core.scoring.edit_bounds import columns_bound, covered_bound, distance_bound
from gpualign.gpu.near_pairs.rectangles import make_query_rows, whole_tile_rectangle

fractions = st.floats(0.5, 0.999)


@settings(max_examples=200)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["distance", "columns", "covered", "covered shorter"]),
    fractions,
    fractions,
    st.integers(1, 9),
    st.integers(1, 400),
)
@example(17, "covered shorter", 0.95, 0.9, 4, 100)
@example(10, "covered shorter", 0.977, 0.603, 8, 331)
def test_no_pair_has_a_higher_bound(seed, kind, threshold, coverage, q, longest):
    bound = {
        "distance": lambda: distance_bound(int(threshold * 40)),
        "columns": lambda: columns_bound(threshold),
        "covered": lambda: covered_bound(threshold, coverage),
        "covered shorter": lambda: covered_bound(threshold, coverage, of_shorter=True),
    }[kind]()
    rng = np.random.default_rng(seed)
    sets = [sequence_set([np.zeros(n, dtype=np.uint8) for n in rng.integers(max(1, longest // 2), longest + 1, 40)]) for _ in range(2)]
    task = Task(*sets, edit(4), edit_bound=bound)
    by_length = np.argsort(task.targets.lengths, kind="stable")
    rectangle = whole_tile_rectangle(Tile.from_targets(by_length, 0, Band(0, 40, 0, 40, 0, 1), (0, 40), Pairing.ALL, 1), task)
    rows = make_query_rows(rectangle, task, bound, q)
    m, n = task.queries.lengths[rectangle.queries][:, None], task.targets.lengths[rectangle.targets][None, :]
    longer = np.maximum(m, n)  # no distance is larger
    own = np.minimum(np.maximum(bound.max_different_grams(q, m, n), bound.max_different_grams(q, n, m)), q * longer)
    columns = np.arange(40)[None, :]
    compared = (columns >= rows.limits["first"][:, None]) & (columns < rows.limits["stop"][:, None])
    assert (compared == (np.abs(m - n) <= bound.max_edits(m, n))).all()
    assert (np.where(compared, own, 0) <= rows.limits["slack"][:, None]).all()
    diagonals = bound.max_diagonals(m, n) if bound.coverage else np.minimum(bound.max_edits(m, n), longer)
    assert np.where(compared, diagonals, 0).max(initial=0) <= rows.max_diagonals
