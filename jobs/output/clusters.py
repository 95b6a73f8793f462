"""Writes clusters as tables, .uc files and representative sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.clustering.clusters import Clustering
from gpualign.core.clustering.table_writer import check_titles, write_clustered_tables
from gpualign.core.clustering.writers import write_representatives, write_table, write_typed_table, write_uc
from gpualign.core.common.arrays import Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.units import format_bytes
from gpualign.core.files.paths import STDIO
from gpualign.core.output.formats.registry import ResultKind
from gpualign.core.output.writer import CountingStream
from gpualign.jobs.member_alignments import MemberAlignments
from gpualign.jobs.output.atomic_files import OutputFiles, translate_output_errors
from gpualign.jobs.output.format_selection import container_of, pick_format, pick_output
from gpualign.jobs.sequence_loading import Inputs, ReadOptions

if TYPE_CHECKING:
    from gpualign.core.output.writer import ByteWriter
    from gpualign.core.sequences.cells import Cells
    from gpualign.core.sequences.record_tables import TableOrigin
    from gpualign.jobs.cluster import ClusterOptions
    from gpualign.jobs.cluster_sources import ClusterSource


@dataclass(frozen=True)
class ClusterSpec:
    """Cluster output.

    format: output format
    path: output file; None: standard output
    uc_path: .uc file to write in addition; None: not written
    representatives_path: FASTA file of representatives to write in addition; None: not written
    container: kind of file in which pyarrow writes typed columns (core/output/arrow.py); None: text
    is_format_given: whether the user has named the format
    lists_problems: whether problems of given clusters are written, and not clusters
    """

    format: str
    path: Path | None
    uc_path: Path | None
    representatives_path: Path | None
    container: str | None = None
    is_format_given: bool = False
    lists_problems: bool = False

    @property
    def may_extend_tables(self) -> bool:
        """True if the clusters become a column of the input, if that is a table."""
        return not self.lists_problems and (self.format == "airr" or (self.format == "tsv" and not self.is_format_given))

    def read_options(self, options: ClusterOptions) -> ReadOptions:
        """Return how the records are read, with what this output and the options need of them."""
        given = options.alignment_options.read_options
        columns = replace(given.columns, reads_abundances=options.needs_abundances)
        return replace(given, keep_descriptions=self.writes_sequences, rereads_tables=self.may_extend_tables, columns=columns)

    def for_tables(self, tables: Sequence[TableOrigin], are_aligned: bool) -> ClusterSpec:
        """Return the output for records from these tables, none if they are from other files. Raises `InputError` for a format that needs
        tables without them, and for tables with different columns.

        are_aligned: whether records are in the order of the tables, because their distances come from alignments
        """
        if not self.may_extend_tables:
            return self
        if tables and are_aligned:
            check_titles(tables)
            return replace(self, format="airr")
        if self.format == "airr":
            found = "these are no tables" if are_aligned else "known distances are not in their order"
            raise InputError(f"{parameter('format', 'airr')} adds clusters to the tables of the records, and {found}; write tsv")
        return self

    @property
    def outputs(self) -> list[Path | None]:
        """Paths of all files to be written."""
        return [self.path, *(one for one in (self.uc_path, self.representatives_path) if one is not None)]

    @property
    def formats(self) -> list[str]:
        """Formats of all files to be written."""
        return [self.format, *(["uc"] if self.uc_path else []), *(["fasta"] if self.representatives_path else [])]

    @property
    def writes_uc(self) -> bool:
        """True if .uc, which contains alignments, is written."""
        return self.format == "uc" or self.uc_path is not None

    @property
    def writes_sequences(self) -> bool:
        """True if representative sequences are written, with their descriptions."""
        return self.format == "fasta" or self.representatives_path is not None


def companion_cluster_spec(name: str) -> ClusterSpec:
    """Return the spec for a cluster file written in addition to the output of a run.

    Raises `InputError` if the name does not determine a cluster format, or if the format needs sequences.
    """
    format, path = pick_format(name, None, ResultKind.CLUSTERS, parameter("clusters"), unadvised={"fasta"})
    if format == "fasta":
        raise InputError(f"{parameter('clusters', name)}: fasta needs sequences, and there are none; write tsv, csv, uc, parquet or arrow")
    return ClusterSpec(format, path, None, None, container_of(format, path))


def cluster_spec(o: ClusterOptions, has_sequences: bool) -> ClusterSpec:
    """Return the specification of the requested output. Raises `InputError` if two outputs are the same file, or if required sequences are
    missing."""
    chosen, path = pick_output(o.alignment_options.output_options, ResultKind.CLUSTERS)
    beside, others = Path(o.uc) if o.uc else None, Path(o.representatives) if o.representatives else None
    for name, given in (("uc", o.uc), ("representatives", o.representatives)):
        if given == STDIO:
            raise InputError(f"{parameter(name)}: name a file; standard output is for the clusters")
    is_format_given, lists_problems = o.alignment_options.output_options.format is not None, o.verify is not None and not o.fix
    spec = ClusterSpec(chosen, path, beside, others, container_of(chosen, path), is_format_given, lists_problems)
    named = [one.absolute() for one in spec.outputs if one is not None]
    if len(set(named)) < len(named):
        raise InputError(f"-o, {parameter('uc')} and {parameter('representatives')} name the same file; each needs its own")
    if o.levels and chosen not in ("tsv", "microreact"):
        raise InputError(f"{parameter('levels')} writes names of clusters as tsv or microreact; found {chosen}")
    if chosen == "microreact" and not o.levels:
        raise InputError(f"{parameter('format', chosen)} colours the clusters of {parameter('levels')}; give that too")
    if lists_problems and chosen != "tsv":
        raise InputError(
            f"{parameter('verify')} lists problems of clusters as tsv; found {chosen}; with {parameter('fix')} it writes clusters"
        )
    if not has_sequences and spec.writes_sequences:
        what = parameter("representatives") if others else "fasta"
        raise InputError(f"{what} needs sequences, and there are none; give their file too")
    return spec


@dataclass(frozen=True)
class ClusteredRecords:
    """Clusters to be written.

    ids: record ids
    clustering: clusters of the records
    sequences: record sequences; None: only the ids are known
    member_alignments: alignments of the members with their representatives; None: not computed
    are_identities: whether the distances are 1 - identity
    threads: maximum number of threads that read the records' tables again
    cells: the records, if they are cells of the sequences
    """

    ids: Sequence[str]
    clustering: Clustering
    sequences: Inputs | None
    member_alignments: MemberAlignments | None
    are_identities: bool
    threads: int = 1
    cells: Cells | None = None

    @property
    def has_integer_distances(self) -> bool:
        """True if all known distances are integers."""
        return not self.are_identities and are_integers(self.clustering.distances)


def are_integers(distances: Reals) -> bool:
    """Return whether all known distances are integers."""
    known = distances[~np.isnan(distances)]
    return bool((known == np.rint(known)).all())


@contextmanager
def open_cluster_outputs(spec: ClusterSpec, files: OutputFiles) -> Iterator[Callable[[ClusteredRecords], None]]:
    """Open all outputs before any work is done, and yield the function that writes them. `files` commits the outputs."""
    requested = [(spec.format, spec.path), ("uc", spec.uc_path), ("fasta", spec.representatives_path)]
    with ExitStack() as stack:
        streams: list[tuple[str, Path | None, ByteWriter]] = []
        for format, path in requested[:1] + [one for one in requested[1:] if one[1] is not None]:
            stack.enter_context(translate_output_errors(path))
            typed = format == spec.format and spec.container is not None
            streams.append((format, path, stack.enter_context(files.open_binary(path) if typed else files.open_text(path))))

        def write(clustered: ClusteredRecords) -> None:
            for format, path, stream in streams:
                with translate_output_errors(path):
                    _write_format(format, stream, clustered, spec.container)

        yield write


def _write_format(format: str, stream: ByteWriter, clustered: ClusteredRecords, container: str | None) -> None:
    if format in ("tsv", "csv"):
        write_table(stream, clustered.ids, clustered.clustering, clustered.has_integer_distances, "\t" if format == "tsv" else ",")
    elif format == "fasta":
        assert clustered.sequences is not None  # cluster_spec() requires them
        write_representatives(stream, clustered.sequences.queries, clustered.sequences.alphabet, clustered.clustering)
    elif format == "airr":
        assert clustered.sequences is not None  # ClusterSpec.for_tables() requires their tables
        tables = clustered.sequences.tables
        cells = None if clustered.cells is None else clustered.cells.numbers_by_file(len(tables))
        write_clustered_tables(stream, tables, clustered.clustering.labels, clustered.threads, cells)
    elif format == "uc":
        lengths = None if clustered.sequences is None else clustered.sequences.queries.lengths
        identities = cigars = is_reverse_complement = None
        if (members := clustered.member_alignments) is not None:
            identities, cigars, is_reverse_complement = members.identities, members.cigars, members.is_reverse_complement
        elif clustered.are_identities:
            identities = 1 - clustered.clustering.distances
        write_uc(stream, clustered.ids, clustered.clustering, lengths, identities, cigars, is_reverse_complement)
    else:
        assert container is not None  # pick_format() knows no other formats of clusters
        write_typed_table(stream, container, clustered.ids, clustered.clustering, clustered.has_integer_distances)


_MAX_SAMPLED_RECORDS = 10_000
"""Maximum number of records used to extrapolate the output size."""


def describe_clusters_size(spec: ClusterSpec, source: ClusterSource) -> str:
    """Return the human-readable total size of all outputs, computed as if each record were its own cluster.

    The size of a table hardly depends on the clusters; the actual size of other files is smaller.
    """
    ids, sequences = source.ids, source.inputs
    if spec.lists_problems:
        return "a row for each problem"
    if spec.format == "airr":
        assert sequences is not None
        width = len(str(len(ids))) + 1
        return f"about {format_bytes(sum(len(one.header) + one.nbytes + width * one.record_count for one in sequences.tables))}"
    count = min(len(ids), _MAX_SAMPLED_RECORDS)
    numbers = np.arange(count, dtype=np.int64)
    sample = None
    if sequences is not None:
        subset = sequences.queries.select(numbers)
        sample = replace(sequences, queries=subset, targets=subset)
    clustered = ClusteredRecords(ids[:count], Clustering(numbers, numbers, np.zeros(count)), sample, None, source.are_identities)
    stream = CountingStream()
    for format in spec.formats:
        _write_format(format, stream, clustered, spec.container)
    size = format_bytes(round(stream.size * len(ids) / max(1, count)))
    return f"about {size}" + (" at most" if {"uc", "fasta"} & set(spec.formats) else "")
