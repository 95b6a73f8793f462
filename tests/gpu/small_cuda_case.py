"""Every CUDA kernel once on a small case, for compute-sanitizer, under which the test suite would take hours.

compute-sanitizer --tool memcheck python tests/gpu/small_cuda_case.py
compute-sanitizer --tool racecheck python tests/gpu/small_cuda_case.py [distances | near | lists | alignments | papers]
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "helpers"))
from distance_oracle import allele_source, compute, compute_counts, dense_source, near_pairs
from host_device import name_of
from listed import all_pairs_in_disorder, families
from oracle import local_score
from work import edit, records, run_paths, run_scores, sequence_set, two_valued

from gpualign.core.alignment.pair_list import join_pairs
from gpualign.core.alignment.task import Detail, EndGaps, Mode, Task
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.tables.alleles import NO_ALLELE
from gpualign.core.execution.runner import plan_task
from gpualign.core.near_pairs.filter_cascade import FilterCascade, SurvivorCounts
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.edit_bounds import covered_bound, distance_bound
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.gpu.alignment import pair_list, sliced_bands, worker
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.alignment.families import (
    bit_sliced as slices,
)
from gpualign.gpu.alignment.families import (
    one_thread_per_pair as threads,
)
from gpualign.gpu.alignment.families import (
    warp_chain as chain,
)
from gpualign.gpu.alignment.families import (
    warp_chain_edit as chain_edit,
)
from gpualign.gpu.alignment.sequence_windows import Windows, max_aligned_letters
from gpualign.gpu.distance.engine import CudaDistanceEngine
from gpualign.gpu.distance.kernels import DIFFER_KERNEL, MMA_KERNEL, POPC_KERNEL, WGMMA_KERNEL, usable_kernels
from gpualign.gpu.near_pairs import recipe as near_recipe
from gpualign.gpu.near_pairs.engine import prepare_near_pairs
from gpualign.gpu.near_pairs.kernels import LENGTH_SCREENING_KERNEL, screening_kernels
from gpualign.gpu.papers import li, munekawa, payne
from gpualign.gpu.runtime.pycuda_device import CudaDevice


def distances(rng):
    """Every kernel of bit planes, at the edges of tiles and chunks."""
    codes = rng.integers(0, 3, (140, 2100), dtype=np.uint8)
    codes[rng.random(codes.shape) < 0.1] = MISSING
    for kernel in (POPC_KERNEL, MMA_KERNEL, WGMMA_KERNEL):
        device = CudaDevice(0)
        if kernel not in usable_kernels(device.arch):
            continue
        found = compute(dense_source(codes), CudaDistanceEngine(device, 1, kernel), "fraction")
        assert all(np.array_equal(a, b) for a, b in zip(found, compute(dense_source(codes), CpuDistanceEngine(1), "fraction"), strict=True))
        near, _ = near_pairs(dense_source(codes), CudaDistanceEngine(device, 1, kernel), "fraction", 0.66)
        assert near.pairs == near_pairs(dense_source(codes), CpuDistanceEngine(1), "fraction", 0.66)[0].pairs
        print(kernel.title)
    numbers = rng.integers(0, 600, (140, 1100), dtype=np.uint32)
    numbers[rng.random(numbers.shape) < 0.1] = NO_ALLELE
    found, expected = (compute(allele_source(numbers), one, "fraction") for one in (CudaDistanceEngine(device, 1), CpuDistanceEngine(1)))
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    print(DIFFER_KERNEL.title)


def near(rng):
    """Every screen that the device runs, and bands of every width, against all distances."""
    base = rng.integers(0, 6, 700)
    some = [np.where(rng.random(n) < 0.03, rng.integers(0, 6, n), base[:n]) for n in (1, 64, 150, *rng.integers(600, 700, 130))]
    few = sequence_set([*some, base[540:], rng.integers(0, 6, 300)])
    scores = run_scores(few, few, edit(6), engine=CpuEngine(2))
    for most, steps in (
        (40, FilterCascade(q=5, sketch_bits=1024)),
        (40, FilterCascade(q=5, sketch_bits=8192)),
        (40, FilterCascade()),
        (100, FilterCascade()),
        (200, FilterCascade()),
        (300, FilterCascade()),
        (560, FilterCascade()),
    ):
        near_recipe.cheapest_cascade = lambda *_, steps=steps: (steps, 1.0, SurvivorCounts(1, 1, 1, 1))
        for screen in screening_kernels(CudaDevice(0).arch, steps.sketch_bits // 8) if steps.q else [LENGTH_SCREENING_KERNEL]:
            task = Task(few, few, edit(6), edit_bound=distance_bound(most))
            prepared = prepare_near_pairs(task, Budget.from_total(1 << 30), [CudaDevice(0)], "cuda", os.getpid(), screening_kernel=screen)
            (pairs,) = (result.pairs for result in prepared.run(plan_task(prepared, Pairing.ALL).tiles()))
            found = np.full_like(scores, -1)
            found[pairs.queries, pairs.targets] = pairs.distances
            same = np.array_equal(found, np.where(scores <= most, scores, -1))
            print("near", most, screen.title, "equal" if same else "DIFFERENT", flush=True)
            if not same:
                sys.exit(1)
    for coverage in (0.95, 0.8, 0.6, 0.4):
        near_recipe.cheapest_cascade = lambda *_: (FilterCascade(), 1.0, SurvivorCounts(1, 1, 1, 1))
        task = Task(few, few, edit(6), edit_bound=covered_bound(0.9, coverage))
        prepared = prepare_near_pairs(task, Budget.from_total(1 << 30), [CudaDevice(0)], "cuda", os.getpid())
        by_cpu = CpuEngine(2).prepare(task, Budget.from_total(1 << 30))
        found, expected = (
            join_pairs([result.pairs for result in one.run(plan_task(one, Pairing.ALL).tiles())]).sorted() for one in (prepared, by_cpu)
        )
        same = all(np.array_equal(getattr(found, name), getattr(expected, name)) for name in ("queries", "targets", "distances"))
        print("near, coverage", coverage, f"{len(found)} pairs", "equal" if same else "DIFFERENT", flush=True)
        if not same:
            sys.exit(1)


def lists(rng):
    """Listed pairs in bands of every width, of every parity of their first diagonal, one by one and in groups."""
    pair_list.MIN_CELLS_PER_THREAD = 0
    queries, targets = families(rng, 4, 24, 1200)
    pairs = all_pairs_in_disorder(rng, queries, targets, 200)
    affine, packed = two_valued(6, 5, -4, 10, 1), pair_list.packed_score_type
    lists = [(scheme, packed, 1 << 30) for scheme in (affine, two_valued(6, 5, -4, 6, 6), edit(6))]
    lists += [(affine, lambda archs: None, 1 << 30), (affine, packed, 0), (edit(6), packed, 0)]
    for scheme, score_type, min_warps in lists:
        some = pairs.select(slice(200 if min_warps else len(pairs)))
        pair_list.packed_score_type, sliced_bands.MIN_WARPS = score_type, min_warps
        task, budget, host = Task(queries, targets, scheme, detail=Detail.PATH), Budget.from_total(1 << 30), CpuEngine(2)
        aligner = pair_list.CudaPairEngine(lambda: [CudaDevice(0)], host, print).prepare_pair_aligner(task, budget)
        found, expected = aligner.align_pairs(some), host.prepare_pair_aligner(task, budget).align_pairs(some)
        aligner.close()
        same = np.array_equal(found.scores, expected.scores) and np.array_equal(found.statistics, expected.statistics)
        same = same and np.array_equal(found.runs.sizes, expected.runs.sizes)
        title = "groups" if not min_warps else score_type(["sm_90a"]) or "S32"
        print("lists", scheme.gap_open, title, "equal" if same else "DIFFERENT", flush=True)
        if not same:
            sys.exit(1)


def papers(rng):
    """The papers' kernels."""
    codes = rng.integers(0, 3, (5, 70), dtype=np.uint8)
    for method in payne.METHODS:
        found = compute_counts(dense_source(codes), payne.PayneEngine(CudaDevice(0), method, 1))
        assert np.array_equal(found, compute_counts(dense_source(codes), CpuDistanceEngine(1)))
    sequences = sequence_set([rng.integers(0, 4, rng.integers(1, 90)) for _ in range(6)])
    linear = two_valued(4, 5, -4, 6, 6)
    for method in munekawa.METHODS:
        found = run_scores(sequences, sequences, linear, engine=munekawa.MunekawaEngine(CudaDevice(0), method, 64), mode=Mode.LOCAL)
        assert np.array_equal(found, run_scores(sequences, sequences, linear, engine=CpuEngine(1), mode=Mode.LOCAL))
    for method in li.METHODS:
        found = run_paths(sequences, sequences, linear, engine=li.LiEngine(CudaDevice(0), method))
        assert found.paths == run_paths(sequences, sequences, linear, engine=CpuEngine(1)).paths
    print("the papers' kernels")


def main():
    parts = {"distances": distances, "near": near, "lists": lists, "alignments": alignments, "papers": papers}
    for name in sys.argv[1:] or ["distances", "near", "lists", "alignments"]:
        parts[name](np.random.default_rng(5))


def alignments(rng):
    queries, targets = (sequence_set([rng.integers(0, 6, rng.integers(1, 400)) for _ in range(n)]) for n in (5, 150))
    affine, linear = two_valued(6, 5, -4, 10, 1), two_valued(6, 5, -4, 6, 6)
    wide = two_valued(6, 500, -400, 1000, 100)
    steps = two_valued(6, 2, -1, 1, 1)
    cases = [
        *((scheme, threads, mode) for scheme in (affine, linear, wide) for mode in Mode),
        *((scheme, chain, mode) for scheme in (affine, linear, wide) for mode in Mode),
        *((scheme, slices, Mode.GLOBAL) for scheme in (edit(6), steps)),
        (edit(6), chain_edit, Mode.GLOBAL),
    ]
    for scheme, family, mode in cases:
        force(family)
        scores = run_scores(queries, targets, scheme, engine=CudaEngine([CudaDevice(0)]), mode=mode)
        if mode is Mode.GLOBAL:
            same = np.array_equal(scores, run_scores(queries, targets, scheme, engine=CpuEngine(2)))
        else:
            few = records(targets)[:6]
            table = scheme.substitution
            expected = [[local_score(q, t, table, scheme.gap_open, scheme.gap_extend) for t in few] for q in records(queries)]
            same = np.array_equal(scores[:, :6], expected)
        print(name_of(family), mode.value, scheme.gap_open, "equal" if same else "DIFFERENT", flush=True)
        if not same:
            sys.exit(1)
    windows(rng, affine)
    for scheme, family in ((affine, threads), (linear, chain)):
        search(queries, targets, scheme, family)
    paths(
        queries,
        targets,
        [(affine, threads), (linear, threads), (wide, threads), (affine, chain), (edit(6), slices)],
    )


def windows(rng, scheme):
    """Long targets, then long queries, each in several windows."""
    short, long = (sequence_set([rng.integers(0, 6, rng.integers(n // 2, n)) for _ in range(3)]) for n in (100, 9000))
    for side, queries, targets in (("target_windows", short, long), ("query_windows", long, short)):
        worker.choose_kernel_variant = lambda recipe, q, t, hardware, memory=None, side=side: replace(
            next(chain.kernel_variants(recipe, int(q.max()), int(t.max()))),
            **{side: Windows(1000, max_aligned_letters(recipe.rebased_form, 100) - 1)},
        )
        ours, expected = (
            run_scores(queries, targets, scheme, engine=e, mode=Mode.LOCAL) for e in (CudaEngine([CudaDevice(0)]), CpuEngine(2))
        )
        print("windows", side, "equal" if np.array_equal(ours, expected) else "DIFFERENT", flush=True)
        if not np.array_equal(ours, expected):
            sys.exit(1)


def force(family):
    worker.choose_kernel_variant = lambda recipe, q, t, hardware, memory=None: next(
        family.kernel_variants(recipe, int(q.max()), int(t.max()))
    )


def search(queries, targets, scheme, family):
    """Hits that are chosen on the device."""
    force(family)
    task = Task(queries, targets, scheme, Mode.LOCAL, top_count=9)
    found = []
    for engine in (CudaEngine([CudaDevice(0)]), CpuEngine(2)):
        prepared = engine.prepare(task, Budget.from_total(1 << 30))
        (result,) = prepared.run(plan_task(prepared, Pairing.ALL).tiles())
        found.append((result.scores.tolist(), result.targets.tolist()))
    same = found[0] == found[1]
    print("search", name_of(family), "equal" if same else "DIFFERENT", flush=True)
    if not same:
        sys.exit(1)


def paths(queries, targets, cases):
    for scheme, family in cases:
        for ends in (EndGaps.PENALISED, EndGaps.FREE):
            force(family)
            found = run_paths(queries, targets, scheme, ends, engine=CudaEngine([CudaDevice(0)]))
            expected = run_paths(queries, targets, scheme, ends, engine=CpuEngine(2))
            same = found.paths == expected.paths and found.statistics == expected.statistics
            print("paths", name_of(family), ends.value, scheme.gap_open, "equal" if same else "DIFFERENT", flush=True)
            if not same:
                sys.exit(1)


if __name__ == "__main__":
    main()
