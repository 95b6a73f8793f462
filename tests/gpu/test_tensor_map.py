"""What the copy engine is told of a matrix, with a driver that writes down what it is asked."""

import ctypes

import numpy as np
import pytest

from gpualign.core.common.errors import RunError
from gpualign.gpu.runtime import tensor_map as module
from gpualign.gpu.runtime.tensor_map import TENSOR_MAP_BYTES, tensor_map


class Driver:
    def __init__(self, code):
        self.code, self.asked = code, None

    def cuTensorMapEncodeTiled(self, out, kind, rank, address, sizes, strides, box, steps, *rest):
        self.asked = out.value % 64, rank, address.value, list(sizes), list(strides), list(box), list(steps)
        ctypes.memset(out, 7, TENSOR_MAP_BYTES)
        return self.code


@pytest.fixture
def driver(monkeypatch, request):
    found = Driver(request.param)
    monkeypatch.setattr(module, "_driver", lambda: found)
    return found


@pytest.mark.parametrize("driver", [0], indirect=True)
def test_the_driver_hears_bytes_first(driver):
    made = tensor_map(1 << 40, (1000, 256), (64, 128))
    assert driver.asked == (0, 2, 1 << 40, [256, 1000], [256], [128, 64], [1, 1])
    assert made.dtype == np.uint8
    assert made.tolist() == [7] * TENSOR_MAP_BYTES


@pytest.mark.parametrize("driver", [1], indirect=True)
def test_a_refusal_is_an_error(driver):
    with pytest.raises(RunError, match=r"refuses to describe a matrix of 1,000 x 250 bytes to the device \(error 1\)"):
        tensor_map(1 << 40, (1000, 250), (64, 128))
