"""Lets CUDA start beside a command's imports and reading, where it is asked for or the size of the input says that it may be worth it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from gpualign.cpu.processor import usable_cpus

CUDA_START = 0.2
"""Seconds from which on work is a GPU's, if there is one: a context, kernels from the cache, page-locked memory, where CUDA starts beside
what comes before (0.08 on an H200's machine, 0.19 to 0.25 on H100s')."""

GLOBAL_CELLS, EDIT_CELLS, LOCAL_CELLS = 3e10, 3e11, 1.1e10
"""That a core with AVX-512 aligns in a second, about, where threads share cores: global scores, edit distances, searches."""

_NEAR_LETTER = 9e-12
"""Seconds that such a core looks at a pair of records for, by the letters of one, where few pairs are near: of reads. 5e-12 without others
on it, 11e-12 with AVX2."""

_JOINED_BYTES = 64
"""Records of fewer may be joined by the strings that deletions make of them (core/near), and then few pairs are looked at."""

_HEAD = 1 << 16
"""Bytes of a file that tell how long its records are."""

_GZIP = 31
"""zlib's number of gzip's form."""

_CALL_BYTES = 1e8
"""Of files of calls that keep a core busy for a second, about."""

_PACKED = {".gz": 4, ".bz2": 4, ".xz": 5, ".zst": 4}
"""How much longer files become, about."""

_QUALITIES = (".fastq", ".fq")
"""Of files of which half is no letters."""


def alignment_seconds(queries: Iterable[str], targets: Iterable[str] | None, core_cells: float) -> float:
    """What aligning every pair takes the CPU, about, by the sizes of the files of two sets, or of one (None); 0 where all of a set tell no
    size. core_cells: that a core aligns in a second."""
    letters = sum(map(_letters, queries))
    cells = letters * (letters / 2 if targets is None else sum(map(_letters, targets)))
    return cells / (core_cells * usable_cpus())


def near_seconds(queries: Sequence[str], targets: Sequence[str] | None) -> float:
    """What finding the near pairs of two sets, or of one (None), takes the CPU, about, if most pairs are far; 0 where files do not tell."""
    ours = [_records(path) for path in queries]
    others = ours if targets is None else [_records(path) for path in targets]
    pairs_letters = sum(records for records, _ in ours) * sum(letters for _, letters in others)
    return pairs_letters * (0.5 if targets is None else 1) * _NEAR_LETTER / usable_cpus()


def threshold_bounds_edit_distance(
    edit: bool,
    definition: int,
    free_ends: bool,
    min_score: int | None,
    min_identity: float | None,
    max_distance: float | None,
    min_coverage: float | None,
) -> bool:
    """Whether thresholds (None: not asked for) leave out pairs unseen, as `gpualign.core.near_pairs.thresholds.edit_bound` has it, which
    takes
    longer to load.

    edit: whether scores, and so distances, are edit distances, which else are made of identities. definition: of the identity. free_ends:
    whether gaps at the ends cost nothing.
    """
    score = min_score is not None or (max_distance is not None and edit)
    identity = min_identity is not None or (max_distance is not None and not edit)
    covered = definition in (1, 2, 4) and min_coverage is not None
    return (score and not (edit and free_ends)) or (identity and (definition == 0 or (definition in (1, 4) and not free_ends) or covered))


def distance_seconds(inputs: Iterable[str]) -> float:
    """Likewise of distances between the samples of some files, of which sizes tell little."""
    return sum(map(_bytes, inputs)) / (_CALL_BYTES * usable_cpus())


def _letters(path: str) -> float:
    """Of sequences, about; 0 for what is no file."""
    stem, ending = os.path.splitext(path)
    if ending in _PACKED:
        ending = os.path.splitext(stem)[1]
    return _bytes(path) / (2 if ending in _QUALITIES else 1)


def _records(path: str) -> tuple[float, float]:
    """Their number and letters, about, of text, plain or by gzip, by what it begins with; 0 of what is no file, is packed otherwise, or has
    records so short that their number does not tell the work."""
    try:
        if not (size := os.stat(path).st_size):  # nor is a pipe opened, which waits for a writer
            return 0, 0
        file = os.open(path, os.O_RDONLY)
        try:
            head = os.pread(file, _HEAD, 0)  # it may be standard input, whose place others share
        finally:
            os.close(file)
    except OSError:
        return 0, 0
    read = len(head)
    if path.endswith(".gz"):
        head, read = _unpacked(head)
    # Whole ones: a genome is one of many such heads.
    count = head.count(b"\n") / 4 if head.startswith(b"@") else head.count(b"\n>") if head.startswith(b">") else 0
    if not 0 < count * _JOINED_BYTES <= len(head):
        return 0, 0
    return size * count / read, size * len(head) / read / (2 if head.startswith(b"@") else 1)


def _unpacked(head: bytes) -> tuple[bytes, int]:
    """What gzip has made the first bytes of a file of, as many of it at most, and how many bytes they were; nothing where it has not. Of
    several members the first tells enough."""
    import zlib  # most files are plain

    unpacking = zlib.decompressobj(_GZIP)
    try:
        text = unpacking.decompress(head, _HEAD)
    except zlib.error:
        return b"", 0
    return text, len(head) - len(unpacking.unconsumed_tail) - len(unpacking.unused_data)


def _bytes(path: str) -> float:
    """Of text, about."""
    try:
        found = os.stat(path)
    except OSError:
        return 0
    return found.st_size * _PACKED.get(os.path.splitext(path)[1], 1)


def start_for_pairs(device: str, queries: Sequence[str], targets: Sequence[str] | None, core_cells: float, bounded: bool = False) -> None:
    """For pairs of two sets of files, or of one (None). core_cells: that a core aligns in a second; bounded: whether thresholds leave out
    pairs unseen. Raises as `prestart_cuda` does."""
    seconds = 0.0
    if device == "auto" and find_spec("pycuda") is not None:  # else nobody asks
        seconds = near_seconds(queries, targets) if bounded else alignment_seconds(queries, targets, core_cells)
    prestart_cuda(device, seconds, seconds)


def prestart_cuda(device: str, cpu_seconds: float, surely: float) -> None:
    """cpu_seconds: what the CPU would take for the work, about; surely: the same, as far as that is known. Raises `InputError` for what is
    no device's name."""
    if device == "cpu" or (device == "auto" and cpu_seconds < CUDA_START) or find_spec("pycuda") is None:
        return
    from gpualign.gpu.runtime.inventory import check_selection, start_selected

    if device != "auto":
        check_selection(device)
    # The driver alone where the estimate decides nothing; else what a run on the first GPU needs.
    start_selected("cuda" if device == "auto" and surely >= CUDA_START else device)
