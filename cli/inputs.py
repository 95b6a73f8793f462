"""From the paths and scoring options of a command to a task."""

from __future__ import annotations

from pathlib import Path

from gpualign.cli.files import open_input
from gpualign.cli.messages import Messages
from gpualign.core import matrices
from gpualign.core.engine import Mode, Task
from gpualign.core.errors import InputError
from gpualign.core.index import is_index, open_index
from gpualign.core.matrices import SubstitutionMatrix
from gpualign.core.reader import Gaps, RawRecords, encode_all, read_raw
from gpualign.core.scoring import ScoringOptions, make_scoring


def load_matrix(name: str) -> SubstitutionMatrix:
    """A matrix file if there is one of this name, else a matrix of Biopython's collection. Raises `InputError`."""
    if not Path(name).is_file():
        return matrices.by_name(name)
    try:
        with open(name, encoding="utf-8") as stream:
            return matrices.from_file(stream, name)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read as a matrix file ({error})") from None


def read_task(paths: list[str], alphabet: str, allow_duplicates: bool, degap: bool, options: ScoringOptions, messages: Messages) -> Task:
    """Read one or two files for global alignment; notes the alphabet that was chosen. Raises `InputError`."""
    return _read(paths, alphabet, allow_duplicates, degap, options, messages, Mode.GLOBAL)


def read_search(
    query: str, database: str | None, alphabet: str, allow_duplicates: bool, degap: bool, options: ScoringOptions, messages: Messages
) -> Task:
    """Read queries and a database, which may be an index, or one file that is both, for local alignment.

    Raises `InputError`.
    """
    if database is None or not is_index(database):
        paths = [query] if database is None else [query, database]
        return _read(paths, alphabet, allow_duplicates, degap, options, messages, Mode.LOCAL)
    targets, of_index = open_index(database)
    if alphabet not in ("auto", of_index.name):
        raise InputError(f"--alphabet {alphabet}: {database} is an index of {of_index.name}")
    with open_input(query) as (stream, source):
        raw = read_raw(stream, source, allow_duplicates, degap=degap)
    _note_gaps(raw, messages)
    queries = encode_all([raw], of_index.name)[1][0]
    scoring = make_scoring(of_index, options, [queries, targets], local=True)
    messages.note(f"{of_index.name} (by the index), {scoring.name}")
    return Task(queries, targets, scoring, Mode.LOCAL, alphabet=of_index)


def _read(
    paths: list[str], alphabet: str, allow_duplicates: bool, degap: bool, options: ScoringOptions, messages: Messages, mode: Mode
) -> Task:
    local = mode is Mode.LOCAL
    raw: list[RawRecords] = []
    for path in paths:
        with open_input(path) as (stream, source):
            # A database is often somebody else's file.
            raw.append(read_raw(stream, source, allow_duplicates, allow_empty=local and bool(raw), degap=degap))
        if empty := raw[-1].empty:
            messages.note(f"{source}: left out {describe_empty(empty)}")
        _note_gaps(raw[-1], messages)
    chosen, sets = encode_all(raw, alphabet)
    scoring = make_scoring(chosen, options, sets, local)
    how = "by --alphabet" if alphabet != "auto" else "by its letters"
    messages.note(f"{chosen.name} ({how}), {scoring.name}")
    return Task(sets[0], sets[-1], scoring, mode, alphabet=chosen)


def _note_gaps(raw: RawRecords, messages: Messages) -> None:
    if raw.gaps.letters:
        messages.note(f"{raw.source}: {describe_gaps(raw.gaps)}")


def describe_gaps(gaps: Gaps) -> str:
    """What --degap has done, for people."""
    return f"removed gaps, {gaps.letters:,} in {gaps.records:,} {'record' if gaps.records == 1 else 'records'}"


def describe_empty(ids: list[str]) -> str:
    """Records without letters, for people."""
    return f"record {ids[0]!r}, which has no letters" if len(ids) == 1 else f"{len(ids):,} records without letters, {ids[0]!r} the first"
