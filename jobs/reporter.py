"""Interface through which a job reports to its user. Texts name parameters by `core.common.errors.parameter`."""

from __future__ import annotations

from typing import Protocol


class Reporter(Protocol):
    """Receives what a user would want to know."""

    def note(self, text: str, /) -> None:
        """Report a choice, a part of the input that is left out, or a finding."""

    def warn(self, text: str, /) -> None:
        """Report a guess about an input, or something in it that looks like a mistake."""

    def detail(self, text: str, /) -> None:
        """Report how the work is done."""


class SilentReporter:
    """Null object of `Reporter`: drops every message."""

    def note(self, text: str, /) -> None:
        pass

    def warn(self, text: str, /) -> None:
        pass

    def detail(self, text: str, /) -> None:
        pass


SILENT = SilentReporter()
