"""Ids of records."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NoReturn

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences.string_column import StringColumn

_CONTROL = "[\x00-\x1f\x7f\x85\u2028\u2029]"
"""Tabs, all that ends a line somewhere, and what no eye sees."""

_BLANK = re.compile(r"[\s_]")

_THING = "samples?|isolates?|strains?|genomes?|assembly|individuals?|taxon|taxa|accession|locus|loci|markers?|sites?|snps?|variants?|file"
_ID_TITLE = re.compile(rf"|FILE|#?(?:{_THING}|[a-z]+[ _.-])?(?:id|ids|name|names)|#?[fi]id", re.IGNORECASE)
"""What stands over ids and is no id: nothing, or words that end in id or name. `FILE` is chewBBACA's."""


def is_id_title(title: str) -> bool:
    """Tell whether a first cell can only be the title of ids."""
    return _ID_TITLE.fullmatch(title) is not None


def is_title_of_ids(title: str) -> bool:
    """Tell whether a first cell is a title of ids, or a word such as `sample` that may be one."""
    return is_id_title(title) or re.fullmatch(_THING, title, re.IGNORECASE) is not None


def number_repeated(ids: list[str], repeated: list[int]) -> None:
    """Give the records `repeated`, whose ids others have, ids of their own: id_2, id_3, ...; numbers that are taken are passed over."""
    taken = set(ids)
    following: dict[str, int] = {}
    for index in repeated:
        name = ids[index]
        count = following.get(name, 2)
        while f"{name}_{count}" in taken:
            count += 1
        following[name] = count + 1
        ids[index] = f"{name}_{count}"
        taken.add(ids[index])


def unique_in_files(ids: list[str], files: Sequence[tuple[int, str]], allow_duplicates: bool) -> list[str]:
    """The ids of records of several files, unique in each, repeated ones numbered with `allow_duplicates` or else refused. files: the first
    record of each, and its name. Raises `InputError` naming both files."""
    first: dict[str, int] = {}
    again = [k for k, name in enumerate(ids) if first.setdefault(name, k) != k]
    if again and not allow_duplicates:
        refuse_repeated(ids[again[0]], *(file_of(k, files) for k in (first[ids[again[0]]], again[0])))
    number_repeated(ids, again)
    return ids


def refuse_repeated(name: str, one: str, other: str) -> NoReturn:
    """Raises `InputError`: a record of the second file has the id of one of the first."""
    raise InputError(
        f"{other}: record {name!r} has the id of a record of {one}; make ids unique, or number repeated ones with"
        f" {parameter('allow_duplicates')}"
    )


def changed_ids(names: Sequence[str], ids: Sequence[str]) -> dict[str, str]:
    """Ids by the names that other formats give them: Newick and PHYLIP write `A_b` for `A b`. Only names that are no ids themselves are
    in it, and only where one id and one name alone can be meant."""
    known, given = set(ids), set(names)
    by_name: dict[str, list[str]] = {}
    for one in known - given:
        by_name.setdefault(_BLANK.sub("_", one), []).append(one)
    found = {name: by_name.get(_BLANK.sub("_", name), []) for name in given - known}
    times = Counter(some[0] for some in found.values() if len(some) == 1)
    return {name: some[0] for name, some in found.items() if len(some) == 1 and times[some[0]] == 1}


def describe_changed(changed: dict[str, str], source: str) -> str:
    """Report of ids that `changed_ids` has found in a file."""
    name, own = min(changed.items())
    count = f"{len(changed):,} names match ids" if len(changed) > 1 else "one name matches an id"
    return f"{source}: {count} if blanks and underscores are alike, such as {name!r} for {own!r}"


def describe_shared(ids: Iterable[str], others: Iterable[str], old: str) -> str | None:
    """What is to be known of ids that new records share with those that are added, of the file `old`; None where they share none."""
    there = set(others)
    shared = [name for name in ids if name in there]
    if not shared:
        return None
    count = f"{len(shared):,} ids are" if len(shared) > 1 else "one id is"
    return f"{count} in {old} too, {shared[0]!r} the first: a list has two pairs of these names with each other new record"


def file_of(record: int, files: Sequence[tuple[int, str]]) -> str:
    """The name of the file that holds a record. files: the first record of each, and its name."""
    return files[bisect_right(files, record, key=lambda file: file[0]) - 1][1]


def refuse_control(name: str, where: str) -> None:
    """Raises `InputError` for an id that no text file can hold."""
    if not name.isprintable() and (sign := re.search(_CONTROL, name)):
        raise InputError(f"{where} has a control character, {sign[0]!r}, in the id {name!r}; take it out: it would break lines and columns")


def unique_ids(ids: list[str], source: str, allow_duplicates: bool) -> list[str]:
    """The ids, repeated ones numbered with `allow_duplicates` or else refused.

    Raises `InputError`, also for ids that no text file can hold.
    """
    for number, name in enumerate(ids, 1):
        if not name:
            raise InputError(f"{source}: sample {number} has an empty id; give it one")
        refuse_control(name, f"{source}: sample {number}")
    first: dict[str, int] = {}
    repeated = [k for k, name in enumerate(ids) if first.setdefault(name, k) != k]
    if repeated and not allow_duplicates:
        name = ids[repeated[0]]
        raise InputError(
            f"{source}: samples {first[name] + 1} and {repeated[0] + 1} have the same id {name!r}; "
            f"make ids unique, or number repeated ones with {parameter('allow_duplicates')}"
        )
    number_repeated(ids, repeated)
    return ids


@dataclass(frozen=True)
class Names:
    """Ids of the samples of one input, in its order. files: how many there are of each of its files, None where it is one."""

    ids: list[str]
    files: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def id_column(self) -> StringColumn:
        return StringColumn.of(self.ids)
