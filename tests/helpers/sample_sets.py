"""Small sets of samples on disk for tests, and what they are made of."""

from contextlib import contextmanager

import numpy as np

from gpualign.core.distance.readers.detection import CallFile
from gpualign.core.distance.tables.options import CallOptions
from gpualign.core.files.scratch import ScratchFiles
from gpualign.jobs.reporter import SILENT_REPORTER
from gpualign.jobs.sample_sets import append_samples, make_sample_set

READING = CallOptions(gaps_missing=True)


def open_files(path):
    with open(path, "rb") as stream:
        yield CallFile(stream, str(path), str(path))


def make(batch, path):
    @contextmanager
    def output():
        with open(path, "wb+") as file:
            yield file

    with ScratchFiles() as files:
        return make_sample_set(str(batch), None, open_files(batch), READING, output, files, SILENT_REPORTER)


def append(batch, path, options=READING):
    with ScratchFiles() as files:
        return append_samples(str(path), str(batch), None, open_files(batch), options, files, SILENT_REPORTER)


def related_rows(rng, count, sites, missing=0.05):
    """Rows of an alignment: mostly one letter at each site, with runs of missing calls."""
    reference = rng.choice(np.frombuffer(b"ACGT", np.uint8), sites)
    reference[rng.random(sites) < 0.02] = ord("N")  # at which most rows lack a call
    rows = np.tile(reference, (count, 1))
    changed = rng.random(rows.shape) < 0.03
    rows[changed] = rng.choice(np.frombuffer(b"ACGTacgt-N", np.uint8), int(changed.sum()))
    for row in rows:
        if rng.random() < 0.5:
            start = rng.integers(0, sites)
            row[start : start + int(missing * sites)] = ord("N")
    return rows


def write_rows(path, rows, first=0):
    path.write_bytes(b"".join(b">s%d\n%s\n" % (first + k, bytes(row)) for k, row in enumerate(rows)))


def small_set(folder, rng, sites=700):
    rows = related_rows(rng, 12, sites)
    write_rows(folder / "old.fa", rows[:8])
    write_rows(folder / "new.fa", rows[8:], 8)
    make(folder / "old.fa", folder / "set.gps")
    return folder / "set.gps", folder / "new.fa"
