"""Times of kernels by the device's clock."""

from host_device import HostDevice

from gpualign.gpu.runtime.kernel_timing import log_kernel_time
from gpualign.gpu.runtime.stream_pipeline import open_pipeline


def test_kernels_are_timed_only_for_a_log(monkeypatch):
    # A host takes a tenth of a second to clear the 512 MB that keep a device busy.
    monkeypatch.setattr("gpualign.gpu.runtime.kernel_timing.BUSY_FILL_BYTES", 1 << 10)
    device, log = HostDevice(), []
    with open_pipeline(device, 1) as pipeline:
        with log_kernel_time(pipeline, pipeline.streams[0], 5, None):
            pass
        assert device.used == 0
        with log_kernel_time(pipeline, pipeline.streams[0], 7, lambda seconds, work: log.append((seconds, work))):
            assert not log
    ((seconds, work),) = log
    assert seconds > 0
    assert work == 7
