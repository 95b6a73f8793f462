"""The pure part of the CUDA engine: forms, kernels, layouts, schedules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from work import edit, sequence_set, two_valued

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.planning.tile_plan import Pairing, TileLimits, make_plan
from gpualign.core.scoring.recurrence_forms import rebased_form
from gpualign.gpu.alignment.batch_layout import DeviceCapacity
from gpualign.gpu.alignment.batches import whole_tile_batch
from gpualign.gpu.alignment.families import (
    bit_sliced as slices,
)
from gpualign.gpu.alignment.families import (
    one_thread_per_pair as threads,
)
from gpualign.gpu.alignment.families import (
    warp_chain as chain,
)
from gpualign.gpu.alignment.families import (
    warp_chain_edit as chain_edit,
)
from gpualign.gpu.alignment.families.base import best_strip_rows
from gpualign.gpu.alignment.families.bit_slice_lanes import assign_lanes
from gpualign.gpu.alignment.families.strip_queue import selected_items
from gpualign.gpu.alignment.kernel_selection import choose_kernel_variant, kernel_variants
from gpualign.gpu.alignment.recipe import make_recipe, packed_score_type
from gpualign.gpu.alignment.strip_schedule import make_schedule
from gpualign.gpu.kernels.kernel import Hardware

H200 = Hardware(132, 1.98e9)
AFFINE = two_valued(4, 5, -4, 10, 1)


def task(scheme, queries, targets, mode=Mode.GLOBAL, letters=4):
    def made(lengths):
        return sequence_set([np.arange(n) % letters for n in lengths])

    return Task(made(queries), made(targets), scheme, mode)


@pytest.mark.parametrize(
    ("scheme", "longest", "mode", "expected"),
    [
        (edit(4), 255, Mode.GLOBAL, np.uint8),
        (edit(4), 256, Mode.GLOBAL, np.int16),
        (edit(4), 32_767, Mode.GLOBAL, np.int16),
        (edit(4), 32_768, Mode.GLOBAL, np.int32),
        (two_valued(4, 1, 0, 0, 0), 255, Mode.GLOBAL, np.uint8),
        (two_valued(4, 5, -4, 6, 6), 1, Mode.GLOBAL, np.int16),
        (two_valued(4, 5, -4, 8, 8), 2048, Mode.GLOBAL, np.int16),
        (two_valued(4, 5, -4, 8, 8), 2049, Mode.GLOBAL, np.int32),
        (AFFINE, 100, Mode.LOCAL, np.int32),
        (two_valued(4, 5 * 10**8, -4 * 10**8, 10**8, 10**8), 100, Mode.GLOBAL, np.int64),
    ],
)
def test_scores_are_as_narrow_as_their_bounds(scheme, longest, mode, expected):
    work = task(scheme, [3], [longest, longest], mode) if scheme.edit else task(scheme, [longest], [longest], mode)
    assert make_recipe(work).result_dtype == expected


@pytest.mark.parametrize(
    ("archs", "cell"),
    [
        (["sm_90a"], "U16x2"),
        (["sm_120", "sm_100"], "U16x2"),
        (["host"], "U16x2"),
        (["sm_80"], "H16x2"),
        (["sm_90a", "sm_89"], "H16x2"),
        (["sm_75"], None),
        (["sm_80", "sm_70"], None),
    ],
)
def test_two_scores_share_a_word_where_their_maximum_is_one_instruction(archs, cell):
    assert packed_score_type(archs) == cell
    recipe = make_recipe(task(AFFINE, [1000], [1000]), packed_score_type=cell)
    (variant,) = threads.kernel_variants(recipe, 1000, 1000)
    assert ("CELL", cell or "S32") in variant.kernel.macros


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_half_floats_hold_no_more_than_infinity(query, target):
    """Larger ones are no numbers, and their order is nobody's."""
    recipe = make_recipe(task(AFFINE, [10], [10]), packed_score_type="H16x2")
    fits = recipe.rebased_form.max_value(query, target + 4) <= 0x7C00
    assert (next(threads.kernel_variants(recipe, query, target)).pairs_per_thread == 2) == fits


def rebased_values(form, query, target, dummies, free_query, free_target):
    """Every value that cuda_src/alignment/recurrence.cuh forms, and the last row and column (global) or the best value (local)."""
    n = len(target)
    letters = len(form.table) - 1
    opening, zero, rest = form.gap_open - form.gap_extend, form.level, form.gap_open - form.lift
    linear = form.is_local and opening == 0  # there h is what e and f are made of; globally the two forms are the same

    def edge(i, free):
        if form.is_local or i == 0:
            return form.level
        return form.level + (i * form.gap_extend if free else -opening)

    first = 1 - dummies
    above_h = [edge(j, free_query) for j in range(1, n + 1)]
    above_f = [h if form.is_local else h - opening for h in above_h]
    seen, best, last_column = [*above_h, *above_f], zero, []

    def left(i):
        return edge(i, free_target) if i >= 0 else edge(0 if free_query else 1, False)

    for i in range(first, len(query) + 1):
        diagonal, h = left(i - 1), left(i)
        e = zero + form.lift if form.is_local else h - opening
        seen += [diagonal, h, e]
        for j in range(n):
            f = above_f[j]
            t = diagonal + int(form.table[letters if i < 1 else query[i - 1]][target[j]])
            if linear:
                e, f = h - rest, above_h[j] - rest
                seen += [e, f]
            x = max(t, e, f)
            diagonal = above_h[j]
            if linear:
                seen.append(x - form.lift)
                h = max(x - form.lift, zero)
                best = max(best, h)
            elif form.is_local:
                h = x - form.lift
                assert h >= zero
                best = max(best, h)
                seen += [e - form.gap_extend, f - form.gap_extend, h - rest]
                e = max(e - form.gap_extend, h - rest, zero + form.lift)
                f = max(f - form.gap_extend, h - rest)
            else:
                h = x
                seen.append(h - opening)
                e, f = max(e, h - opening), max(f, h - opening)
            seen += [t, x, h, e, f]
            above_h[j], above_f[j] = h, f
        last_column.append(h)
    return seen, best if form.is_local else (above_h, last_column[dummies:])


weights = st.integers(-60, 60) | st.integers(-150, 150)
gaps = st.integers(0, 40) | st.integers(100, 300)


@given(
    st.lists(st.lists(weights, min_size=3, max_size=3), min_size=3, max_size=3),
    gaps,
    gaps,
    st.lists(st.integers(0, 2), min_size=1, max_size=9),
    st.lists(st.integers(0, 2), min_size=1, max_size=9),
    st.integers(0, 63),
    st.sampled_from(["local", "penalised", "free", "query", "target"]),
)
def test_rebased_values_stay_within_the_bound_and_give_the_score(table, a, b, query, target, dummies, ends):
    from oracle import align, local_score
    from work import scoring

    scheme = scoring(table, max(a, b), min(a, b))
    local, free_query, free_target = ends == "local", ends in ("free", "query"), ends in ("free", "target")
    form = rebased_form(scheme, local, free_query)
    seen, value = rebased_values(form, query, target, dummies, free_query, free_target)
    assert min(seen) >= 0
    m, n = len(query), len(target)
    assert max(seen) <= form.max_value(m, n)
    if local:
        assert value - form.level == local_score(query, np.array(target), scheme.substitution, scheme.gap_open, scheme.gap_extend)
        return
    last_row, last_column = value
    cells = [(m, n, last_row[-1])]
    if free_query:
        cells += [(m, j, h) for j, h in enumerate(last_row, start=1)]
    if free_target:
        cells += [(i, n, h) for i, h in enumerate(last_column, start=1)]
    found = [h - form.level - form.gap_extend * (i + j) for i, j, h in cells]
    if free_query:
        found.append(0 if free_target else -gap_cost(m, scheme))
    if free_target:
        found.append(0 if free_query else -gap_cost(n, scheme))
    assert max(found) == align(query, target, scheme, free_query, free_target)[0]


def gap_cost(length, scheme):
    return scheme.gap_open + (length - 1) * scheme.gap_extend


def test_cells_are_as_narrow_as_the_bound_allows():
    def first(scheme, query, target, mode=Mode.GLOBAL):
        recipe = make_recipe(task(scheme, [query], [target], mode))
        return next(kernel_variants(recipe, query, target)).title

    assert "16-bit" in first(AFFINE, 1500, 1500)
    assert "16-bit" in first(AFFINE, 9000, 9000)
    assert "32-bit" in first(AFFINE, 10_000, 10_000)
    assert "32-bit" in first(two_valued(4, 500, -400, 1000, 100), 10, 10)  # no byte holds its scores
    assert "64-bit" in first(two_valued(4, 5 * 10**8, -4 * 10**8, 10**8, 10**7), 10, 10)
    assert "16-bit" in first(AFFINE, 10_000, 10_000, Mode.LOCAL)
    assert "16-bit" in first(two_valued(4, 43, -84, 70, 10), 10, 10)  # -64 .. 63, twice in a byte
    assert "32-bit" in first(two_valued(4, 44, -84, 70, 10), 10, 10)
    assert "16-bit" in first(two_valued(4, 107, -20, 70, 10), 10, 10)  # 0 .. 127
    assert "32-bit" in first(two_valued(4, 108, -20, 70, 10), 10, 10)


@pytest.mark.parametrize("gap", [(6, 6), (10, 1), (122, 1), (123, 123), (1000, 10), (1000, 1000)])
@pytest.mark.parametrize(("match", "mismatch"), [(5, -4), (63, -64), (64, -64), (120, -7), (127, 0), (128, 100)])
def test_locally_dear_gaps_take_no_wider_cells(match, mismatch, gap):
    """Bytes hold what they hold of the scores alone, of which none is worse than two gaps."""
    recipe = make_recipe(task(two_valued(4, match, mismatch, *gap), [10], [10], Mode.LOCAL))
    fits = match <= 127 and match - max(mismatch, -2 * gap[0]) <= 127
    assert next(kernel_variants(recipe, 10, 10)).title.count("16-bit") == fits


@pytest.mark.parametrize(
    ("scheme", "queries", "targets", "family"),
    [
        (AFFINE, [1500] * 500, [1500] * 4000, threads),
        (AFFINE, [1500] * 3, [1500] * 3, chain),
        (AFFINE, [100_000], [100_000], chain),
        (two_valued(4, 2, -1, 1, 1), [1500] * 500, [1500] * 4000, slices),
        (edit(4), [1500] * 500, [1500] * 4000, slices),
        (edit(4), [30_000], [30_000] * 3, chain_edit),
        (edit(4), [200_000], [200_000], chain_edit),
    ],
)
def test_the_family_fits_the_work(scheme, queries, targets, family):
    recipe = make_recipe(task(scheme, queries, targets))
    chosen = choose_kernel_variant(recipe, np.array(queries), np.array(targets), H200)
    assert chosen in family.kernel_variants(recipe, max(queries), max(targets))


@pytest.mark.parametrize(("count", "length", "rows"), [(1, 200_000, 12), (1, 1_000_000, 24), (400, 10_000, 24), (50, 1000, 12)])
def test_chains_have_many_rows_where_they_have_warps_enough(count, length, rows):
    """200 kb are 521 strips of few rows, for 528 warps; 1,000 letters, three of these or two of many."""
    lengths = np.full(count, length)
    recipe = make_recipe(task(AFFINE, [length], [length]))
    best = min(chain.kernel_variants(recipe, length, length), key=lambda variant: variant.estimate_clocks(lengths[:1], lengths, H200))
    assert best.strip_rows == rows


@pytest.mark.parametrize("rows", [12, 24])
def test_the_strips_of_a_narrow_pair_wait_for_each_other(rows):
    """A target of 1,000 letters: about five strips are under way at a time, however many there are and however many warps."""
    recipe = make_recipe(task(AFFINE, [1000], [1000]))
    variant = next(v for v in chain.kernel_variants(recipe, 10**7, 1000) if v.strip_rows == rows)
    narrow, wide = (np.array([length]) for length in (1000, 10**7))
    at_full_rate = 10**10 / variant.cells_per_clock / H200.multiprocessor_count
    assert variant.estimate_clocks(wide, narrow, H200) > 50 * at_full_rate
    assert variant.estimate_clocks(narrow, wide, H200) > 50 * at_full_rate
    assert variant.estimate_clocks(np.full(2000, 5000), narrow, H200) < 2 * at_full_rate


def test_strips_are_as_high_as_pads_least():
    def best(lengths, candidates):
        return best_strip_rows(np.unique(lengths, return_counts=True), candidates)

    assert best([1500] * 10, (60, 48)) == 60
    assert best([1440] * 10, (56, 48)) == 48
    assert best([100], (36, 34, 25)) == 34
    assert best([60, *[96] * 9], (60, 48)) == 48
    assert best([*[60] * 9, 96], (60, 48)) == 60


lists = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 3000)), max_size=60)


@given(lists, st.integers(1, 20))
def test_every_strip_is_scheduled_once_and_after_those_it_waits_for(items, lanes):
    strips = np.array([s for s, _ in items], dtype=np.int64)
    columns = np.array([c for _, c in items], dtype=np.int64)
    schedule = make_schedule(strips, columns, lanes)
    units = [tuple(u) for u in schedule.queued_strips.tolist()]
    assert sorted(units) == [(i, s) for i in range(len(items)) for s in range(strips[i])]
    place = {unit: k for k, unit in enumerate(units)}
    for item, strip in units:
        if strip:
            assert place[item, strip - 1] < place[item, strip]
        elif (before := int(schedule.previous_items[item])) >= 0:
            assert schedule.item_slots[before] == schedule.item_slots[item]
            assert place[before, strips[before] - 1] < place[item, 0]
    # The items of a slot form one chain.
    followed = [b for b in schedule.previous_items.tolist() if b >= 0]
    assert len(set(followed)) == len(followed)
    assert len(items) - len(followed) == len(set(schedule.item_slots.tolist()))
    assert schedule.item_slots.max(initial=0) < schedule.slot_count


def test_units_of_many_items_do_not_stand_beside_those_they_wait_for():
    schedule = make_schedule(np.full(1000, 30), np.full(1000, 1500), 100)
    place = {tuple(u): k for k, u in enumerate(schedule.queued_strips.tolist())}
    assert min(place[i, s] - place[i, s - 1] for i in range(1000) for s in range(1, 30)) >= 50


def tiles_of(work, pairing=Pairing.ALL, cells=1 << 40):
    limits = TileLimits(1 << 30, 0, 4, 1, cells)
    return list(make_plan(work.queries.lengths, work.targets.lengths, pairing, limits).tiles())


def test_halves_make_up_the_batch():
    work = task(AFFINE, [10, 30, 20], [5, 9, 7, 8, 1])
    todo, pairs = [whole_tile_batch(tiles_of(work)[0], work.queries.lengths)], []
    while todo:
        batch = todo.pop()
        halves = batch.halves()
        if halves is None:
            pairs.append((int(batch.queries[0]), int(batch.targets[0])))
        else:
            todo += halves
    assert sorted(pairs) == [(q, t) for q in range(3) for t in range(5)]


def lanes_of(items, listed):
    """As the kernel finds them (cuda_src/alignment/bitsliced.cuh)."""
    threads = np.arange(listed.shape[1])
    every = [first - threads if first >= 0 else listed[-1 - first] for first in items.tolist()]
    return np.array(every, dtype=np.int64).reshape(-1, len(threads))


@pytest.mark.parametrize("scheme", [AFFINE, edit(4)], ids=["threads", "slices"])
def test_items_without_a_wanted_pair_are_left_out(scheme):
    rng = np.random.default_rng(3)
    lengths = rng.integers(50, 60, 600)
    work = task(scheme, lengths, lengths)
    tile = tiles_of(Task(work.queries, work.queries, scheme), Pairing.ABOVE)[-1]
    work = Task(work.queries, work.queries, scheme)
    batch = whole_tile_batch(tile, work.queries.lengths)
    recipe = make_recipe(work)
    variant = next(kernel_variants(recipe, 60, 60))
    layout = variant.lay_out(batch, recipe, work, DeviceCapacity(lambda threads: 8, 1 << 30, 32, True))
    if "items" in layout.arrays:
        size, ids = layout.threads * 2, layout.arrays["items"]
    else:
        size, ids = 32, lanes_of(layout.arrays["item_lanes"], layout.arrays["listed_lanes"]).reshape(-1)
    covered = set()
    for item in ids[ids >= 0].tolist():
        block, row = divmod(item, len(batch.query_rows))
        query = int(batch.queries[row])
        group = batch.targets[block * size : (block + 1) * size]
        assert group.max() > query
        covered |= {(query, int(t)) for t in group}
    wanted = {(q, int(t)) for q in batch.queries.tolist() for t in batch.targets if t > q}
    assert wanted <= covered


def test_a_batch_brings_its_sequences_where_they_are_not_on_the_device():
    work = task(AFFINE, [10, 30, 20], [5, 9, 7, 8, 1])
    batch = whole_tile_batch(tiles_of(work)[0], work.queries.lengths)
    recipe = make_recipe(work)
    layout = next(kernel_variants(recipe, 30, 9)).lay_out(batch, recipe, work, DeviceCapacity(lambda threads: 8, 1 << 30, 32, False))
    for kind, sequences, numbers in (("query", work.queries, batch.queries), ("target", work.targets, batch.targets)):
        codes, offsets = layout.arrays[f"{kind}_codes"], layout.arrays[f"{kind}_offsets"]
        for k, record in enumerate(numbers):
            expected = sequences.codes[sequences.offsets[record] : sequences.offsets[record + 1]]
            np.testing.assert_array_equal(codes[offsets[k] : offsets[k + 1]], expected)


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=9),
    st.lists(st.integers(0, 60), min_size=1, max_size=40, unique=True),
    st.sampled_from([1, 4, 32]),
)
def test_items_are_those_with_a_wanted_pair(firsts, targets, size):
    """The last blocks first, and of a block the last queries."""
    wanted = [
        block * len(firsts) + query
        for block in range(-(-len(targets) // size))
        for query, first in enumerate(firsts)
        if any(target >= first for target in targets[block * size : (block + 1) * size])
    ]
    items = selected_items({"first_targets": np.array(firsts, np.int32)}, np.array(targets), size)
    assert items.dtype == np.int32
    assert items.tolist() == wanted[::-1]


def test_bands_of_one_set():
    """As measured of 5,181 genes: bit slices, which leave out neighbours on the diagonal, take longest with many; small sets are never cut
    small."""

    def bands(recipe, records):
        (variant, *_) = kernel_variants(recipe, 1500, 1500)
        return variant.diagonal_band_count(records**2 / 2 * 1500**2, 1500, H200)

    sliced, affine = (make_recipe(task(scheme, [1500], [1500])) for scheme in (edit(4), AFFINE))
    assert 4 <= bands(sliced, 5181) <= 8
    assert bands(affine, 5181) > 32
    assert bands(sliced, 300) == bands(affine, 60) == 4


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=9),
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 5)), min_size=1, max_size=40),
    st.lists(st.integers(1, 4), min_size=9, max_size=9).map(sorted),
    st.integers(1, 9),
)
def test_lanes_are_those_with_a_wanted_pair(firsts, groups, heights, threads):
    last, columns = (np.array(side) for side in zip(*groups, strict=True))
    queries, heights = len(firsts), np.array(heights[-len(firsts) :])
    lanes = assign_lanes(np.array(firsts, np.int32), last, columns, threads)
    every = lanes_of(lanes.item_lanes, lanes.listed_lanes)
    wanted = {g * queries + q for g in range(len(groups)) for q in range(queries) if firsts[q] <= last[g]}
    assert sorted(every[every >= 0]) == sorted(wanted)
    assert (every[:, 0] == lanes.first_lanes).all()
    long = np.where(every < 0, 0, columns[every // queries])
    assert (long[:, 0] == long.max(axis=1, initial=0)).all()
    assert (np.diff(long[:, 0]) <= 0).all()
    strips = lanes.strips_per_item(heights)
    needed = np.where(every < 0, 1, heights[every % queries]).max(axis=1, initial=1)
    assert (strips >= needed).all()
    assert (strips[lanes.item_lanes >= 0] == needed[lanes.item_lanes >= 0]).all()


@pytest.mark.parametrize("letters", [4, 15, 20, 27])
def test_chains_have_a_warp_a_scheduler_whatever_letters_there_are(letters):
    """Their profiles are too large for one block then."""
    recipe = make_recipe(task(two_valued(letters, 5, -4, 10, 1), [1000], [1000], letters=letters))
    for variant in chain.kernel_variants(recipe, 1000, 1000):
        assert variant.warps_per_block * variant.blocks_per_sm == 4
        assert variant.max_useful_blocks(1, 1954, H200.multiprocessor_count) * variant.warps_per_block == 528


@pytest.mark.parametrize(("family", "scheme"), [(chain_edit, edit(4)), (chain, AFFINE)], ids=["edit", "affine"])
@pytest.mark.parametrize(
    ("pairs", "strips", "blocks"), [(1, 1954, 132), (1, 489, 123), (3600, 3, 132), (2, 3, 2)], ids=["long", "1 Mb", "many", "two"]
)
def test_chains_have_a_warp_a_scheduler_at_most(family, scheme, pairs, strips, blocks):
    *_, variant = family.kernel_variants(make_recipe(task(scheme, [1000], [100])), 1000, 100)
    assert variant.max_useful_blocks(pairs, strips, H200.multiprocessor_count) == blocks


@pytest.mark.parametrize(("length", "words"), [(100_000, 1), (1_000_000, 2), (2_000_000, 4), (8_000_000, 4)])
def test_a_pair_has_words_for_as_many_warps_as_there_are_schedulers(length, words):
    chosen = choose_kernel_variant(make_recipe(task(edit(4), [length], [length])), np.array([length]), np.array([length]), H200)
    assert chosen.strip_rows == 32 * words
