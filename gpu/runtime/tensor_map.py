"""Tensor maps, with which a device's copy engine (TMA, compute capability 9.0) locates parts of a matrix. PyCUDA cannot create them."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import numpy.typing as npt

from gpualign.core.common.errors import RunError

TENSOR_MAP_BYTES = 128
"""Size of a CUtensorMap, in bytes."""

_MAP_ALIGNMENT_BYTES = 64
_UINT8, _NOT_INTERLEAVED, _SWIZZLE_128B, _L2_PROMOTION_256B, _ZEROS_OUTSIDE = 0, 0, 3, 3, 0


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def tensor_map(address: int, shape: tuple[int, int], box: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Return the tensor map for a byte matrix at `address` on the device, uint8[TENSOR_MAP_BYTES].

    Kernels use the map to copy boxes of the matrix into shared memory with a 128-byte swizzle: the 16-byte piece p of row r is stored where
    piece p ^ (r % 8) would be. Kernels need the map aligned to 64 bytes. shape, box: (rows, bytes per row).

    Raises `RunError` if the driver refuses, e.g. because the address or the row size is not a multiple of 16 bytes.
    """
    buffer = np.zeros(TENSOR_MAP_BYTES + _MAP_ALIGNMENT_BYTES, dtype=np.uint8)
    first = -buffer.ctypes.data % _MAP_ALIGNMENT_BYTES
    out = buffer[first : first + TENSOR_MAP_BYTES]
    code = _driver().cuTensorMapEncodeTiled(
        ctypes.c_void_p(out.ctypes.data),
        _UINT8,
        2,
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * 2)(*shape[::-1]),
        (ctypes.c_uint64 * 1)(shape[1]),
        (ctypes.c_uint32 * 2)(*box[::-1]),
        (ctypes.c_uint32 * 2)(1, 1),
        _NOT_INTERLEAVED,
        _SWIZZLE_128B,
        _L2_PROMOTION_256B,
        _ZEROS_OUTSIDE,
    )
    if code:
        raise RunError(f"the CUDA driver refuses to describe a matrix of {shape[0]:,} x {shape[1]:,} bytes to the device (error {code})")
    return out
