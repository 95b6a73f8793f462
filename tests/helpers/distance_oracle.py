"""Distances by the definitions in docs/metrics.md, one site and pair at a time."""

import math
import tempfile
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from gpualign.core.distance.calls import MISSING, CallKind, alleles_of, make_samples
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.output.matrix import DistanceMatrices
from gpualign.core.distance.output.pairs import PairsSink
from gpualign.core.distance.preparation import DistanceTask, prepare
from gpualign.core.distance.readers.base import RandomAccessSource
from gpualign.core.distance.runner import compute_distances
from gpualign.core.execution.totals import NullProgress
from gpualign.core.output.matrix import MatrixSink
from gpualign.core.output.memory import MemoryArray
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.jobs.output.result_writing import write_results


def allele_source(numbers, queries=None):
    """A source of allele numbers, uint32[samples][loci]. queries: number of rows that are compared with the others; None: one set"""
    ids = [str(k) for k in range(len(numbers))]
    samples = make_samples(ids) if queries is None else make_samples(ids[:queries], ids[queries:])
    return RandomAccessSource(samples, CallKind.ALLELE, numbers.shape[1], [lambda a, b, _: np.ascontiguousarray(numbers[:, a:b])])


class ProductsOnly(CpuDistanceEngine):
    """CPU engine that computes products only, like binary tensor cores."""

    def prepare(self, request, memory):
        return replace(super().prepare(request, memory), products_only=True)


def shared_alleles(g, h):
    one, other = list(alleles_of(g)), list(alleles_of(h))
    shared = 0
    for allele in one:
        if allele in other:
            other.remove(allele)
            shared += 1
    return shared


def _log(x):
    return math.log(x) if x > 1e-12 else math.nan


def _tn93(x, y):
    n = len(x)
    if n == 0:
        return math.nan
    if x == y:
        return 0.0
    a, c, g, t = ((x.count(b) + y.count(b)) / (2 * n) for b in range(4))
    r, p = a + g, c + t
    purines = sum({i, j} == {0, 2} for i, j in zip(x, y, strict=True)) / n
    pyrimidines = sum({i, j} == {1, 3} for i, j in zip(x, y, strict=True)) / n
    q = sum((i % 2) != (j % 2) for i, j in zip(x, y, strict=True)) / n
    try:
        total = 0.0
        if a * g > 0:
            total -= 2 * a * g / r * _log(1 - purines * r / (2 * a * g) - q / (2 * r))
        if c * t > 0:
            total -= 2 * c * t / p * _log(1 - pyrimidines * p / (2 * c * t) - q / (2 * p))
        weight = 2 * (r * p - (a * g * p / r if r else 0) - (c * t * r / p if p else 0))
        if weight > 0 or q > 0:
            total -= weight * _log(1 - q / (2 * r * p))
    except (ValueError, ZeroDivisionError):
        return math.nan
    return total


def plain_king(calls):
    """KING-robust as in plink2 --make-king (Manichaikul et al. 2010, equation 11). All alleles but the first count as one. calls: pairs of
    codes"""
    counts = [tuple(sum(allele > 0 for allele in alleles_of(code)) for code in codes) for codes in calls]
    hets = min(sum(a == 1 for a, _ in counts), sum(b == 1 for _, b in counts))
    return 0.5 - sum((a - b) ** 2 for a, b in counts) / (4 * hets) if hets else math.nan


def plain_grm(codes):
    """The terms of each site, float64[sites][3][3]: (x - 2p) (y - 2p) / 2p (1 - p), where p is the frequency of all alleles but the
    first."""
    table = np.zeros((codes.shape[1], 3, 3))
    for site, column in enumerate(codes.T.tolist()):
        counts = [sum(allele > 0 for allele in alleles_of(code)) for code in column if code != MISSING]
        p = sum(counts) / (2 * len(counts)) if counts else 0
        if 0 < p < 1:
            table[site] = [[(x - 2 * p) * (y - 2 * p) / (2 * p * (1 - p)) for y in range(3)] for x in range(3)]
    return table


def plain_distance(x, y, metric, missing, terms=None):
    """(distance, compared sites) of two samples' codes. terms: result of `plain_grm`, for the metric grm"""
    if metric == "grm":
        known = [(site, a, b) for site, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)) if MISSING not in (a, b)]
        seconds = [(site, *(sum(allele > 0 for allele in alleles_of(code)) for code in codes)) for site, *codes in known]
        return (math.fsum(terms[place] for place in seconds) / len(known) if known else math.nan), len(known)
    distance, compared = 0, 0
    kept = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if missing == "as-difference" and (a == MISSING) != (b == MISSING):
            distance += 2 if metric in ("ibs", "allele") else 1
            compared += 1
            continue
        if missing == "as-difference" and a == MISSING:
            compared += 1
            continue
        if MISSING in (a, b):
            continue
        compared += 1
        kept.append((a, b))
        distance += 2 - shared_alleles(a, b) if metric in ("ibs", "allele") else a != b
    if metric in ("hamming", "allele"):
        return (distance if compared else math.nan), compared
    if metric == "tn93":
        return _tn93([a for a, _ in kept], [b for _, b in kept]), compared
    if metric == "king":
        return plain_king(kept), compared
    fraction = distance / compared if compared else math.nan
    if metric == "ibs":
        return fraction / 2, compared
    if metric == "jc69":
        inside = 1 - 4 / 3 * fraction
        return -0.75 * _log(inside), compared
    return fraction, compared


def plain_distances(codes, queries, metric, missing):
    """(distances, compared sites) of the first `queries` samples with the others, or with each other if there are no others."""
    if missing == "complete":
        codes = codes[:, ~np.any(codes == MISSING, axis=0)]
    rows = codes[:queries]
    columns = rows if queries == len(codes) else codes[queries:]
    terms = plain_grm(codes) if metric == "grm" else None
    found = [[plain_distance(x, y, metric, missing, terms) for y in columns] for x in rows]
    return np.array([[d for d, _ in row] for row in found], dtype=float), np.array([[n for _, n in row] for row in found])


def random_codes(rng, samples, sites, highest=2, missing=0.05):
    """Calls 0 to `highest`, half of them 0 so that there are ties, some of them missing."""
    codes = rng.integers(0, highest + 1, (samples, sites), dtype=np.uint8)
    codes[rng.random((samples, sites)) < 0.5] = 0
    codes[rng.random((samples, sites)) < missing] = MISSING
    return codes


def related(rng, samples, sites, highest, missing):
    """Samples that are copies of a few ancestors with some calls changed, so that distances have all sizes and many are equal."""
    ancestors = random_codes(rng, 1 + samples // 4, sites, highest, 0)
    codes = ancestors[rng.integers(0, len(ancestors), samples)]
    changed = rng.random(codes.shape) < rng.choice([0, 0.02, 0.2], samples)[:, None]
    codes[changed] = random_codes(rng, samples, sites, highest, 0)[changed]
    codes[rng.random(codes.shape) < rng.choice([0, missing, min(1, 3 * missing)], samples)[:, None]] = MISSING
    return codes


def compute_counts(source, engine, memory=1 << 28):
    """Hamming distances alone."""
    return compute(source, engine, "hamming", memory=memory, compared=False)[0]


def compute(source, engine, metric, missing="pairwise", memory=1 << 28, compared=True, least=1):
    """(distances, compared sites) computed as by `dist`, from the source to the sink."""
    task = DistanceTask(METRICS[metric], MissingRule(missing), compared, least)
    with ExitStack() as files:
        prepared = prepare(source, task, engine, DistanceBudget.of(memory), lambda: files.enter_context(tempfile.TemporaryFile()))
        sink = MatrixSink(DistanceMatrices(prepared.dtype, compared), [MemoryArray] * (1 + compared))
        write_results(sink, prepared.samples, compute_distances(prepared, NullProgress())[0])
        return sink.arrays[0].values, sink.arrays[1].values if compared else None


class CollectPairs(PairsSink):
    """Pairs as (query, target, distance, compared sites or None)."""

    def begin(self, samples):
        super().begin(samples)
        self.pairs, self.parts = [], 0

    def write_pairs(self, pairs):
        compared = [None] * len(pairs.values) if pairs.compared_sites is None else pairs.compared_sites.tolist()
        self.pairs += zip(pairs.queries.tolist(), pairs.targets.tolist(), pairs.values.tolist(), compared, strict=True)
        self.parts += 1


def near_pairs(
    source,
    engine,
    metric,
    most,
    missing="pairwise",
    memory=1 << 28,
    compared=True,
    least=1,
    added=False,
    min_shared_fraction=None,
    counts_sink=None,
):
    """(`CollectPairs` with the near pairs, totals) computed as by `dist`, from the source to the sink.

    most: maximum distance, or minimum kinship; None: all pairs are near
    added: whether the queries are also compared with each other
    min_shared_fraction: as for `DistanceTask`
    counts_sink: takes numbers of neighbours instead of the pairs
    """
    thresholds = (None, most) if METRICS[metric].is_similarity else (most, None)
    task = DistanceTask(METRICS[metric], MissingRule(missing), compared, least, thresholds[0], added, thresholds[1], min_shared_fraction)
    with ExitStack() as files:
        prepared = prepare(source, task, engine, DistanceBudget.of(memory), lambda: files.enter_context(tempfile.TemporaryFile()))
        prepared = replace(prepared, counts_neighbours=counts_sink is not None)
        sink, progress = counts_sink or CollectPairs(), CountAdvance()
        distances, totals = compute_distances(prepared, progress)
        write_results(sink, prepared.samples, distances)
        assert progress.work == prepared.plan.pair_count * prepared.panel_site_count
        return sink, totals


class CountAdvance:
    """Progress that adds up the reported work."""

    work = 0

    def advance(self, work):
        self.work += work


def dense_source(codes, kind=CallKind.GENOTYPE, queries=None):
    """A source of codes, uint8[samples][sites]. queries: number of samples that are compared with the others; None: one set"""
    names = [f"s{k}" for k in range(len(codes))]
    samples = make_samples(names) if queries is None else make_samples(names[:queries], names[queries:])
    return RandomAccessSource(samples, kind, codes.shape[1], [lambda start, stop, _: np.ascontiguousarray(codes[:, start:stop])])


class OnHost(CpuDistanceEngine):
    """CPU engine that only computes counts: near pairs are selected outside of it."""

    def prepare(self, request, memory):
        return replace(super().prepare(request, memory), pair_selector=None, pair_reducer=None)


ENGINES = {"cpu": CpuDistanceEngine, "products": ProductsOnly, "host": OnHost}


def kind_of(metric):
    return CallKind.NUCLEOTIDE if metric in ("jc69", "tn93") else CallKind.GENOTYPE


def listed(values, compared, queries, most, metric="hamming"):
    """Near pairs of a whole matrix. queries: number of queries of a rectangle; None: one set"""
    near = values >= most if METRICS[metric].is_similarity else values <= most
    keep = near if queries is not None else np.triu(near, 1)
    return [(i, j, values[i, j], compared[i, j]) for i, j in np.argwhere(keep).tolist()]
