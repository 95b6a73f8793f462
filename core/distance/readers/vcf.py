"""Reads VCF and BCF, plain or bgzipped, using cyvcf2: one site per record, with all alleles distinguished.

A haploid call counts as two copies of its allele; phase is ignored; a call with a missing allele, or with the allele *, is missing.

A separate process (`vcf_records`) reads the file: htslib crashes on some damaged files, and a crash must be reported as an error that names
the file. That process ends whenever this one does, for any reason, and signals sent to this process do not reach the library.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from importlib.util import find_spec
from threading import Thread
from typing import Any, BinaryIO, cast

import numpy as np

import gpualign
from gpualign.core.common.errors import InputError, RunError
from gpualign.core.common.threads import BackgroundTask
from gpualign.core.common.units import format_count
from gpualign.core.distance.calls import CallKind, make_samples
from gpualign.core.distance.positions import VariantPositions
from gpualign.core.distance.readers import vcf_records
from gpualign.core.distance.readers.base import CallReader, RandomAccessSource, RowStore
from gpualign.core.distance.readers.site_names import SiteNames, SiteScheme, are_same_record
from gpualign.core.distance.readers.vcf_lines import VcfLineChecker
from gpualign.core.files.bgzf_blocks import BGZF_EOF_BLOCK, BLOCK_HEADER_BYTES, CUT_BETWEEN_BLOCKS, begins_block
from gpualign.core.files.scratch import MakeScratch
from gpualign.core.sequences.ids import unique_ids

_PROGRAM = "import sys; sys.path[:] = {path!r}; from gpualign.core.distance.readers.vcf_records import main; main(sys.argv[1])"
"""Child program, which looks for modules only where this process does, never in the working directory."""


class _VariantFile:
    """Records of one file, and their calls."""

    def __init__(self, path: str, source: str, memory: int, scratch: MakeScratch) -> None:
        self.source = source
        self.sites: list[tuple[Any, ...]] = []
        self.ids: list[str] = []
        self.calls_without_base = 0
        self.store = RowStore(0, memory, scratch)
        _refuse_truncated(path, source)
        lines, check = VcfLineChecker(path, source), BackgroundTask()
        check.start(lines.check)
        try:
            self._read_records(path, memory, scratch)
            check.wait()
        except InputError:
            lines.last_record = len(self.sites) + vcf_records.MAX_RECORDS_PER_BLOCK
            check.wait()  # the check of the text may have a more precise error
            raise
        finally:
            lines.last_record = 0
        self.store.finish()
        if not self.sites:
            raise InputError(f"{source}: no records")

    def _read_records(self, path: str, memory: int, scratch: MakeScratch) -> None:
        """Read all records from the process that parses the file."""
        with _start_reader(path) as reader:
            for kind, message in reader.messages():
                if kind == vcf_records.IDS:
                    self.ids = json.loads(message)
                    self.store = RowStore(len(self.ids), memory, scratch)
                elif kind == vcf_records.BLOCK:
                    self._add_block(message)
                elif kind == vcf_records.REFUSED:
                    raise InputError(f"{self.source}: {json.loads(message)}{reader.terminate_with_error()}")
                elif kind == vcf_records.END:
                    self.calls_without_base = json.loads(message)
                    return
            raise self._crash_error(reader)

    def _add_block(self, message: bytes) -> None:
        """Store a block of records."""
        start = vcf_records.SIZE_FIELD_BYTES
        stop = start + int.from_bytes(message[:start], "little")
        sites = [tuple(site) for site in json.loads(message[start:stop])]
        self.sites += sites
        self.store.add_rows(np.frombuffer(message, dtype=np.uint8, offset=stop).reshape(len(sites), len(self.ids)))

    def _crash_error(self, reader: _ReaderProcess) -> InputError | RunError:
        """Return the error for a reader process that has ended without reporting a reason."""
        code = reader.wait()
        if code >= 0:
            return RunError(f"{self.source}: the process that reads it ended with {code}{reader.terminate_with_error()}")
        name = signal.Signals(-code).name
        if -code in (signal.SIGKILL, signal.SIGTERM):
            return RunError(f"{self.source}: the process that reads it was killed ({name}), perhaps for lack of memory")
        where = f"in or after record {len(self.sites) + 1:,}" if self.ids else "at its beginning"
        return InputError(
            f"{self.source}: a damaged file: the reader crashed {where} ({name}); make or copy it again{reader.terminate_with_error()}"
        )

    def call_reader(self) -> CallReader:
        """Return a function that returns the calls of a range of records."""
        return lambda start, stop, _: np.ascontiguousarray(self.store.rows(start, stop).T)


class _ReaderProcess:
    """The process that reads a file."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._messages = cast(BinaryIO, process.stdout)
        self._lines: deque[bytes] = deque(maxlen=1)
        # Lines that the process prints are read at once, so that it never blocks; htslib's last error may explain a failure.
        errors = (line for line in process.stderr if line.startswith(b"[E::"))
        self._listener = Thread(target=self._lines.extend, args=(errors,), daemon=True)
        self._listener.start()

    def messages(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield (kind, content) for each message as it arrives. Stops when the process ends, even in the middle of a message."""
        head_bytes = 1 + vcf_records.SIZE_FIELD_BYTES
        while len(head := self._messages.read(head_bytes)) == head_bytes:
            size = int.from_bytes(head[1:], "little")
            content = self._messages.read(size)
            if len(content) < size:
                return
            yield head[:1], content

    def terminate_with_error(self) -> str:
        """Terminate the process, and return htslib's last error as a suffix for a message, or "" if there was none."""
        self.stop()
        return f" {ascii(self._lines[0].decode('utf-8', 'replace').strip())[1:-1]}" if self._lines else ""

    def wait(self) -> int:
        """Wait for the process, and return its exit code. The code is negative if a signal ended the process."""
        return self._process.wait()

    def stop(self) -> None:
        """Terminate the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._listener.join()


def _refuse_truncated(path: str, source: str) -> None:
    """Raise `InputError` if a bgzipped file does not end with an empty block: htslib only warns about it, and records would be lost."""
    with open(path, "rb") as stream:
        if not begins_block(stream.read(BLOCK_HEADER_BYTES)):
            return
        stream.seek(max(0, stream.seek(0, 2) - len(BGZF_EOF_BLOCK)))
        if stream.read() != BGZF_EOF_BLOCK:
            raise InputError(f"{source}: {CUT_BETWEEN_BLOCKS}")


def _skip_site_module_option() -> list[str]:
    """Return the option with which Python skips the site module, or an empty list if gpualign cannot be found without this module (in an
    editable install)."""
    spec = PathFinder.find_spec("gpualign", sys.path)
    return ["-S"] if spec is not None and spec.submodule_search_locations == list(gpualign.__path__) else []


@contextmanager
def _start_reader(path: str) -> Iterator[_ReaderProcess]:
    """Start the process that reads a file, and stop it when the context exits."""
    if find_spec("cyvcf2") is None:
        raise RunError("reading VCF and BCF needs cyvcf2: pip install 'gpualign[snp]'")
    command = [sys.executable, "-I", *_skip_site_module_option(), "-c", _PROGRAM.format(path=sys.path), path]
    pipe = subprocess.PIPE
    # A separate session: Ctrl-C reaches this process only, which ends the other one.
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True) as process:
        reader = _ReaderProcess(process)
        try:
            yield reader
        finally:
            reader.stop()


def read_variants(
    inputs: Sequence[tuple[str, str]], allow_duplicates: bool, memory: int, scratch: MakeScratch, warn: Callable[[str], None]
) -> RandomAccessSource:
    """Read one file, or two with the same sites.

    Raises `InputError` naming the file and record, or `RunError` if cyvcf2 is not installed.

    inputs: (path, name for messages) for each file
    memory: maximum memory for calls, in bytes
    warn: receives notes on calls that are read as missing
    """
    files = [_VariantFile(path, source, memory // len(inputs), scratch) for path, source in inputs]
    for file in files:
        if count := file.calls_without_base:
            calls = f"{format_count(count, 'call')} of the allele * (a deleted or unknown base, also <*> and <NON_REF>)"
            warn(f"{file.source}: {calls} {'are' if count != 1 else 'is'} read as missing")
    first = files[0]
    for other in files[1:]:
        for k, (a, b) in enumerate(zip(first.sites, other.sites, strict=False)):
            if not are_same_record(a, b):
                raise InputError(
                    f"{other.source}: record {k + 1} is {_format_site(b)}, in {first.source} it is {_format_site(a)};"
                    " sites and alleles must be the same"
                )
        if len(first.sites) != len(other.sites):
            raise InputError(
                f"{other.source}: {len(other.sites):,} records, {first.source} has {len(first.sites):,}; sites must be the same"
            )
    ids = [unique_ids(f.ids, f.source, allow_duplicates) for f in files]
    positions = VariantPositions.of(first.source, first.sites)
    call_readers, nbytes = [f.call_reader() for f in files], sum(f.store.nbytes for f in files)

    def make_names() -> SiteNames:
        return SiteNames(SiteScheme.RECORDS, [tuple(map(str, site)) for site in first.sites])

    samples, sites = make_samples(*ids), len(first.sites)
    return RandomAccessSource(
        samples, CallKind.GENOTYPE, sites, call_readers, nbytes, make_positions=lambda: positions, make_names=make_names
    )


def _format_site(site: tuple[Any, ...]) -> str:
    """Return a site as text, for messages."""
    chromosome, position, *alleles = site
    return f"{chromosome}:{position} {'/'.join(alleles)}"
