"""Interface through which a job reports to its user. Messages name parameters with `core.common.errors.parameter`."""

from __future__ import annotations

from typing import Protocol


class Reporter(Protocol):
    """Receives messages of interest to the user."""

    def note(self, text: str, /) -> None:
        """Report a choice, an omitted part of the input, or a finding."""

    def warn(self, text: str, /) -> None:
        """Report a guess about an input, or a likely mistake in the input."""

    def detail(self, text: str, /) -> None:
        """Report how the work is done."""


class SilentReporter:
    """Null object for `Reporter`: drops every message."""

    def note(self, text: str, /) -> None:
        pass

    def warn(self, text: str, /) -> None:
        pass

    def detail(self, text: str, /) -> None:
        pass


SILENT_REPORTER = SilentReporter()
