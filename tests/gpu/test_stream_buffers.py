"""Buffers of a batch: how they grow, and what they do where memory is short."""

import numpy as np
import pytest
from host_device import HostDevice
from hypothesis import given
from hypothesis import strategies as st

from gpualign.gpu.runtime.device import OutOfMemory
from gpualign.gpu.runtime.stream_buffers import StreamBuffers


class Counting(HostDevice):
    """asked: bytes of each allocation, of pinned ones as well, whether there was room or not."""

    def __init__(self, limit=1 << 28):
        super().__init__(limit=limit)
        self.asked = []

    def allocate(self, nbytes):
        self.asked.append(nbytes)
        return super().allocate(nbytes)

    def allocate_pinned(self, nbytes):
        self.asked.append(nbytes)
        return super().allocate_pinned(nbytes)


def test_wishes_that_grow_a_little_are_met_once():
    device = Counting()
    slot = StreamBuffers(device, 0)
    places = {slot.address("results", nbytes) for nbytes in range(100_000, 200_000, 10_000)}
    assert len(places) == 1
    assert device.asked == [200_192]
    for nbytes in range(100_000, 112_000, 1_000):
        assert slot.host_buffer("results", nbytes).nbytes == nbytes
    assert len(device.asked) == 2
    slot.release()
    assert device.used == 0


def test_large_buffers_are_as_large_as_asked_until_they_grow():
    device = Counting()
    slot = StreamBuffers(device, 0)
    for nbytes in (25_600, 25_601, 30_000, 33_000):
        slot.address("directions", nbytes, max_bytes=1000)
    assert device.asked == [25_600, 32_256, 41_472]


@pytest.mark.parametrize(("most", "made"), [(1 << 20, 51_200), (40_960, 40_960), (25_600, 25_600), (0, 25_600)])
def test_a_buffer_takes_no_more_than_it_may(most, made):
    device = Counting()
    StreamBuffers(device, 0).address("kept", 25_600, max_bytes=most)
    assert device.asked == [made]


class Busy(HostDevice):
    """Computes until it is waited for. What the driver does only on an idle device is not asked for before."""

    busy = False

    def wait_until_idle(self):
        self.busy = False

    def allocate(self, nbytes):
        memory = super().allocate(nbytes)
        free = memory.free

        def free_when_idle():
            assert not self.busy
            free()

        memory.free = free_when_idle
        return memory

    def allocate_pinned(self, nbytes):
        assert not self.busy
        return super().allocate_pinned(nbytes)


def test_buffers_are_replaced_on_an_idle_device():
    device = Busy()
    slot = StreamBuffers(device, 0)
    for nbytes in (1 << 20, 8 << 20, 64 << 20):
        for get in (slot.address, slot.host_buffer):
            device.busy = True
            get("results", nbytes)
            assert device.busy == (get == slot.address and nbytes == 1 << 20)  # nothing is waited for without a need
            device.busy = True
            get("results", nbytes)
            assert device.busy


def test_where_memory_is_short_it_is_as_asked():
    device = Counting(limit=30_000)
    slot = StreamBuffers(device, 0)
    slot.address("results", 25_600)
    assert device.asked == [51_200, 25_600]
    assert device.used == 25_600
    with pytest.raises(OutOfMemory):
        slot.address("queue", 10_000)
    assert device.asked[2:] == [20_224, 10_240]
    slot.release()
    assert device.used == 0


@given(st.lists(st.integers(0, 255), max_size=600), st.sampled_from([np.uint8, np.int32, np.float64]))
def test_arrays_there_and_back(values, dtype):
    """Of any length, also none; from ordinary memory that is not contiguous."""
    device = Counting()
    buffers = StreamBuffers(device, 0)
    array = np.array([values, values], dtype=dtype).T[:, 0]
    address = buffers.copy("numbers", array)
    assert buffers.address("numbers", array.nbytes) == address
    np.testing.assert_array_equal(buffers.fetch("numbers", array.shape, dtype), array)
    assert device.asked[0] == max(256, -(-array.nbytes // 256) * 256)


def test_host_memory_of_the_caller_is_used():
    device = Counting()
    buffers = StreamBuffers(device, 0)
    memory = np.zeros(100, dtype=np.uint8)
    buffers.copy("results", np.arange(80, dtype=np.uint8))
    buffers.set_host_buffer("results", memory)
    buffers.download("results", 80)
    np.testing.assert_array_equal(memory, [*range(80), *[0] * 20])
    assert device.asked == [256]


def test_lists_that_grow_are_allocated_seldom():
    device = Counting()
    buffers = StreamBuffers(device, 0)
    buffers.copy("found", np.arange(1 << 16))
    device.asked.clear()
    for count in range(1, 1 << 16, 1 << 7):
        buffers.download_list("found", 8 * count)
        np.testing.assert_array_equal(buffers.host_buffer("found", 8 * count).view(np.int64), np.arange(count))
    assert device.asked == [1 << 17, 1 << 19]
