"""Output journal: records line by line how much of an output is complete, so that a later run can resume it. Pure.

A journal is text with one JSON value per line. The first line is the run's `RunIdentity`: a later run that resumes must write the same
bytes. The lines that follow are of three kinds: one for each process that worked on the output, with the machine's boot id; one for each
mark, which records how much had been written at that moment; and one for each mark that has reached the disk together with all data that it
records. Syncing takes a while, so more marks may be written in the meantime. The fields are:

    rows      number of queries whose pairs have all been written
    files     for each growing file [bytes, text, at]: number of bytes safely in the file, number of bytes of text that they represent
              (different if the file is compressed), and the byte offset in that text where the rows of these queries end. A file that has
              its full size from the beginning has no entry.
    sums      for each file [size, start, length, count, step, shrinkage, CRC-32]: the file's minimum size (for a full-size file, its size),
              and the checksum of a `StridedRange` of the data written since the previous mark (for a large piece, of the end of the piece)
    counts    summary counts for the rows of these queries, by name
    synced    the field `rows` of a mark that has reached the disk

The last line is written when all data is on the disk and before the first file is renamed:

    complete  for each file [part, name, bytes, time]: current name, final name (null if the file is to be deleted), size, and modification
              time in ns since 1970; size and time identify the file under either name

Each line ends with a check, a digest of the line and the previous line's check, so that a journal with any changes is rejected.

The operating system preserves data written before a process was killed. After a power cut or machine crash, only synced data is certain to
exist, so any other mark is trusted only during the boot in which it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, field
from itertools import accumulate
from typing import Any

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.file_pieces import StridedRange

LAYOUT_VERSION = 3
"""Version of the layout of journals and the files that accompany them."""


@dataclass(frozen=True)
class RunIdentity:
    """Identity of a run. Runs with equal identities write the same bytes.

    version: version of gpualign
    command: name of the command, such as nw
    options: command options that affect the output, by name
    input: digest of the input
    rows: number of queries in the whole job
    """

    version: str
    command: str
    options: Mapping[str, Any]
    input: str
    rows: int

    def check(
        self, other: RunIdentity, name: str, advice: str = f"run that again, or start from scratch without {parameter('resume')}"
    ) -> None:
        """Raise `InputError` if another run does not write the same output as this run.

        other: identity of the other run
        name: name of the journal or part file that contains `other`
        advice: end of the message, which says what the user can do
        """
        difference = None
        if other.version != self.version:
            difference = f"it was started by gpualign {other.version}, and this is {self.version}"
        elif other.command != self.command:
            difference = f"it was started by gpualign {other.command}"
        elif other.options != self.options:
            changed = [key for key in {**other.options, **self.options} if other.options.get(key) != self.options.get(key)]
            difference = "it was started " + ", ".join(_describe_option(key, other.options.get(key)) for key in sorted(changed))
        elif (other.input, other.rows) != (self.input, self.rows):
            difference = "it was started with other input"
        if difference:
            raise InputError(f"{name}: {difference}; {advice}")


def parse_run_identity(fields: Mapping[str, Any]) -> RunIdentity:
    """Return the identity whose fields were read from JSON. Raises `ValueError` or `TypeError` for wrong fields."""
    identity = RunIdentity(**fields)
    texts = identity.version, identity.command, identity.input
    if not all(isinstance(text, str) for text in texts) or not isinstance(identity.options, dict) or type(identity.rows) is not int:
        raise ValueError("no identity")
    return identity


def _describe_option(key: str, value: Any) -> str:
    name = parameter(key)
    if isinstance(value, list):
        return " ".join(["with", *(f"{name} {one}" for one in value)])
    return f"without {name}" if value in (None, False) else f"with {name}" if value is True else f"with {name} {value}"


MAX_CHECKSUM_BYTES = 1 << 18
"""Maximum number of bytes per file that a mark's checksum covers."""


@dataclass(frozen=True)
class FileChecksum:
    """Checksum that identifies a file.

    size: minimum size of the file in bytes; for a file that has its full size from the beginning, exactly that size
    piece: bytes that the checksum covers
    crc32: CRC-32 of the piece
    """

    size: int
    piece: StridedRange
    crc32: int


@dataclass(frozen=True)
class Mark:
    """Record of how much of an output had been written at some moment.

    rows: number of queries whose pairs had all been written
    files: for each growing file, (number of bytes safely in the file, number of bytes of text that they represent, offset in that text
        where the rows of these queries end)
    sums: for each file, the checksum of data written since the previous mark
    counts: summary counts for the rows of these queries, by name
    """

    rows: int
    files: Mapping[str, Sequence[int]] = field(default_factory=dict)
    sums: Mapping[str, FileChecksum] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ResumePoint:
    """Position at which a run resumes an output.

    rows: number of queries whose pairs are all kept
    files: for each growing file, (number of bytes to keep, number of bytes of text that they represent, how many of these bytes of text
        belong to later queries, whose rows are written again)
    journal_bytes: number of valid bytes in the journal
    synced_rows: `rows` of the last mark that is known to have reached the disk; None if there is no such mark
    last_check: check at the end of the last valid line
    sums: for each file, the checksums from all valid marks
    counts: summary counts for the rows that are kept
    """

    rows: int
    files: Mapping[str, tuple[int, int, int]]
    journal_bytes: int
    synced_rows: int | None
    last_check: str = ""
    sums: Mapping[str, Sequence[FileChecksum]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class FinishedFile:
    """A file of a complete output.

    current_name: current name in the folder
    final_name: final name in the folder, or None if the file is to be deleted
    size: size in bytes
    modified_ns: modification time in nanoseconds since 1970
    """

    current_name: str
    final_name: str | None
    size: int
    modified_ns: int


@dataclass(frozen=True)
class CompleteOutput:
    """An output of which all data is on the disk. Its files only have to be renamed or deleted."""

    files: Sequence[FinishedFile]


_SIGNATURE = b'{"gpualign journal": '


def header_line(identity: RunIdentity) -> bytes:
    """Return the first line of a journal."""
    return _json_line({"gpualign journal": LAYOUT_VERSION, **asdict(identity)})


def process_line(boot: str | None) -> bytes:
    """Return the journal line for a process that starts to work on the output.

    boot: the machine's boot id, None if unknown
    """
    return _json_line({"boot": boot})


def mark_line(mark: Mark) -> bytes:
    """Return the journal line that records a mark."""
    sums = {name: [one.size, *astuple(one.piece), one.crc32] for name, one in mark.sums.items()}
    files = {name: list(numbers) for name, numbers in mark.files.items()}
    return _json_line({"rows": mark.rows, "files": files, "sums": sums, "counts": dict(mark.counts)})


def sync_line(rows: int) -> bytes:
    """Return the journal line which records that the mark with this value of `rows` has reached the disk."""
    return _json_line({"synced": rows})


def completion_line(files: Iterable[FinishedFile]) -> bytes:
    """Return the last line of the journal of a complete output with these files."""
    return _json_line({"complete": [[one.current_name, one.final_name, one.size, one.modified_ns] for one in files]})


def _json_line(value: Mapping[str, Any]) -> bytes:
    import json  # short runs have no journal

    return json.dumps(value, ensure_ascii=True).encode() + b"\n"


_CHECK_DIGEST_BYTES = 8
_CHECKED_LINE = re.compile(rb'(\{.*), "check": "([0-9a-f]{16})"\}')


def chain_checks(lines: bytes, check: str) -> tuple[bytes, str]:
    """Append a check to each line, and return (lines with checks, check of the last line).

    check: check of the line that precedes `lines`; "" if there is none
    """
    out = []
    for line in lines.splitlines():
        check = _chained_check(line, check)
        out.append(b'%b, "check": "%b"}\n' % (line[:-1], check.encode()))
    return b"".join(out), check


def _chained_check(line: bytes, previous_check: str) -> str:
    import hashlib

    return hashlib.blake2b(previous_check.encode() + line, digest_size=_CHECK_DIGEST_BYTES).hexdigest()


def _verify_checks(lines: Sequence[bytes]) -> tuple[list[bytes], list[str]]:
    """Verify the checks and return (lines without checks, checks). Raises `ValueError` if a check is wrong."""
    plain, checks = [], [""]
    for line in lines:
        match = _CHECKED_LINE.fullmatch(line)
        if match is None or _chained_check(match[1] + b"}", checks[-1]) != match[2].decode():
            raise ValueError("a line was changed")
        plain.append(match[1] + b"}")
        checks.append(match[2].decode())
    return plain, checks[1:]


def read_journal(raw: bytes, name: str, boot: str | None) -> tuple[RunIdentity | None, ResumePoint | CompleteOutput | None]:
    """Read a journal. Returns (identity of the run, complete output or the position from which to resume the output).

    raw: content of the journal
    name: name of the journal, for messages
    boot: this machine's boot id, None if unknown

    The identity is None if not even the first line was completed. The second value is None if no part of the output is certain to exist. If
    the last line is incomplete, it is ignored, because the run ended while writing it. Raises `InputError` if the journal is not valid.
    """
    import json

    lines = raw.split(b"\n")[:-1]
    if not lines and raw[: len(_SIGNATURE)] == _SIGNATURE[: len(raw)]:
        return None, None
    try:
        head = json.loads(lines[0])
        layout = head.pop("gpualign journal")
        if layout != LAYOUT_VERSION:
            raise InputError(
                f"{name}: expected a journal of layout {LAYOUT_VERSION}, which this gpualign can resume, found layout {layout}; resume with"
                f" the gpualign that wrote it, or start from scratch without {parameter('resume')}"
            )
        plain, checks = _verify_checks(lines)
        del head["check"]
        identity = parse_run_identity(head)
        if plain[1:] and (complete := _parse_completion(plain[-1])):
            return identity, complete
        ends = [*accumulate(len(line) + 1 for line in lines)]
        marks, valid, synced = _valid_marks(plain[1:], boot)
        files = marks[-1].files if marks else {}
        # Less of a compressed file is safe than was written: rows are resumed at a mark that all files hold.
        chosen = next((mark for mark in reversed(marks) if _data_is_on_disk(mark, files)), None)
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
    return identity, ResumePoint(chosen.rows, kept, ends[valid], synced, checks[valid], sums, chosen.counts)


def _parse_completion(line: bytes) -> CompleteOutput | None:
    """Parse the last line of a journal. Returns None if the line does not record a complete output.

    Raises `ValueError` or `TypeError` if it records files that are not valid.
    """
    import json

    value = json.loads(line)
    if "complete" not in value:
        return None
    files = [FinishedFile(*one) for one in value["complete"]]
    for one in files:
        texts = isinstance(one.current_name, str) and isinstance(one.final_name, str | None)
        if not texts or any(type(number) is not int or number < 0 for number in (one.size, one.modified_ns)):
            raise ValueError("no file")
    return CompleteOutput(files)


def _data_is_on_disk(mark: Mark, files: Mapping[str, Sequence[int]]) -> bool:
    """Return whether the files hold all text up to the mark. files: entries of the last trusted mark (`Mark.files`)"""
    return all(mark.files[name][2] <= numbers[1] for name, numbers in files.items())


def _valid_marks(lines: Sequence[bytes], boot: str | None) -> tuple[list[Mark], int, int | None]:
    """Return (marks that can be trusted, line number of the last of these marks, `rows` of the last mark that reached the disk).

    lines: all lines after the first, without checks
    boot: this machine's boot id, None if unknown

    The line number is the position in `lines`, counted from 1, and 0 if there are no such marks. The last value is None if no mark reached
    the disk.
    """
    import json

    marks: list[Mark] = []
    line_numbers: list[int] = []  # of the marks
    valid, is_this_boot, synced = 0, False, None
    for number, line in enumerate(lines, 1):
        value = json.loads(line)
        if "boot" in value:
            is_this_boot = boot is not None and value["boot"] == boot
        elif "synced" in value:
            synced = _parse_count(value["synced"])
            valid = max(valid, sum(mark.rows <= synced for mark in marks))
        else:
            files = {str(name): (_parse_count(a), _parse_count(b), _parse_count(c)) for name, (a, b, c) in value["files"].items()}
            sums = {str(name): _parse_checksum(numbers) for name, numbers in value["sums"].items()}
            marks.append(
                Mark(_parse_count(value["rows"]), files, sums, {str(name): _parse_count(n) for name, n in value["counts"].items()})
            )
            line_numbers.append(number)
            if is_this_boot:
                valid = len(marks)
    return marks[:valid], line_numbers[valid - 1] if valid else 0, synced


def _parse_checksum(numbers: Sequence[Any]) -> FileChecksum:
    size, start, length, count, step, shrinkage, check = map(_parse_count, numbers)
    piece = StridedRange(start, length, count, step, shrinkage)
    if (
        piece.count > MAX_CHECKSUM_BYTES
        or piece.size > MAX_CHECKSUM_BYTES
        or piece.stop > size
        or piece.last_stretch_length < 0
        or piece.shrinkage > piece.step
    ):
        raise ValueError("no such piece")
    return FileChecksum(size, piece, check)


def _parse_count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("no count")
    return number
