"""What a job tells on its way: for people, through whoever runs it."""

from __future__ import annotations

from typing import Protocol


class Notes(Protocol):
    """Told of what a user would want to know."""

    def note(self, text: str, /) -> None:
        """Something that was chosen, left out or found."""

    def detail(self, text: str, /) -> None:
        """How the work is done."""


class Unheard:
    """Nobody listens."""

    def note(self, text: str, /) -> None:
        pass

    def detail(self, text: str, /) -> None:
        pass


UNHEARD = Unheard()
