"""Workers that pull tiles: order, errors, and workers that fail."""

import threading
from types import SimpleNamespace

import pytest
from command import LIMIT

from gpualign.core.errors import RunError
from gpualign.core.pool import run_workers

WAITING = 3


def tiles_of(count):
    return (SimpleNamespace(number=k) for k in range(count))


def result_of(tile):
    return SimpleNamespace(tile=tile)


def work(counter):
    while (tile := counter.next_tile()) is not None:
        counter.deliver(result_of(tile))


def numbers(results):
    return sorted(result.tile.number for result in results)


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_every_tile_comes_once(workers, count):
    assert numbers(run_workers(tiles_of(count), [work] * workers, WAITING, "test")) == list(range(count))


@pytest.mark.parametrize("error", [RunError("broken"), ValueError("wrong")], ids=["hardware", "bug"])
@pytest.mark.parametrize("tell", [False, True])
def test_an_error_of_the_only_worker_ends_the_run(error, tell):
    def fails(counter):
        counter.next_tile()
        raise error

    told = []
    with pytest.raises(type(error), match=str(error)):
        list(run_workers(tiles_of(5), [fails], WAITING, "test", lost=(lambda *what: told.append(what)) if tell else None))
    assert told == []


@pytest.mark.parametrize("after", [0, 1, 3])
def test_tiles_of_a_worker_that_fails_go_to_the_others(after):
    def fails(counter):
        for _ in range(after):
            counter.deliver(result_of(counter.next_tile()))
        for _ in range(3):
            counter.next_tile()
        raise RunError("lost")

    told = []
    found = run_workers(tiles_of(40), [work, fails, work], WAITING, "test", lost=lambda number, error: told.append((number, str(error))))
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
    found = run_workers(tiles_of(20), [first_late, late_first], 40, "test", lost=lambda *what: told.append(what))
    assert numbers(found) == list(range(20))
    assert len(told) == 1


def test_the_last_error_is_raised_where_none_is_left():
    def fails(counter):
        counter.next_tile()
        raise RunError("lost")

    told = []
    with pytest.raises(RunError, match="lost"):
        list(run_workers(tiles_of(9), [fails] * 3, WAITING, "test", lost=lambda *what: told.append(what)))
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
        list(run_workers(tiles_of(9), [wrong, right], WAITING, "test", lost=lambda *what: None))


def test_closing_ends_all_threads():
    ended = []
    found = run_workers(tiles_of(10**9), [work] * 3, WAITING, "closing", stop=lambda: ended.append(True), lost=lambda *what: None)
    next(found)
    found.close()
    assert ended == [True]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("closing")]
