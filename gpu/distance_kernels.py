"""Which kernel multiplies bit planes on a device, and how a launch and the planes are cut. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpualign.core.distance.engine import WORD_BITS, Band, Panel
from gpualign.gpu.arguments import MOST_PLANES
from gpualign.gpu.kernels import Kernel

CHUNK_WORDS = 16
"""Of 64 bits: a kernel takes so much of a sample at a time (kChunk)."""

_PIECE_BYTES = 64 << 20
"""Planes that are copied to a device at a time, about."""

_WAVES = 4  # of blocks that fill a device; with fewer, the last one leaves much of it idle
_LEAST_CHUNKS = 32  # of a block's part of a sum; with fewer, its beginning and end take longer than the sum


@dataclass(frozen=True)
class DistanceKernel:
    """rows, columns: samples of a block's tile; threads: of a block; shared: bytes of its shared memory."""

    kernel: Kernel
    title: str
    rows: int
    columns: int
    threads: int
    shared: int = 0


_STAGE = 128  # bytes of a sample
POPC = DistanceKernel(Kernel("distance_popc.cu", "distance_popc"), "popc", 64, 64, 256)
MMA = DistanceKernel(Kernel("distance_mma.cu", "distance_mma"), "binary tensor cores (mma)", 128, 128, 256, 3 * 256 * _STAGE)
WGMMA = DistanceKernel(Kernel("distance_wgmma.cu", "distance_wgmma"), "binary tensor cores (wgmma)", 128, 256, 256, 4 * 384 * _STAGE)


def usable_kernels(arch: str) -> tuple[DistanceKernel, ...]:
    """Those that an architecture, as nvcc calls it, runs, fastest first; a name that is none is a device without tensor cores."""
    if arch == "sm_90a":
        return WGMMA, MMA, POPC
    number = arch.removeprefix("sm_").rstrip("af")
    return (MMA, POPC) if number.isdecimal() and int(number) >= 80 else (POPC,)


@dataclass(frozen=True)
class Launch:
    """grid: blocks; splits: parts of each tile's sum."""

    grid: int
    splits: int


def plan_launch(kernel: DistanceKernel, band: Band, chunks: int, multiprocessors: int) -> Launch:
    """Blocks for a band and a sum of `chunks` chunks."""
    rows, columns = band.shape
    tiles = -(-rows // kernel.rows) * -(-columns // kernel.columns)
    most = max(1, chunks // _LEAST_CHUNKS)
    splits = 1 if tiles >= _WAVES * multiprocessors else min(most, -(-_WAVES * multiprocessors // tiles))
    return Launch(tiles * splits, splits)


@dataclass(frozen=True)
class Piece:
    """Words start .. stop of a panel's planes."""

    panel: Panel
    start: int
    stop: int

    @property
    def words(self) -> int:
        return self.stop - self.start

    @property
    def nbytes(self) -> int:
        planes, samples, _ = self.panel.bits.shape
        return int(planes * samples * self.words * 8)

    @property
    def sites(self) -> int:
        """That lie in these words."""
        return max(0, min(self.panel.sites, self.stop * WORD_BITS) - self.start * WORD_BITS)


def cut_panels(panels: Sequence[Panel], piece_bytes: int = _PIECE_BYTES) -> Iterator[Piece]:
    """Panels in pieces of about so many bytes; those without terms are left out."""
    for panel in panels:
        planes, samples, words = panel.bits.shape
        if not panel.recipe.terms:
            continue
        step = max(1, piece_bytes // (planes * samples * 8 * CHUNK_WORDS)) * CHUNK_WORDS
        for start in range(0, words, step):
            yield Piece(panel, start, min(words, start + step))


def padded_words(sites: int) -> int:
    """Words of a sample in a plane with so many sites: whole chunks of the kernels."""
    return -(-sites // (CHUNK_WORDS * WORD_BITS)) * CHUNK_WORDS


def in_launches(left: Sequence[int], right: Sequence[int]) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """The planes of a term, as many at a time as a launch takes."""
    for start in range(0, len(left), MOST_PLANES):
        yield left[start : start + MOST_PLANES], right[start : start + MOST_PLANES]


def split_band(band: Band, parts: int) -> list[Band]:
    """Rows of a band for several devices, about equally many pairs each."""
    out: list[Band] = []
    rows, columns = band.shape
    # Of one set, row r of a band that begins on the diagonal has columns - r pairs.
    weights = [columns - r if band.upper else columns for r in range(rows)]
    total, done, start = sum(weights), 0, 0
    for row, weight in enumerate(weights, 1):
        done += weight
        if done * parts >= total * (len(out) + 1) or row == rows:
            first = band.start + start if band.upper else band.first_target
            out.append(Band(band.start + start, band.start + row, max(first, band.first_target), band.target_stop, band.upper))
            start = row
    return out
