"""Work in background threads: order, how far ahead it goes, and that nothing goes on behind an end or an error."""

import threading
from contextlib import closing

import pytest

from gpualign.core.common.errors import RunError
from gpualign.core.common.threads import SerialExecutor, ThreadPool, map_ahead


def refuse_to_stop():
    raise AssertionError("nothing was to be stopped")


@pytest.mark.parametrize("ahead", [0, 1, 3, 50])
def test_results_are_in_order_and_at_most_so_many_ahead(ahead):
    taken, received = [], []

    def items():
        for number in range(20):
            taken.append(number)
            assert len(taken) <= len(received) + ahead + 1
            yield number

    for result in map_ahead(lambda number: (number, threading.current_thread()), items(), ahead, refuse_to_stop):
        received.append(result[0])
        assert result[1] is not threading.main_thread()
    assert received == taken == list(range(20))


def test_several_calls_at_the_same_time():
    both = threading.Barrier(2, timeout=60)

    def meet(number):
        both.wait()
        return number

    assert list(map_ahead(meet, range(10), 3, refuse_to_stop, threads=2)) == list(range(10))


def test_the_first_error_ends_the_work():
    stopped, called = [], []

    def fail(number):
        called.append(number)
        if number == 3:
            raise ValueError("three")
        return number

    results = map_ahead(fail, range(100), 2, lambda: stopped.append(True))
    assert [next(results), next(results), next(results)] == [0, 1, 2]
    assert stopped == []
    with pytest.raises(ValueError, match="three"):
        next(results)
    assert stopped == [True]
    assert len(called) <= 6


def test_closing_early_stops_the_call_in_progress():
    released, started = threading.Event(), threading.Event()

    def wait(number):
        if number:
            started.set()
            assert released.wait(60)
        return number

    with closing(map_ahead(wait, range(100), 2, released.set)) as results:
        assert next(results) == 0
        assert started.wait(60)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("gpualign-ahead")]


def test_an_executor_refuses_actions_after_its_end():
    executor = SerialExecutor("test")
    assert executor.submit(lambda: 5).result() == 5
    executor.close()
    with pytest.raises(RunError, match="has been stopped"):
        executor.submit(lambda: 6).result(timeout=60)


def test_a_closed_pool_starts_no_threads():
    """A search that is stopped closes its pool while other threads are about to use it."""
    pool = ThreadPool(2)
    assert pool.map(abs, (-1, 2)) == [1, 2]
    pool.close()
    threads = set(threading.enumerate())
    for use in (pool.map, lambda *a: list(pool.imap(*a))):
        with pytest.raises(RunError, match="stopped"):
            use(abs, (-1, 2))
    pool.close()
    assert set(threading.enumerate()) <= threads
