"""The kernels for tensor cores without a GPU: their instructions are emulated on the host (tests/cuda_host/tensor_cores.hpp).

Copies and products arrive as late as they may, or at once, as a seed decides, so that a kernel that waits for none of them is seen.
"""

import numpy as np
import pytest
from distance_oracle import compute, dense_source, near_pairs, plain_distances, random_codes, related
from host_device import HostDevice, compiler

from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.gpu.distance.engine import CudaDistanceEngine
from gpualign.gpu.distance.kernels import MMA_KERNEL, WGMMA_KERNEL

pytestmark = [pytest.mark.slow, pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")]
KERNELS = pytest.mark.parametrize("kernel", [MMA_KERNEL, WGMMA_KERNEL], ids=lambda k: k.kernel.function)


def engine_of(kernel, seed=0):
    """The engine, and the device that lists the kernels it launched."""
    device = HostDevice(arch="sm_90a", seed=seed)
    return CudaDistanceEngine(device, 2, kernel), device


def check(codes, kernel, metric="hamming", queries=None, seed=0):
    source = dense_source(codes, queries=queries)
    engine, device = engine_of(kernel, seed)
    found, expected = (compute(source, one, metric) for one in (engine, CpuDistanceEngine(2)))
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    assert kernel.kernel in device.launched


@KERNELS
@pytest.mark.parametrize("samples", [1, 2, 9, 65])
@pytest.mark.parametrize("sites", [1, 257, 1023, 1025])
def test_edges_of_chunks(rng, kernel, samples, sites):
    codes = random_codes(rng, samples, sites, 2)
    codes[0, 0] = 0  # without any call there would be nothing to launch
    check(codes, kernel)


@KERNELS
@pytest.mark.parametrize(("samples", "queries"), [(129, None), (270, None), (140, 3)])
def test_edges_of_tiles(rng, kernel, samples, queries):
    check(random_codes(rng, samples, 300, 2), kernel, "ibs", queries)


@KERNELS
@pytest.mark.parametrize("seed", range(4))
def test_stages_are_filled_again(rng, kernel, seed):
    """More chunks than the kernels have stages, three times over, which copies and products overtake in other orders."""
    check(random_codes(rng, 24, 7000, 2), kernel, seed=seed)


@KERNELS
def test_plain_distances(rng, kernel):
    codes = random_codes(rng, 20, 1100, 2, 0.1)
    found = compute(dense_source(codes), engine_of(kernel)[0], "hamming")
    expected = plain_distances(codes, None, "hamming", "pairwise")
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@KERNELS
def test_near_pairs_with_ties(rng, kernel):
    source = dense_source(related(rng, 70, 600, 2, 0.05))
    found, expected = (near_pairs(source, one, "hamming", 12)[0].pairs for one in (engine_of(kernel)[0], CpuDistanceEngine(2)))
    assert found == expected
    assert found
