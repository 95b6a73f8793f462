"""Limits of the rows of a rectangle, which a GPU reads: no pair's own bound is higher."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from work import edit, sequence_set

from gpualign.core.alignment.ambiguity import AmbiguityCounts, AmbiguityRule
from gpualign.core.alignment.task import Task
from gpualign.core.planning.tile_plan import Band, Pairing, Tile
from gpualign.core.scoring.edit_bounds import columns_bound, covered_bound, distance_bound
from gpualign.gpu.near_pairs.rectangles import make_query_rows, sort_queries, tile_rectangles

fractions = st.floats(0.5, 0.999)


@settings(max_examples=200)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["distance", "columns", "covered", "covered shorter"]),
    fractions,
    fractions,
    st.integers(1, 9),
    st.integers(1, 400),
    st.sampled_from([0, 16]),
)
@example(17, "covered shorter", 0.95, 0.9, 4, 100, 0)
@example(10, "covered shorter", 0.977, 0.603, 8, 331, 0)
@example(382, "covered shorter", 0.875, 0.75, 1, 382, 0)
def test_no_pair_has_a_higher_bound(seed, kind, threshold, coverage, q, longest, most_letters):
    bound = {
        "distance": lambda: distance_bound(int(threshold * 40)),
        "columns": lambda: columns_bound(threshold),
        "covered": lambda: covered_bound(threshold, coverage),
        "covered shorter": lambda: covered_bound(threshold, coverage, of_shorter=True),
    }[kind]()
    rng = np.random.default_rng(seed)
    sets = [sequence_set([np.zeros(n, dtype=np.uint8) for n in rng.integers(max(1, longest // 2), longest + 1, 40)]) for _ in range(2)]
    letters = [rng.choice([0, 0, 1, 8], 40).astype(np.int64) for _ in sets]
    ambiguity = AmbiguityCounts(AmbiguityRule.COMPATIBLE, *letters, most_letters) if most_letters else None
    task = Task(*sets, edit(4), edit_bound=bound.with_ambiguity_letters(most_letters), ambiguity=ambiguity)
    by_length = np.argsort(task.targets.lengths, kind="stable")
    tile = Tile.from_targets(by_length, 0, Band(0, 40, 0, 40, 0, 1), (0, 40), Pairing.ALL, 1)
    rectangle = tile_rectangles(tile, sort_queries(0, 40, Pairing.ALL, task), task)[0]
    rows = make_query_rows(rectangle, task, bound, q)
    m, n = rectangle.queries.lengths[:, None], task.targets.lengths[rectangle.targets][None, :]
    letters = [
        counts[some] for counts, some in zip(task.ambiguity_letter_counts, (rectangle.queries.records, rectangle.targets), strict=True)
    ]
    longer = np.maximum(m, n)  # no distance is larger
    limits = rows.limits[rectangle.queries.length_numbers]
    slacks = limits["slack"] + q * letters[0]
    columns = np.arange(40)[None, :]
    compared = (columns >= limits["first"][:, None]) & (columns < limits["stop"][:, None])
    for ours, theirs in {(int(one), int(other)) for one in letters[0] for other in letters[1]}:
        some = (letters[0][:, None] == ours) & (letters[1][None, :] == theirs)
        own = bound.with_ambiguity_letters(ours + theirs)
        grams = np.minimum(np.maximum(own.max_different_grams(q, m, n), own.max_different_grams(q, n, m)), q * longer)
        within = some & (np.abs(m - n) <= own.max_edits(m, n))
        assert (compared | ~within).all()
        assert (np.where(within, grams - q * theirs, 0) <= slacks[:, None]).all()
        diagonals = own.max_diagonals(m, n) if own.coverage else np.minimum(own.max_edits(m, n), longer)
        assert np.where(within, diagonals, 0).max(initial=0) <= rows.max_diagonals
    assert most_letters or (compared == (np.abs(m - n) <= bound.max_edits(m, n))).all()
