"""Which workers may take more work, on a simulated clock: nobody waits for a slow one."""

import heapq
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.execution.load_balancing import BandWindow, LoadBalancer

RATES = st.lists(st.floats(0.01, 100), min_size=1, max_size=5)
PIECES = st.lists(st.integers(1, 1000), max_size=40)


def simulate(rates, pieces, estimates=None, ahead=1, failing=None):
    """(seconds until all is done, pieces of each worker). ahead: that a worker has at a time; failing: (worker, second)."""
    dispatch = LoadBalancer(estimates or rates)
    left, now, done = list(pieces), 0.0, [[] for _ in rates]
    held = [[] for _ in rates]  # pieces of each in turn; the first is being done
    alive = set(range(len(rates)))
    events = [(failing[1], failing[0], None)] if failing else []
    while True:
        taken = True
        while taken and left:
            taken = False
            for worker in sorted(alive):
                if left and len(held[worker]) < ahead and dispatch.may_take(worker, left[0], sum(left), now):
                    piece = left.pop(0)
                    dispatch.record_taken_piece(worker, piece, now)
                    held[worker].append(piece)
                    if len(held[worker]) == 1:
                        heapq.heappush(events, (now + piece / rates[worker], worker, piece))
                    taken = True
        if not any(held):
            assert not left
            return now, done
        now, worker, piece = heapq.heappop(events)
        if worker not in alive:
            continue
        if piece is None:
            alive.discard(worker)
            left = held[worker] + left
            held[worker] = []
            dispatch.drop_worker(worker)
            continue
        dispatch.record_finished_piece(worker, piece, now)
        done[worker].append(held[worker].pop(0))
        if held[worker]:
            heapq.heappush(events, (now + held[worker][0] / rates[worker], worker, held[worker][0]))


@given(RATES, PIECES, st.integers(1, 3))
def test_nobody_waits_for_a_slow_worker(rates, pieces, ahead):
    """No run ends later than the fastest worker would alone, and each piece is done once."""
    seconds, done = simulate(rates, pieces, ahead=ahead)
    assert sorted(chain.from_iterable(done)) == sorted(pieces)
    assert seconds <= sum(pieces) / max(rates) * (1 + 1e-9)


@given(RATES, PIECES, st.data())
def test_whatever_is_estimated_all_is_done(rates, pieces, data):
    estimates = data.draw(st.lists(st.floats(0.01, 100), min_size=len(rates), max_size=len(rates)))
    failing = None
    if len(rates) > 1:
        failing = data.draw(st.tuples(st.integers(0, len(rates) - 1), st.floats(0, 100)))
    _, done = simulate(rates, pieces, estimates, failing=failing)
    assert sorted(chain.from_iterable(done)) == sorted(pieces)


@given(st.integers(1, 6), st.integers(0, 60), st.integers(1, 3))
def test_equal_workers_share_equal_pieces(workers, count, ahead):
    seconds, done = simulate([10.0] * workers, [10] * count, ahead=ahead)
    assert seconds == pytest.approx(-(-count // workers))
    assert max(map(len, done)) - min(map(len, done)) <= 1


def test_a_slow_worker_helps_as_long_as_it_is_in_time():
    """A tenth as fast: with a hundred pieces it does one in eleven, but none of the last."""
    seconds, done = simulate([100.0, 10.0], [100] * 100)
    assert len(done[1]) == 9
    assert seconds == pytest.approx(91)


def test_a_wrong_estimate_costs_one_piece():
    """Estimated to be as fast as the other, a hundred times slower: it is waited for once, but takes no second piece."""
    seconds, done = simulate([100.0, 1.0], [100] * 50, estimates=[100.0, 100.0])
    assert len(done[1]) == 1
    assert seconds == 100


@given(st.floats(0.01, 99), PIECES, st.floats(0.5, 1))
def test_half_the_speed_that_was_estimated_makes_nobody_wait(rate, pieces, share):
    """Nor does anything above half of it."""
    seconds, done = simulate([100.0, rate * share], pieces, estimates=[100.0, rate])
    assert sorted(chain.from_iterable(done)) == sorted(pieces)
    assert seconds <= sum(pieces) / 100 * (1 + 1e-9)


def test_a_worker_that_is_late_is_taken_for_slow():
    """What it holds has taken ten times as long as it should have: it is no faster than that."""
    dispatch = LoadBalancer([10.0, 9.0])
    dispatch.record_taken_piece(0, 100, 0.0)
    assert not dispatch.may_take(1, 100, 100, 9.0)
    assert dispatch.may_take(1, 100, 100, 100.0)


def test_rates_are_above_zero():
    for rates in ([], [1.0, 0.0]):
        with pytest.raises(ValueError, match="above 0"):
            LoadBalancer(rates)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers(1, 5), st.randoms())
def test_a_window_holds_so_many_bands(bands, ahead, random):
    """Bands of some pieces each, taken in order and delivered in any."""
    window = BandWindow(ahead)
    pieces = [(band, count) for band, count in enumerate(bands) for _ in range(count)]
    taken, undelivered = [], dict(enumerate(bands))
    while pieces or taken:
        may = pieces and window.startable_band_count(pieces[0][0]) > 0
        oldest = min(undelivered)
        assert bool(may) == bool(pieces and pieces[0][0] < oldest + ahead)
        if may and (not taken or random.random() < 0.7):
            taken.append(pieces.pop(0))
            window.record_taken_piece(*taken[-1])
        else:
            band, _ = taken.pop(random.randrange(len(taken)))
            window.record_finished_piece(band)
            undelivered[band] -= 1
            if not undelivered[band]:
                del undelivered[band]
