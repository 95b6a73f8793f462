import numpy as np
import pytest

from gpualign.core.files import read_rate
from gpualign.core.files.read_rate import measure_read_rate


@pytest.mark.parametrize("size", [1, 15, 16, 17, 4095, 1 << 20, (64 << 20) + 5, 80 << 20])
def test_rate_is_that_of_the_parts(tmp_path, monkeypatch, size):
    path = tmp_path / "x"
    with path.open("wb") as file:
        file.truncate(size)
    ticks = iter([10.0, 12.0])
    monkeypatch.setattr(read_rate.time, "perf_counter", lambda: next(ticks))
    read = 2 * measure_read_rate(np.memmap(path, np.uint8, "r"))
    every = 16 * -(-size // 16)  # in parts of equal size, of which the last may be shorter
    assert read == every if size <= 1 << 20 else 1 << 20 < read < size  # a sample is enough of a large file
