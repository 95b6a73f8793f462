"""Writes clusters as a text table, as typed columns and as .uc, and representatives as FASTA. Streams take bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from gpualign.core.clustering.clusters import Clustering
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.units import FRACTION_DECIMALS
from gpualign.core.output.listed_rows import write_listed_rows
from gpualign.core.output.writer import ByteWriter, write_lines
from gpualign.core.results._rows import Column
from gpualign.core.sequences.alphabet import Alphabet
from gpualign.core.sequences.ids import SampleNames
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.core.sequences.string_column import StringColumn

_ROWS_PER_BLOCK = 1 << 16


def write_table(stream: ByteWriter, ids: Sequence[str], clustering: Clustering, are_counts: bool, separator: str = "\t") -> None:
    """Write one row per record, in input order: id, cluster (from 1), cluster size, representative, distance to the representative (nan if
    unknown).

    are_counts: whether distances are counts; otherwise they have six decimals
    separator: column separator; with a comma, ids are quoted
    """
    names = StringColumn.from_strings(ids)
    if separator == ",":
        names = names.csv_quoted
    labels, sizes = clustering.labels, np.asarray(clustering.sizes, dtype=np.int64)
    stream.write((separator.join(("id", "cluster", "size", "representative", "distance")) + "\n").encode())
    for start in range(0, len(labels), _ROWS_PER_BLOCK):
        records = np.arange(start, min(len(labels), start + _ROWS_PER_BLOCK), dtype=np.int64)
        clusters = labels[records].astype(np.int64)
        columns = [
            Column.listed_text(names.text, names.offsets, records),
            Column.target_numbers(clusters + 1),
            Column.target_numbers(sizes[clusters]),
            Column.listed_text(names.text, names.offsets, clustering.representatives[clusters].astype(np.int64)),
            Column.pair_fixed(clustering.distances[None, records], 0 if are_counts else FRACTION_DECIMALS),
        ]
        write_listed_rows(stream, columns, separator, len(records))


def write_typed_table(stream: ByteWriter, container: str, ids: Sequence[str], clustering: Clustering, are_counts: bool) -> None:
    """Write the same table as `write_table` as typed columns, through pyarrow.

    container: a container from core/output/arrow.py
    are_counts: whether distances are counts, written as int32; otherwise they are written as float64

    Unknown distances are written as null.
    """
    from gpualign.core.output.arrow import TableWriter, TypedColumn

    names, labels = SampleNames(list(ids)), clustering.labels
    counts = TypedColumn("cluster", np.dtype(np.int32)), TypedColumn("size", np.dtype(np.int32))
    distance = TypedColumn("distance", np.dtype(np.int32 if are_counts else np.float64))
    table = TableWriter(stream, container, [TypedColumn("id", ids=names), *counts, TypedColumn("representative", ids=names), distance])
    table.begin()
    records = np.arange(len(labels), dtype=np.int64)
    sizes = np.asarray(clustering.sizes)[labels]
    table.write([records, labels + 1, sizes, clustering.representatives[labels], clustering.distances])
    table.finish()


def write_uc(
    stream: ByteWriter,
    ids: Sequence[str],
    clustering: Clustering,
    lengths: Integers | None,
    identities: Reals | None,
    cigars: Sequence[str] | None,
    is_reverse_complement: npt.NDArray[np.bool_] | None = None,
) -> None:
    """Write the ten columns of usearch and vsearch: for each cluster, an S line for the representative and H lines for the remaining
    records; C lines follow at the end.

    lengths: lengths of the records
    identities: identities to the representatives, from 0 to 1; nan if unknown
    cigars: CIGARs in the form that .uc files use
    is_reverse_complement: whether each record is aligned as its reverse complement; None: no record is

    Unknown values (None) are written as *.
    """
    labels = clustering.labels
    seeds, sizes = clustering.representatives.tolist(), clustering.sizes.tolist()
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])

    def length(record: int) -> str:
        return "*" if lengths is None else str(int(lengths[record]))

    def percent(record: int) -> str:
        return "*" if identities is None or np.isnan(identities[record]) else f"{100 * identities[record]:.1f}"

    def rows() -> Iterator[str]:
        for cluster, seed in enumerate(seeds):
            yield f"S\t{cluster}\t{length(seed)}\t*\t*\t*\t*\t*\t{ids[seed]}\t*\n"
            for record in members[cluster].tolist():
                if record != seed:
                    cigar = "*" if cigars is None else cigars[record]
                    strand = "-" if is_reverse_complement is not None and is_reverse_complement[record] else "+"
                    yield f"H\t{cluster}\t{length(record)}\t{percent(record)}\t{strand}\t0\t0\t{cigar}\t{ids[record]}\t{ids[seed]}\n"
        for cluster, seed in enumerate(seeds):
            yield f"C\t{cluster}\t{sizes[cluster]}\t*\t*\t*\t*\t*\t{ids[seed]}\t*\n"

    write_lines(stream, rows())


def write_representatives(stream: ByteWriter, sequences: SequenceSet, alphabet: Alphabet, clustering: Clustering) -> None:
    """Write the representatives as FASTA in cluster order, with descriptions, each sequence on one line, in upper case."""
    chosen = sequences.select(clustering.representatives)
    described = chosen.descriptions or [""] * len(chosen)

    def rows() -> Iterator[str]:
        for k, (name, description) in enumerate(zip(chosen.ids, described, strict=True)):
            codes = chosen.codes[chosen.offsets[k] : chosen.offsets[k + 1]]
            yield f">{name}{' ' if description else ''}{description}\n{alphabet.decoding[codes].tobytes().decode()}\n"

    write_lines(stream, rows())
