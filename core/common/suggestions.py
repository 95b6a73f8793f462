"""Suggests corrections for mistyped names."""

from __future__ import annotations

from collections.abc import Iterable

_MIN_SIMILARITY_RATIO = 0.62
"""Lowest difflib ratio at which a name counts as close. If one letter out of three is wrong, the ratio is 0.67; that of `blast` and `fasta`
is 0.6."""


def nearest_name(word: str, names: Iterable[str]) -> str | None:
    """Return the name closest to `word`, or None if none is close. Case and leading dashes are ignored."""
    return next(iter(nearest_names(word, names, 1)), None)


def nearest_names(word: str, names: Iterable[str], max_count: int) -> list[str]:
    """Return up to `max_count` names that are close to `word`, closest first. Equally close names remain in the order of `names`.

    Case and leading dashes are ignored.
    """
    from difflib import SequenceMatcher  # only errors need it

    typed = _normalised_name(word)
    matches = []
    for name in names:
        known = _normalised_name(name)
        ratio = SequenceMatcher(None, typed, known).ratio()
        if len(typed) > 1 and known.startswith(typed):
            ratio = max(ratio, 0.9)
        elif sorted(typed) == sorted(known):  # swapped letters, which difflib counts as two
            ratio = max(ratio, 0.8)
        if ratio > _MIN_SIMILARITY_RATIO:
            matches.append((ratio, name))
    return [name for _, name in sorted(matches, key=lambda match: -match[0])[:max_count]]


def _normalised_name(name: str) -> str:
    return name.lower().lstrip("-")


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return a question that suggests the name closest to `word`, ready to be appended to a message; "" if no name is close."""
    name = nearest_name(word, names)
    return "" if name is None else f"; did you mean {name}?"
