"""The kernels of Payne et al. 2010 give the distances of the CPU engine: on the host everywhere, on a device where there is one."""

import numpy as np
import pytest
from distance_oracle import compute_counts, dense_source, near_pairs, random_codes
from work import RecordingReporter

from gpualign.core.common.errors import InputError
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.gpu.papers import payne
from gpualign.gpu.papers.payne import METHODS, PayneEngine


@pytest.fixture(params=METHODS)
def engine(request, device):
    return PayneEngine(device, request.param, 1, 8 if device.arch == "host" else payne.DEFAULT_BLOCK_THREADS)


def same(source, engine, memory=1 << 28):
    expected, found = (compute_counts(source, e, memory) for e in (CpuDistanceEngine(2), engine))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("sites", "missing"), [(1, 0), (3, 0), (4, 0), (5, 0), (130, 0), (61, 0.2), (130, 0.2), (130, 1)])
def test_any_sites(rng, engine, sites, missing):
    """Calls are missing only where there are enough of them to be sure that every pair has one site at least, or where there are none."""
    same(dense_source(random_codes(rng, 5, sites, missing=missing)), engine)


def test_pairs_that_may_have_no_site_in_common_are_refused(engine):
    """These kernels do not count compared sites."""
    codes = np.array([[0, 1, 255, 255], [255, 255, 1, 1], [0, 1, 1, 1]], dtype=np.uint8)
    with pytest.raises(InputError, match="all pairs have min_compared sites"):
        compute_counts(dense_source(codes), engine)


def test_near_pairs_with_few_sites_are_kept_and_that_is_said(engine):
    from gpualign.core.distance.readers.array import CallArray, read_arrays
    from gpualign.core.distance.tables.options import CallOptions
    from gpualign.core.files.scratch import ScratchFiles
    from gpualign.jobs.dist import DistOptions, prepare

    calls = np.array([[0, 1, 2, 0, 1], [0, 1, 2, 0, 2], [0, 1, -9, -9, -9]])
    for some, least, told in ((calls, None, True), (calls, 1, False), (calls[:2], None, False)):
        options, heard = DistOptions(max_distance=1.0, min_compared=least, kernel="naive"), RecordingReporter()
        with ScratchFiles() as files:
            job = prepare(options, read_arrays([CallArray(some)], CallOptions(), heard.warn), engine, files.new_scratch, heard)
            assert job.prepared.min_sites_filter is None
        said = "does not count compared sites: near pairs with few of them are not left out"
        assert any(note.endswith(said) for note in heard.notes) == told


def test_two_sets_pieces_and_bands(rng, engine, monkeypatch):
    monkeypatch.setattr(payne, "PIECE_BYTES", 9 * 4 * 32)  # of 256 MB of genotypes
    same(dense_source(random_codes(rng, 9, 100), queries=4), engine)
    same(dense_source(random_codes(rng, 9, 100)), engine, memory=2000)


def test_added_queries(rng, engine):
    """In bands of a few queries, each with the later ones and with the others."""
    source = dense_source(random_codes(rng, 9, 100, missing=0.02), queries=4)
    (expected, _), (found, _) = (
        near_pairs(source, e, "hamming", None, memory=2000, compared=False, added=True) for e in (CpuDistanceEngine(2), engine)
    )
    assert found.pairs == expected.pairs
    assert len(found.pairs) == 4 * 3 // 2 + 4 * 5


def test_alphabets_beyond_three(rng, engine):
    codes = rng.integers(0, 200, (6, 70), dtype=np.uint8)
    same(dense_source(codes), engine)


def test_other_counts_are_refused(rng, device):
    from distance_oracle import compute

    with pytest.raises(InputError, match="Payne 2010 count differing calls"):
        compute(dense_source(random_codes(rng, 3, 9)), PayneEngine(device, "shared", 1, 8), "ibs")
