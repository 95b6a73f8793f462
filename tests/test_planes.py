"""Bit planes of codes, beside NumPy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core import _sites


@given(st.integers(0, 200), st.integers(1, 4), st.integers(1, 8), st.sampled_from([2, 5, 40, 256]), st.integers(0, 2**32 - 1))
def test_codes_become_planes(sites, samples, planes, kinds, seed):
    rng = np.random.default_rng(seed)
    codes = rng.choice(rng.permutation(256)[:kinds].astype(np.uint8), (samples, sites))
    table = rng.integers(0, 1 << planes, 256).astype(np.uint8)
    words = -(-sites // 64) + 1
    found = np.full((planes, samples, words), 7, np.uint64)
    for sample in range(samples):
        _sites.pack(codes, table, sample, 1, found)
    bits = np.zeros((planes, samples, 64 * words), np.uint8)
    bits[:, :, :sites] = table[codes] >> np.arange(planes)[:, None, None] & 1
    np.testing.assert_array_equal(found, np.packbits(bits, axis=2, bitorder="little").view("<u8"))
    assert np.flatnonzero(_sites.seen_codes(codes)).tolist() == np.unique(codes).tolist()
