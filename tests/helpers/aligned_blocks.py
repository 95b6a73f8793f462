"""Aligned pairs as either type of block: a rectangle of pairs or a list of hits."""

from itertools import groupby

import numpy as np
from relatives import related_sets
from work import run_paths, two_valued

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.hits import Hits
from gpualign.core.alignment.task import Detail, EndGaps, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs
from gpualign.core.planning.tile_plan import Band, Pairing
from gpualign.core.results.blocks import RectangleBlock
from gpualign.core.results.columns import FIELDS, description_fields
from gpualign.core.results.hit_blocks import HitBlock
from gpualign.core.sequences.strands_frames import QueryTargetFrames, untranslated_frames

OF_PAIRS = [field for field in FIELDS.values() if not field.hits_only and not description_fields(field.name)]
SCHEME = two_valued(4, 5, -4, 10, 1)


def encode(path):
    """Encode a path of "=XID" as CIGAR runs."""
    runs = [("=XID".index(op), len(list(group))) for op, group in groupby(path)]
    return bytes((min(64, length - at) - 1) << 2 | op for op, length in runs for at in range(0, length, 64))


class Aligned:
    """All pairs of two sets, aligned. Some of them can be had as either type of block."""

    def __init__(self, rng, stranded=None):
        self.queries, self.targets = related_sets(rng, [12, 12], 90, 4)
        self.sides = QueryTargetFrames(
            stranded(self.queries) if stranded else untranslated_frames(self.queries), untranslated_frames(self.targets)
        )
        self.task = Task(self.sides.queries.sequences, self.targets, SCHEME, detail=Detail.PATH, end_gaps=EndGaps.FREE)
        self.found = run_paths(self.task.queries, self.targets, SCHEME, EndGaps.FREE)

    def results(self, pairs):
        """Statistics (STATISTICS[pairs]) and paths (`Runs` of shape [pairs]) of some pairs."""
        paths = [encode(self.found.paths[pair]) for pair in pairs]
        sizes = np.array([len(path) for path in paths], dtype=np.int32)
        runs = Runs([np.frombuffer(b"".join(paths), dtype=np.uint8)], np.cumsum(sizes, dtype=np.int64) - sizes, sizes)
        return np.array([self.found.statistics[pair] for pair in pairs], dtype=STATISTICS), runs

    def rectangle(self, rows, columns, pairing=Pairing.ALL, definition=2):
        band = Band(rows.start, rows.stop, columns.start, columns.stop, 0, 1)
        statistics, runs = self.results([(i, j) for i in rows for j in columns])
        runs = Runs(runs.pieces, runs.starts.reshape(band.shape), runs.sizes.reshape(band.shape))
        scores = self.found.scores[rows.start : rows.stop, columns.start : columns.stop].astype(np.int32)
        return RectangleBlock(self.task, definition, BandResults(band, scores, statistics.reshape(band.shape), runs), pairing)

    def hits(self, pairs, definition=2, space=None):
        queries, targets = np.array(pairs, dtype=np.int64).reshape(-1, 2).T.copy()
        hits = Hits(queries, targets, self.found.scores[queries, targets])
        return HitBlock(self.task, definition, self.sides, hits, space, self.results(pairs), np.ones(len(hits), dtype=np.int64))
