"""Near pairs of up to a million samples that are made in memory: seconds of making bit planes, and of counting.

python benchmarks/dist_million.py 5000 --device cpu
python benchmarks/dist_million.py 1000000 --device cuda:0 [--sites 30000] [--max-distance 12] [--output benchmarks/results/dist_million.md]

Samples evolve: those of a generation descend from random ones of the generation before, with 4 changes at random sites on average (the
first one from a common root, with 40), and each has a run of missing calls, 0.5 % of the sites. All sites are compared; the summary says
how many vary. Samples are made one panel of sites at a time and are the same for every device, and so is the checksum of the near pairs and
their distances.

Memory of the host: bit planes take sites / 8 bytes per plane and sample (5 planes for a GPU, 3 for a CPU); a panel takes 3 KiB per sample
while they are made; a near pair of the current band takes 100 bytes. For a million samples of 30,000 sites the planes take 19 GB (GPU) or
13 GB (CPU), the panel 3 GB.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from common import finish, machine, make_parser, table

from gpualign.core.common.arrays import Codes
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.calls import MISSING, CallKind, Samples, make_samples
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import CountArray, MissingRule, metric_named
from gpualign.core.distance.output.base import NearPairDistances
from gpualign.core.distance.preparation import DistanceTask, prepare
from gpualign.core.distance.readers.base import OmittedSites, SiteSelection
from gpualign.core.distance.runner import compute_distances
from gpualign.jobs.devices.resources import checked_resources
from gpualign.jobs.devices.selection import pick_distance_engine
from gpualign.jobs.output.result_writing import write_results

PANEL_SITES = 3072  # whole chunks of the GPU's kernels
_FOUNDERS = 10  # times as many changes in the first generation, whose samples would all be near each other


class Evolved:
    """Samples of a tree. Implements the parts of `Source` that `prepare` uses, as an alignment without constant sites does."""

    kind = CallKind.NUCLEOTIDE
    nbytes = 0

    def __init__(self, count: int, sites: int, generations: int, changes: float, missing: float) -> None:
        self.samples: Samples = make_samples([f"s{k}" for k in range(count)])
        self.site_count = sites
        self.varying = 0  # sites of the panels that were made at which some sample differs from the root
        self._changes = changes
        rng = np.random.default_rng([count, sites])
        bounds = np.unique(np.linspace(0, count, generations + 1).astype(np.int64))
        self._generations = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        sizes = [1, *(last - first for first, last in self._generations)]
        self._parents = [rng.integers(0, before, size) for before, size in pairwise(sizes)]  # places in the generation before
        run = int(missing * sites)
        self._run_starts = rng.integers(0, sites - run + 1, count)
        self._run_stops = self._run_starts + run

    @property
    def calls_per_sample(self) -> CountArray:
        return self.site_count - (self._run_stops - self._run_starts)

    def panels(self, selection: SiteSelection, panel_bytes: int, omitted: OmittedSites, workers: ThreadPool) -> Iterator[Codes]:
        # The last panel is packed before the next one.
        room: Codes = np.empty(self.samples.row_count * min(self.site_count, PANEL_SITES), np.uint8)
        for first in range(0, self.site_count, PANEL_SITES):
            width = min(self.site_count - first, PANEL_SITES)
            codes = room[: self.samples.row_count * width].reshape(self.samples.row_count, width)
            self._evolve(first, codes)
            yield codes

    def _evolve(self, first: int, codes: Codes) -> None:
        rng = np.random.default_rng([first, self.samples.row_count, self.site_count])
        width = codes.shape[1]
        root = rng.integers(0, 4, width, dtype=np.uint8)
        varies = np.zeros(width, np.bool_)
        ancestors = root[None, :]
        for (start, stop), parents in zip(self._generations, self._parents, strict=True):
            rows = codes[start:stop]
            np.take(ancestors, parents, axis=0, out=rows, mode="clip")  # which needs no copy
            often = self._changes * (_FOUNDERS if start == 0 else 1)
            changes = rng.poisson(often * width / self.site_count * len(rows))
            places, every = rng.integers(0, rows.size, changes), rows.reshape(-1)
            every[places] = rng.integers(0, 4, changes, dtype=np.uint8)
            varies[places[every[places] != root[places % width]] % width] = True
            ancestors = rows
        self.varying += int(np.count_nonzero(varies))
        starts, stops = np.clip(self._run_starts - first, 0, width), np.clip(self._run_stops - first, 0, width)
        for row in np.flatnonzero(stops > starts).tolist():
            codes[row, starts[row] : stops[row]] = MISSING


class Summary:
    """A sink of near pairs that keeps their number, and a number that depends on all of them. Implements `NearPairSink`."""

    def __init__(self) -> None:
        self.pairs = self.checksum = 0

    def begin(self, samples: Samples) -> None:
        pass

    def write(self, near: NearPairDistances) -> None:
        self.pairs += len(near.queries)
        mixed = (near.queries * 1_000_003 + near.targets) * 131 + near.values.astype(np.int64)
        self.checksum = (self.checksum + int(mixed.sum())) % (1 << 61)

    def finish(self) -> None:
        pass


class TenthsPrinter:
    """Prints a line after each tenth of the work."""

    def __init__(self, whole: int) -> None:
        self._whole, self._done, self._told, self._start = whole, 0, 0, time.perf_counter()

    def advance(self, work: int) -> None:
        self._done += work
        while self._done * 10 >= self._whole * (self._told + 1) and self._told < 10:
            self._told += 1
            print(f"  {10 * self._told} % counted after {time.perf_counter() - self._start:.1f} s", flush=True)


def measured(count: int, options: argparse.Namespace) -> list[str]:
    """The row of a number of samples."""
    resources = checked_resources(options.device, options.threads, None)
    engine = pick_distance_engine(resources, PrintingReporter())
    source = Evolved(count, options.sites, options.generations, options.changes, options.missing)
    task = DistanceTask(metric_named("hamming"), MissingRule.PAIRWISE, False, max_distance=options.max_distance)
    budget = DistanceBudget(reading_bytes=0, panel_bytes=0, plane_bytes=1 << 60, count_bytes=options.counts << 30)
    start = time.perf_counter()
    prepared = prepare(source, task, engine, budget, tempfile.TemporaryFile)  # type: ignore[arg-type]
    made = time.perf_counter() - start
    print(f"{count:,}: {prepared.panel_bytes / 1e9:.1f} GB of bit planes in {made:.1f} s, {prepared.plan.band_count} bands", flush=True)
    sink = Summary()
    start = time.perf_counter()
    write_results(
        sink, prepared.samples, compute_distances(prepared, TenthsPrinter(prepared.plan.pair_count * prepared.panel_site_count))[0]
    )
    took = time.perf_counter() - start
    work = prepared.samples.pair_count * options.sites
    return [
        f"{count:,} x {options.sites:,}, {source.varying:,} vary",
        prepared.counter.hardware,
        f"{prepared.panel_bytes / 1e9:.1f}",
        f"{made:.1f}",
        f"{took:.2f}",
        f"{work / took / 1e12:,.2f}",
        f"{sink.pairs:,}",
        f"{sink.checksum:x}",
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9:.1f}",
    ]


class PrintingReporter:
    """A reporter that prints."""

    def note(self, text: str) -> None:
        print(text)

    def warn(self, text: str) -> None:
        print(text)

    def detail(self, text: str) -> None:
        print(text)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("samples", type=int, nargs="+", help="numbers of samples, measured one after the other")
    parser.add_argument("--sites", type=int, default=30_000)
    parser.add_argument("--max-distance", type=int, default=12)
    parser.add_argument("--generations", type=int, default=40)
    parser.add_argument("--changes", type=float, default=4.0, help="of a sample, on average")
    parser.add_argument("--missing", type=float, default=0.005, help="fraction of the sites of each sample")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--counts", type=int, default=2, help="GiB of the host for near pairs, or counts, of a band")
    options = parser.parse_args()
    rows = []
    for count in options.samples:
        rows.append(measured(count, options))
        print(rows[-1], flush=True)
    text = "# Near pairs of a million samples\n\n" + table(
        "Near pairs of samples made in memory",
        ["samples x sites", "hardware", "planes, GB", "made in, s", "counted in, s", "T/s", "near pairs", "checksum", "peak, GB"],
        rows,
        [
            f"{machine()}. Pairs at most {options.max_distance} apart, each once; T/s: 10^12 comparisons of two calls.",
            f"{options.generations} generations, {options.changes:g} changes a sample, {100 * options.missing:g} % missing.",
            "Counting includes the start of the device and copies to it. The peak is that of all rows so far.",
        ],
    )
    finish(text, options.output)


if __name__ == "__main__":
    main()
