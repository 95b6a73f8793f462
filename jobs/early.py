"""Lets CUDA start beside a command's imports and reading, where it is asked for or the size of the input says that it may be worth it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec

from gpualign.cpu.machine import usable_cpus

CUDA_START = 0.15
"""Seconds: a context, kernels from the cache, page-locked memory (0.08 on an H200's machine, 0.19 on an H100's; the driver starts beside
what comes before)."""

GLOBAL_CELLS, EDIT_CELLS, LOCAL_CELLS = 3e10, 2e11, 1.5e10
"""That a core with AVX-512 aligns in a second, about: global scores, edit distances, searches."""

_SURELY = 1.2
"""Times `CUDA_START`, from which on a GPU that is there will be taken."""

_NEAR_PAIR = 2e-9
"""Seconds that a core looks at a pair of records for, at least, of which few are near (3e-9 measured of reads)."""

_JOINED_BYTES = 64
"""Records of fewer may be joined by the strings that deletions make of them (core/near), and then few pairs are looked at."""

_HEAD = 1 << 16
"""Bytes of a file that tell how long its records are."""

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


def near_seconds(queries: Iterable[str], targets: Iterable[str] | None) -> float:
    """The least that the CPU takes, about, to find the near pairs of two sets, or of one (None); 0 where files do not tell."""
    records = sum(map(_records, queries))
    pairs = records * (records / 2 if targets is None else sum(map(_records, targets)))
    return pairs * _NEAR_PAIR / usable_cpus()


def distance_seconds(inputs: Iterable[str]) -> float:
    """Likewise of distances between the samples of some files, of which sizes tell little."""
    return sum(map(_bytes, inputs)) / (_CALL_BYTES * usable_cpus())


def _letters(path: str) -> float:
    """Of sequences, about; 0 for what is no file."""
    stem, ending = os.path.splitext(path)
    if ending in _PACKED:
        ending = os.path.splitext(stem)[1]
    return _bytes(path) / (2 if ending in _QUALITIES else 1)


def _records(path: str) -> float:
    """Of plain text, about, by those that it begins with; 0 of what is no file, is packed, or has records so short that their number does
    not tell the work."""
    if not (size := _bytes(path)):
        return 0
    try:
        file = os.open(path, os.O_RDONLY)
        try:
            head = os.pread(file, _HEAD, 0)  # it may be standard input, whose place others share
        finally:
            os.close(file)
    except OSError:
        return 0
    # Whole ones: a genome is one of many such heads.
    count = head.count(b"\n") / 4 if head.startswith(b"@") else head.count(b"\n>") if head.startswith(b">") else 0
    return size * count / len(head) if 0 < count * _JOINED_BYTES <= len(head) else 0


def _bytes(path: str) -> float:
    """Of text, about."""
    try:
        found = os.stat(path)
    except OSError:
        return 0
    return found.st_size * _PACKED.get(os.path.splitext(path)[1], 1)


def start_early(device: str, cpu_seconds: float, surely: float) -> None:
    """cpu_seconds: what the CPU would take for the work, about; surely: the same, at least, as far as that is known: most pairs may never
    be looked at. Raises `InputError` for what is no device's name."""
    if device == "cpu" or (device == "auto" and cpu_seconds < CUDA_START) or find_spec("pycuda") is None:
        return
    from gpualign.gpu.devices import check_selection, start_selected

    if device != "auto":
        check_selection(device)
    # The driver alone where the estimate decides nothing; where it is above what CUDA takes, what a run on the first GPU needs.
    start_selected("cuda" if device == "auto" and surely >= _SURELY * CUDA_START else device)
