"""Journal of an output: records line by line how far it is complete, so that another run can resume it. Pure.

A journal is text with one JSON value per line. The first one is the `Identity` of the run: a run that resumes it must write the same bytes.
Then follow a line for each process that worked on the output, with the boot id of the machine, a line for each mark, and a line for each
mark that has reached the disk with all the data of its files. Syncing takes a while, in which further marks may be written:

    rows      all pairs of the queries before this one are written
    files     for each file that grows: [bytes, text, at]: bytes that the file holds safely, bytes of text that these stand for (not the
              same if the file is compressed), and bytes of text at which the rows end. A file that has its full size from the beginning has
              no entry.
    sums      for each file [size, start, length, count, step, less, CRC-32]: its minimum size (of a file of full size, its size), and the
              checksum of a `Piece` of what was written since the mark before (of a large piece, of its end)
    counts    counts of the summary for the rows, by name
    synced    rows of a mark

When everything is written and on the disk, and before the first file is renamed, the last line follows:

    complete  for each file [part, name, bytes, time]: its present name and its final name (null: it is deleted), and its size and the time
              of its last change, in ns since 1970, by which it is recognised under either name

Each line ends with a check, a digest of the line and of the check before, so that a journal in which anything was changed is refused.

What was written before a process was killed is preserved by the system. After a power cut, or a crash of the machine, only what had been
synced is certain to exist: other marks are trusted only in the same boot of the machine in which they were made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, field
from itertools import accumulate
from typing import Any

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.file_pieces import Piece

LAYOUT = 2
"""Version of the layout of journals, and of the files beside them."""


@dataclass(frozen=True)
class Identity:
    """Identity of a run: runs with equal identities write the same bytes.

    version: version of gpualign
    options: options of the command that the output depends on, by name
    input: digest of the input
    rows: queries of the whole job
    """

    version: str
    command: str
    options: Mapping[str, Any]
    input: str
    rows: int

    def check(
        self, other: Identity, name: str, advice: str = f"run that again, or start from scratch without {parameter('resume')}"
    ) -> None:
        """Raise `InputError` if `other`, of the journal or part file `name`, belongs to a run that writes something else."""
        difference = None
        if other.version != self.version:
            difference = f"it was started by gpualign {other.version}, and this is {self.version}"
        elif other.command != self.command:
            difference = f"it was started by gpualign {other.command}"
        elif other.options != self.options:
            changed = [key for key in {**other.options, **self.options} if other.options.get(key) != self.options.get(key)]
            difference = "it was started " + ", ".join(_spelled(key, other.options.get(key)) for key in sorted(changed))
        elif (other.input, other.rows) != (self.input, self.rows):
            difference = "it was started with other input"
        if difference:
            raise InputError(f"{name}: {difference}; {advice}")


def identity_of(fields: Mapping[str, Any]) -> Identity:
    """Return the identity with these fields, which were read from JSON. Raises `ValueError` or `TypeError` for wrong fields."""
    identity = Identity(**fields)
    texts = identity.version, identity.command, identity.input
    if not all(isinstance(text, str) for text in texts) or not isinstance(identity.options, dict) or type(identity.rows) is not int:
        raise ValueError("no identity")
    return identity


def _spelled(key: str, value: Any) -> str:
    name = parameter(key.rstrip("_"))
    if isinstance(value, list):
        return " ".join(["with", *(f"{name} {one}" for one in value)])
    return f"without {name}" if value in (None, False) else f"with {name}" if value is True else f"with {name} {value}"


SUMMED = 1 << 18
"""Maximum number of bytes of a file over which a mark has a checksum."""


@dataclass(frozen=True)
class Sum:
    """Checksum by which a file is recognised.

    size: minimum bytes of the file; of a file of full size, its size
    piece: bytes over which the checksum is
    check: CRC-32 of the piece
    """

    size: int
    piece: Piece
    check: int


@dataclass(frozen=True)
class Mark:
    """Mark of a journal; for its fields see the docstring of this module."""

    rows: int
    files: Mapping[str, Sequence[int]] = field(default_factory=dict)
    sums: Mapping[str, Sum] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Resumed:
    """Position at which a run resumes an output.

    rows: the queries before this one are complete
    files: for each file that grows (bytes to keep, bytes of text in these, bytes of that text that belong to rows from `rows` on and will
        be written again)
    length: bytes of the journal that are valid
    synced: rows of the last mark that had reached the disk; None: that is not known of any
    check: check of the last valid line
    sums: for each file, the checksums of all valid marks
    counts: counts of the summary for the rows before `rows`
    """

    rows: int
    files: Mapping[str, tuple[int, int, int]]
    length: int
    synced: int | None
    check: str = ""
    sums: Mapping[str, Sequence[Sum]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """File of a complete output.

    part: its present name in the folder
    final: its final name in the folder; None: it is deleted
    size: bytes
    changed: time of its last change, ns since 1970
    """

    part: str
    final: str | None
    size: int
    changed: int


@dataclass(frozen=True)
class Complete:
    """Complete output, of which only the files have to be renamed."""

    files: Sequence[Finished]


_BEGINNING = b'{"gpualign journal": '


def first_line(identity: Identity) -> bytes:
    """First line of a journal."""
    return _line({"gpualign journal": LAYOUT, **asdict(identity)})


def process_line(boot: str | None) -> bytes:
    """Line of a process that starts to work on the output. boot: id of the machine's boot, None if it is not known."""
    return _line({"boot": boot})


def mark_line(mark: Mark) -> bytes:
    """Line of a mark."""
    sums = {name: [one.size, *astuple(one.piece), one.check] for name, one in mark.sums.items()}
    files = {name: list(numbers) for name, numbers in mark.files.items()}
    return _line({"rows": mark.rows, "files": files, "sums": sums, "counts": dict(mark.counts)})


def synced_line(rows: int) -> bytes:
    """Line that records that the mark of `rows` rows has reached the disk."""
    return _line({"synced": rows})


def last_line(files: Iterable[Finished]) -> bytes:
    """Last line of the journal of a complete output."""
    return _line({"complete": [[one.part, one.final, one.size, one.changed] for one in files]})


def _line(value: Mapping[str, Any]) -> bytes:
    import json  # short runs have no journal

    return json.dumps(value, ensure_ascii=True).encode() + b"\n"


_CHECK_BYTES = 8
_CHECKED = re.compile(rb'(\{.*), "check": "([0-9a-f]{16})"\}')


def chained(lines: bytes, check: str) -> tuple[bytes, str]:
    """Append its check to each line. Returns (lines, check of the last line). check: of the line before, "" for the first."""
    out = []
    for line in lines.splitlines():
        check = _check(line, check)
        out.append(b'%b, "check": "%b"}\n' % (line[:-1], check.encode()))
    return b"".join(out), check


def _check(line: bytes, before: str) -> str:
    import hashlib

    return hashlib.blake2b(before.encode() + line, digest_size=_CHECK_BYTES).hexdigest()


def _unchained(lines: Sequence[bytes]) -> tuple[list[bytes], list[str]]:
    """Verify the checks and return (lines without checks, checks). Raises `ValueError` if a check is wrong."""
    plain, checks = [], [""]
    for line in lines:
        match = _CHECKED.fullmatch(line)
        if match is None or _check(match[1] + b"}", checks[-1]) != match[2].decode():
            raise ValueError("a line was changed")
        plain.append(match[1] + b"}")
        checks.append(match[2].decode())
    return plain, checks[1:]


def read_journal(raw: bytes, name: str, boot: str | None) -> tuple[Identity | None, Resumed | Complete | None]:
    """Read a journal: (identity of its run, where to resume the output or the complete output).

    boot: id of this machine's boot

    The identity is None if the journal had only been opened, the second value if nothing of the output is certain to exist. An incomplete
    last line is ignored: whatever ended the run cut it off. Raises `InputError` if this is no valid journal.
    """
    import json

    lines = raw.split(b"\n")[:-1]
    if not lines and raw[: len(_BEGINNING)] == _BEGINNING[: len(raw)]:
        return None, None
    try:
        head = json.loads(lines[0])
        layout = head.pop("gpualign journal")
        if layout != LAYOUT:
            raise InputError(f"{name}: expected a journal of layout {LAYOUT}, which this gpualign can resume, found layout {layout}")
        plain, checks = _unchained(lines)
        del head["check"]
        identity = identity_of(head)
        if plain[1:] and (complete := _complete(plain[-1])):
            return identity, complete
        ends = [*accumulate(len(line) + 1 for line in lines)]
        marks, valid, synced = _trusted(plain[1:], boot)
        files = marks[-1].files if marks else {}
        # Less of a compressed file is safe than was written: rows are resumed at a mark that all files hold.
        chosen = next((mark for mark in reversed(marks) if _is_held(mark, files)), None)
        if chosen is not None and chosen.rows > identity.rows:
            raise ValueError("more rows than there are")
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        problem = "expected a journal, found another file or a damaged journal"
        raise InputError(f"{name}: {problem}; remove it and the part file, and run without {parameter('resume')}") from None
    if chosen is None:
        return identity, None
    kept = {key: (size, text, text - chosen.files[key][2]) for key, (size, text, _) in files.items()}
    sums = {name: [mark.sums[name] for mark in marks if name in mark.sums] for name in marks[-1].sums}
    return identity, Resumed(chosen.rows, kept, ends[valid], synced, checks[valid], sums, chosen.counts)


def _complete(line: bytes) -> Complete | None:
    """Parse a last line. Returns None if it does not record a complete output."""
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


def _is_held(mark: Mark, files: Mapping[str, Sequence[int]]) -> bool:
    return all(mark.files[name][2] <= numbers[1] for name, numbers in files.items())


def _trusted(lines: Sequence[bytes], boot: str | None) -> tuple[list[Mark], int, int | None]:
    """Find the valid marks: (these marks, number of the last one's line from 1, rows of the last mark that had reached the disk)."""
    import json

    marks: list[Mark] = []
    line_numbers: list[int] = []  # of the marks
    valid, is_this_boot, synced = 0, False, None
    for number, line in enumerate(lines, 1):
        value = json.loads(line)
        if "boot" in value:
            is_this_boot = boot is not None and value["boot"] == boot
        elif "synced" in value:
            synced = _count(value["synced"])
            valid = max(valid, sum(mark.rows <= synced for mark in marks))
        else:
            files = {str(name): (_count(a), _count(b), _count(c)) for name, (a, b, c) in value["files"].items()}
            sums = {str(name): _sum(numbers) for name, numbers in value["sums"].items()}
            marks.append(Mark(_count(value["rows"]), files, sums, {str(name): _count(n) for name, n in value["counts"].items()}))
            line_numbers.append(number)
            if is_this_boot:
                valid = len(marks)
    return marks[:valid], line_numbers[valid - 1] if valid else 0, synced


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
