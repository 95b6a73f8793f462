"""Workers that pull tiles: order, errors, and workers that fail."""

import atexit
import threading
import time
from types import SimpleNamespace

import pytest
from command import LIMIT

from gpualign.core.common.errors import RunError
from gpualign.core.common.threads import BackgroundTask
from gpualign.core.execution.tile_queue import LoadBalancing
from gpualign.core.execution.worker_pool import run_workers

WAITING = 3


def tiles_of(count):
    return (SimpleNamespace(number=k, cells=9) for k in range(count))


def result_of(tile):
    return SimpleNamespace(tile=tile)


def work(counter):
    while (tile := counter.next_tile()) is not None:
        counter.deliver(result_of(tile))


def numbers(results):
    return sorted(result.tile.number for result in results)


def test_an_interrupt_while_the_threads_start(monkeypatch):
    """The threads that have started end, and nothing is left for the end of the process."""
    started, ended, start, unregister = [], [], threading.Thread.start, atexit.unregister

    def interrupted(thread):
        if started:
            raise KeyboardInterrupt
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    monkeypatch.setattr(atexit, "unregister", lambda function: (unregister(function), ended.append(function)))
    with pytest.raises(KeyboardInterrupt):
        next(run_workers(tiles_of(100), [work] * 3, WAITING, "test"))
    assert not started[0].is_alive()
    assert len(ended) == 1


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_every_tile_comes_once(workers, count):
    assert numbers(run_workers(tiles_of(count), [work] * workers, WAITING, "test")) == list(range(count))


def delivered_before_a_second_is_taken(cells, waiting, seconds, **room):
    """How many results of tiles of these cells a worker has handed on by then, all but one at most."""
    handed = []
    last_but_one = threading.Event()

    def counts(counter):
        while (tile := counter.next_tile()) is not None:
            counter.deliver(result_of(tile))
            handed.append(tile.number)
            if len(handed) == len(cells) - 1:
                last_but_one.set()

    found = run_workers((SimpleNamespace(number=k, cells=n) for k, n in enumerate(cells)), [counts], waiting, "test", **room)
    next(found)
    last_but_one.wait(seconds)
    before = len(handed)
    found.close()
    return before


@pytest.mark.parametrize("first", [1, 100])
def test_large_results_wait_for_the_consumer(first):
    assert delivered_before_a_second_is_taken([first, *[100] * 9], WAITING, 0.3) <= WAITING + 1


def test_small_results_behind_a_large_one_do_not():
    assert delivered_before_a_second_is_taken([100, *[2] * 100], WAITING, LIMIT) >= 100


def test_small_results_do_not_wait_within_their_room():
    def deliver(size):
        return delivered_before_a_second_is_taken([1000] * 20, 2, 1 if size > 10 else LIMIT, size_of=lambda result: size, min_room=200)

    assert deliver(10) >= 19
    assert deliver(70) <= 4  # two wait, one is taken, one is delivered meanwhile
    assert deliver(1000) <= 4


@pytest.mark.parametrize("error", [RunError("broken"), ValueError("wrong")], ids=["hardware", "bug"])
@pytest.mark.parametrize("tell", [False, True])
def test_an_error_of_the_only_worker_ends_the_run(error, tell):
    def fails(counter):
        counter.next_tile()
        raise error

    told = []
    with pytest.raises(type(error), match=str(error)):
        list(run_workers(tiles_of(5), [fails], WAITING, "test", on_worker_failure=(lambda *what: told.append(what)) if tell else None))
    assert told == []


@pytest.mark.parametrize("after", [0, 1, 3])
def test_tiles_of_a_worker_that_fails_go_to_the_others(after):
    begun = threading.Event()

    def waits(counter):
        assert begun.wait(LIMIT)
        work(counter)

    def fails(counter):
        for _ in range(after):
            counter.deliver(result_of(counter.next_tile()))
        for _ in range(3):
            counter.next_tile()
        begun.set()
        raise RunError("lost")

    told = []
    found = run_workers(
        tiles_of(40), [waits, fails, waits], WAITING, "test", on_worker_failure=lambda number, error: told.append((number, str(error)))
    )
    assert numbers(found) == list(range(40))
    assert told == [(1, "lost")]


def test_workers_that_have_ended_come_back():
    all_but_one = threading.Event()

    def quick(counter):
        work(counter)
        all_but_one.set()

    def late(counter):
        counter.next_tile()
        assert all_but_one.wait(LIMIT)
        raise RunError("late")

    def first_late(counter):  # the late one has a tile before there are none left
        assert begun.wait(LIMIT)
        quick(counter)

    begun = threading.Event()

    def late_first(counter):
        tile = counter.next_tile()
        begun.set()
        assert tile is not None
        late(counter)

    told = []
    found = run_workers(tiles_of(20), [first_late, late_first], 40, "test", on_worker_failure=lambda *what: told.append(what))
    assert numbers(found) == list(range(20))
    assert len(told) == 1


def test_the_last_error_is_raised_where_none_is_left():
    def fails(counter):
        counter.next_tile()
        raise RunError("lost")

    told = []
    with pytest.raises(RunError, match="lost"):
        list(run_workers(tiles_of(9), [fails] * 3, WAITING, "test", on_worker_failure=lambda *what: told.append(what)))
    assert len(told) == 2


def test_a_bug_is_no_loss():
    both = threading.Barrier(2)

    def wrong(counter):
        both.wait(LIMIT)
        raise ValueError("wrong")

    def right(counter):
        both.wait(LIMIT)
        work(counter)

    with pytest.raises(ValueError, match="wrong"):
        list(run_workers(tiles_of(9), [wrong, right], WAITING, "test", on_worker_failure=lambda *what: None))


def test_closing_ends_all_threads():
    ended = []
    found = run_workers(
        tiles_of(10**9), [work] * 3, WAITING, "closing", stop=lambda: ended.append(True), on_worker_failure=lambda *what: None
    )
    next(found)
    found.close()
    assert ended == [True]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("closing")]


def pieces(count, tiles=1):
    """Of bands of so many tiles, a cell each."""
    for k in range(count):
        yield SimpleNamespace(number=k, cells=1, remaining_cells=count - k, band=SimpleNamespace(index=k // tiles, tile_count=tiles))


def noted(into, seconds=0.0):
    """A worker that notes what it does, and takes so long for each."""

    def work(counter):
        while (tile := counter.next_tile()) is not None:
            into.append(tile.number)
            time.sleep(seconds)
            counter.deliver(result_of(tile))

    return work


def test_a_worker_that_would_be_waited_for_takes_nothing():
    """By the estimate it takes years for a tile, and there are a hundred: however long the other one stands still meanwhile."""
    slow, quick = [], []
    found = run_workers(
        pieces(100), [noted(slow), noted(quick, 0.0001)], WAITING, "test", load_balancing=LoadBalancing([1e-9, 1000.0], 100)
    )
    assert numbers(found) == list(range(100))
    assert slow == []
    assert quick == list(range(100))


def test_a_worker_that_has_refused_does_what_another_gives_back():
    slow = []

    def fails(counter):
        for _ in range(3):
            counter.next_tile()
        raise RunError("lost")

    told = []
    sharing = LoadBalancing([1.0, 1000.0], 10)
    found = run_workers(
        pieces(9, 3), [noted(slow), fails], WAITING, "test", on_worker_failure=lambda *what: told.append(what), load_balancing=sharing
    )
    assert numbers(found) == list(range(9))
    assert sorted(slow) == list(range(9))
    assert [number for number, _ in told] == [1]


def test_no_band_is_begun_far_ahead_of_one_that_is_not_done():
    begun, held = [], threading.Event()

    def holds(counter):
        if not held.is_set():  # it is called again when there may be more
            tile = counter.next_tile()
            held.set()
            while not waits.is_set():
                time.sleep(0.001)
            counter.deliver(result_of(tile))
        noted([])(counter)

    def quick(counter):
        assert held.wait(LIMIT)
        noted(begun)(counter)
        waits.set()  # nothing more for it at the moment

    waits = threading.Event()
    found = run_workers(pieces(60, 2), [holds, quick], 100, "test", load_balancing=LoadBalancing([1e-3, 1e-3], 4))
    first = next(found).tile.number
    assert first > 0
    assert numbers(found) == [k for k in range(60) if k != first]
    assert waits.is_set()
    assert begun[:7] == list(range(1, 8))


def test_a_run_within_a_worker_ends_with_its_own():
    """The inner worker would wait for ever."""
    begun, inner_stopped = threading.Event(), threading.Event()

    def waits(counter):
        counter.next_tile()
        begun.set()
        while not counter.stopped():
            time.sleep(0.001)

    def outer(counter):
        counter.deliver(result_of(counter.next_tile()))
        for result in run_workers(iter(counter.next_tile, None), [waits], 1, "inner", stop=inner_stopped.set):
            counter.deliver(result)

    found = run_workers(tiles_of(10), [outer], 1, "outer")
    next(found)
    assert begun.wait(LIMIT)
    found.close()
    assert inner_stopped.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(("inner", "outer"))]


def test_one_action_at_a_time_is_done_aside():
    begun, gate, done = threading.Event(), threading.Event(), []

    def act(number):
        begun.set()
        assert gate.wait(LIMIT)
        done.append(number)

    aside = BackgroundTask()
    assert not aside.busy
    aside.start(lambda: act(1))
    assert begun.wait(LIMIT)
    assert aside.busy
    gate.set()
    aside.start(lambda: act(2))  # waits for the first
    assert done[:1] == [1]
    aside.wait()
    assert done == [1, 2]
    assert not aside.busy


def test_what_an_action_aside_raises_is_raised_once():
    aside = BackgroundTask()

    def fails():
        raise OSError("a disk that fails")

    aside.start(fails)
    with pytest.raises(OSError, match="a disk that fails"):
        aside.wait()
    aside.wait()
    aside.start(fails)
    with pytest.raises(OSError, match="a disk that fails"):
        aside.start(fails)
    aside.start(lambda: None)
    aside.wait()
