"""From open files to encoded sequences, and what is said about them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import BinaryIO, TypeAlias

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter, quoted
from gpualign.core.files.decompression import is_regular
from gpualign.core.scoring.scoring import Scoring, ScoringOptions, is_of_proteins, make_scoring
from gpualign.core.sequences.alphabet import DNA, PROTEIN, Alphabet, MixedAlphabets
from gpualign.core.sequences.loading import (
    Gaps,
    LowerCase,
    RawRecords,
    UnknownLetters,
    count_letters,
    encode_all,
    read_raw,
    unique_in_files,
)
from gpualign.core.sequences.sequence_set import SequenceSet, join_sets
from gpualign.jobs.reporter import SILENT, Reporter

Opened: TypeAlias = tuple[BinaryIO, str]
"""A binary stream, and its name for messages."""

BY_LETTERS = "by its letters"
"""How an alphabet was chosen that nobody named."""

_MOST_UNKNOWN = 0.1
"""Largest fraction of unknown letters; more are those of another alphabet."""

READ_AS_PROTEIN = f"its letters are read as amino acids, as {parameter('alphabet', 'protein')} says"


@dataclass(frozen=True)
class ReadOptions:
    """How sequences are read.

    alphabet: "auto", "dna" or "protein"
    allow_duplicates: repeated ids are numbered
    degap: gaps are removed
    described: with what follows their ids
    mask_lower: letters in lower case as N or X
    unknown: letters of no alphabet as "n" of DNA or "x" of proteins; None: they are refused
    drop_empty: records without letters are left out
    strict: a file is refused whose last line has no line end
    """

    alphabet: str = "auto"
    allow_duplicates: bool = False
    degap: bool = False
    described: bool = False
    mask_lower: bool = False
    unknown: str | None = None
    drop_empty: bool = False
    strict: bool = False

    def unknown_letters(self) -> UnknownLetters | None:
        """Replaces the letters of one file. Raises `InputError` for the letter of another alphabet."""
        if self.unknown is None:
            return None
        of = DNA if self.unknown == "n" else PROTEIN
        if self.alphabet not in ("auto", of.name):
            unknown, alphabet = parameter("unknown", self.unknown), parameter("alphabet", self.alphabet)
            raise InputError(f"{unknown} is a letter of {of.name}; it cannot be combined with {alphabet}")
        return UnknownLetters(of)


@dataclass(frozen=True)
class Inputs:
    """Sequences in one alphabet; of one set `targets is queries`. how: by what the alphabet was chosen, for people. added: whether the
    queries are the first of the targets, to which others have been added. masked: whether letters in lower case were read as N or X."""

    queries: SequenceSet
    targets: SequenceSet
    alphabet: Alphabet
    how: str
    added: bool = False
    masked: bool = False

    @property
    def one_set(self) -> bool:
        return self.targets is self.queries

    @property
    def count(self) -> int:
        """Records."""
        return len(self.targets) + (0 if self.one_set or self.added else len(self.queries))


def read_inputs(opened: Iterable[Iterable[Opened]], options: ReadOptions, notes: Reporter = SILENT, local: bool = False) -> Inputs:
    """Read one set, or queries and targets, of a file or several each; each file is taken when the one before has been read.

    local: targets may hold empty records, which are left out: a database is often somebody else's file. Raises `InputError`.
    """
    raw: list[RawRecords] = []
    ends = []
    for files in opened:
        raw.extend(read_set(files, options, local and bool(raw), notes))
        ends.append(len(raw))
    if options.alphabet == PROTEIN.name and (record := count_letters(raw).dna):
        notes.note(f"{record} looks like DNA; {READ_AS_PROTEIN}")
    masked = mask_lower(raw, options, notes)
    try:
        chosen, encoded = encode_all(raw, options.alphabet, masked)
    except MixedAlphabets:
        if local and len(ends) > 1:
            _check_sides(raw[: ends[0]], raw[ends[0] :])
        raise
    del raw
    sets = [join_sets(encoded[start:end]) for start, end in pairwise([0, *ends])]
    if chosen is PROTEIN:
        note_stops(sets, notes)
    return Inputs(sets[0], sets[-1], chosen, f"by {parameter('alphabet')}" if options.alphabet != "auto" else BY_LETTERS, masked=masked)


def _check_sides(queries: list[RawRecords], targets: list[RawRecords]) -> None:
    """Raises `InputError` where all that is nucleotides of a search is on one side, and all that is proteins on the other."""
    of_queries, of_targets = count_letters(queries), count_letters(targets)
    for dna, protein, side in ((of_queries, of_targets, "query"), (of_targets, of_queries, "target")):
        if dna.protein is None and protein.dna is None:
            raise InputError(
                f"{dna.dna} looks like DNA, {protein.protein} like protein: search with {parameter('translate', side)}, or if all are"
                f" proteins, say {parameter('alphabet', 'protein')}"
            )


def read_set(files: Iterable[Opened], options: ReadOptions, allow_empty: bool, notes: Reporter) -> list[RawRecords]:
    """Read one set, of a file or several, and say what is out of the ordinary. allow_empty: leave records without letters out. Raises
    `InputError`."""
    some = [_read_file(one, options, notes, allow_empty or options.drop_empty) for one in files]
    return unique_in_files(some, options.allow_duplicates) if len(some) > 1 else some


def _read_file(opened: Opened, options: ReadOptions, notes: Reporter, allow_empty: bool) -> RawRecords:
    stream, source = opened
    unknown = options.unknown_letters()
    raw = read_raw(
        stream, source, options.allow_duplicates, allow_empty, options.degap, options.described, encode_ahead=True, unknown=unknown
    )
    check_end(stream, source, raw.unended, options, notes)
    if raw.listed:
        notes.note(f"{source}: a list of {len(raw.ids):,} sequences, one per line, which are their own ids")
    if raw.empty:
        notes.note(f"{source}: left out {describe_empty(raw.empty)}")
    _note_gaps(raw, notes)
    return raw


def check_end(stream: BinaryIO, source: str, unended: str | None, options: ReadOptions, notes: Reporter) -> None:
    """Say of a pipe, or whatever else is no regular file, that its last line has no line end, as where the writer was stopped; unended: the
    last id then. Raises `InputError` if the options are strict, of files too."""
    if unended is None or (not options.strict and is_regular(stream)):
        return
    what = f"{source}: the last line has no line end, so record {quoted(unended)}, the last, may be cut"
    if options.strict:
        raise InputError(f"{what}; give the whole input, with a line end, or leave {parameter('strict')} out")
    notes.note(f"{what}; {parameter('strict')} refuses such input")


def add_targets(inputs: Inputs) -> Inputs:
    """Of queries and targets that were read: the queries among themselves as well as with the targets."""
    targets = join_sets([inputs.queries, inputs.targets])
    return Inputs(targets.first(len(inputs.queries)), targets, inputs.alphabet, inputs.how, added=True, masked=inputs.masked)


def read_with_index(queries: Iterable[Opened], index: str, options: ReadOptions, notes: Reporter = SILENT) -> Inputs:
    """Read queries, of a file or several, for an indexed database, the file `index`. Raises `InputError`."""
    from gpualign.core.sequences.database_index import open_index

    targets, alphabet = open_index(index)
    if options.alphabet not in ("auto", alphabet.name):
        raise InputError(f"{parameter('alphabet', options.alphabet)}: {index} is an index of {alphabet.name}")
    raw = read_set(queries, options, False, notes)
    found = count_letters(raw)
    if alphabet is PROTEIN and found.dna and not found.protein and options.alphabet == "auto":
        raise InputError(
            f"{found.dna} looks like DNA, and {index} is an index of proteins: translate the queries with"
            f" {parameter('translate', 'query')}, or search an index of DNA; if they are proteins, say {parameter('alphabet', 'protein')}"
        )
    masked = mask_lower(raw, options, notes)
    try:
        read = join_sets(encode_all(raw, alphabet.name, masked)[1])
    except InputError as error:
        if alphabet is DNA and found.protein:
            hint = f"proteins are searched in an index of proteins, or with {parameter('translate', 'target')}"
            raise InputError(f"{error.message}; {index} is an index of DNA: {hint}") from None
        raise
    if alphabet is PROTEIN:
        note_stops([read, targets], notes)
    return Inputs(read, targets, alphabet, "by the index", masked=masked)


def scoring_of(inputs: Inputs, options: ScoringOptions, local: bool = False) -> Scoring:
    """The scoring of what was read. Raises `InputError`, as `make_scoring` does, and for a matrix of amino acids where the letters alone
    say that these are DNA."""
    scoring = make_scoring(inputs.alphabet, options, [inputs.queries, inputs.targets], local)
    if inputs.how == BY_LETTERS and inputs.alphabet is DNA and options.matrix is not None and is_of_proteins(options.matrix):
        raise InputError(
            f"matrix {options.matrix.name} is of amino acids, and the letters of {inputs.queries.source} are those of DNA: if they are "
            f"proteins, say {parameter('alphabet', 'protein')}; else leave {parameter('matrix')} out, or name one of nucleotides"
        )
    return scoring


def _note_gaps(raw: RawRecords, notes: Reporter) -> None:
    if raw.gaps.letters:
        notes.note(f"{raw.source}: {describe_gaps(raw.gaps)}")
    if raw.unknown is not None and raw.unknown.letters:
        notes.note(describe_unknown(raw.unknown, raw.source))


def note_stops(proteins: Iterable[SequenceSet], notes: Reporter) -> None:
    """Tell of the records of all these sets that end in a stop, in one note."""
    stop = PROTEIN.letters.index("*")
    count = total = 0
    first = ""
    for some in proteins:
        total += len(some)
        if some.counts is not None and not some.counts[stop]:
            continue  # known without touching an index
        ended = np.flatnonzero(some.codes[some.offsets[1:] - 1] == stop)
        if len(ended) and not count:
            record = int(ended[0])
            first = f"record {some.ids[record]!r} of {some.file_of(record)}"
        count += len(ended)
    if count:
        which = f"ends in *, the sign of a stop codon, {first}" if count == 1 else f"end in *, the sign of a stop codon, {first} the first"
        notes.note(f"{count:,} of {total:,} protein records {which}; * is compared like a letter; to remove it: sed '/^>/!s/\\*$//' FILE")


def mask_lower(raw: Iterable[RawRecords], options: ReadOptions, notes: Reporter) -> bool:
    """Whether letters in lower case are to be masked, and are there; notes how many."""
    if not options.mask_lower:
        return False
    lower = LowerCase()
    for one in raw:
        lower.take(one.ids, one.letters)
    notes.note(describe_lower(lower))
    return lower.letters > 0


def describe_lower(lower: LowerCase) -> str:
    """Report of the letters in lower case that were masked."""
    text = f"masked {lower.letters:,} of {lower.total:,} letters, those in lower case"
    if not lower.whole:
        return text
    who = f"record {lower.whole[0]!r} is" if len(lower.whole) == 1 else f"{len(lower.whole):,} records, {lower.whole[0]!r} the first, are"
    return f"{text}; {who} masked throughout"


def describe_gaps(gaps: Gaps) -> str:
    """Report of the gaps that were removed."""
    return f"removed gaps, {gaps.letters:,} in {gaps.records:,} {'record' if gaps.records == 1 else 'records'}"


def describe_unknown(unknown: UnknownLetters, source: str) -> str:
    """Report of the letters that were replaced. Raises `InputError` where so many letters are unknown that they are of another alphabet."""
    if unknown.letters > _MOST_UNKNOWN * unknown.total:
        part = 100 * unknown.letters / unknown.total
        raise InputError(
            f"{source}: {part:.0f} % of all letters are none of {unknown.alphabet.name}, too many to be read as {unknown.letter}"
        )
    letters = "1 letter" if unknown.letters == 1 else f"{unknown.letters:,} letters"
    records = "1 record" if unknown.records == 1 else f"{unknown.records:,} records"
    return f"{source}: read {letters} in {records} as {unknown.letter}"


def describe_empty(ids: list[str]) -> str:
    """Records without letters, for people."""
    return f"record {ids[0]!r}, which has no letters" if len(ids) == 1 else f"{len(ids):,} records without letters, {ids[0]!r} the first"
