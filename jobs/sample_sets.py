"""Makes sets of samples on disk, adds samples to them and withdraws samples from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, RunError, parameter
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.readers.alignment import AlignmentSource
from gpualign.core.distance.readers.base import RandomAccessSource, Source
from gpualign.core.distance.readers.detection import CallFile, read_calls
from gpualign.core.distance.sample_sets.reading import check_calls_alike, reading_options, source_of_set, stored_options
from gpualign.core.distance.sample_sets.sample_set import FILE_DESCRIPTION, FORMAT_VERSION, SampleSet, damaged, parse_sample_set
from gpualign.core.distance.sample_sets.writing import SegmentWriter, write_withdrawal
from gpualign.core.distance.tables.options import CallOptions
from gpualign.core.files.growing_file import CommitWriter, DamagedFile, append_commit, begin_file
from gpualign.core.files.paths import SAMPLE_SET_MAGIC
from gpualign.core.files.scratch import ScratchFiles
from gpualign.core.sequences.ids import number_repeated_ids
from gpualign.jobs.devices.memory import default_memory
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.reporter import Reporter


@dataclass(frozen=True)
class SetSummary:
    """Summary of a set after it was written.

    sample_count: number of samples in the set
    site_count: number of sites
    changed_count: number of samples added or withdrawn
    """

    sample_count: int
    site_count: int
    changed_count: int


def make_sample_set(
    name: str,
    stored: SampleSet | None,
    inputs: Iterable[CallFile],
    options: CallOptions,
    output: Callable[[], AbstractContextManager[BinaryIO]],
    files: ScratchFiles,
    reporter: Reporter,
) -> SetSummary:
    """Write a new set with the samples of an input.

    name: name of the input, for messages
    stored: the set that the input is; None: it is files of calls
    inputs: files of the input, unless it is a set
    options: how calls are read
    output: opens the file of the set; called after everything has been read

    Raises an `InputError` that names the file, the record and the reason.
    """
    source = _read(stored, inputs, options, files, reporter)
    if stored is not None:
        reading = stored.reading
        reading_options(stored, options)  # refuses options that the set has already
    else:
        reading = stored_options(options, source.compared if isinstance(source, AlignmentSource) else None)
    with closing(ThreadPool(Resources().host_threads)) as workers, output() as file:
        writer = begin_file(file, SAMPLE_SET_MAGIC, FORMAT_VERSION)
        ids = source.samples.ids
        segment = SegmentWriter(None, source, ids, name, _panel_bytes(source), files.new_scratch, workers)
        writer.commit(segment.write(writer, reading))
    return SetSummary(len(ids), source.site_count, len(ids))


def append_samples(
    path: str,
    name: str,
    stored: SampleSet | None,
    inputs: Iterable[CallFile],
    options: CallOptions,
    files: ScratchFiles,
    reporter: Reporter,
) -> SetSummary:
    """Add all samples of an input to a set. If an error occurs or the process is killed, the set is unchanged. Arguments as for
    `make_sample_set`.

    Raises `InputError` if sites or kinds of calls differ, and for an id that the set has already, unless `options` allows duplicates.
    """
    with _appending(path) as (known, writer):
        source = _read(stored, inputs, reading_options(known, options), files, reporter)
        check_calls_alike(source_of_set(known), source, path, name)
        kept = known.ids
        ids = _new_ids(source.samples.ids, kept, name, path, options.allow_duplicates)
        with closing(ThreadPool(Resources().host_threads)) as workers:
            segment = SegmentWriter(known, source, ids, name, _panel_bytes(source), files.new_scratch, workers)
            writer.commit(segment.write(writer, known.reading))
    return SetSummary(len(kept) + len(ids), known.site_count, len(ids))


def withdraw_samples(path: str, named: dict[str, str]) -> SetSummary:
    """Withdraw samples from a set. They stay in the file, but later runs ignore them.

    named: ids, each with text, for messages, that says where it is named

    Raises `InputError` for an id that no sample has, or if no sample is left.
    """
    with _appending(path) as (known, writer):
        rows = dict(zip(known.ids, np.flatnonzero(known.row_mask).tolist(), strict=True))
        for name, where in named.items():
            if name not in rows:
                raise InputError(f"{where}: {path} has no sample {name!r}{did_you_mean(name, list(rows))}")
        if len(named) == len(rows):
            raise InputError(f"{parameter('withdraw')} names all samples of {path}; delete the file instead")
        writer.commit(write_withdrawal(known, np.array([rows[name] for name in named], dtype=np.int64), writer))
    return SetSummary(len(rows) - len(named), known.site_count, len(named))


@contextmanager
def _appending(path: str) -> Iterator[tuple[SampleSet, CommitWriter]]:
    """Yield (a set, the writer of its next commit). Raises `RunError` if the set cannot be written."""
    try:
        with append_commit(path, SAMPLE_SET_MAGIC, FORMAT_VERSION, FILE_DESCRIPTION) as (commit, writer):
            yield parse_sample_set(commit), writer
    except DamagedFile as error:
        raise damaged(path, error) from None
    except OSError as error:
        raise RunError(f"cannot write {Path(path)}: {error.strerror or error}") from None


def _read(stored: SampleSet | None, inputs: Iterable[CallFile], options: CallOptions, files: ScratchFiles, reporter: Reporter) -> Source:
    """Return the samples of an input. Raises `InputError` for a set whose planes are damaged."""
    if stored is not None:
        stored.check_planes(Resources().host_threads)
        return source_of_set(stored)
    memory = DistanceBudget.of(default_memory()).reading_bytes
    source = read_calls(inputs, options, memory, files, reporter.warn, Resources().host_threads)
    assert isinstance(source, (AlignmentSource, RandomAccessSource))
    return source


def _panel_bytes(source: Source) -> int:
    return DistanceBudget.of(default_memory(source.nbytes), source.nbytes).panel_bytes


def _new_ids(ids: Sequence[str], known: Sequence[str], name: str, path: str, allow_duplicates: bool) -> list[str]:
    """Return the ids of new samples, numbered if the set has them already.

    ids: ids of the new samples
    known: ids of the samples of the set

    Raises `InputError` for an id that the set has already, unless `allow_duplicates` is set.
    """
    held, together = set(known), [*known, *ids]
    repeated = [number for number, one in enumerate(ids, len(known)) if one in held]
    if repeated and not allow_duplicates:
        raise InputError(
            f"{name}: {path} has a sample {together[repeated[0]]!r} already; {parameter('withdraw')} takes the old one out first,"
            f" {parameter('allow_duplicates')} numbers the new one"
        )
    number_repeated_ids(together, repeated)
    return together[len(known) :]
