"""Windows: overlapping parts of long sequences, for which local scores are computed instead of whole sequences. Pure.

The strips of a pair wait for each other, so if one of its sequences is short, a pair keeps few warps busy, however long the other sequence
is. But an alignment contains few letters of the long sequence then. If consecutive windows share all but one of as many letters, each
alignment lies within a window, and the score of the pair is the best score of the windows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.recurrence_forms import RebasedForm
from gpualign.gpu.alignment.recipe import Lengths

_STRIDE_FACTORS = (1, 4, 16)  # strides to choose from, in overlaps: short windows are many, long ones have few cells in common
MIN_STRIDE = 1024  # letters; a chain takes some hundred columns to start


@dataclass(frozen=True)
class Windows:
    """Division of sequences into windows. A sequence of up to `stride + overlap` letters is a single window.

    stride: number of letters from the start of a window to the start of the next one
    overlap: number of letters that two consecutive windows share
    """

    stride: int
    overlap: int

    def lengths(self, lengths: Lengths) -> Lengths:
        """Return the lengths of all windows of sequences of these lengths: int64[windows]."""
        if lengths.max() <= self.stride + self.overlap:
            return lengths
        _, ranges = self.divide(lengths)
        return ranges[:, 1] - ranges[:, 0]

    def divide(self, lengths: Lengths) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return (int64[windows], index of the sequence of each window; int64[windows][2], first letter and end of each window) of all
        windows of sequences of these lengths, sequence by sequence.

        Any `overlap + 1` consecutive letters are in one window: the last one that starts no later than they do.
        """
        counts = np.maximum(1, -(-(lengths - self.overlap) // self.stride))
        sequences = np.repeat(np.arange(len(lengths)), counts)
        starts = (np.arange(len(sequences)) - np.repeat(np.cumsum(counts) - counts, counts)) * self.stride
        stops = np.minimum(lengths[sequences], starts + self.stride + self.overlap)
        return sequences, np.stack([starts, stops], axis=1)


WHOLE_SEQUENCES = Windows(stride=1 << 62, overlap=0)


def max_aligned_letters(form: RebasedForm, length: int) -> int | None:
    """Return how many letters of one sequence a local alignment with a positive score contains at most, or None if there is no bound.

    length: length of the other sequence

    Of these letters, at most `length` are paired, which scores at most `form.max_score` each. The others are in gaps. A gap costs least for
    each letter if it is the only one, because opening costs at least as much as extending. So k letters in gaps cost at least
    open + (k - 1) extend, which must be less than the score of the pairs.
    """
    left = form.max_score * length - form.gap_open
    if left <= 0:
        return length
    return None if form.gap_extend == 0 else length + 1 + (left - 1) // form.gap_extend


def window_choices(form: RebasedForm, query_length: int, target_length: int) -> Iterator[tuple[Windows, Windows]]:
    """Yield (windows of the queries, windows of the targets) with which sequences up to these lengths can be divided.

    One of the two is `WHOLE_SEQUENCES`: a sequence is divided only if it is longer than the alignments with the longest sequence of the
    other side.
    """
    for targets in _choices(form, query_length, target_length):
        yield WHOLE_SEQUENCES, targets
    for queries in _choices(form, target_length, query_length):
        yield queries, WHOLE_SEQUENCES


def _choices(form: RebasedForm, other_length: int, length: int) -> Iterator[Windows]:
    """Yield the windows with which sequences of up to `length` letters can be divided, if alignments are with `other_length` letters."""
    aligned = max_aligned_letters(form, other_length)
    if aligned is None:
        return
    for stride in sorted({max(MIN_STRIDE, factor * (aligned - 1)) for factor in _STRIDE_FACTORS}):
        if stride + aligned - 1 < length:
            yield Windows(stride, aligned - 1)
