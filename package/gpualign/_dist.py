"""SNP and genotype distances."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gpualign._files import checked_output, filled_values
from gpualign._results import Matrix
from gpualign._running import LOG, Progress, Reporter, resources
from gpualign._sequences import Path
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.scratch import TemporaryFiles
from gpualign.core.distance.sinks.matrix import MatrixSink
from gpualign.core.distance.site_filters import SiteFilters
from gpualign.core.distance.sources.array import CallArray, read_arrays
from gpualign.core.distance.sources.base import Source
from gpualign.core.distance.sources.kinds import CallFile, CallOptions, fileset_files, fileset_path
from gpualign.core.distance.sources.table import TableType
from gpualign.core.errors import InputError
from gpualign.core.opening import open_file
from gpualign.core.sinks.matrix_files import ArrayMaker, FilledArray
from gpualign.jobs.dist import DistOptions, named_engine, prepare
from gpualign.jobs.dist import read as read_calls
from gpualign.jobs.sites import read_intervals, read_regions

if TYPE_CHECKING:
    from concurrent.futures import Executor

Calls: TypeAlias = "Path | BinaryIO | npt.NDArray[Any]"
"""A file that `gpualign dist` reads, such a file that is open in binary mode, or an array [samples][sites]."""


def dist(
    samples: Calls,
    others: Calls | None = None,
    *,
    metric: str = "hamming",
    missing: str = "pairwise",
    min_compared: int | float = 1,
    regions: Path | None = None,
    mask: Path | None = None,
    core: float | None = None,
    maf: float | None = None,
    ids: Sequence[str] | None = None,
    other_ids: Sequence[str] | None = None,
    type: str = "auto",
    all_letters: bool = False,
    transpose: bool = False,
    allow_duplicates: bool = False,
    out: Path | None = None,
    device: str = "auto",
    threads: int | None = None,
    memory: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Matrix:
    """Distances of all pairs of samples by their SNPs or genotypes: what `gpualign dist -o FILE.npy` writes.

    samples: an alignment, a table (type: what is in it: "auto", "calls" or "alleles"), VCF, BCF, a PLINK .bed or .pgen, by path or open; or
    an array [samples][sites] of genotypes 0, 1, 2 (-1, -9 or nan are missing calls), or of letters ("S1", "U1", or uint8 of ASCII).
    others: of the same sites, what samples are compared with. metric: "hamming", "fraction", "ibs", "allele", "jc69", "tn93", or of
    genotypes "king" or "grm", which are no distances. missing: "pairwise", "complete" or "as-difference"; min_compared:
    pairs with fewer compared sites, or with a smaller fraction of the sites, have no distance (NaN): a whole number, or a float up to 1.0.
    regions: "CHR:FROM-TO", several with commas, or a BED file; mask: a BED file; core: least share of samples with a call; maf: least share
    of the minor allele: only sites that pass are used, as with the options of `gpualign dist`; tables and arrays have no positions.
    ids, other_ids: of the rows of arrays. out: the matrix goes to this .npy file and is mapped from it. Other arguments and errors as for
    `gpualign.nw`; progress is told of comparisons.

    >>> import numpy as np
    >>> dist(np.array([[0, 1, 2, 0], [0, 2, 2, 1], [0, 0, -1, 0]])).values.tolist()
    [[0, 2, 1], [2, 0, 2], [1, 2, 0]]
    """
    rules = {rule.value: rule for rule in MissingRule}
    if metric not in METRICS or missing not in rules:
        raise InputError(f"metric {metric!r}, missing {missing!r}: {', '.join(METRICS)} and {', '.join(rules)} are known")
    types = {one.value: one for one in TableType}
    if type not in types:
        raise InputError(f"type {type!r}: {', '.join(types)} are known")
    calls = CallOptions(transpose, False, all_letters, allow_duplicates, types[type])
    sites = SiteFilters(
        None if regions is None else read_regions(os.fspath(regions)),
        None if mask is None else read_intervals(os.fspath(mask)),
        _share("core", core, 1),
        _share("maf", maf, 0.5),
    )
    how = resources(device, threads, memory, executor)
    options = DistOptions(metric, rules[missing], False, _least(min_compared), calls, resources=how, sites=sites)
    path = None if out is None else checked_output(out, *_files(samples), *_files(others), regions, mask)
    options.task()  # what contradicts itself is refused before anything is read
    given = [(samples, ids)] if others is None else [(samples, ids), (others, other_ids)]
    with TemporaryFiles() as files:
        source = _source(given, options, files)
        job = prepare(options, source, named_engine(options, LOG), files.scratch, LOG)
        del source
        reporter = Reporter(progress)
        reporter.expect(job.work)

        def fill(make: ArrayMaker) -> FilledArray:
            sink = MatrixSink(job.dtype, make, threads=options.resources.host_threads)
            job.run(sink, reporter)
            return sink.values

        values = filled_values(path, fill)
    names = job.samples
    return Matrix(values, list(names.queries.ids), list(names.targets.ids), metric, names.one_set)


def _files(calls: Calls | None) -> list[object]:
    """What is read for one input."""
    return [*fileset_files(os.fspath(calls))] if isinstance(calls, (str, os.PathLike)) else [calls]


def _least(given: float) -> int | Fraction:
    if isinstance(given, (int, np.integer)) and given >= 1:
        return int(given)
    if isinstance(given, float) and 0 < given <= 1:
        return Fraction(str(given))  # as it is written: 0.1 is a tenth
    raise InputError(f"min_compared {given!r}: a whole number of sites from 1 on, or a fraction of them up to 1.0 is wanted")


def _share(name: str, given: float | None, most: float) -> Fraction | None:
    if given is None:
        return None
    if isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool) and 0 <= given <= most:
        return Fraction(str(given))
    raise InputError(f"{name} {given!r}: a share from 0 to {most} is wanted")


def _source(given: list[tuple[Calls, Sequence[str] | None]], options: DistOptions, files: TemporaryFiles) -> Source:
    arrays = [isinstance(one, np.ndarray) for one, _ in given]
    if all(arrays):
        if options.calls.transpose:
            raise InputError("transpose is for tables; give array.T")
        if options.calls.type is TableType.ALLELES:
            raise InputError("type 'alleles' is for tables in files; arrays hold genotypes or letters")
        named = [CallArray(cast("npt.NDArray[Any]", one), names, "array") for one, names in given]
        return read_arrays(named, options.calls.every_letter, allow_duplicates=options.calls.allow_duplicates)
    if any(arrays):
        raise InputError("one of the two is an array, the other a file; two inputs are of one kind")
    if any(names is not None for _, names in given):
        raise InputError("ids are of the rows of arrays; files have their own")
    with ExitStack() as stack:
        return read_calls(_opened([one for one, _ in given], stack), options, files)


def _opened(given: Sequence[Any], stack: ExitStack) -> Iterator[CallFile]:
    for one in given:
        if hasattr(one, "read"):
            yield CallFile(one, str(getattr(one, "name", "a stream")), None)
            continue
        path = fileset_path(os.fspath(one))
        yield CallFile(stack.enter_context(open_file(path)), path, path)
