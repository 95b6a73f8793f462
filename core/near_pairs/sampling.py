"""Draws a sample of a task's records, which is used to choose the filter steps."""

from __future__ import annotations

from random import Random  # NumPy's generators take ten times as long to load as the sample

import numpy as np

from gpualign.core.sequences.sequence_set import SequenceSet

_MAX_SAMPLE_RECORDS, _MAX_SAMPLE_LETTERS = 160, 400_000


def sample_records(queries: SequenceSet, targets: SequenceSet, max_records: int = _MAX_SAMPLE_RECORDS) -> tuple[SequenceSet, SequenceSet]:
    """Draw random records from both sets, at most `max_records` from each. The same records are drawn every time, so that runs are
    reproducible.

    If queries and targets are the same set, their samples are the same set too.
    """
    random = Random(0)
    drawn = _draw_records(queries, max_records, random)
    return drawn, drawn if targets is queries else _draw_records(targets, max_records, random)


def _draw_records(sequences: SequenceSet, max_records: int, random: Random) -> SequenceSet:
    count = min(len(sequences), max_records, max(16, int(_MAX_SAMPLE_LETTERS / sequences.lengths.mean())))
    return sequences.select(np.array(sorted(random.sample(range(len(sequences)), count)), dtype=np.int64))
