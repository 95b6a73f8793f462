"""Engines of distances side by side: the counts and near pairs of the CPU alone, whoever is slow or fails."""

import io
import threading
from dataclasses import replace

import numpy as np
import pytest
from command import LIMIT
from distance_oracle import compute, dense_source, near_pairs, random_codes, related
from host_device import FailingDevice, WaitingDevice, compiler
from several_engines import RecordedEngines

from gpualign.core.common.errors import RunError
from gpualign.core.distance.calls import CallKind
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.multi_device import MultiDeviceDistanceEngine
from gpualign.core.distance.preparation import DistanceTask, prepare
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.gpu.distance.engine import CudaDistanceEngine

needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """So that a few samples are work for several: one device gets 128 rows or more, and results are compared with plain loops."""
    monkeypatch.setattr("gpualign.core.distance.multi_device.MIN_ROWS_PER_PIECE", 3)


class Watched:
    """The CPU, at one band after another. begin: called before each, with the number of those before; rate: that it tells of itself."""

    def __init__(self, threads=1, begin=None, rate=1.0, products_only=False):
        self._engine = CpuDistanceEngine(threads)
        self._begin = begin
        self._rate = rate
        self._products_only = products_only
        self.begun = []

    def _watch(self, work):
        def watched(panels, bands, *rest):
            def each():
                for band in bands:
                    if self._begin:
                        self._begin(len(self.begun))
                    self.begun.append(band)
                    yield band

            yield from work(panels, replace(bands, bands=each()), *rest)

        return watched

    def prepare(self, wanted, memory):
        counter = self._engine.prepare(wanted, memory)
        pick = counter.pair_selector and self._watch(counter.pair_selector)
        products_only = self._products_only
        return replace(
            counter,
            count_function=self._watch(counter.count_function),
            pair_selector=pick,
            comparisons_per_second=self._rate,
            products_only=products_only,
        )


@pytest.fixture
def told():
    return RecordedEngines(lambda engines, note, _: MultiDeviceDistanceEngine(engines, note))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("missing", [0, 0.1])
@pytest.mark.parametrize("queries", [None, 31])
def test_counts_are_those_of_one(rng, told, together, metric, missing, queries):
    kind = CallKind.NUCLEOTIDE if metric in ("jc69", "tn93") else CallKind.GENOTYPE
    codes = random_codes(rng, 60, 700, 3 if kind is CallKind.NUCLEOTIDE else 2, missing)
    engines = Watched(1, together(0)), Watched(2, together(1), products_only=True)
    expected = compute(dense_source(codes, kind, queries), CpuDistanceEngine(1), metric)
    found = compute(dense_source(codes, kind, queries), told.engine(*engines), metric)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert all(engine.begun for engine in engines)
    assert told.notes == []


def near(codes, engine, most, memory=1 << 28, metric="hamming", **kind):
    found, totals = near_pairs(dense_source(codes, **kind), engine, metric, most, memory=memory, least=90)
    return found.pairs, (totals.too_few_sites_count, totals.undefined_count), found.parts


@pytest.mark.parametrize("queries", [None, 33])
@pytest.mark.parametrize("memory", [1 << 28, 1 << 16], ids=["enough", "little"])
@pytest.mark.parametrize("most", [12, 1000])
def test_near_pairs_are_those_of_one(rng, told, together, queries, memory, most):
    """With little memory parts are handed on before they are done."""
    codes = related(rng, 90, 200, 2, 0.3)
    engines = Watched(2, together(0)), Watched(1, together(1), products_only=True)
    expected = near(codes, CpuDistanceEngine(2), most, queries=queries)
    found = near(codes, told.engine(*engines), most, memory, queries=queries)
    assert expected[1][0] > 0
    assert found[:2] == expected[:2]
    assert all(engine.begun for engine in engines)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("most", [None, 12, 1000])
def test_an_engine_that_fails_is_left_out(rng, told, together, which, most):
    """Also when it has given pairs of a part already."""
    begin, other, failed = together(which), together(1 - which), threading.Event()

    def fails(before):
        begin(before)
        if before == 1:
            failed.set()
            raise RunError("lost")

    def goes_on(before):
        other(before)
        assert before == 0 or failed.wait(LIMIT)

    codes = related(rng, 90, 200, 2, 0.3)
    engines = [Watched(1, goes_on), Watched(1, goes_on)]
    engines[which] = Watched(1, fails)
    if most is None:
        found, expected = (compute(dense_source(codes), engine, "fraction") for engine in (told.engine(*engines), CpuDistanceEngine(1)))
        np.testing.assert_array_equal(found[0], expected[0])
    else:
        assert near(codes, told.engine(*engines), most, 1 << 16)[:2] == near(codes, CpuDistanceEngine(1), most)[:2]
    (note,) = told.notes
    assert note.startswith(f"device {which + 1} of 2 (cpu (")
    assert note.endswith("is left out, the others do its work: lost")


@pytest.mark.parametrize(("metric", "most", "memory"), [("hamming", 1000, 1 << 14), ("king", -2.0, 1 << 15)])
def test_a_part_that_was_handed_on_in_part_is_not_handed_on_twice(rng, told, metric, most, memory):
    """The first engine gives most pairs of its part, more than it may hold, and then fails. Of pairs without a value as well."""
    codes = related(rng, 60, 200, 2, 0.3)
    codes[20:40] = np.where(codes[20:40] == 1, 0, codes[20:40])
    gone = threading.Event()

    class Failing(Watched):
        def prepare(self, wanted, memory):
            counter = super().prepare(wanted, memory)

            def pick(*arguments):
                given = counter.pair_selector(*arguments)
                for _ in range(2):
                    item = next(given)
                    for row in np.unique(item.queries):
                        of_row = item.queries == row
                        counts = {name: values[of_row] for name, values in item.counts.items()}
                        yield replace(
                            item,
                            queries=item.queries[of_row],
                            targets=item.targets[of_row],
                            counts=counts,
                            too_few_sites_count=item.too_few_sites_count,
                        )
                        item = replace(item, too_few_sites_count=0, undefined_count=0)
                    if item.too_few_sites_count or item.undefined_count:  # of rows without pairs
                        yield replace(
                            item, queries=item.queries[:0], targets=item.targets[:0], counts={n: v[:0] for n, v in item.counts.items()}
                        )
                gone.set()
                raise RunError("lost")

            return replace(counter, pair_selector=pick)

    def waits(_):
        assert gone.wait(LIMIT)

    expected = near(codes, CpuDistanceEngine(1), most, metric=metric)
    found = near(codes, told.engine(Failing(rate=10.0), Watched(begin=waits)), most, memory, metric)
    assert found[:2] == expected[:2]
    assert (expected[1][1] > 0) == (metric == "king")
    assert len(told.notes) == 1


def test_the_last_error_is_raised(rng, told):
    def fails(_):
        raise RunError("lost")

    with pytest.raises(RunError, match="lost"):
        compute(dense_source(random_codes(rng, 40, 90)), told.engine(Watched(begin=fails), Watched(begin=fails)), "hamming")
    assert len(told.notes) == 1


def test_a_slow_engine_is_not_waited_for(rng, told):
    slow, quick = Watched(rate=1e-3), Watched(rate=1e9)
    codes = random_codes(rng, 40, 90)
    found = compute(dense_source(codes), told.engine(quick, slow), "hamming")
    np.testing.assert_array_equal(found[0], compute(dense_source(codes), CpuDistanceEngine(1), "hamming")[0])
    assert not slow.begun
    assert quick.begun


def test_work_is_told_once(rng, told, together):
    """Of a part whose engine fails when it has counted it."""

    class Failing(Watched):
        def prepare(self, wanted, memory):
            counter = super().prepare(wanted, memory)

            def count(*arguments):
                next(counter.count_function(*arguments))
                raise RunError("lost")
                yield

            return replace(counter, count_function=count)

    done = []
    task = DistanceTask(METRICS["hamming"], MissingRule.PAIRWISE, False)
    engine = told.engine(Failing(begin=together(0)), Watched(begin=together(1)))
    prepared = prepare(dense_source(random_codes(rng, 60, 300)), task, engine, DistanceBudget.of(1 << 24), io.BytesIO)
    list(prepared.counter.count_function(prepared.panels, prepared.plan.bands(), prepared.counter.count_names, done.append))
    assert sum(done) == prepared.plan.pair_count * prepared.panel_site_count
    assert len(told.notes) == 1


def test_closing_stops_everybody(rng, told, together):
    task = DistanceTask(METRICS["hamming"], MissingRule.PAIRWISE, False)
    engine = told.engine(Watched(2, together(0)), Watched(2, together(1)))
    prepared = prepare(dense_source(random_codes(rng, 60, 300)), task, engine, DistanceBudget.of(1 << 24), io.BytesIO)
    counted = prepared.counter.count_function(prepared.panels, prepared.plan.bands(), prepared.counter.count_names, lambda _: None)
    next(counted)
    counted.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(("gpualign-distances", "gpualign-cpu"))]


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("most", [None, 12])
def test_cuda_beside_the_cpu(rng, told, together, most):
    device, cpu = WaitingDevice(together(0)), Watched(2, together(1), rate=2e11)
    engine = told.engine(CudaDistanceEngine(device, 1), cpu)
    codes = related(rng, 90, 1100, 2, 0.02)
    if most is None:
        found, expected = (compute(dense_source(codes), e, "fraction") for e in (engine, CpuDistanceEngine(1)))
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
    else:
        assert near(codes, engine, most)[:2] == near(codes, CpuDistanceEngine(1), most)[:2]
    assert device.launched
    assert cpu.begun
    assert device.used == 0
    assert not device.opened


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("most", [None, 12])
def test_a_device_that_fails_leaves_all_to_the_other(rng, told, most):
    broken = FailingDevice(launches=3)

    def begin(_):
        assert broken.failed.wait(LIMIT)

    devices = [broken, WaitingDevice(begin)]
    engine = told.engine(*(CudaDistanceEngine(device, 1) for device in devices))
    codes = related(rng, 90, 700, 2, 0.02)
    if most is None:
        found, expected = (compute(dense_source(codes), e, "fraction") for e in (engine, CpuDistanceEngine(1)))
        np.testing.assert_array_equal(found[0], expected[0])
    else:
        assert near(codes, engine, most)[:2] == near(codes, CpuDistanceEngine(1), most)[:2]
    assert all(device.used == 0 and not device.opened for device in devices)
    assert told.notes == ["device 1 of 2 (cuda (broken)) is left out, the others do its work: the CUDA device failed: made up"]
