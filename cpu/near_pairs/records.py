"""Per-record data kept by the near-pair kernels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gpualign.core.common.threads import map_in_order
from gpualign.core.near_pairs.filter_cascade import FilterCascade
from gpualign.core.scoring.edit_bounds import EditBound
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.near_pairs import _near

_MAX_CHUNK_LETTERS = 1 << 20
"""Approximate number of letters in the records built at a time."""


def native_bound(bound: EditBound) -> _near.Bound:
    """Convert the bound to the extension's type."""
    return _near.Bound(bound.per_letter, bound.per_shorter, bound.constant, bound.inside, bound.coverage)


def build_records(sequences: SequenceSet, letters: int, steps: FilterCascade, threads: int = 1) -> _near.Records:
    """Build the data that kernels keep for each record. threads: number of threads that build the data."""
    records = _near.Records(sequences.codes, sequences.offsets, letters, steps.q, steps.sketch_bits)
    pieces = max(1, min(len(sequences), int(sequences.offsets[-1]) // _MAX_CHUNK_LETTERS))
    cuts = np.linspace(0, len(sequences), pieces + 1).astype(np.int64).tolist()
    list(map_in_order(lambda cut: records.build(*cut), pairwise(cuts), threads))
    return records
