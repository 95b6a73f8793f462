"""Makes related sequences: copies of an ancestor with edits, as codes of letters."""

import numpy as np
from work import sequence_set


def mutated(rng, codes, rate, letters, deleted=0.0):
    """A copy, as an array, in which a fraction `rate` of the letters is drawn anew and a fraction `deleted` left out. It is never empty."""
    out = np.array(codes)
    places = rng.random(len(out)) < rate
    out[places] = rng.integers(0, letters, int(places.sum()))
    kept = out[rng.random(len(out)) >= deleted]
    return kept if len(kept) else out[:1]


def edited(rng, codes, count, letters, longest=1, start=0, stop=None):
    """A copy, as a list, after `count` insertions, deletions and substitutions. It is never empty.

    longest: maximum length of an insertion or deletion
    start, stop: the part of the sequence that is edited
    """
    out = list(codes)
    for _ in range(count):
        at = int(rng.integers(min(start, len(out)), min(len(out), stop or len(out)) + 1))
        kind, length = int(rng.integers(3)), int(rng.integers(1, longest + 1))
        if kind == 0:
            out[at:at] = rng.integers(0, letters, length).tolist()
        elif kind == 1 and len(out) > length:
            at = min(at, len(out) - length)
            del out[at : at + length]
        elif at < len(out):
            out[at] = int(rng.integers(letters))
    return out


def related_sets(rng, counts, longest, letters):
    """A list of sets of sequences with 1 to `longest` letters: half of them unrelated, half pieces of mutated copies of an ancestor, which
    all sets share. In these copies a tenth of the letters is drawn anew, and a tenth deleted, so that paths stay near the diagonal.

    counts: number of sequences in each set
    """
    ancestor = rng.integers(0, letters, longest)

    def one():
        whole = mutated(rng, ancestor, 0.1, letters, 0.1) if rng.random() < 0.5 else rng.integers(0, letters, longest)
        length = int(rng.integers(1, len(whole) + 1))
        start = int(rng.integers(0, len(whole) - length + 1)) if rng.random() < 0.5 else 0
        return whole[start : start + length]

    return [sequence_set([one() for _ in range(count)]) for count in counts]


def relatives(rng, count, longest, letters):
    """One set as in `related_sets`."""
    return related_sets(rng, [count], longest, letters)[0]


def as_text(codes, letters="ACGT"):
    """The codes as text."""
    return np.frombuffer(letters.encode(), np.uint8)[np.asarray(codes)].tobytes().decode()
