"""SNP and genotype distances."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign._execution_options import (
    LOG,
    ProgressCallback,
    ProgressReporter,
    checked_choice,
    checked_count,
    checked_flag,
    checked_items,
    checked_names,
    is_iterable,
    is_missing,
    make_resources,
)
from gpualign._output import checked_array_path, make_filled_array
from gpualign._results import Matrix
from gpualign._sequences import StrPath, checked_path, checked_stream_name, id_of_record, is_default_index, is_file
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.parameter_fractions import exact_fraction, site_count_or_fraction
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.output.matrix import DistanceMatrices
from gpualign.core.distance.readers.array import CallArray, read_arrays
from gpualign.core.distance.readers.base import Source
from gpualign.core.distance.readers.detection import CallFile, fileset_files, fileset_path
from gpualign.core.distance.site_filters import SiteFilters
from gpualign.core.distance.tables.options import CallOptions, TableType
from gpualign.core.files.paths import open_file
from gpualign.core.files.scratch import ScratchFiles
from gpualign.core.output.matrix import MatrixSink
from gpualign.core.output.matrix_files import ArrayMaker, FilledArray
from gpualign.jobs.dist import DistOptions, engine_named_by_options, open_if_stored, prepare, read_source
from gpualign.jobs.output.result_writing import write_results
from gpualign.jobs.sample_selection import SampleFilters
from gpualign.jobs.site_selection import read_intervals, read_regions

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

CallsInput: TypeAlias = "StrPath | BinaryIO | npt.NDArray[Any] | Sequence[Sequence[object]] | pd.DataFrame"
"""An input file for `gpualign dist`, as a path or open in binary mode, or calls [samples][sites]."""


def dist(
    samples: CallsInput,
    others: CallsInput | None = None,
    *,
    metric: str = "hamming",
    missing: str | None = None,
    min_compared: int | float = 1,
    exclude: Sequence[str] = (),
    min_called: int | float | None = None,
    regions: StrPath | None = None,
    mask: StrPath | None = None,
    core: float | None = None,
    maf: float | None = None,
    nonfounders: bool = False,
    ids: Sequence[str] | None = None,
    other_ids: Sequence[str] | None = None,
    type: str = "auto",
    ploidy: int | None = None,
    missing_code: str | int | Sequence[str | int] = (),
    columns: Sequence[str] | None = None,
    ignore_columns: Sequence[str] = (),
    all_letters: bool = False,
    transpose: bool = False,
    no_header: bool = False,
    allow_duplicates: bool = False,
    out: StrPath | None = None,
    device: str = "auto",
    threads: int | None = None,
    memory: int | None = None,
    executor: Executor | None = None,
    progress: ProgressCallback | None = None,
) -> Matrix:
    """Return the pairwise distances between samples, based on SNPs or genotypes: the matrix that `gpualign dist -o FILE.npy` writes.

    Calls in memory are genotypes 0, 1, 2 (missing: -9, nan, and -1 if there is a 2), or letters ("S1", "U1", ASCII as uint8, or one-letter
    strings). Options for sites, samples and tables work as in `gpualign dist`. Samples left out do not affect any result.

    samples: an alignment, a table, VCF, BCF, or a PLINK .bed or .pgen, as a path or an open file; the path of a set of samples made by
        `gpualign index` (.gps); or calls [samples][sites] as an array, a list of lists or a pandas.DataFrame with the ids as its index
    others: a second input with the same sites, to compare the samples with; None: the samples are compared with each other
    metric: "hamming", "fraction", "ibs", "allele", "jc69", "tn93", or for genotypes "king" or "grm", which are not distances
    missing: "pairwise", "complete" or "as-difference"; None: "pairwise", except that with `all_letters` a gap is a call. Alignments of
        proteins need `missing` or `all_letters`
    min_compared: minimum number (an integer) or fraction (a float up to 1.0) of sites compared; pairs with fewer have no distance (NaN)
    exclude: ids of samples to leave out
    min_called: minimum number of called sites, or minimum fraction of the sites left by regions and mask, as for min_compared; samples with
        fewer are left out
    regions: regions whose sites are used: "CHR:FROM-TO", comma-separated, or a BED file; not for tables and arrays, which have no positions
    mask: BED file of sites to leave out
    core: minimum fraction of samples with a call at a site; sites with a lower fraction are left out
    maf: minimum minor allele frequency; sites with a lower one are left out
    nonfounders: for PLINK filesets, whether the allele frequencies for maf and metric "grm" are computed from all samples, not only from
        founders
    ids: row ids for an array or a list of samples; None: those of a DataFrame or of SeqRecords, else 1, 2, ...
    other_ids: row ids for an array of others
    type: meaning of the cells in a table: "auto", "calls", "alleles", "centred" or "abh"; "centred" also applies to numeric arrays
    ploidy: largest genotype: genotypes are dosages from 0 to this number; also applies to numeric arrays
    missing_code: additional cell values that denote missing calls; also applies to numeric arrays
    columns: titles of the table columns to read
    ignore_columns: titles of the table columns to ignore
    all_letters: whether every letter is compared, and gaps too unless `missing` is given (default: only A, C, G and T, or amino acids of
        proteins; other letters are missing calls). In tables and arrays N, -, ?, . and empty cells are always missing calls
    transpose: whether the rows of the table are sites and the columns are samples
    no_header: whether the first line of the table is data
    allow_duplicates: whether repeated sample ids are numbered
    out: .npy file to write the matrix to and map it from; None: the matrix is in memory
    device: "auto", "cpu", "cuda", "all", ...
    threads: CPU threads
    memory: bytes of memory for work, in addition to the calls and the matrix
    executor: executor whose workers do the computing, as for `gpualign.nw`
    progress: called with (comparisons done, total)

    Returns a `Matrix`. Issues an `InputWarning` for assumptions about an input.
    Raises `InputError` for bad input, `RunError` if a device fails or memory runs out.

    >>> import numpy as np
    >>> dist(np.array([[0, 1, 2, 0], [0, 2, 2, 1], [0, 0, -1, 0]])).values.tolist()
    [[0, 2, 1], [2, 0, 2], [1, 2, 0]]
    """
    rules = {rule.value: rule for rule in MissingRule}
    checked_choice("metric", metric, METRICS)
    types = {one.value: one for one in TableType}
    calls = CallOptions(
        transpose=checked_flag("transpose", transpose),
        no_header=checked_flag("no_header", no_header),
        all_letters=checked_flag("all_letters", all_letters),
        allow_duplicates=checked_flag("allow_duplicates", allow_duplicates),
        type=types[checked_choice("type", type, types)],
        missing_codes=_missing_codes(missing_code),
        ploidy=checked_count("ploidy", ploidy, 1),
        columns=None if columns is None else checked_names("columns", columns, "titles"),
        ignore_columns=checked_names("ignore_columns", ignore_columns, "titles"),
        nonfounders=checked_flag("nonfounders", nonfounders),
        gaps_missing=missing is not None,
    )
    options = DistOptions(
        metric=metric,
        missing=MissingRule.PAIRWISE if missing is None else rules[checked_choice("missing", missing, rules)],
        min_compared=site_count_or_fraction("min_compared", min_compared),
        call_options=calls,
        site_filters=SiteFilters(
            regions=None if regions is None else read_regions(checked_path("regions", regions)),
            mask=None if mask is None else read_intervals(checked_path("mask", mask)),
            core=None if core is None else exact_fraction("core", core),
            maf=None if maf is None else exact_fraction("maf", maf, 0.5),
        ),
        sample_filters=SampleFilters(
            exclude=dict.fromkeys(checked_names("exclude", exclude, "ids"), parameter("exclude")),
            min_called=None if min_called is None else site_count_or_fraction("min_called", min_called),
        ),
        resources=make_resources(device, threads, memory, executor),
    )
    path = checked_array_path(out, *_input_files(samples), *_input_files(others), regions, mask)
    options.task()  # contradictions are refused before anything is read
    if others is None and other_ids is not None:
        raise InputError("other_ids names the rows of others; give that too")
    ids, other_ids = (None if one is None else checked_items(name, one, "ids") for name, one in (("ids", ids), ("other_ids", other_ids)))
    inputs: list[tuple[Any, Sequence[str] | None]] = [(samples, ids)] if others is None else [(samples, ids), (others, other_ids)]
    with ScratchFiles() as files:
        source = _read_source(inputs, options, files)
        job = prepare(options, source, engine_named_by_options(options, LOG), files.new_scratch, LOG)
        del source
        reporter = ProgressReporter(progress)
        reporter.expect(job.total_work)

        def fill(make: ArrayMaker) -> FilledArray:
            sink = MatrixSink(DistanceMatrices(job.dtype), [make], threads=options.resources.host_threads)
            write_results(sink, job.samples, job.run(reporter)[0])
            return sink.arrays[0]

        values = make_filled_array(path, fill)
    names = job.samples
    return Matrix(values, list(names.queries.ids), list(names.targets.ids), metric, names.is_one_set)


def _input_files(calls: CallsInput | None) -> list[object]:
    """Return a list of the files that an input is read from if it is a path; otherwise a list of the input itself."""
    return [*fileset_files(os.fspath(calls))] if isinstance(calls, (str, os.PathLike)) else [calls]


def _missing_codes(value: str | int | Sequence[str | int]) -> tuple[str, ...]:
    """Return the cell values that denote missing calls, as text. Raises `InputError` for anything but text and numbers."""
    if isinstance(value, str):
        return tuple(code.strip() for code in value.split(","))
    codes = [value] if isinstance(value, (bytes, int, float, np.number)) or not is_iterable(value) else list(value)
    for code in codes:
        if not isinstance(code, (str, int, float, np.number)) or is_missing(code):
            raise InputError(f"missing_code {code!r}: expected text or a number; None and nan are missing calls anyway")
    return tuple(f"{code:.0f}" if isinstance(code, (float, np.floating)) and code == code // 1 else str(code) for code in codes)


def _read_source(inputs: list[tuple[Any, Sequence[str] | None]], options: DistOptions, files: ScratchFiles) -> Source:
    are_files = [is_file(one) for one, _ in inputs]
    if not any(are_files):
        roles = ["samples", "others"] if len(inputs) > 1 else [None]
        missing = options.call_options.missing_codes
        named = [_call_array(one, names, missing, role) for (one, names), role in zip(inputs, roles, strict=True)]
        return read_arrays(named, options.call_options, LOG.warn)
    if not all(are_files):
        raise InputError("expected two files or two arrays, found one of each")
    if any(names is not None for _, names in inputs):
        raise InputError("ids name the rows of arrays; files have their own ids")
    stored = [(str(one), None if hasattr(one, "read") else open_if_stored(os.fspath(one))) for one, _ in inputs]
    with ExitStack() as stack:
        others = [one for (one, _), (_, sample_set) in zip(inputs, stored, strict=True) if sample_set is None]
        return read_source(_open_call_files(others, stack), options, files, LOG, stored)


def _call_array(calls: Any, ids: Sequence[str] | None, missing_texts: Sequence[str], role: str | None) -> CallArray:
    """Return the calls of an array, lists or a DataFrame. Raises `InputError` for anything but a rectangle of calls.

    ids: sample ids; None: the ids of a DataFrame or of SeqRecords, if there are any
    missing_texts: additional texts that denote missing calls
    role: name of the argument, if there are two arrays
    """
    ids = None if ids is None else list(ids)
    what = role or ("array" if isinstance(calls, np.ndarray) else builtins.type(calls).__name__)
    if isinstance(calls, np.ndarray):
        return CallArray(_normalise_calls(calls, what, missing_texts), ids, what)
    if hasattr(calls, "to_numpy") and getattr(calls, "ndim", 0) == 2:  # a DataFrame
        names = getattr(calls, "index", None)
        if ids is None and names is not None and not is_default_index(names):
            ids = list(names)
        plain = all(isinstance(dtype, np.dtype) and dtype.kind in "iufb" for dtype in calls.dtypes)
        values = calls.to_numpy() if plain else calls.to_numpy(object, na_value=None)  # pandas.NA is neither equal nor unequal
        return CallArray(_normalise_calls(values, what, missing_texts), ids, what, list(map(str, calls.columns)))
    if isinstance(calls, Matrix) or not (isinstance(calls, (Sequence, np.generic)) or hasattr(calls, "__array__")):
        found = builtins.type(calls).__name__
        raise InputError(
            f"{role or 'samples'}: expected a file, or calls [samples][sites] as an array, lists or a DataFrame; found {found}"
        )
    if ids is None and isinstance(calls, Sequence) and any(map(id_of_record, calls)):  # SeqRecords of Biopython
        ids = [id_of_record(row) or str(number) for number, row in enumerate(calls, 1)]
    try:
        are_masked = isinstance(calls, Sequence) and any(isinstance(row, np.ma.MaskedArray) for row in calls)
        array = np.ma.array(calls) if are_masked else np.asarray(calls)
    except ValueError:
        raise InputError(f"a {what} whose rows have different lengths; expected calls [samples][sites]") from None
    return CallArray(_normalise_calls(array, what, missing_texts), ids, what)


_MISSING_CALL_TEXTS = frozenset(("NA", "na", "nan", "NaN", "N/A", "n/a", "#N/A", "<NA>", "None", "NULL", "null"))
"""Strings that denote missing calls, as in tables."""


def _normalise_calls(array: npt.NDArray[Any], source: str, missing_texts: Sequence[str]) -> npt.NDArray[Any]:
    """Convert an array of objects, or of strings longer than one character, to numbers or to one-character strings. Missing calls become
    nan or "". Other arrays are returned unchanged, also with their masks.

    Raises an `InputError` that quotes the cell if a cell among letters is not a single character.

    source: name of the input, for messages
    missing_texts: additional strings that denote missing calls
    """
    if array.dtype.kind not in "OSTU" or array.dtype in (np.dtype("U1"), np.dtype("S1")):
        return array
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(object), np.nan)
    words = _MISSING_CALL_TEXTS.union(missing_texts)
    cells = (one.decode("latin-1") if isinstance(one, bytes) else one for one in array.ravel().tolist())
    texts = ["" if is_missing(one) or (isinstance(one, str) and one in words) else one for one in cells]
    of_numbers = all(isinstance(one, (int, float, np.number)) or one == "" for one in texts)
    if of_numbers or any(isinstance(one, str) and len(one) > 1 for one in texts):
        try:
            return np.array([np.nan if one in ("", ".", "-", "?", "N") else float(one) for one in texts]).reshape(array.shape)
        except ValueError:
            pass
    wrong = next((one for one in texts if not isinstance(one, str) or len(one) > 1), None)
    if wrong is not None:
        raise InputError(
            f"{source}: expected a letter in each cell, or numbers alone; found {wrong!r} among letters{_type_advice(wrong, array)}"
        )
    return np.array(texts, dtype="U1").reshape(array.shape)


def _type_advice(wrong_value: object, array: npt.NDArray[Any]) -> str:
    if isinstance(wrong_value, str) and array.ndim == 1 and len(wrong_value) > 1:
        return "; give [list(sequence) for sequence in samples]"
    if isinstance(wrong_value, str):
        return f"; {parameter('missing_code', wrong_value)} if it is a missing call"
    return "; is it a column of ids?"


def _open_call_files(files: Sequence[Any], stack: ExitStack) -> Iterator[CallFile]:
    for one in files:
        if hasattr(one, "read"):
            yield CallFile(one, checked_stream_name(one), None)
            continue
        path = fileset_path(os.fspath(one))
        yield CallFile(stack.enter_context(open_file(path)), path, path)
