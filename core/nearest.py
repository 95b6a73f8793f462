"""What somebody meant who mistyped a name."""

from __future__ import annotations

from collections.abc import Iterable

_LEAST = 0.62
"""Of difflib's ratio: one wrong letter of three has 0.67, `blast` and `fasta` have 0.6."""


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The one of `names` that `word` is nearest to, in any case and whatever dashes are before it; None where none is near."""
    from difflib import SequenceMatcher  # which only errors need

    wanted = _bare(word)
    best, found = _LEAST, None
    for name in names:
        known = _bare(name)
        likeness = SequenceMatcher(None, wanted, known).ratio()
        if len(wanted) > 1 and known.startswith(wanted):
            likeness = max(likeness, 0.9)
        elif sorted(wanted) == sorted(known):  # swapped letters, which difflib counts as two
            likeness = max(likeness, 0.8)
        if likeness > best:
            best, found = likeness, name
    return found


def _bare(name: str) -> str:
    return name.lower().lstrip("-")


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """A question to put behind a message, empty where no name is near."""
    name = nearest(word, names)
    return "" if name is None else f"; did you mean {name}?"
