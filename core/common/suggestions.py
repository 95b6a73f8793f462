"""What somebody meant who mistyped a name."""

from __future__ import annotations

from collections.abc import Iterable

_LEAST = 0.62
"""Of difflib's ratio: one wrong letter of three has 0.67, `blast` and `fasta` have 0.6."""


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The one of `names` that `word` is nearest to, in any case and whatever dashes are before it; None where none is near."""
    return next(iter(several_nearest(word, names, 1)), None)


def several_nearest(word: str, names: Iterable[str], most: int) -> list[str]:
    """Those that are near in the same sense, at most so many, the nearest first and of equally near ones those that `names` has first."""
    from difflib import SequenceMatcher  # which only errors need

    wanted = _bare(word)
    found = []
    for name in names:
        known = _bare(name)
        likeness = SequenceMatcher(None, wanted, known).ratio()
        if len(wanted) > 1 and known.startswith(wanted):
            likeness = max(likeness, 0.9)
        elif sorted(wanted) == sorted(known):  # swapped letters, which difflib counts as two
            likeness = max(likeness, 0.8)
        if likeness > _LEAST:
            found.append((likeness, name))
    return [name for _, name in sorted(found, key=lambda one: -one[0])[:most]]


def _bare(name: str) -> str:
    return name.lower().lstrip("-")


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """A question to put behind a message, empty where no name is near."""
    name = nearest(word, names)
    return "" if name is None else f"; did you mean {name}?"
