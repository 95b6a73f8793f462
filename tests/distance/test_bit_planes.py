"""Bit planes of codes, beside NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.distance import _sites


@given(st.integers(0, 200), st.integers(1, 4), st.integers(1, 8), st.sampled_from([2, 5, 40, 256]), st.integers(0, 2**32 - 1))
def test_codes_become_planes(sites, samples, planes, kinds, seed):
    rng = np.random.default_rng(seed)
    codes = rng.choice(rng.permutation(256)[:kinds].astype(np.uint8), (samples, sites))
    table = rng.integers(0, 1 << planes, 256).astype(np.uint8)
    words = -(-sites // 64) + 1
    found = np.full((planes, samples, words), 7, np.uint64)
    _sites.pack(codes, np.array([[0, sites]]), None, table, found, threads=3)
    bits = np.zeros((planes, samples, 64 * words), np.uint8)
    bits[:, :, :sites] = table[codes] >> np.arange(planes)[:, None, None] & 1
    np.testing.assert_array_equal(found, np.packbits(bits, axis=2, bitorder="little").view("<u8"))
    assert np.flatnonzero(_sites.seen_codes(codes)).tolist() == np.unique(codes).tolist()


@given(st.integers(0, 3000), st.integers(1, 6), st.sampled_from([1, 2, 3, 9]), st.sampled_from([0, 0.3, 1]), st.integers(0, 2**32 - 1))
def test_sites_with_two_calls_are_found(sites, samples, kinds, missing, seed):
    rng = np.random.default_rng(seed)
    codes = rng.choice(rng.permutation(255)[:kinds].astype(np.uint8), (samples, sites))
    codes[rng.random(codes.shape) < missing] = _sites.MISSING
    one, more = np.full(sites, 7, np.uint8), np.full(sites, 7, np.uint8)
    middle = sites // 2
    for first, count in ((0, middle), (middle, sites - middle)):
        _sites.find_two(codes, first, count, one, more)
    for site in range(sites):
        calls = [code for code in codes[:, site] if code != _sites.MISSING]
        assert one[site] == (calls[0] if calls else _sites.MISSING)
        assert more[site] == (len(set(calls)) > 2)


@given(st.integers(1, 400), st.integers(1, 4), st.booleans(), st.integers(0, 2**32 - 1))
def test_some_sites_become_planes(sites, samples, coded, seed):
    """Coded: by whether a call is the reference's."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(np.array([0, 1, 2, 3, _sites.MISSING], np.uint8), (samples, sites))
    reference = rng.integers(0, 4, sites).astype(np.uint8)
    chosen = rng.random(sites) < rng.choice([0.1, 0.9])
    runs = np.flatnonzero(np.diff(chosen, prepend=False, append=False)).reshape(-1, 2)
    recoded = np.where(codes == _sites.MISSING, codes, codes != reference).astype(np.uint8) if coded else codes
    table = np.zeros(256, np.uint8)
    table[[0, 1, 2, 3]] = 3, 6, 4, 0
    found, expected = (np.full((3, samples, -(-sites // 64)), 7, np.uint64) for _ in range(2))
    _sites.pack(codes, runs, reference if coded else None, table, found)
    some = np.ascontiguousarray(recoded[:, chosen])
    _sites.pack(some, np.array([[0, some.shape[1]]]), None, table, expected)
    np.testing.assert_array_equal(found, expected)


def test_a_half_twice_is_not_the_whole():
    codes, planes, table = np.arange(70, dtype=np.uint8)[None, :] // 35, np.zeros((1, 1, 2), np.uint64), np.eye(256, dtype=np.uint8)[1]
    _sites.pack(codes, np.array([[35, 70], [35, 70]]), None, table, planes)
    assert [int(word).bit_count() for word in planes[0, 0]] == [64, 6]


def test_sites_beyond_the_last_are_refused():
    codes, planes, table = np.zeros((2, 70), np.uint8), np.zeros((1, 2, 2), np.uint64), np.ones(256, np.uint8)
    for runs in ([[0, 71]], [[-1, 3]], [[5, 4]]):
        with pytest.raises(ValueError, match="no such sites"):
            _sites.pack(codes, np.array(runs), None, table, planes)
    for runs, reference in (([[0, 70], [0, 70]], None), ([[0, 70]], np.zeros(69, np.uint8))):
        with pytest.raises(ValueError, match="the shapes do not fit"):
            _sites.pack(codes, np.array(runs), reference, table, planes)
