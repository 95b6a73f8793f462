"""CUDA kernels of distances against the CPU engine: popc on the host everywhere, all of them on a device where there is one.

test_tensor_cores.py has the others on the host.
"""

import io
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from command import LIMIT
from distance_oracle import allele_source, compute, dense_source, near_pairs, random_codes, related
from host_device import HostDevice, HostStream, compiler
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.distance.bands import SampleBand, SampleBands
from gpualign.core.distance.calls import MISSING, CallKind
from gpualign.core.distance.count_recipe import CountRequest, Measure, Operation, PanelRecipe, Term, make_code_recipe
from gpualign.core.distance.engine import Panel
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.multi_device import MultiDeviceDistanceEngine
from gpualign.core.distance.preparation import DistanceTask, prepare
from gpualign.core.distance.tables.alleles import NO_ALLELE
from gpualign.core.execution.worker_pool import WorkerHandle
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.gpu.distance import engine as cuda_distance
from gpualign.gpu.distance.engine import CudaDistanceEngine
from gpualign.gpu.distance.kernels import (
    CHUNK_WORDS,
    MMA_KERNEL,
    POPC_KERNEL,
    WGMMA_KERNEL,
    plan_launch,
    usable_kernels,
)
from gpualign.gpu.distance.plane_pieces import BundledPlanes, cut_panels, plane_bytes

COUNTED = [name for name, metric in METRICS.items() if metric.measure is not Measure.RELATIONSHIP]
"""grm is for the CPU."""


@pytest.fixture(params=[POPC_KERNEL, MMA_KERNEL, WGMMA_KERNEL], ids=lambda k: k.kernel.function)
def engine(request, device):
    if request.param not in usable_kernels(device.arch):
        pytest.skip(f"{device.arch} does not run this kernel")
    return CudaDistanceEngine(device, 2, request.param)


def same(source, engine, metric, rule="pairwise", memory=1 << 28):
    expected, found = compute(source, CpuDistanceEngine(2), metric, rule), compute(source, engine, metric, rule, memory)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("metric", COUNTED)
@pytest.mark.parametrize("missing", [0, 0.1])
def test_every_metric(rng, engine, metric, missing):
    kind = CallKind.NUCLEOTIDE if metric in ("jc69", "tn93") else CallKind.GENOTYPE
    codes = random_codes(rng, 70, 1100, 3 if kind is CallKind.NUCLEOTIDE else 2, missing)
    same(dense_source(codes, kind), engine, metric)


def test_genotypes_of_many_alleles(rng, engine):
    codes = random_codes(rng, 20, 300, 2)
    codes[:, ::7] = random_codes(rng, 20, 43, 35)
    same(dense_source(codes), engine, "hamming", "as-difference")
    same(dense_source(codes), engine, "ibs")


@pytest.mark.parametrize("queries", [1, 5])
def test_two_sets(rng, engine, queries):
    same(dense_source(random_codes(rng, 9, 200, 2), queries=queries), engine, "fraction")


def side_by_side(engines, note=lambda text: None):
    return MultiDeviceDistanceEngine(list(engines), note)


@pytest.fixture
def small_parts(monkeypatch):
    """So that a few samples are work for several."""
    monkeypatch.setattr("gpualign.core.distance.multi_device.MIN_ROWS_PER_PIECE", 3)


def small_pieces(monkeypatch, sites=0):
    """Several pieces of planes; of real sizes an emulated device takes minutes for one."""
    monkeypatch.setattr(cuda_distance, "PIECE_BYTES", 1 << 16)
    monkeypatch.setattr(cuda_distance, "COMPARISONS_PER_PIECE", sites)


def test_bands_and_pieces(rng, engine, monkeypatch):
    """Memory for a few rows, planes that do not stay on the device."""
    codes = random_codes(rng, 130, 5000, 2)
    small_pieces(monkeypatch)
    same(dense_source(codes), engine, "hamming", memory=1 << 18)


@pytest.mark.parametrize("comparisons", [0, 10**7, 10**14])
@pytest.mark.parametrize("missing", [0, 0.1])
def test_planes_that_stay(rng, engine, monkeypatch, comparisons, missing):
    """Of several panels, alike or not, multiplied together as far as the comparisons allow; copied in parts of some rows."""
    small_pieces(monkeypatch, comparisons)
    codes = random_codes(rng, 60, 9000, 2, missing)
    codes[:, 4000:6000][codes[:, 4000:6000] == 1] = 0  # fewer planes
    same(dense_source(codes), engine, "hamming", memory=1 << 18)
    near_same(codes, engine, "hamming", 4000, memory=1 << 18)


@given(st.integers(0, 1 << 30), st.integers(1, CHUNK_WORDS - 1), st.integers(1, 24), st.integers(1, 3))
def test_short_planes_joined_end_to_end(seed, words, planes, samples):
    """The products of each term are the same, whatever part of the rows is copied at a time."""
    rng = np.random.default_rng(seed)
    panel_bits = np.zeros((planes, samples, CHUNK_WORDS), dtype=np.uint64)
    panel_bits[:, :, :words] = rng.integers(0, 1 << 63, (planes, samples, words), dtype=np.uint64)
    sides = [tuple(rng.integers(0, planes, size).tolist()) for size in rng.integers(1, 2 * planes, 3)]
    pairs = zip(sides, [sides[0], *(tuple(rng.permutation(side).tolist()) for side in sides[1:])], strict=True)
    terms = tuple(Term(str(number), Operation.AND, *pair) for number, pair in enumerate(pairs))
    panel = Panel(panel_bits, 64 * words, PanelRecipe((), terms))
    piece = BundledPlanes.of_panel(panel)
    (chosen,) = cut_panels([panel], 1)
    assert chosen.nbytes == plane_bytes([panel]) <= panel_bits.nbytes
    assert isinstance(chosen, BundledPlanes) == (piece.nbytes <= panel_bits.nbytes)
    assert not any(isinstance(one, BundledPlanes) for one in cut_panels([panel, panel], 1))
    rows = np.full((piece.row_count, CHUNK_WORDS), 1 << 40, dtype=np.uint64)
    for start in range(0, len(rows), step := int(rng.integers(1, len(rows) + 1))):
        piece.copy_rows(start, rows[start : start + step])
    joined = rows.reshape(-1, samples, CHUNK_WORDS)
    for term, other in zip(terms, piece.recipe.terms, strict=True):
        assert other.count_name == term.count_name
        assert np.array_equal(common_bits(joined, other), common_bits(panel_bits, term))


def common_bits(bits, term):
    """The sum that a term of products asks for, for every two samples."""
    common = bits[list(term.left)][:, :, None] & bits[list(term.right)][:, None]
    return np.unpackbits(common.view(np.uint8), axis=-1).sum(axis=(0, 3))


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2)), max_size=7), st.integers(0, 1 << 18), st.integers(0, 9000))
def test_pieces_of_panels(kinds, most, sites):
    """Every word of panels with terms once, whole chunks at a time, panels of one recipe together and in order."""
    recipes = [recipe_of(planes) for planes in range(3)]
    panels, samples = [], 3
    for number, (chunks, planes) in enumerate(kinds):
        shape = planes, samples, chunks * CHUNK_WORDS
        bits = np.arange(np.prod(shape), dtype=np.uint64).reshape(shape) + 10**6 * number
        panels.append(Panel(bits, 64 * (bits.shape[2] - 1) + 1, recipes[planes]))
    pieces = list(cut_panels(panels, most, sites))
    multiplied = [panel for panel in panels if panel.recipe.terms]
    assert sum(piece.nbytes for piece in pieces) == plane_bytes(panels)
    assert sum(piece.site_count for piece in pieces) == sum(panel.site_count for panel in multiplied)
    assert all(piece.word_count % CHUNK_WORDS == 0 for piece in pieces)
    assert all(piece.word_count <= max(CHUNK_WORDS, most / 8 / piece.row_count, sites / 64) for piece in pieces)
    found = [[np.empty((piece.row_count, piece.word_count), np.uint64), piece] for piece in pieces]
    for rows, piece in found:
        piece.copy_rows(0, rows[:1])
        piece.copy_rows(1, rows[1:])
    for recipe in dict.fromkeys(panel.recipe for panel in multiplied):
        alike = [panel for panel in multiplied if panel.recipe == recipe]
        whole = np.concatenate([panel.bits.reshape(len(recipe.planes) * samples, -1) for panel in alike], axis=1)
        while whole.shape[1]:
            rows, piece = found.pop(0)
            assert piece.recipe == recipe
            assert (rows == whole[:, : piece.word_count]).all()
            whole = whole[:, piece.word_count :]
    assert not found


def recipe_of(planes):
    """A recipe of so many planes; without planes there are no terms."""
    terms = tuple(Term("matches", Operation.AND, (plane,), (plane,)) for plane in range(planes))
    return PanelRecipe(tuple(frozenset({plane}) for plane in range(planes)), terms)


@pytest.mark.parametrize("most", [None, 40])
def test_added_queries(rng, engine, most):
    """Queries with later ones and with others, in one band and in several, their calls known to suffice or counted."""
    for missing, memory in ((0.02, 1 << 28), (0.6, 1 << 16)):
        source = dense_source(related(rng, 90, 200, 2, missing), queries=37)
        (expected, counted), (found, totals) = (
            near_pairs(source, e, "hamming", most, memory=memory, least=70, added=True) for e in (CpuDistanceEngine(2), engine)
        )
        assert str(found.pairs) == str(expected.pairs)  # nan is not equal to itself
        assert (totals.too_few_sites_count, totals.undefined_count) == (counted.too_few_sites_count, counted.undefined_count)
        assert totals.pair_count == 37 * 36 // 2 + 37 * 53


def near_same(codes, engine, metric, most, rule="pairwise", memory=1 << 28, queries=None, least=1, kind=CallKind.GENOTYPE):
    """How many near pairs there are, and in how many parts they came."""
    found, totals = near_pairs(dense_source(codes, kind, queries), engine, metric, most, rule, memory, least=least)
    expected, counted = near_pairs(dense_source(codes, kind, queries), CpuDistanceEngine(2), metric, most, rule, least=least)
    assert found.pairs == expected.pairs
    assert (totals.too_few_sites_count, totals.undefined_count) == (counted.too_few_sites_count, counted.undefined_count)
    return len(found.pairs), found.parts


@pytest.mark.parametrize("metric", COUNTED)
@pytest.mark.parametrize("missing", [0, 0.05])
def test_near_pairs_of_every_metric(rng, engine, metric, missing):
    kind = CallKind.NUCLEOTIDE if metric in ("jc69", "tn93") else CallKind.GENOTYPE
    codes = related(rng, 70, 600, 3 if kind is CallKind.NUCLEOTIDE else 2, missing)
    for most in (0, 12, 1e6) if METRICS[metric].is_integer else (-2.0, 0, 0.02) if METRICS[metric].is_similarity else (0, 0.02, 9.0):
        near_same(codes, engine, metric, most, kind=kind)
        near_same(codes, engine, metric, most, kind=kind, queries=33)


@pytest.mark.parametrize("rule", ["pairwise", "complete", "as-difference"])
@pytest.mark.parametrize("least", [1, 90, 210])
def test_near_pairs_with_few_calls(rng, engine, rule, least):
    """Offsets of samples, and pairs that lack sites."""
    codes = related(rng, 40, 200, 2, 0.3)
    for metric in ("hamming", "ibs"):
        near_same(codes, engine, metric, 60 if metric == "hamming" else 0.3, rule, least=least)


@pytest.mark.parametrize("metric", ["hamming", "allele", "fraction"])
@pytest.mark.parametrize("doubtful", [3, 20])
def test_near_pairs_that_were_compared_at_few_sites(rng, engine, metric, doubtful):
    """Sites in common of a few samples are counted beforehand, of many along with the distances."""
    codes = related(rng, 60, 300, 2, 0)
    for row in rng.permutation(60)[:doubtful]:
        codes[row] = codes[0]
        codes[row, rng.permutation(300)[:120]] = MISSING
    most, half = (0.1 if metric == "fraction" else 30), Fraction(1, 2)
    (expected, counted), (found, totals) = (
        near_pairs(dense_source(codes), e, metric, most, compared=False, min_shared_fraction=half) for e in (CpuDistanceEngine(2), engine)
    )
    assert found.pairs == expected.pairs
    assert totals.left_out_per_sample.sum() > 0
    np.testing.assert_array_equal(totals.left_out_per_sample, counted.left_out_per_sample)


@pytest.mark.parametrize("missing", [0.02, 0.3])
def test_pairs_without_a_kinship(rng, engine, missing):
    """Samples without heterozygous sites, some of them with few calls, which their calls alone tell or which are counted; and where no
    sample has such a site, so that no panel counts them."""
    codes = related(rng, 40, 200, 2, missing)
    codes[:12] = np.where(codes[:12] == 1, 0, codes[:12])
    codes[5], codes[20, 3:] = MISSING, MISSING
    for some in (codes, codes[:12]):
        for queries in (None, 7):
            near_same(some, engine, "king", 0, queries=queries, least=60)
    totals = near_pairs(dense_source(codes), engine, "king", 0, least=60)[1]
    assert totals.too_few_sites_count >= 39 + 38
    called = (np.delete(codes[:12], 5, axis=0) != MISSING).astype(int)
    common = (called @ called.T)[np.triu_indices(11, 1)]  # without heterozygous sites; those with fewer sites in common are lacking
    assert totals.undefined_count >= np.count_nonzero(common >= 60) > 0


def test_too_many_near_pairs_come_in_halves(rng, engine, monkeypatch):
    """Room for the pairs of one row, and by a small budget for those of a few."""
    codes = related(rng, 90, 300, 2, 0.02)
    monkeypatch.setattr(cuda_distance, "MAX_RECORDS", 1)  # of millions
    assert near_same(codes, engine, "hamming", 1000)[0] == 90 * 89 // 2
    assert near_same(codes, engine, "hamming", 1000)[1] > 40
    assert near_same(codes, engine, "hamming", 1000, queries=40)[1] > 1
    monkeypatch.setattr(cuda_distance, "MAX_RECORDS", 1 << 22)
    assert near_same(codes, engine, "hamming", 1000)[1] == 1
    assert near_same(codes, engine, "fraction", 1.0, memory=1 << 16)[1] > 1


@pytest.mark.gpu
@pytest.mark.parametrize("samples", [1, 2047, 2049, 5000])
def test_near_pairs_at_the_edges_of_strips_on_a_device(rng, engine, device, samples):
    if device.arch == "host" and samples not in (1, 2049):
        pytest.skip("takes the host too long; 2,049 samples have an edge of a strip as well")
    for queries in (None, 70):
        near_same(related(rng, samples + (queries or 0), 900, 2, 0.02), engine, "hamming", 12, queries=queries)


@pytest.mark.gpu
@pytest.mark.parametrize("samples", [1, 127, 129, 257, 700])
@pytest.mark.parametrize("sites", [1, 1023, 1025, 50_000])
def test_edges_of_tiles_on_a_device(rng, engine, device, samples, sites):
    if device.arch == "host" and samples * sites > 10**7:
        pytest.skip("takes the host too long; so many samples with fewer sites and so many sites with fewer samples do not")
    same(dense_source(random_codes(rng, samples, sites, 2)), engine, "fraction")


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")
def test_planes_that_do_not_fit_pass_through_two_slots(rng, monkeypatch):
    small_pieces(monkeypatch)
    device = HostDevice(reported=1 << 20)
    same(dense_source(random_codes(rng, 40, 60_000, 2)), CudaDistanceEngine(device, 1), "hamming")
    assert device.peak < 1 << 19
    assert device.used == 0
    assert not device.opened


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")
def test_several_devices(rng, small_parts):
    for queries in (None, 20):
        codes = random_codes(rng, 90, 700, 2)
        same(dense_source(codes, queries=queries), side_by_side(CudaDistanceEngine(HostDevice(), 1) for _ in range(3)), "fraction")


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")
def test_an_interrupt_stops_every_device_at_its_next_piece(rng, monkeypatch, small_parts):
    """The second device is within its first piece until the interrupt of the first one has reached the run."""
    small_pieces(monkeypatch)
    busy, handles, pieces, next_tile = threading.Event(), [], [], WorkerHandle.next_tile

    def recorded(handle):
        handles.append(handle)
        return next_tile(handle)

    class Held(HostStream):
        def upload(self, address, source):
            super().upload(address, source)
            pieces.append(address)

        def launch(self, *launched):
            super().launch(*launched)
            busy.set()
            while not handles[0].stopped():
                time.sleep(0.001)

    class Second(HostDevice):
        def create_stream(self):
            return Held(self)

    def interrupt(_):
        assert busy.wait(LIMIT)
        raise KeyboardInterrupt

    monkeypatch.setattr(WorkerHandle, "next_tile", recorded)
    devices = [HostDevice(), Second()]
    task = DistanceTask(METRICS["hamming"], MissingRule.PAIRWISE, writes_compared_sites=False)
    source = dense_source(random_codes(rng, 40, 20_000, 2))
    prepared = prepare(source, task, side_by_side(CudaDistanceEngine(d, 1) for d in devices), DistanceBudget.of(1 << 28), io.BytesIO)
    with pytest.raises(KeyboardInterrupt):
        next(prepared.counter.count_function(prepared.panels, prepared.plan.bands(), prepared.counter.count_names, interrupt))
    assert len(list(cut_panels(prepared.panels, 1 << 16))) > 1
    assert len(pieces) == 1  # of seven
    for device in devices:
        assert device.used == 0
        assert not device.opened


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")
def test_several_devices_choose(rng, small_parts):
    devices = [HostDevice(), HostDevice(), HostDevice()]
    for queries in (None, 20):
        near_same(
            related(rng, 90, 700, 2, 0.02), side_by_side(CudaDistanceEngine(d, 1) for d in devices), "fraction", 0.05, queries=queries
        )
    assert all(device.used == 0 and not device.opened for device in devices)


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")
def test_counts_that_nothing_fills_take_no_room(rng):
    """Where no call is missing all sites are compared: that is a constant."""
    device = HostDevice()
    near_same(related(rng, 300, 64, 1, 0), CudaDistanceEngine(device, 1), "hamming", 3, memory=1 << 20)
    assert device.peak < 2 * (4 * 300 * 300)


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")
def test_too_little_device_memory_is_an_error_and_frees(rng):
    from gpualign.core.common.errors import RunError

    device = HostDevice(reported=1 << 26, limit=1 << 14)
    with pytest.raises(RunError, match="too little memory"):
        compute(dense_source(random_codes(rng, 90, 7000, 2)), CudaDistanceEngine(device, 1), "hamming")
    assert device.used == 0
    assert not device.opened


def test_kernels_by_architecture():
    assert usable_kernels("sm_90a")[0] is WGMMA_KERNEL
    assert [usable_kernels(arch)[0] for arch in ("sm_80", "sm_89", "sm_100", "sm_120")] == [MMA_KERNEL] * 4
    assert [usable_kernels(arch)[0] for arch in ("sm_70", "sm_75", "host")] == [POPC_KERNEL] * 3


@pytest.mark.parametrize("samples", [1, 7, 100, 3000])
@pytest.mark.parametrize("upper_triangle", [True, False])
@pytest.mark.parametrize("parts", [1, 2, 4])
def test_bands_are_shared_evenly(samples, upper_triangle, parts):
    band = SampleBand(10, 10 + samples, 10 if upper_triangle else 5000, 5000 + samples, upper_triangle)
    found = band.split(parts)
    assert [part.start for part in found] == [10, *(part.stop for part in found[:-1])]
    assert found[-1].stop == band.stop
    if samples > 100:
        pairs = [part.shape[0] * part.shape[1] for part in found]
        assert max(pairs) < 2 * min(pairs)


def test_few_samples_split_the_sum():
    band = SampleBand(0, 300, 0, 300, True)
    launch = plan_launch(WGMMA_KERNEL, band, 10_000, 132)
    assert launch.grid >= 4 * 132
    assert plan_launch(WGMMA_KERNEL, band, 3, 132).split_count == 1
    assert plan_launch(WGMMA_KERNEL, SampleBand(0, 20_000, 0, 20_000, True), 10_000, 132).split_count == 1


@pytest.fixture(params=[1, 40])
def numbers(request, rng):
    """Numbers of alleles, of loci with few of them and with many, of related samples."""
    samples = 150
    kinds = np.concatenate([np.ones(90, int), rng.integers(2, 40, 900), rng.integers(300, 3000, 300)])
    alleles = rng.integers(0, 1 << 30, (6, len(kinds)))[rng.integers(0, 6, samples)]
    changed = rng.random(alleles.shape) < 0.3
    alleles[changed] = rng.integers(0, 1 << 30, int(changed.sum()))
    numbers = (alleles % kinds).astype(np.uint32)
    numbers[rng.random(numbers.shape) < (0 if request.param == 1 else 0.05)] = NO_ALLELE
    return numbers


@pytest.mark.parametrize("queries", [None, 66])
def test_alleles(numbers, device, queries, monkeypatch):
    """More planes than a stage of the kernel has room for, and fewer; whole matrices with their compared loci, and near pairs."""
    engine, source = CudaDistanceEngine(device, 2), allele_source(numbers, queries)
    for rule in ("pairwise", "as-difference"):
        same(source, engine, "hamming", rule)
    same(source, engine, "fraction", memory=1 << 21)
    for most in (800, 0.6):
        metric = "fraction" if most < 1 else "hamming"
        expected, found = (near_pairs(source, one, metric, most)[0].pairs for one in (CpuDistanceEngine(1), engine))
        assert found == expected
        assert found
    small_pieces(monkeypatch)
    same(source, engine, "hamming", memory=1 << 21)


def test_alleles_of_many_bits(rng, device):
    """More planes than 16: with two samples to each allele, and all planes of a code of 32 bits in one launch."""
    engine = CudaDistanceEngine(device, 1)
    bits = rng.integers(0, 1 << 63, (33, 70, CHUNK_WORDS), dtype=np.uint64)
    bits[:32, 40:] = bits[:32, :30]
    bits[13, 45, 3] ^= np.uint64(5)
    recipe = make_code_recipe(CountRequest(Measure.DIFFERENCES, True, multiallelic=True), 32, True)
    panel, bands = Panel(bits, 1024, recipe), SampleBands.of([SampleBand(0, 70, 0, 70, False)])
    found = []
    for one in (engine, CpuDistanceEngine(1)):
        counter = one.prepare(CountRequest(Measure.DIFFERENCES, True, multiallelic=True), 1 << 26)
        ((_, counts),) = list(counter.count_function([panel], bands, counter.count_names, lambda _: None))
        found.append(counts)
    for name in ("differences", "compared"):
        np.testing.assert_array_equal(found[0][name], found[1][name])
