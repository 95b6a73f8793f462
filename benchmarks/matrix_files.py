"""Whole matrices of one set as .npy: bands of made-up values through the sink into a file, beside numpy.save of the finished matrix.

python benchmarks/matrix_files.py /dev/shm /tmp [--samples 20000] [--rows 256] [--threads 2] [--runs 5] [--fsync]
    [--output benchmarks/results/matrix_files.md]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from common import finish, machine, make_parser, medians, table

from gpualign.core.distance.bands import SampleBand
from gpualign.core.distance.calls import make_samples
from gpualign.core.distance.output.base import BandDistances
from gpualign.core.distance.output.matrix import DistanceMatrices
from gpualign.core.output.matrix import MatrixSink
from gpualign.core.output.matrix_files import NpyArray, NumberType
from gpualign.cpu.processor import usable_cpu_count

TYPES: tuple[NumberType, ...] = (np.dtype(np.int32), np.dtype(np.float64))


def band_values(buffer: np.ndarray, band: SampleBand) -> np.ndarray:
    """Values of a band: the same numbers again and again, in its shape."""
    rows, columns = band.shape
    return buffer[: rows * columns].reshape(rows, columns)


def fill(path: Path, samples: int, rows: int, threads: int, buffer: np.ndarray, fsync: bool) -> float:
    """Millions of pairs a second, from making the file to closing it."""
    bands = [SampleBand(start, min(samples, start + rows), start, samples, True) for start in range(0, samples, rows)]
    named = make_samples([f"s{k}" for k in range(samples)])
    path.unlink(missing_ok=True)
    start = time.perf_counter()
    with open(path, "w+b") as file:
        sink = MatrixSink(DistanceMatrices(buffer.dtype), [partial(NpyArray, file)], threads=threads)
        sink.begin(named)
        for band in bands:
            sink.write(BandDistances(band, band_values(buffer, band), None))
        sink.finish()
        if fsync:
            os.fsync(file.fileno())
    seconds = time.perf_counter() - start
    check(sink.arrays[0].values, bands, buffer)
    return samples * (samples + 1) / 2 / seconds / 1e6


def check(matrix: np.ndarray, bands: list[SampleBand], buffer: np.ndarray) -> None:
    """Check, for some bands, the columns to the right of the band's square and their mirror image."""
    for band in bands[:: max(1, len(bands) // 8)]:
        beside = band_values(buffer, band)[:, band.stop - band.start :]
        assert np.array_equal(matrix[band.start : band.stop, band.stop :], beside)
        assert np.array_equal(matrix[band.stop :, band.start : band.stop], beside.T)


def save(path: Path, matrix: np.ndarray, fsync: bool) -> float:
    """Millions of pairs a second of NumPy, into a new file."""
    path.unlink(missing_ok=True)
    start = time.perf_counter()
    with open(path, "wb") as file:
        np.save(file, matrix)
        if fsync:
            file.flush()
            os.fsync(file.fileno())
    return len(matrix) * (len(matrix) + 1) / 2 / (time.perf_counter() - start) / 1e6


def rates(folder: str, dtype: NumberType, arguments: argparse.Namespace) -> list[str]:
    """A row of the table."""
    samples, rows = arguments.samples, arguments.rows
    buffer = np.random.default_rng(1).integers(0, 1000, rows * samples).astype(dtype)
    matrix = np.ones((samples, samples), dtype)
    with tempfile.TemporaryDirectory(dir=folder) as room:
        path = Path(room) / "matrix.npy"
        actions = {
            "one": partial(fill, path, samples, rows, 1, buffer, arguments.fsync),
            "all": partial(fill, path, samples, rows, arguments.threads, buffer, arguments.fsync),
            "save": partial(save, path, matrix, arguments.fsync),
        }
        found = medians(actions, arguments.runs)
    best = found["all"] / found["save"]
    return [folder, dtype.name, f"{matrix.nbytes / 1e9:.1f}", *(f"{found[name]:.0f}" for name in actions), f"{best:.2f}"]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--threads", type=int, default=usable_cpu_count())
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--fsync", action="store_true", help="until all of a file is on the disk")
    arguments = parser.parse_args()
    text = f"# Files of whole matrices\n\n{machine()}, {usable_cpu_count()} processors.\n\n"
    header = ["folder", "type", "GB", "one thread", f"{arguments.threads} threads", "numpy.save", "ratio"]
    notes = [
        "Millions of pairs a second, each pair once, from opening the file to closing it: bands into a mapped file, with what mirrors them "
        "below the diagonal, beside numpy.save of a matrix that is in memory"
        f"{', all with fsync' * arguments.fsync}. ratio: of the last two. "
        f"Medians of {arguments.runs} alternating runs."
    ]
    rows = [rates(folder, dtype, arguments) for folder in arguments.folders for dtype in TYPES]
    finish(text + table(f"{arguments.samples:,} samples, bands of {arguments.rows}", header, rows, notes), arguments.output)


if __name__ == "__main__":
    main()
