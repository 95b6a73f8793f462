"""Some records that stand for a task while its steps are chosen."""

from __future__ import annotations

from random import Random  # NumPy's generators take ten times as long to load as the sample

import numpy as np

from gpualign.core.sequences.sequence_set import SequenceSet

_RECORDS, _LETTERS = 160, 400_000


def sample(queries: SequenceSet, targets: SequenceSet) -> tuple[SequenceSet, SequenceSet]:
    """Records of both sets at random, the same each time so that a run can be repeated; one set where they are one."""
    random = Random(0)
    drawn = _draw(queries, random)
    return drawn, drawn if targets is queries else _draw(targets, random)


def _draw(sequences: SequenceSet, random: Random) -> SequenceSet:
    count = min(len(sequences), _RECORDS, max(16, int(_LETTERS / sequences.lengths.mean())))
    return sequences.select(np.array(sorted(random.sample(range(len(sequences)), count)), dtype=np.int64))
