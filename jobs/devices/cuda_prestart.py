"""Starts CUDA in parallel with a command's imports and reading, if CUDA is requested or if the input is large enough that CUDA may be
worthwhile."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from gpualign.cpu.processor import usable_cpu_count

CUDA_START_SECONDS = 0.2
"""Minimum CPU time of a job, in seconds, from which a GPU is used if there is one. Covers creating a context, loading cached kernels and
allocating page-locked memory if CUDA starts in parallel with earlier steps (0.08 on an H200 machine, 0.19 to 0.25 on H100 machines)."""

GLOBAL_CELLS_PER_SECOND, EDIT_CELLS_PER_SECOND, LOCAL_CELLS_PER_SECOND = 3e10, 3e11, 1.1e10
"""Approximate number of DP cells per second that a core with AVX-512 computes while several threads share it: for global scores, edit
distances and searches."""

_SECONDS_PER_PAIR_LETTER = 9e-12
"""Time, in seconds, that a core with AVX-512 takes to find near pairs while other threads share it: per pair of records and per letter of
one of the two, if few pairs are near. Measured with reads. The time is 5e-12 if no other thread shares the core, and 11e-12 with AVX2."""

_ALIGNING_FACTOR = 2
"""Minimum ratio of the time for finding and aligning near pairs to the time for finding them. It is 17 for 20,000 genes if 0.2 % of their
pairs are near."""

_MAX_JOINED_RECORD_BYTES = 64
"""Near pairs of records shorter than this many bytes may be found by looking up the strings that remain when letters are deleted
(core/near_pairs), so that few pairs are examined."""

_HEAD_BYTES = 1 << 16
"""Number of bytes at the start of a file from which the record length is estimated."""

_GZIP_WINDOW_BITS = 31
"""Value of `wbits` that selects the gzip format in zlib."""

_GENOTYPE_FILE_BYTES_PER_SECOND = 1e8
"""Approximate speed, in bytes per second, at which one core processes a file of calls."""

_EXPANSION_FACTORS = {".gz": 4, ".bz2": 4, ".xz": 5, ".zst": 4}
"""Approximate ratio of text to compressed bytes, by suffix."""

_FASTQ_SUFFIXES = (".fastq", ".fq")
"""Suffixes of files in which only half of the bytes are letters."""


def alignment_seconds(queries: Iterable[str], targets: Iterable[str] | None, cells_per_second: float) -> float:
    """Return the approximate CPU seconds needed to align every pair between two sets, or within one (`targets` is None), estimated from
    file sizes. Returns 0 if the size of a set's files is unknown, as for pipes.

    cells_per_second: DP cells that a core aligns per second
    """
    letters = sum(map(_letter_count, queries))
    cells = letters * (letters / 2 if targets is None else sum(map(_letter_count, targets)))
    return cells / (cells_per_second * usable_cpu_count())


def near_pair_seconds(queries: Sequence[str], targets: Sequence[str] | None, aligned: bool = False) -> float:
    """Estimate the CPU seconds needed to find near pairs between two sets, or within one (`targets` is None), when most pairs are far
    apart. Returns 0 if the files allow no estimate.

    aligned: whether near pairs are aligned after they have been found
    """
    ours = [_record_counts(path) for path in queries]
    others = ours if targets is None else [_record_counts(path) for path in targets]
    pairs_letters = sum(records for records, _ in ours) * sum(letters for _, letters in others)
    factor = (0.5 if targets is None else 1) * (_ALIGNING_FACTOR if aligned else 1)
    return factor * pairs_letters * _SECONDS_PER_PAIR_LETTER / usable_cpu_count()


def distance_seconds(inputs: Iterable[str]) -> float:
    """Return the approximate CPU seconds needed for the distances between the samples in these files. The estimate is rough, because it is
    based only on file sizes."""
    return sum(map(_text_bytes, inputs)) / (_GENOTYPE_FILE_BYTES_PER_SECOND * usable_cpu_count())


def _letter_count(path: str) -> float:
    """Return the approximate number of letters in a sequence file; 0 if it is not a file."""
    stem, ending = os.path.splitext(path)
    if ending in _EXPANSION_FACTORS:
        ending = os.path.splitext(stem)[1]
    return _text_bytes(path) / (2 if ending in _FASTQ_SUFFIXES else 1)


def _record_counts(path: str) -> tuple[float, float]:
    """Return the approximate numbers of (records, letters) in a plain or gzip-compressed text file, estimated from its first bytes. Returns
    (0, 0) if it is not a file, uses a different compression, or has records so short that their number does not predict the work."""
    try:
        if not (size := os.stat(path).st_size):  # a pipe is not opened either: that waits for a writer
            return 0, 0
        file = os.open(path, os.O_RDONLY)
        try:
            head = os.pread(file, _HEAD_BYTES, 0)  # it may be standard input, whose position is shared
        finally:
            os.close(file)
    except OSError:
        return 0, 0
    read = len(head)
    if path.endswith(".gz"):
        head, read = _unpack_head(head)
    # Only whole records count: a genome is longer than many such heads.
    count = head.count(b"\n") / 4 if head.startswith(b"@") else head.count(b"\n>") if head.startswith(b">") else 0
    if not 0 < count * _MAX_JOINED_RECORD_BYTES <= len(head):
        return 0, 0
    return size * count / read, size * len(head) / read / (2 if head.startswith(b"@") else 1)


def _unpack_head(head: bytes) -> tuple[bytes, int]:
    """Return the text at the start of a gzip file, at most `_HEAD_BYTES` bytes, and the number of compressed bytes consumed; (b"", 0) if it
    is not a gzip file. Only the first member is read, which is enough."""
    import zlib  # most files are plain

    unpacking = zlib.decompressobj(_GZIP_WINDOW_BITS)
    try:
        text = unpacking.decompress(head, _HEAD_BYTES)
    except zlib.error:
        return b"", 0
    return text, len(head) - len(unpacking.unconsumed_tail) - len(unpacking.unused_data)


def _text_bytes(path: str) -> float:
    """Return the approximate number of bytes of text in a file; 0 if it is not a file."""
    try:
        status = os.stat(path)
    except OSError:
        return 0
    return status.st_size * _EXPANSION_FACTORS.get(os.path.splitext(path)[1], 1)


def prestart_for_pairs(
    device: str, queries: Sequence[str], targets: Sequence[str] | None, cells_per_second: float, bounded: bool = False
) -> None:
    """Start CUDA if it is worthwhile for the pairs between two sets of files, or within one (`targets` is None).

    cells_per_second: DP cells that a core aligns per second
    bounded: whether thresholds exclude pairs before alignment

    Raises the same errors as `prestart_cuda`.
    """
    seconds = 0.0
    if device == "auto" and find_spec("pycuda") is not None:  # otherwise the estimate is not used
        aligned = cells_per_second < EDIT_CELLS_PER_SECOND  # edit distances are known when near pairs are found
        seconds = near_pair_seconds(queries, targets, aligned) if bounded else alignment_seconds(queries, targets, cells_per_second)
    prestart_cuda(device, seconds, seconds)


def prestart_cuda(device: str, cpu_seconds: float, reliable_seconds: float) -> None:
    """Start CUDA if it is requested, or if the CPU would take long.

    cpu_seconds: approximate CPU time for the work, in seconds
    reliable_seconds: part of this estimate that is reliable; if it is long enough for a GPU, the first GPU is made ready, otherwise only
        the driver is started

    Raises `InputError` if `device` is not a device name.
    """
    if device == "cpu" or (device == "auto" and cpu_seconds < CUDA_START_SECONDS) or find_spec("pycuda") is None:
        return
    from gpualign.gpu.runtime.inventory import check_selection, start_selected_devices

    if device != "auto":
        check_selection(device)
    # Only the driver if the estimate does not decide; otherwise what a run on the first GPU needs.
    start_selected_devices("cuda" if device == "auto" and reliable_seconds >= CUDA_START_SECONDS else device)
