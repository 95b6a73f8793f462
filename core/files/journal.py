"""The journal of an output: what of it is complete, line by line, so that another run can go on. Pure.

A journal is text, a JSON value a line. The first is the `Identity` of the run: who goes on must be about to write the same bytes. Then
comes a line for each process that worked on it, with the machine's boot, one for each mark, and one for each time that a mark had reached
the disk, with all that is in its files, which takes a while, in which other marks may come:

    rows      all pairs of the queries before this one are written
    files     of each file that grows: [bytes, text, at]; what the file holds safely, of how much text that is (not the same where it is
              packed), and at how much text the rows end. A file that has its full size from the beginning has no entry.
    sums      of each file [size, start, length, count, step, less, CRC-32]: its size at least, of one of full size its size, and the
              checksum of a `Piece` of what was written since the mark before, of large ones of their end
    counts    what a summary counts of the rows, by name
    synced    rows of a mark

When all is written and on the disk, and before the first file takes its name, comes the last line:

    complete  of each file [part, name, bytes, time]: what it is called, and is to be called (null: it is thrown away), and its size and
              the time of its last change, in ns since 1970, by which it is known under either name

Each line ends with a check, a digest of it and of the check before, so that a journal of which anything was changed is refused.

What was written before a process was killed is there: the system has it. After a power cut, or a crash of the machine, only what had been
synced is sure to be: marks that were not are trusted only by the boot of the machine that they were made in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, field
from itertools import accumulate
from typing import Any

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.piece import Piece

LAYOUT = 2
"""Of journals, and of the files beside them."""


@dataclass(frozen=True)
class Identity:
    """version: of gpualign; options: of the command by name, those that the output depends on; input: a digest of what was read; rows:
    queries of the whole job."""

    version: str
    command: str
    options: Mapping[str, Any]
    input: str
    rows: int

    def check(
        self, other: Identity, name: str, advice: str = f"run that again, or without {parameter('resume')} from the beginning"
    ) -> None:
        """Raises `InputError` where `other`, of the journal or part `name`, is of a run that writes something else."""
        found = None
        if other.version != self.version:
            found = f"gpualign {other.version} began it, and this is {self.version}"
        elif other.command != self.command:
            found = f"gpualign {other.command} began it"
        elif other.options != self.options:
            changed = [key for key in {**other.options, **self.options} if other.options.get(key) != self.options.get(key)]
            found = "it was begun " + ", ".join(_spelled(key, other.options.get(key)) for key in sorted(changed))
        elif (other.input, other.rows) != (self.input, self.rows):
            found = "it was begun with other input"
        if found:
            raise InputError(f"{name}: {found}; {advice}")


def identity_of(fields: Mapping[str, Any]) -> Identity:
    """As it was read from JSON. Raises `ValueError` or `TypeError` for what is none."""
    found = Identity(**fields)
    texts = found.version, found.command, found.input
    if not all(isinstance(text, str) for text in texts) or not isinstance(found.options, dict) or type(found.rows) is not int:
        raise ValueError("no identity")
    return found


def _spelled(key: str, value: Any) -> str:
    name = parameter(key.rstrip("_"))
    if isinstance(value, list):
        return " ".join(["with", *(f"{name} {one}" for one in value)])
    return f"without {name}" if value in (None, False) else f"with {name}" if value is True else f"with {name} {value}"


SUMMED = 1 << 18
"""Bytes of a file that a mark has a checksum of, at most."""


@dataclass(frozen=True)
class Sum:
    """What a file is known by. size: bytes of it at least, of one of full size its size; check: CRC-32 of the piece."""

    size: int
    piece: Piece
    check: int


@dataclass(frozen=True)
class Mark:
    """As the module says."""

    rows: int
    files: Mapping[str, Sequence[int]] = field(default_factory=dict)
    sums: Mapping[str, Sum] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Resumed:
    """Where a run goes on. rows: queries before this one are complete. files: of each file that grows (bytes to keep of it, text in these,
    text in these that belongs to rows from `rows` on and will be written again). length: bytes of the journal that hold; synced: rows of
    the last mark that had reached the disk, None: of none is that known. check: of the last of the lines that hold; sums: of each file,
    those of all marks that hold; counts: what the rows before that one come to."""

    rows: int
    files: Mapping[str, tuple[int, int, int]]
    length: int
    synced: int | None
    check: str = ""
    sums: Mapping[str, Sequence[Sum]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """A file of a complete output, by names in its folder; final None: it is thrown away. size: bytes; changed: in ns since 1970."""

    part: str
    final: str | None
    size: int
    changed: int


@dataclass(frozen=True)
class Complete:
    """All that a run is left to do: these files take their names."""

    files: Sequence[Finished]


_BEGINNING = b'{"gpualign journal": '


def first_line(identity: Identity) -> bytes:
    """How a journal begins."""
    return _line({"gpualign journal": LAYOUT, **asdict(identity)})


def process_line(boot: str | None) -> bytes:
    """A process begins to work on the output, in a boot of a machine that has this id, if that is known."""
    return _line({"boot": boot})


def mark_line(mark: Mark) -> bytes:
    """A mark."""
    sums = {name: [one.size, *astuple(one.piece), one.check] for name, one in mark.sums.items()}
    files = {name: list(numbers) for name, numbers in mark.files.items()}
    return _line({"rows": mark.rows, "files": files, "sums": sums, "counts": dict(mark.counts)})


def synced_line(rows: int) -> bytes:
    """The mark of so many rows had reached the disk."""
    return _line({"synced": rows})


def last_line(files: Iterable[Finished]) -> bytes:
    """How a journal ends."""
    return _line({"complete": [[one.part, one.final, one.size, one.changed] for one in files]})


def _line(value: Mapping[str, Any]) -> bytes:
    import json  # short runs have no journal

    return json.dumps(value, ensure_ascii=True).encode() + b"\n"


_CHECK_BYTES = 8
_CHECKED = re.compile(rb'(\{.*), "check": "([0-9a-f]{16})"\}')


def chained(lines: bytes, check: str) -> tuple[bytes, str]:
    """(the lines, each with its check; that of the last). check: of the line before, "" for the first."""
    out = []
    for line in lines.splitlines():
        check = _check(line, check)
        out.append(b'%b, "check": "%b"}\n' % (line[:-1], check.encode()))
    return b"".join(out), check


def _check(line: bytes, before: str) -> str:
    import hashlib

    return hashlib.blake2b(before.encode() + line, digest_size=_CHECK_BYTES).hexdigest()


def _unchained(lines: Sequence[bytes]) -> tuple[list[bytes], list[str]]:
    """(the lines without their checks, the checks). Raises `ValueError` where one is wrong."""
    plain, checks = [], [""]
    for line in lines:
        match = _CHECKED.fullmatch(line)
        if match is None or _check(match[1] + b"}", checks[-1]) != match[2].decode():
            raise ValueError("a line was changed")
        plain.append(match[1] + b"}")
        checks.append(match[2].decode())
    return plain, checks[1:]


def read_journal(raw: bytes, name: str, boot: str | None) -> tuple[Identity | None, Resumed | Complete | None]:
    """(whose journal it is, None: it had only been opened; where to go on with the output, or what it is if it is complete, None: nothing
    of it is sure to be there).

    boot: of this machine. A last line that is not whole was cut off by what ended the run. Raises `InputError` for what is no journal.
    """
    import json

    lines = raw.split(b"\n")[:-1]
    if not lines and raw[: len(_BEGINNING)] == _BEGINNING[: len(raw)]:
        return None, None
    try:
        head = json.loads(lines[0])
        layout = head.pop("gpualign journal")
        if layout != LAYOUT:
            raise InputError(f"{name}: a journal of layout {layout}; this gpualign goes on with those of layout {LAYOUT}")
        plain, checks = _unchained(lines)
        del head["check"]
        identity = identity_of(head)
        if plain[1:] and (complete := _complete(plain[-1])):
            return identity, complete
        ends = [*accumulate(len(line) + 1 for line in lines)]
        marks, held, synced = _trusted(plain[1:], boot)
        files = marks[-1].files if marks else {}
        # Of packed files less is safe than was written: rows go on from a mark that all of them hold.
        chosen = next((mark for mark in reversed(marks) if _held(mark, files)), None)
        if chosen is not None and chosen.rows > identity.rows:
            raise ValueError("more rows than there are")
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        raise InputError(f"{name}: no journal, or a damaged one; remove it and the part, and start without {parameter('resume')}") from None
    if chosen is None:
        return identity, None
    kept = {key: (size, text, text - chosen.files[key][2]) for key, (size, text, _) in files.items()}
    sums = {name: [mark.sums[name] for mark in marks if name in mark.sums] for name in marks[-1].sums}
    return identity, Resumed(chosen.rows, kept, ends[held], synced, checks[held], sums, chosen.counts)


def _complete(line: bytes) -> Complete | None:
    """That a last line says; None where it says something else."""
    import json

    value = json.loads(line)
    if "complete" not in value:
        return None
    files = [Finished(*one) for one in value["complete"]]
    for one in files:
        texts = isinstance(one.part, str) and isinstance(one.final, str | None)
        if not texts or any(type(number) is not int or number < 0 for number in (one.size, one.changed)):
            raise ValueError("no file")
    return Complete(files)


def _held(mark: Mark, files: Mapping[str, Sequence[int]]) -> bool:
    return all(mark.files[name][2] <= numbers[1] for name, numbers in files.items())


def _trusted(lines: Sequence[bytes], boot: str | None) -> tuple[list[Mark], int, int | None]:
    """The marks that hold, the number of the line of the last of them, from 1, and which of them is the last that had reached the disk."""
    import json

    marks: list[Mark] = []
    places: list[int] = []  # lines of these
    sure, there, synced = 0, False, None
    for number, line in enumerate(lines, 1):
        value = json.loads(line)
        if "boot" in value:
            there = boot is not None and value["boot"] == boot
        elif "synced" in value:
            synced = _count(value["synced"])
            sure = max(sure, sum(mark.rows <= synced for mark in marks))
        else:
            files = {str(name): (_count(a), _count(b), _count(c)) for name, (a, b, c) in value["files"].items()}
            sums = {str(name): _sum(numbers) for name, numbers in value["sums"].items()}
            marks.append(Mark(_count(value["rows"]), files, sums, {str(name): _count(n) for name, n in value["counts"].items()}))
            places.append(number)
            if there:
                sure = len(marks)
    return marks[:sure], places[sure - 1] if sure else 0, synced


def _sum(numbers: Sequence[Any]) -> Sum:
    size, start, length, count, step, less, check = map(_count, numbers)
    piece = Piece(start, length, count, step, less)
    if piece.count > SUMMED or piece.size > SUMMED or piece.stop > size or piece.shortest < 0 or piece.less > piece.step:
        raise ValueError("no such piece")
    return Sum(size, piece, check)


def _count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("no count")
    return number
