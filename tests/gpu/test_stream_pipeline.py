"""The loop of streams that take turns: order, what is in flight, errors and stops, on a device whose events happen when the test says."""

import ctypes
import threading
from functools import partial

import numpy as np
import pytest
from command import LIMIT
from host_device import HostDevice, HostMemory, HostStream
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.common.errors import RunError
from gpualign.gpu.runtime.device import OutOfMemory
from gpualign.gpu.runtime.stream_pipeline import USABLE_MEMORY_FRACTION, open_pipeline

BOTH = pytest.mark.parametrize("background", [False, True], ids=["own thread", "background"])


class _Late:
    """Event that has happened after a number of polls."""

    def __init__(self, polls):
        self._left = polls

    def is_done(self):
        self._left -= 1
        return self._left < 0


class SlowDevice(HostDevice):
    """polls: how often each event is asked for before it has happened, in the order in which they are recorded."""

    def __init__(self, polls=()):
        super().__init__()
        self.polls = iter(polls)

    def create_stream(self):
        return _SlowStream(self)


class _SlowStream(HostStream):
    def record_event(self):
        return _Late(next(self._device.polls, 0))


def marked(started, piece, stream):
    stream.begin_batch()
    started.append((piece, stream))
    stream.mark_event()


@given(streams=st.integers(1, 4), pieces=st.integers(0, 12), polls=st.lists(st.integers(0, 3), max_size=30), background=st.booleans())
def test_work_is_collected_in_order_and_each_stream_has_one_piece(streams, pieces, polls, background):
    device, started, collected = SlowDevice(polls), [], []

    def submit(piece, stream):
        assert all(done in collected for done, used in started if used is stream)  # else its buffers would be overwritten
        assert piece < len(collected) + streams
        marked(started, piece, stream)

    def collect(piece, stream):
        assert started[piece] == (piece, stream)
        collected.append(piece)
        return True

    with open_pipeline(device, streams, 0, collects_in_background=background) as pipeline:
        for piece in range(pieces):
            if not background:  # as late as possible, so that as much as possible is in flight
                assert len(collected) == max(0, piece - streams)
            pipeline.start(partial(submit, piece), partial(collect, piece))
        pipeline.drain()
        assert collected == list(range(pieces))
        assert not pipeline.collect_oldest()
        assert len({id(used) for _, used in started}) == min(streams, pieces)
    assert not device.opened
    assert not device.joined


@BOTH
def test_every_piece_is_in_flight_before_any_is_waited_for(background):
    """Three streams take three pieces that never end; only a fourth one waits, until the run is stopped."""
    stopped, waiting = threading.Event(), threading.Event()
    device, started, collected = SlowDevice([0, 1 << 60] * 3), [], []

    def ask():
        if len(started) == 3:
            waiting.set()
        return stopped.is_set()

    def work():
        with open_pipeline(device, 3, 0, ask, background) as pipeline:
            for piece in range(4):
                pipeline.start(partial(marked, started, piece), collected.append)
            pipeline.drain()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert waiting.wait(LIMIT)
    assert thread.is_alive()
    stopped.set()
    thread.join(LIMIT)
    assert not thread.is_alive()
    assert [piece for piece, _ in started] == [0, 1, 2]
    assert not collected
    assert not device.opened


@BOTH
def test_too_little_memory_leaves_the_stream_idle(background):
    started, collected = [], []
    device = HostDevice(limit=10_000)

    def submit(nbytes, stream):
        stream.address("results", nbytes, max_bytes=0)
        marked(started, nbytes, stream)

    def collect(stream):
        collected.append(stream)
        return True

    with open_pipeline(device, 2, 0, collects_in_background=background) as pipeline:
        pipeline.start(partial(submit, 5000), collect)
        with pytest.raises(OutOfMemory):
            pipeline.start(partial(submit, 8000), collect)
        assert pipeline.has_idle_stream
        pipeline.drain()
        pipeline.free_idle()
        assert device.used == 0
        pipeline.start(partial(submit, 8000), collect)
        assert device.used == 8192
    assert device.used == 0
    assert [nbytes for nbytes, _ in started] == [5000, 8000]


@BOTH
def test_an_error_while_collecting_ends_the_run_and_frees(background):
    device = HostDevice()

    def collect(stream):
        raise RunError("the CUDA device failed: made up")

    def work():
        with open_pipeline(device, 2, 0, collects_in_background=background) as pipeline:
            pipeline.resident.copy("kept", np.arange(9))
            pipeline.start(lambda stream: (stream.address("results", 100), marked([], 0, stream)), collect)
            pipeline.drain()

    with pytest.raises(RunError, match="made up"):
        work()
    assert device.used == 0
    assert not device.opened
    assert not device.joined


class _Kernel:
    """Event after a kernel that runs until its queue looks empty, and ends some polls later."""

    def __init__(self, queue):
        self._queue = queue
        self._left = 3
        self.ended = False

    def is_done(self):
        self._left -= ctypes.string_at(self._queue, 4) == b"\x3f" * 4
        self.ended = self._left < 0
        return self.ended


@BOTH
def test_an_error_ends_the_kernels_in_flight_without_their_results(background):
    """Their memory is freed when they have ended."""
    device, kernels, collected, freed, ended = HostDevice(), [], [], [], []

    class Running(HostStream):
        def record_event(self):
            return kernels[0]

    class Guarded(HostMemory):
        def free(self):
            freed.append(kernels[0].ended)
            super().free()

    device.create_stream = lambda: Running(device)
    device.allocate = partial(Guarded, device)

    def submit(stream):
        queue = stream.address("queue", 256)
        stream.fill(queue, 0, 256)
        kernels.append(_Kernel(queue))
        stream.mark_event()

    def work():
        try:
            with open_pipeline(device, 1, 0, collects_in_background=background) as pipeline:
                pipeline.start(submit, collected.append)
                raise ValueError("no more tiles")
        except ValueError as error:
            ended.append(str(error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(LIMIT)
    assert ended == ["no more tiles"]
    assert not collected
    assert freed == [True]
    assert device.used == 0
    assert not device.opened
    assert not device.joined


def test_nothing_starts_after_a_stop():
    device, started, stop = HostDevice(), [], []
    with open_pipeline(device, 2, 0, lambda: bool(stop)) as pipeline:
        pipeline.start(partial(marked, started, 0))
        stop.append(True)
        pipeline.start(partial(marked, started, 1))
        pipeline.drain()
    assert [piece for piece, _ in started] == [0]
    assert not device.opened


def test_usable_memory_is_a_share_of_what_is_free():
    with open_pipeline(HostDevice(reported=1 << 20), 1) as pipeline:
        pipeline.resident.copy("kept", np.zeros(1 << 18, dtype=np.uint8))
        assert pipeline.usable_memory() == USABLE_MEMORY_FRACTION * (3 << 18)
