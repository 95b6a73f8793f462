"""Workers of an executor as an engine: what is sent, what comes back, and what happens to calls that fail or are lost."""

import multiprocessing
import os
import pickle
import signal
import threading
from collections import Counter
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count, islice

import numpy as np
import pytest
from command import LIMIT
from distance_oracle import compute, dense_source, near_pairs, random_codes
from relatives import related_sets
from work import CollectPaths, collect, edit, two_valued

import gpualign
from gpualign.core.alignment.ambiguity import AmbiguityCounts, AmbiguityRule
from gpualign.core.alignment.task import Detail, Mode, Task
from gpualign.core.common.errors import RunError
from gpualign.core.common.threads import ThreadPool as Threads
from gpualign.core.distance import remote as distance_remote
from gpualign.core.distance.bit_planes import pack_panels
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.count_recipe import CountRequest, Measure
from gpualign.core.distance.remote import CountSpec, RemoteDistanceEngine
from gpualign.core.execution.remote import worker as node_module
from gpualign.core.execution.remote.coordinator import (
    CALLS_PER_WORKER,
    MAX_CALLS_AHEAD_FACTOR,
    CachedArgument,
    SharedArguments,
    WorkerPoolClient,
)
from gpualign.core.execution.remote.engine import RemoteEngine
from gpualign.core.execution.remote.tile_sizes import WorkerCapabilities, remote_tile_limits
from gpualign.core.execution.remote.worker import WorkerNode
from gpualign.core.execution.runner import plan_task
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, make_plan
from gpualign.core.scoring.edit_bounds import columns_bound, distance_bound
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.remote import worker_entry as nodes

MEMORY = 1 << 28
LETTERS = 4
SETTINGS = Resources("cpu", 1)


class Workers:
    """So many workers in threads of this process, each with what it alone keeps; a call goes to any of them. opened: how often each has
    opened a set of shared arguments."""

    def __init__(self, number, open=nodes._open_handler):
        self.opened = Counter()
        self.nodes = [WorkerNode(self._counting(k, open)) for k in range(number)]
        self._turn = count()

    def _counting(self, number, open):
        def opened(parts):
            self.opened[number] += 1
            return open(parts)

        return opened

    def serve(self, call, *payload):
        arrived = pickle.loads(pickle.dumps(call))
        answer = self.nodes[next(self._turn) * 7 // 3 % len(self.nodes)].answer(arrived, *payload)
        return pickle.loads(pickle.dumps(answer))

    @contextmanager
    def fleet(self):
        with ThreadPoolExecutor(len(self.nodes)) as threads:
            yield WorkerPoolClient(threads, self.serve, lambda: len(self.nodes))


@pytest.fixture
def sets(rng):
    return related_sets(rng, [23, 31], 60, LETTERS)


@pytest.mark.parametrize("pairing", list(Pairing))
@pytest.mark.parametrize("detail", list(Detail))
def test_results_are_those_of_one_process(sets, pairing, detail):
    queries, targets = sets if pairing is Pairing.ALL else (sets[0], sets[0])
    task = Task(queries, targets, two_valued(LETTERS, 5, -4, 10, 1), detail=detail)
    expected = collect(CpuEngine(1).prepare(task, Budget.from_total(MEMORY)), pairing, keep=CollectPaths)
    workers = Workers(3)
    with workers.fleet() as fleet:
        found = collect(RemoteEngine(fleet, SETTINGS).prepare(task, Budget.from_total(MEMORY)), pairing, 20_000, CollectPaths)
    wanted = np.arange(len(targets))[None, :] >= pairing.first_targets(np.arange(len(queries)))[:, None]
    assert (found.delivered[wanted] == 1).all()
    assert (found.scores[wanted] == expected.scores[wanted]).all()
    assert (found.statistics, found.paths) == (expected.statistics, expected.paths)
    assert set(workers.opened.values()) == {1}, "a worker prepares a task once"
    assert len(workers.opened) == 3


def test_searches_and_near_pairs_are_those_of_one_process(sets):
    search = Task(*sets, two_valued(LETTERS, 5, -4, 10, 1), Mode.LOCAL, top_count=4)
    counts = np.arange(len(sets[1])) % 7
    nears = [
        Task(sets[1], sets[1], edit(LETTERS), edit_bound=distance_bound(20)),
        Task(
            *(sets[1], sets[1], edit(LETTERS)),
            edit_bound=columns_bound(0.7).with_ambiguity_letters(12),
            ambiguity=AmbiguityCounts(AmbiguityRule.COMPATIBLE, counts, counts, 12),
        ),
    ]

    def results(engine, task, pairing, tile_cells):
        prepared = engine.prepare(task, Budget.from_total(MEMORY))
        limits = replace(prepared.limits, lane_count=2, tile_cells=tile_cells, band_rows=7, worker_count=1)
        plan = make_plan(task.queries.lengths, task.targets.lengths, pairing, limits, task.cost)
        return {one.tile.number: one for one in prepared.run(plan.tiles())}

    with Workers(2).fleet() as fleet:
        engines = CpuEngine(1), RemoteEngine(fleet, SETTINGS)
        expected, found = (results(engine, search, Pairing.ALL, 20_000) for engine in engines)
        assert found.keys() == expected.keys()
        for number, one in expected.items():
            hits = one.scores > 0  # a place without a hit names any target
            assert (found[number].scores == one.scores).all()
            assert (found[number].targets[hits] == one.targets[hits]).all()
        for near in nears:
            expected, found = (results(engine, near, Pairing.ABOVE, 1 << 40) for engine in engines)
            lists = [
                sorted(p for one in some.values() for p in zip(one.pairs.queries, one.pairs.targets, one.pairs.distances, strict=True))
                for some in (expected, found)
            ]
            assert lists[0] == lists[1]
            assert len(lists[0]) > 10
            steps = [sum(one.survivor_counts["pairs"] for one in some.values()) for some in (expected, found)]
            assert steps[0] == steps[1]


def test_targets_travel_once_for_several_tasks(sets):
    workers = Workers(1)
    shipped = []
    with workers.fleet() as fleet:
        fleet = replace(fleet, share=lambda pickled: shipped.append(len(pickled)) or pickled)
        engine = RemoteEngine(fleet, SETTINGS)
        for number in (3, 5):
            task = Task(sets[0].select_first(number), sets[1], two_valued(LETTERS, 5, -4, 10, 1), Mode.LOCAL, top_count=2)
            collect_scores = list(engine.prepare(task, Budget.from_total(MEMORY)).run(iter(())))
            assert collect_scores == []
    assert len(shipped) == 2 + 1 + 2, "two orders, one set of targets, two of queries"


def doubling(parts):
    return lambda request: parts[0] * request


def test_calls_on_their_way_are_bounded_and_closing_waits_for_none():
    begun, go_on = [], threading.Event()

    def serve(call, *payload):
        begun.append(call.request)
        go_on.wait(LIMIT)
        return Workers(1, doubling).nodes[0].answer(replace(call, sent_names=call.argument_names), pickle.dumps(2))

    with ThreadPoolExecutor(2) as threads:
        fleet = WorkerPoolClient(threads, serve, lambda: 2)
        taken = []
        items = (taken.append(k) or k for k in range(1000))
        answers = fleet.stream(SharedArguments.of(CachedArgument(2)), items, lambda k: k)
        go_on.set()
        first = list(islice(answers, 3))
        go_on.clear()
        assert all(value == 2 * item for item, value in first)
        assert len(taken) <= 3 + CALLS_PER_WORKER * 2
        answers.close()  # two calls are stuck
        before = len(begun)
        go_on.set()
    assert len(begun) <= before + 2, "what no worker has begun is cancelled"


def test_no_answer_waits_long_for_an_earlier_one():
    """A worker that hangs holds up the rest of the run, rather than filling memory with what waits for it."""
    stuck, seen = threading.Event(), []

    def serve(call, *payload):
        if call.request == 0:
            stuck.wait(LIMIT)
        seen.append(call.request)
        if len(seen) == 30:
            stuck.set()
        return Workers(1, doubling).nodes[0].answer(replace(call, sent_names=call.argument_names), pickle.dumps(2))

    with ThreadPoolExecutor(8) as threads:
        answers = WorkerPoolClient(threads, serve, lambda: 8).stream(SharedArguments.of(CachedArgument(2)), range(100), lambda k: k)
        order = [item for item, _ in answers]
    assert sorted(order) == list(range(100))
    assert max(order[: order.index(0)]) < MAX_CALLS_AHEAD_FACTOR * CALLS_PER_WORKER * 8


def test_a_worker_with_other_software_is_refused(sets, monkeypatch):
    monkeypatch.setattr(node_module, "software_version", lambda: "gpualign 9.9 (plans of version 7)")
    task = Task(*sets, two_valued(LETTERS, 5, -4, 10, 1))
    with (
        Workers(2).fleet() as fleet,
        pytest.raises(RunError, match=r"gpualign 9\.9 \(plans of version 7\), but this is gpualign .* install"),
    ):
        RemoteEngine(fleet, SETTINGS).prepare(task, Budget.from_total(MEMORY))


def test_sequences_that_arrive_changed_are_refused(sets, monkeypatch):
    dump, sent = pickle.dumps, CachedArgument.call_value
    # Damage on the way, of which the sender knows nothing.
    monkeypatch.setattr(CachedArgument, "call_value", lambda part, share: dump(_first_letter_changed(pickle.loads(sent(part, None)))))
    task = Task(*sets, two_valued(LETTERS, 5, -4, 10, 1))
    with Workers(1).fleet() as fleet, pytest.raises(RunError, match="not what was sent"):
        RemoteEngine(fleet, SETTINGS).prepare(task, Budget.from_total(MEMORY))


def _first_letter_changed(content):
    if not hasattr(content, "codes"):
        return content
    codes = content.codes.copy()
    codes[0] ^= 1
    return replace(content, codes=codes)


@pytest.mark.parametrize("failures", [1, 2])
def test_a_call_that_fails_is_sent_once_more(failures):
    tries = Counter()

    def open(parts):
        def serve(request):
            tries[request] += 1
            if request == 5 and tries[5] <= failures:
                raise RunError("too little memory")
            return request

        return serve

    with Workers(2, open).fleet() as fleet:
        answers = fleet.stream(SharedArguments.of(CachedArgument(1)), range(10), lambda k: k)
        if failures == 1:
            assert sorted(item for item, _ in answers) == list(range(10))
        else:
            with pytest.raises(RunError, match=rf"worker .*, process {os.getpid()}: too little memory"):
                list(answers)


class Losing(ThreadPoolExecutor):
    """Every third call is lost, or each of them."""

    def __init__(self, every):
        super().__init__(1)
        self._every, self._calls = every, count(1)

    def submit(self, *call):
        if next(self._calls) % self._every:
            return super().submit(*call)
        lost = Future()
        lost.cancel()
        lost.set_running_or_notify_cancel()
        return lost


def test_calls_that_the_executor_loses_are_sent_again():
    shared = []
    with Losing(3) as threads:
        fleet = WorkerPoolClient(threads, Workers(1, doubling).serve, lambda: 1, lambda pickled: shared.append(1) or pickled)
        assert sorted(fleet.stream(SharedArguments.of(CachedArgument(2)), range(20), lambda k: k)) == [(k, 2 * k) for k in range(20)]
    assert len(shared) > 1, "what was shared may be lost too"
    with Losing(1) as threads, pytest.raises(RunError, match="cancelled the same work"):
        list(
            WorkerPoolClient(threads, Workers(1, doubling).serve, lambda: 1).stream(
                SharedArguments.of(CachedArgument(2)), range(20), lambda k: k
            )
        )


def test_what_an_executor_raises_is_told():
    def fails(error):
        class Failing(ThreadPoolExecutor):
            def submit(self, *call):
                future = Future()
                future.set_exception(error)
                return future

        with Failing(1) as threads, pytest.raises(RunError) as told:
            list(WorkerPoolClient(threads, doubling, lambda: None).stream(SharedArguments.of(CachedArgument(2)), range(2), lambda k: k))
        return str(told.value)

    assert "a worker process ended" in fails(BrokenExecutor("killed"))
    assert "the same version of gpualign" in fails(ModuleNotFoundError("No module named 'gpualign'"))
    assert "KilledWorker: three times" in fails(type("KilledWorker", (Exception,), {})("three times"))
    done = ThreadPoolExecutor(1)
    done.shutdown()
    with pytest.raises(RunError, match="accepts no more work"):
        WorkerPoolClient(done, doubling, lambda: 1).ask(SharedArguments.of(CachedArgument(2)), 1)


def test_tiles_fit_the_memory(sets, rng):
    task = Task(*sets, two_valued(LETTERS, 5, -4, 10, 1))
    paths = replace(task, detail=Detail.PATH)
    for each in (task, paths):
        for workers in (1, 3, 64):
            for results in (1 << 20, 1 << 24):
                facts = WorkerCapabilities(CpuEngine(1).prepare(each, Budget.from_total(MEMORY)).limits, "", "", 1e12)
                ahead = 4 * workers
                limits = remote_tile_limits(each, facts, workers, ahead, Budget(results, results))
                plan = plan_task(_Planned(each, limits), Pairing.ALL)
                pair = each.pair_bytes + each.path_bytes_per_letter * 120
                largest = max(tile.shape[0] * tile.shape[1] for tile in plan.tiles())
                assert largest * pair * ahead <= results or largest <= limits.lane_count, "or one query with what shares a vector"


class _Planned:
    def __init__(self, task, limits):
        self.task, self.limits = task, limits


@pytest.mark.parametrize(
    ("metric", "missing"), [("hamming", "pairwise"), ("ibs", "as-difference"), ("tn93", "pairwise"), ("king", "pairwise")]
)
def test_distances_are_those_of_one_process(rng, metric, missing):
    codes = random_codes(rng, 37, 300, 3 if metric == "tn93" else 2)
    kind = distance_kind(metric)
    with Workers(3).fleet() as fleet:
        engines = CpuDistanceEngine(1), RemoteDistanceEngine(fleet, SETTINGS, 1)
        for queries in (None, 9):
            source = dense_source(codes, kind, queries)
            (values, compared), (found, found_compared) = (compute(source, engine, metric, missing) for engine in engines)
            np.testing.assert_array_equal(found, values)
            assert (found_compared == compared).all()


def distance_kind(metric):
    from gpualign.core.distance.calls import CallKind

    return CallKind.NUCLEOTIDE if metric == "tn93" else CallKind.GENOTYPE


@pytest.mark.parametrize("answer_bytes", [None, 400])
def test_near_samples_are_those_of_one_process(rng, monkeypatch, answer_bytes):
    if answer_bytes:
        monkeypatch.setattr(distance_remote, "MAX_PIECE_BYTES", answer_bytes)  # of 32 MB
    monkeypatch.setattr(distance_remote, "MIN_PIECES_PER_WORKER", 2)  # so that 60 samples are several answers of several pieces
    codes = random_codes(rng, 60, 200)
    codes[:9] = np.where(codes[:9] == 1, 0, codes[:9])  # without kinships
    codes[30, 20:] = MISSING
    with Workers(2).fleet() as fleet:
        for metric, most, least in (("hamming", 120, 1), ("king", -2.0, 30)):
            expected, counted = near_pairs(dense_source(codes), CpuDistanceEngine(1), metric, most, least=least)
            found, totals = near_pairs(dense_source(codes), RemoteDistanceEngine(fleet, SETTINGS, 1), metric, most, least=least)
            assert found.pairs == expected.pairs
            assert len(found.pairs) > 100
            assert (totals.too_few_sites_count, totals.undefined_count) == (counted.too_few_sites_count, counted.undefined_count)
            assert (totals.too_few_sites_count > 0, totals.undefined_count > 0) == ((False, False) if metric == "hamming" else (True, True))


@pytest.fixture
def gpus(monkeypatch):
    """What --device cuda asks for is this machine's processor."""
    from engines import cuda_on_host
    from host_device import compiler

    if compiler() is None:
        pytest.skip("no C++ compiler on this machine")
    cuda_on_host(monkeypatch)


@pytest.mark.slow
def test_workers_with_gpus(rng, sets, gpus):
    settings, budget = Resources("cuda", 1), Budget.from_total(MEMORY)
    task = Task(*sets, two_valued(LETTERS, 5, -4, 10, 1), detail=Detail.PATH)
    source = dense_source(random_codes(rng, 37, 300))
    with Workers(2).fleet() as fleet:
        engine, distances = RemoteEngine(fleet, settings), RemoteDistanceEngine(fleet, settings, 1)
        assert engine.prepare(task, budget).hardware == "2 workers, each cuda (host)"
        found, expected = (collect(one.prepare(task, budget), keep=CollectPaths) for one in (engine, CpuEngine(1)))
        assert (found.paths, found.statistics) == (expected.paths, expected.statistics)
        np.testing.assert_array_equal(compute(source, distances, "ibs")[0], compute(source, CpuDistanceEngine(1), "ibs")[0])
        lists = [near_pairs(source, one, "hamming", 200)[0].pairs for one in (distances, CpuDistanceEngine(1))]
    assert lists[0] == lists[1]


@pytest.mark.slow
def test_a_gpu_among_cpus_does_without(rng, gpus):
    """Bit planes are made for the first worker's engine; binary tensor cores want others."""
    wanted = CountRequest(Measure.DIFFERENCES, counts_compared_sites=True)
    counter = CpuDistanceEngine(1).prepare(wanted, MEMORY)
    with closing(Threads(1)) as threads:
        panel = next(pack_panels(random_codes(rng, 9, 100), counter, threads))
    for device in ("auto", "cpu"):
        server = nodes._open_handler([CountSpec(Resources(device, 1), wanted, False, counter.count_names), panel])
        assert server(None).hardware.startswith("cpu")
    with pytest.raises(RunError, match="other bit planes than the first worker; give device='cpu' or cuda"):
        nodes._open_handler([CountSpec(Resources("cuda", 1), wanted, False, counter.count_names), panel])


def processes(number):
    return ProcessPoolExecutor(number, multiprocessing.get_context("spawn"))


@pytest.mark.slow
def test_processes(small_16s):
    genes = gpualign.read(small_16s)[:25]
    calls = np.random.default_rng(1).integers(-1, 3, (12, 300))
    with processes(2) as pool:
        assert (gpualign.nw(genes, value="identity", executor=pool).values == gpualign.nw(genes, value="identity").values).all()
        assert list(gpualign.pairs(genes, min_identity=0.8, executor=pool)) == list(gpualign.pairs(genes, min_identity=0.8))
        tables = gpualign.iter_pairs(genes[:5], fields=["cigar"], executor=pool, threads=1)
        assert [list(one) for one in tables] == [list(one) for one in gpualign.iter_pairs(genes[:5], fields=["cigar"])]
        found, expected = (gpualign.sw(genes[:2], genes, max_hits=3, executor=each) for each in (pool, None))
        assert [one["score"].tolist() for one in found] == [one["score"].tolist() for one in expected]
        assert (gpualign.dist(calls, executor=pool).values == gpualign.dist(calls).values).all()


@pytest.mark.slow
def test_a_killed_process_ends_the_run_with_a_message(small_16s):
    genes = gpualign.read(small_16s)
    with processes(1) as pool:
        gpualign.nw(genes[:2], executor=pool)
        victim = pool.submit(os.getpid).result()

        def kill(done, of):
            os.kill(victim, signal.SIGKILL)

        with pytest.raises(gpualign.RunError, match=r"a worker process ended|accepts no more work"):
            gpualign.nw(genes, value="identity", executor=pool, progress=kill, memory=1 << 24)


def test_what_is_no_executor_is_refused():
    with pytest.raises(gpualign.InputError, match=r"expected the interface of concurrent\.futures\.Executor"):
        gpualign.nw(["ACGT", "ACG"], executor="dask:2")


def test_a_worker_with_many_processors_and_little_memory_takes_fewer_threads(sets, monkeypatch):
    """As many as there is memory for, as without a cluster, unless their number is asked for."""
    for module in ("gpualign.cpu.processor", "gpualign.cpu.alignment.engine"):
        monkeypatch.setattr(f"{module}.usable_cpu_count", lambda: 64)
    monkeypatch.setattr(nodes, "TaskServer", lambda prepared, rate: prepared)
    task = Task(*sets, two_valued(4, 5, -4, 10, 1))
    for sharing in (1, 2):
        small = Resources(device="cpu", memory=200 << 20, workers_per_machine=sharing)
        prepared = nodes._open_task(task, nodes._local_resources(small))
        assert 1 <= prepared.threads < 64 // sharing
    with pytest.raises(RunError, match="lower threads"):
        nodes._open_task(task, nodes._local_resources(Resources(device="cpu", threads=os.cpu_count(), memory=30 << 20)))
    roomy = nodes._open_task(task, nodes._local_resources(Resources(device="cpu", memory=16 << 30, workers_per_machine=4)))
    assert roomy.threads == 16
