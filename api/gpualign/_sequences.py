"""Sequences, as given in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast, overload

import numpy as np
import numpy.typing as npt

from gpualign._execution_options import (
    LOG,
    checked_choice,
    checked_flag,
    checked_items,
    checked_names,
    checked_titles,
    is_iterable,
    is_missing,
)
from gpualign._scoring import Scoring
from gpualign.core.common.arrays import Integers
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.paths import open_file
from gpualign.core.sequences.alphabet import PROTEIN, Alphabet, checked_alphabet_name
from gpualign.core.sequences.annotations import AnnotationColumn
from gpualign.core.sequences.ids import id_text
from gpualign.core.sequences.loading import RawRecords, count_letters, encode_all, read_raw_records
from gpualign.core.sequences.record_tables import TableColumns
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.core.sequences.string_column import StringColumn
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.sequence_loading import Inputs, ReadOptions, describe_table

if TYPE_CHECKING:
    import pandas as pd

StrPath: TypeAlias = "str | PathLike[str]"
AnnotationsInput: TypeAlias = "Mapping[str, Iterable[str]] | pd.DataFrame"
"""A text for each record, by title."""
RecordInput: TypeAlias = Any
"""str, bytes, or an object with `.seq` and `.id`, such as Biopython's SeqRecord."""

_READING_ARGUMENTS = "degap", "unknown", "drop_empty", "allow_duplicates"
"""Arguments of `read` that functions which read a file themselves do not have."""

READ_DEFAULTS = ReadOptions(columns=TableColumns(reads_abundances=True, reads_v_calls=True))


@contextmanager
def arguments_of_read() -> Iterator[None]:
    """Extend an `InputError` that advises an argument which only `read` has: say that `read` has it."""
    try:
        yield
    except InputError as error:
        advised = [name for name in _READING_ARGUMENTS if parameter(name)[:-1] in error.message]
        if not advised:
            raise
        word = "argument" if len(advised) == 1 else "arguments"
        raise InputError(f"{error.message} (gpualign.read has the {word} {' and '.join(advised)}, for files)") from None


class Sequences:
    """Encoded DNA or protein sequences with ids, in one alphabet. Immutable, so that any number of calls can share them.

    `sequences[i]` is the text of a record, in upper case; `sequences[start:stop]` is a `Sequences` with only these records.

    records: non-empty str, bytes or SeqRecord objects, in upper or lower case
    ids: record ids (default: the SeqRecord ids, else 0, 1, ...)
    alphabet: "dna", "protein" or "auto" (determined from the letters)
    annotations: a text for each record, by title, as a dict of lists or a pandas.DataFrame: columns for `same` in `pairs` and `cluster`. If
        the index of a DataFrame has the ids of the records, each record gets the row with its id; otherwise rows are in the order of the
        records.

    Raises `InputError` for letters that belong to no alphabet, for repeated ids, and for annotations that are not one per record.

    >>> genes = Sequences(["ACGT", "AGT"])
    >>> len(genes), genes.ids, genes.lengths.tolist(), genes.alphabet
    (2, ['0', '1'], [4, 3], 'dna')
    """

    def __init__(
        self,
        records: Iterable[RecordInput],
        ids: Iterable[str] | None = None,
        alphabet: str = "auto",
        annotations: AnnotationsInput | None = None,
    ) -> None:
        raw = raw_records(records, ids)
        with arguments_of_read():
            chosen, (encoded,) = encode_all([raw], checked_alphabet_name(alphabet))
        if annotations is not None:
            named = ids is None and _has_labels(records)
            encoded = replace(encoded, annotations=_annotation_columns(_rows_of_ids(annotations, raw.ids, named), len(encoded)))
        self._set_encoded(encoded, chosen)

    def _set_encoded(self, encoded: SequenceSet, code: Alphabet) -> None:
        self.set = encoded
        """Encoded sequences, as used in the core."""
        self.code = code
        """Alphabet: letters and their codes."""

    @classmethod
    def from_encoded(cls, encoded: SequenceSet, code: Alphabet) -> Sequences:
        """Wrap an encoded sequence set in `Sequences`. code: its alphabet."""
        made = cls.__new__(cls)
        made._set_encoded(encoded, code)
        return made

    @property
    def ids(self) -> list[str]:
        """Record ids, in input order."""
        return list(self.set.ids)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of letters in each record: int64[records]."""
        lengths: npt.NDArray[np.int64] = self.set.lengths.copy()
        return lengths

    @property
    def alphabet(self) -> str:
        """Name of the alphabet: "dna" or "protein"."""
        return self.code.name

    def __len__(self) -> int:
        return len(self.set)

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, item: int) -> str: ...

    @overload
    def __getitem__(self, item: slice | Sequence[int] | npt.NDArray[Any]) -> Sequences: ...

    def __getitem__(self, item: int | slice | Sequence[int] | npt.NDArray[Any]) -> str | Sequences:
        """Return the text of a record, in upper case, or the `Sequences` of a slice, of a list of numbers in its order, or of a mask
        (bool[records]). Raises `InputError` if there are none, or one twice, and `IndexError` for numbers out of range."""
        if isinstance(item, slice) or is_iterable(item):
            return Sequences.from_encoded(self.set.select(_selected_records(cast("slice | Iterable[int]", item), len(self))), self.code)
        number = range(len(self))[cast("int", item)]
        return self.code.decoding[self.set.codes[self.set.offsets[number] : self.set.offsets[number + 1]]].tobytes().decode()

    def __repr__(self) -> str:
        return f"<Sequences: {len(self):,} {self.alphabet}, {int(self.set.offsets[-1]):,} letters>"


def _selected_records(selection: slice | Iterable[int], count: int) -> Integers:
    """Return the numbers of the selected records of `count` records: int64[selected]. Raises the errors of `Sequences.__getitem__`."""
    every = np.arange(count, dtype=np.int64)
    if isinstance(selection, slice):
        records = every[selection]
    else:
        chosen = np.asarray(selection)
        if chosen.ndim != 1:
            raise InputError(f"a selection of {chosen.ndim} dimensions; expected a list of numbers, or a mask")
        records = every[chosen] if len(chosen) else every[:0]
    if not len(records):
        raise InputError("a selection without sequences")
    if len(np.unique(records)) < len(records):
        raise InputError("a selection with the same record twice")
    return records


SequencesInput: TypeAlias = "Sequences | StrPath | BinaryIO | Iterable[RecordInput]"
"""Source of sequences: `Sequences`, a FASTA or FASTQ file as a path or open in binary mode, or records."""


def read(
    source: StrPath | BinaryIO,
    alphabet: str = "auto",
    degap: bool = False,
    allow_duplicates: bool = False,
    drop_empty: bool = False,
    unknown: str | None = None,
    id_column: str | None = None,
    sequence_column: str | None = None,
    locus: str | Sequence[str] = (),
    annotations: str | Iterable[str] | None = None,
) -> Sequences:
    """Read a file of sequences, plain or compressed: FASTA, FASTQ, or a table of immune receptors (AIRR).

    source: path of the file, or the file open in binary mode
    alphabet: "dna", "protein" or "auto" (determined from the letters)
    degap: whether gaps (- and .) are removed
    allow_duplicates: whether repeated ids are numbered
    drop_empty: whether records without letters are left out
    unknown: "n" (for DNA) or "x" (for proteins): letters outside the alphabet, including "." and "?", are read as this letter; None: such
        letters are errors
    id_column, sequence_column: titles of the columns with ids and with sequences, for a table other than those of AIRR
    locus: for a table of receptors: read only the rows of this locus, such as "TRB", or of these loci, as in `["IGK", "IGL"]`; (): all rows
    annotations: titles of other columns of a table to read, as a list or delimited by commas, for `same` in `pairs` and `cluster`

    Returns `Sequences`. Raises an `InputError` that names the file, the record and the reason.
    """
    if unknown is not None:
        checked_choice("unknown", unknown, ("n", "x"))
    loci = tuple(name.upper() for name in checked_titles("locus", locus, "loci"))
    titles = checked_titles("annotations", annotations)
    for name, title in (("id_column", id_column), ("sequence_column", sequence_column)):
        if title is not None and not isinstance(title, str):
            raise InputError(f"{name}: expected the title of a column; found {title!r}")
    options = ReadOptions(
        checked_alphabet_name(alphabet),
        checked_flag("allow_duplicates", allow_duplicates),
        checked_flag("degap", degap),
        unknown=unknown,
        drop_empty=checked_flag("drop_empty", drop_empty),
        columns=replace(READ_DEFAULTS.columns, id_column=id_column, sequence_column=sequence_column, same=titles, locus=loci),
    )
    threads = Resources().host_threads
    raw = _read_raw_records(source, threads, options)
    chosen, (encoded,) = encode_all([raw], checked_alphabet_name(alphabet), threads=threads)
    return Sequences.from_encoded(encoded, chosen)


def checked_path(name: str, value: object) -> str:
    """Return the path as text. Raises `InputError` for anything else, such as a number, which `open` would treat as a descriptor."""
    if not isinstance(value, (str, PathLike)) or not isinstance(path := fspath(value), str):
        raise InputError(f"{name}: expected text or a path; found {type(value).__name__}")
    return path


def _read_raw_records(source: StrPath | BinaryIO, threads: int, options: ReadOptions) -> RawRecords:
    if hasattr(source, "read"):
        return _read_stream(cast("BinaryIO", source), checked_stream_name(source), options, threads)
    name = checked_path("source", source)
    with open_file(name) as stream:
        return _read_stream(stream, name, options, threads)


def _read_stream(stream: BinaryIO, name: str, options: ReadOptions, threads: int) -> RawRecords:
    raw = read_raw_records(
        stream,
        name,
        options.allow_duplicates,
        options.drop_empty,
        options.degap,
        options.keep_descriptions,
        unknown=options.unknown_letters(),
        threads=threads,
        columns=options.columns,
    )
    if raw.table is not None:
        LOG.note(f"{name}: {describe_table(raw.table)}")
    return raw


def _annotation_columns(annotations: Any, count: int) -> dict[str, AnnotationColumn]:
    """Return the annotations by title; a missing cell becomes an empty text. count: number of records

    Raises `InputError` for anything but columns of `count` texts.
    """
    if not isinstance(annotations, Mapping) and not hasattr(annotations, "iloc"):
        raise InputError(f"annotations: expected a dict of lists or a DataFrame; found {type(annotations).__name__}")
    columns = {}
    for title, cells in annotations.items():
        texts = ["" if is_missing(cell) else str(cell) for cell in checked_items(f"annotations {title!a}", cells, "texts")]
        if len(texts) != count:
            raise InputError(f"annotations {title!a}: {len(texts):,} texts for {count:,} sequences")
        columns[str(title)] = AnnotationColumn.from_texts(texts)
    return columns


def _has_labels(table: Any) -> bool:
    """Return whether an object is a Series or DataFrame with labels other than pandas' default index."""
    return hasattr(table, "iloc") and not is_default_index(getattr(table, "index", None))


def _rows_of_ids(annotations: Any, ids: Iterable[str], named_by_series: bool) -> Any:
    """Return the annotations, with the rows of a DataFrame in the order of the records if its index has their ids.

    named_by_series: whether the ids are the labels of a Series. Otherwise numbers in the index are not ids: they may be what is left of
        pandas' default index after some rows were dropped.

    Raises `InputError` if the index has only some of the ids, or repeats labels.
    """
    if not _has_labels(annotations) or not (named_by_series or all(isinstance(label, str) for label in annotations.index)):
        return annotations
    labels, names = list(map(id_text, annotations.index)), list(ids)
    rows = {label: row for row, label in enumerate(labels)}
    missing = [name for name in names if name not in rows]
    if labels == names or len(missing) == len(names):
        return annotations
    if missing or len(rows) < len(labels):
        problem = f"no row {missing[0]!r}" if missing else "the same row twice"
        raise InputError(f"annotations: {problem} in the index of the DataFrame, which has ids of the sequences")
    return annotations.iloc[[rows[name] for name in names]]


def checked_stream_name(stream: Any) -> str:
    """Return the name of an open file for messages. Raises `InputError` for a file opened in text mode, closed, or not for reading."""
    name = getattr(stream, "name", None)
    name = name if isinstance(name, str) else "a stream"
    try:
        is_text = isinstance(stream.read(0), str)
    except (OSError, TypeError, ValueError):
        raise InputError(f"{name}: closed, or not open for reading; open it with mode 'rb'") from None
    if is_text:
        raise InputError(f"{name}: opened as text; open it with mode 'rb'")
    return name


def is_default_index(index: Any) -> bool:
    """Return whether the index of a Series or DataFrame is pandas' default index: 0, 1, 2, ..."""
    return getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1


_NO_ID = "<unknown id>"
"""Id of a Biopython SeqRecord that was made without one."""


def letters_of_record(record: Any) -> bytes | None:
    """Return the letters of a record, none if a SeqRecord does not know them; None for anything but text and objects of Biopython."""
    text = getattr(record, "seq", record)
    if isinstance(text, str):
        return text.encode("utf-8", "surrogateescape")
    if text is None and record is not None:
        return b""
    if isinstance(text, PathLike) or not (isinstance(text, (bytes, bytearray)) or hasattr(text, "__bytes__")):  # as Biopython's Seq has
        return None
    try:
        return bytes(text)
    except (TypeError, ValueError):  # Biopython's UndefinedSequenceError
        return b""


def id_of_record(record: Any) -> str | None:
    """Return the id of a SeqRecord; None if it has none, and for anything else."""
    name = getattr(record, "id", None)
    return None if name in (None, "", _NO_ID) else str(name)


def raw_records(records: Iterable[RecordInput], ids: Iterable[str] | None = None) -> RawRecords:
    """Return the letters and ids of in-memory records. Raises `InputError` for empty records, repeated ids and non-records."""
    if not hasattr(records, "iloc") and letters_of_record(records) is not None:
        single = "text" if isinstance(records, (str, bytes)) else type(records).__name__
        raise InputError(f"expected a list of sequences, found a single {single}; put it in a list")
    if isinstance(records, Mapping):
        raise InputError("expected a list of sequences, found a dict; with its keys as ids: Sequences(d.values(), ids=d)")
    if hasattr(records, "iloc") and getattr(records, "ndim", 1) != 1:
        raise InputError("expected a list of sequences, found a DataFrame; give the column that has them, such as frame['seq']")
    if not is_iterable(records):
        hint = "; name this argument: scoring=..." if isinstance(records, Scoring) else ""
        raise InputError(f"expected a file, sequences or a list of them; found {type(records).__name__}{hint}")
    if ids is None and hasattr(records, "iloc") and not is_default_index(index := getattr(records, "index", None)):  # a Series
        ids = index
    names: list[str] = []
    letters: list[bytes] = []
    for number, record in enumerate(records):
        if (text := letters_of_record(record)) is None:
            raise InputError(f"record {number}: expected str, bytes or SeqRecord; found {type(record).__name__}")
        letters.append(text)
        names.append(id_of_record(record) or str(number))
        if not letters[-1]:
            raise InputError(f"record {number} has no letters")
    if not letters:
        raise InputError("no sequences")
    if ids is not None:
        names = list(checked_names("ids", ids, "ids"))
    if len(names) != len(letters):
        raise InputError(f"{len(names):,} ids for {len(letters):,} sequences")
    seen: set[str] = set()
    for number, name in enumerate(names):
        if not name:
            raise InputError(f"record {number} has an empty id; give it one")
        if name in seen:
            raise InputError(f"two sequences have the same id {name!r}; make ids unique")
        seen.add(name)
    return RawRecords("sequences", StringColumn.from_strings(names), StringColumn.from_bytes(letters), [])


@arguments_of_read()
def encode_inputs(
    queries: SequencesInput, targets: SequencesInput | None, threads: int, read_options: ReadOptions = READ_DEFAULTS
) -> Inputs:
    """Return queries and targets in one alphabet, determined from the letters of both if neither is encoded. If `targets` is None, there is
    only one set.

    threads: maximum number of threads
    read_options: how files are read

    Raises `InputError` for different alphabets, for input that looks like DNA when the other set is encoded protein, and for records in
    memory that lack a column in which records must agree.
    """
    sources = [queries] if targets is None or targets is queries else [queries, targets]
    made = [one for one in sources if isinstance(one, Sequences)]
    if len({one.alphabet for one in made}) > 1:
        raise InputError("the queries and the targets are of different alphabets, dna and protein")
    raw = [_raw_records_of(one, threads, read_options) for one in sources if not isinstance(one, Sequences)]
    counts = count_letters(raw, name_files=False) if made else None
    if counts is not None and made[0].code is PROTEIN and counts.first_dna_record and not counts.first_protein_record:
        raise InputError(
            f"{counts.first_dna_record} looks like DNA, and the other sequences are proteins: sw searches them with translate;"
            ' if all are proteins, read these with alphabet="protein"'
        )
    code, encoded = encode_all(raw, made[0].alphabet if made else "auto", threads=threads) if raw else (made[0].code, [])
    waiting = iter(encoded)
    sets = [one.set if isinstance(one, Sequences) else next(waiting) for one in sources]
    for source, one in zip(sources, sets, strict=True):
        if not is_file(source):
            _check_annotations(one, read_options.columns.same)
    return Inputs(sets[0], sets[-1], code, "as they were read")


def is_file(source: object) -> bool:
    """Return whether an argument is a path or an open file, and not data in memory."""
    return isinstance(source, (str, PathLike)) or hasattr(source, "read")


def _check_annotations(records: SequenceSet, titles: Iterable[str]) -> None:
    """Raise `InputError` if records in memory lack a column in which they must agree."""
    for title in titles:
        if title not in records.annotations:
            raise InputError(
                f"{parameter('same')}: these sequences have no column {title!r}; read(file, annotations=...) keeps columns of a table,"
                " and Sequences(..., annotations=...) takes them"
            )


@arguments_of_read()
def encode_translated_inputs(
    queries: SequencesInput,
    targets: SequencesInput | None,
    translated_sets: str,
    threads: int,
    read_options: ReadOptions = READ_DEFAULTS,
) -> Inputs:
    """Return queries and targets for a translated search.

    translated_sets: sets to translate: "query", "target" or "both"
    threads: maximum number of threads
    read_options: how files are read

    Raises the same errors as `encode_inputs`.
    """
    from gpualign.jobs.translated_search import alphabet_of_set, encode_translated_set, make_inputs

    sources = [queries] if targets is None or targets is queries else [queries, targets]
    sets = []
    for side, one in enumerate(sources):
        if not isinstance(one, Sequences):
            raw = _raw_records_of(one, threads, read_options)
            sets.append(encode_translated_set([raw], side, translated_sets, threads=threads))
        elif one.code is alphabet_of_set(side, translated_sets):
            sets.append(one.set)
        else:
            raise InputError(
                f"translate={translated_sets!r}: expected {'queries' if side == 0 else 'targets'} of the other alphabet;"
                f" found {one.alphabet}"
            )
    return make_inputs(sets, translated_sets)


def _raw_records_of(source: SequencesInput, threads: int, read_options: ReadOptions) -> RawRecords:
    if is_file(source):
        return _read_raw_records(cast("StrPath | BinaryIO", source), threads, read_options)
    return raw_records(cast("Iterable[RecordInput]", source))
