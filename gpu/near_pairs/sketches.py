"""Computes the sketches of a few records on the host. They are identical to the sketches from cuda_src/near_pairs/near_records.cu. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.sequences.sequence_set import SequenceSet

_FIBONACCI_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def hash_shift(bits: int) -> int:
    """Return the right shift that turns a 64-bit hash into the index of a bit in a sketch."""
    return 64 - (bits.bit_length() - 1)


def hash_grams(records: SequenceSet, letter_ranks: npt.NDArray[np.uint8], radix: int, q: int) -> npt.NDArray[np.uint64]:
    """Return the hash of the q-gram that begins at each letter, if q letters follow: uint64[letters - q + 1], or none.

    letter_ranks: rank of each code among the letters in use, less than `radix`
    """
    letters = letter_ranks[records.codes].astype(np.uint64)
    grams = np.zeros(max(0, len(letters) - q + 1), dtype=np.uint64)
    for at in range(q):
        grams = grams * np.uint64(radix) + letters[at : at + len(grams)]
    hashes: npt.NDArray[np.uint64] = grams * _FIBONACCI_MULTIPLIER
    return hashes


def make_sketches(records: SequenceSet, hashes: npt.NDArray[np.uint64], q: int, bits: int) -> npt.NDArray[np.float32]:
    """Return the sketches, float32[records][bits], each value 0 or 1. They are floats so that they can be multiplied as matrices.

    hashes: result of `hash_grams`
    bits: size of a sketch, a power of 2
    """
    places = hashes >> np.uint64(hash_shift(bits))
    out = np.zeros((len(records), bits), dtype=np.float32)
    for record, (start, stop) in enumerate(zip(records.offsets[:-1].tolist(), records.offsets[1:].tolist(), strict=True)):
        out[record, places[start : max(start, stop - q + 1)]] = 1
    return out
