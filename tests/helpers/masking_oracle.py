"""Low-complexity intervals by their definitions: slow, on letters, without running sums."""

from collections import Counter
from math import lgamma, log, log2

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"


def intervals_of(letters):
    """A set of positions as half-open intervals."""
    return [(i, next(j for j in range(i, len(letters) + i + 1) if j not in letters)) for i in sorted(letters) if i - 1 not in letters]


def seg(text, window=12, locut=2.2, hicut=2.5, most_unknown=2, most_trimmed=50):
    """Positions that SEG masks in a protein (Wootton & Federhen 1993, 1996)."""
    entropies = []  # of the window that begins at each place; None where too much of it is unknown
    for start in range(len(text) - window + 1):
        counts = Counter(x for x in text[start : start + window] if x in AMINO_ACIDS)
        known = sum(counts.values())
        entropies.append(None if window - known > most_unknown else sum(c / known * log2(known / c) for c in counts.values()))

    def low(start, cut):
        return entropies[start] is not None and entropies[start] <= cut

    masked = set()
    start = least = 0
    while start < len(entropies):
        if not low(start, locut):
            start += 1
            continue
        first = last = start  # windows of the raw segment
        while first > least and low(first - 1, hicut):
            first -= 1
        while last + 1 < len(entropies) and low(last + 1, hicut):
            last += 1
        begin, end = first, last + window
        left, right = least_probable(text[begin:end], most_trimmed)
        left, right = begin + left, begin + right
        if start + window <= left:  # the window that began it was trimmed off
            masked |= {begin + i for i in seg(text[begin:left], window, locut, hicut, most_unknown, most_trimmed)}
        masked |= set(range(left, right))
        start = least = min(last, right - 1) + 1
    return masked


def least_probable(text, most_trimmed):
    """The part of a raw segment whose composition is least probable; if tied, the longest, then the leftmost."""
    best, part = 0.0, (0, len(text))
    for size in range(len(text), max(1, len(text) - most_trimmed), -1):
        for start in range(len(text) - size + 1):
            value = log_probability(text[start : start + size])
            if value < best - 1e-7:
                best, part = value, (start, start + size)
    return part


def log_probability(text):
    """ln P0 of the composition: arrangements of the letters, times compositions of that kind, over 20^L."""
    counts = [text.count(x) for x in AMINO_ACIDS]
    arrangements = lgamma(len(text) + 1) - sum(lgamma(c + 1) for c in counts)
    kinds = lgamma(21) - sum(lgamma(n + 1) for n in Counter(counts).values())
    return arrangements + kinds - len(text) * log(20)


def dust(text, window=64, level=20):
    """Positions that symmetric DUST masks (Morgulis et al. 2006): the union of all perfect intervals.

    A triplet with a letter that is not A, C, G or T equals no other.
    """
    triplets = [text[i : i + 3] if set(text[i : i + 3]) <= set("ACGT") else i for i in range(len(text) - 2)]
    best = {}  # (first triplet, last): the largest score of the interval and all within
    masked = set()
    for first in reversed(range(len(triplets))):
        counts = Counter()
        pairs = 0
        for last in range(first, min(first + window - 2, len(triplets))):
            pairs += counts[triplets[last]]
            counts[triplets[last]] += 1
            score = pairs / (last - first) if last > first else 0  # equal fractions are equal floats
            within = max(best.get((first, last - 1), 0), best.get((first + 1, last), 0))
            if score > level / 10 and score >= within:
                masked |= set(range(first, last + 3))
            best[first, last] = max(score, within)
    return masked
