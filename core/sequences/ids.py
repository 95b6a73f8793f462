"""Record ids."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NoReturn

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences.string_column import StringColumn

_CONTROL_CHARACTERS = "[\x00-\x1f\x7f\x85\u2028\u2029]"
"""Pattern of the characters that an id must not contain: tabs, all line ends, and invisible characters."""

_BLANK_OR_UNDERSCORE = re.compile(r"[\s_]")
_R_INVALID = re.compile(r"[^\w.]")
_R_NEEDS_X = re.compile(r"(?![^\W\d_]|\.(?!\d))")

_RECORD_WORDS = (
    "samples?|isolates?|strains?|genomes?|assembly|individuals?|taxon|taxa|accession|locus|loci|markers?|sites?|snps?|variants?|file"
)
_ID_TITLE = re.compile(rf"|FILE|#?(?:{_RECORD_WORDS}|[a-z]+[ _.-])?(?:id|ids|name|names)|#?[fi]id", re.IGNORECASE)
"""Pattern of the titles of an id column: no title, words that end in id or name, or `FILE`, which chewBBACA writes."""


def id_text(name: object) -> str:
    """Return an id that a caller holds in memory as text. Bytes, which NumPy and HDF5 keep text as, are decoded."""
    return name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else str(name)


def is_id_title(title: str) -> bool:
    """Return whether a table's first cell can only be the title of an id column."""
    return _ID_TITLE.fullmatch(title) is not None


def may_be_id_title(title: str) -> bool:
    """Return whether a table's first cell is the title of an id column, or a word such as `sample` that may be such a title."""
    return is_id_title(title) or re.fullmatch(_RECORD_WORDS, title, re.IGNORECASE) is not None


def number_repeated_ids(ids: list[str], repeated_records: list[int]) -> None:
    """Append a number to each repeated id (id_2, id_3, ...), changing `ids` in place. Numbered ids that are already in use are skipped.

    repeated_records: numbers of the records whose ids also occur in earlier records
    """
    taken = set(ids)
    following: dict[str, int] = {}
    for index in repeated_records:
        name = ids[index]
        count = following.get(name, 2)
        while f"{name}_{count}" in taken:
            count += 1
        following[name] = count + 1
        ids[index] = f"{name}_{count}"
        taken.add(ids[index])


def unique_ids_in_files(ids: list[str], files: Sequence[tuple[int, str]], allow_duplicates: bool) -> list[str]:
    """Return the ids of records from several files, with repeated ids numbered (id_2, id_3, ...).

    ids: ids of all records; changed in place
    files: number of the first record and name of each file
    allow_duplicates: whether to number repeated ids instead of rejecting them

    Raises `InputError` for a repeated id, naming both files that contain it, unless `allow_duplicates` is set.
    """
    first: dict[str, int] = {}
    again = [k for k, name in enumerate(ids) if first.setdefault(name, k) != k]
    if again and not allow_duplicates:
        refuse_repeated_id(ids[again[0]], *(file_of(k, files) for k in (first[ids[again[0]]], again[0])))
    number_repeated_ids(ids, again)
    return ids


def refuse_repeated_id(name: str, first_file: str, second_file: str) -> NoReturn:
    """Raise `InputError` because the record `name` in `second_file` has the same id as a record in `first_file`, a file listed earlier."""
    if _is_same_file(first_file, second_file):
        listed = "is listed twice" if first_file == second_file else f"is the same file as {first_file}, listed before it"
        raise InputError(f"{second_file} {listed}; list it once, or number the repeated ids with {parameter('allow_duplicates')}")
    raise InputError(
        f"{second_file}: record {name!r} has the id of a record of {first_file}; make ids unique, or number repeated ones with"
        f" {parameter('allow_duplicates')}"
    )


def _is_same_file(first: str, second: str) -> bool:
    try:
        return os.path.samefile(first, second)
    except (OSError, ValueError):  # not a file, such as standard input
        return first == second


def match_changed_ids(names: Sequence[str], ids: Sequence[str]) -> dict[str, str]:
    """Match the names in a file to the ids of records, which file formats may have altered: Newick and PHYLIP write `A_b` for `A b`.

    Returns a mapping from names to ids. It contains a name only if the name itself is not an id, and if the name and the id match only each
    other.
    """
    known, requested = set(ids), set(names)
    by_name: dict[str, list[str]] = {}
    for one in known - requested:
        by_name.setdefault(_BLANK_OR_UNDERSCORE.sub("_", one), []).append(one)
    candidates = {name: by_name.get(_BLANK_OR_UNDERSCORE.sub("_", name), []) for name in requested - known}
    times = Counter(some[0] for some in candidates.values() if len(some) == 1)
    return {name: some[0] for name, some in candidates.items() if len(some) == 1 and times[some[0]] == 1}


def are_changed_by_r(titles: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether the titles of columns are the names of rows as R changes them (`make.names`), if it is not told `check.names = FALSE`.

    Every character but letters, digits, `.` and `_` becomes a point, and `X` stands before a name that does not begin with a letter or a
    point without a digit after it.
    """
    return len(titles) == len(names) and titles != names and all(a in (b, _r_name(b)) for a, b in zip(titles, names, strict=True))


def _r_name(name: str) -> str:
    return _R_INVALID.sub(".", f"X{name}" if _R_NEEDS_X.match(name) else name)


def describe_changed_ids(changed: dict[str, str], source: str) -> str:
    """Return a note on the altered ids in a file.

    changed: mapping returned by `match_changed_ids`, which must not be empty
    source: name of the file
    """
    name, own = min(changed.items())
    count = f"{len(changed):,} names match ids" if len(changed) > 1 else "one name matches an id"
    return f"{source}: {count} if blanks and underscores are alike, such as {name!r} for {own!r}"


def describe_shared_ids(ids: Iterable[str], other_ids: Iterable[str], old_file: str) -> str | None:
    """Return a note on the ids of new records that also occur in an existing file; None if there are no such ids.

    ids: ids of the new records
    other_ids: ids in the file `old_file`
    """
    existing = set(other_ids)
    shared = [name for name in ids if name in existing]
    if not shared:
        return None
    count = f"{len(shared):,} ids are" if len(shared) > 1 else "one id is"
    return f"{count} also in {old_file}, first {shared[0]!r}: a list has two rows for such an id with each other new record"


def file_of(record: int, files: Sequence[tuple[int, str]]) -> str:
    """Return the name of the file that holds a record.

    files: number of the first record and name of each file
    """
    return files[bisect_right(files, record, key=lambda file: file[0]) - 1][1]


def find_control_character(name: str) -> str | None:
    """Return the first control character of an id, or None."""
    found = None if name.isprintable() else re.search(_CONTROL_CHARACTERS, name)
    return found[0] if found else None


def refuse_control_characters(name: str, where: str) -> None:
    """Raise `InputError` if an id contains control characters, which would break lines and columns in text files.

    where: location of the id, for the message
    """
    if sign := find_control_character(name):
        raise InputError(f"{where} has a control character, {sign!r}, in the id {name!r}; remove it: it would break lines and columns")


def unique_ids(ids: list[str], source: str, allow_duplicates: bool) -> list[str]:
    """Return the ids of samples, with repeated ids numbered. The list `ids` is changed in place.

    allow_duplicates: whether to number repeated ids instead of rejecting them

    Raises `InputError` for repeated ids unless `allow_duplicates` is set, and for ids that are empty or contain control characters.
    """
    # Of a million ids, this takes a tenth of the time of looking at each of them.
    if all(ids) and "".join(ids).isprintable() and len(set(ids)) == len(ids):
        return ids
    for number, name in enumerate(ids, 1):
        if not name:
            raise InputError(f"{source}: sample {number} has an empty id; give it one")
        refuse_control_characters(name, f"{source}: sample {number}")
    first: dict[str, int] = {}
    repeated = [k for k, name in enumerate(ids) if first.setdefault(name, k) != k]
    if repeated and not allow_duplicates:
        name = ids[repeated[0]]
        raise InputError(
            f"{source}: samples {first[name] + 1} and {repeated[0] + 1} have the same id {name!r}; "
            f"make ids unique, or number repeated ones with {parameter('allow_duplicates')}"
        )
    number_repeated_ids(ids, repeated)
    return ids


@dataclass(frozen=True)
class SampleNames:
    """Ids of the samples in one input, in input order.

    files: number of samples in each file; None for a single file
    """

    ids: list[str]
    files: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def id_column(self) -> StringColumn:
        return StringColumn.from_strings(self.ids)
