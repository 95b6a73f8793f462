"""Errors that a user can cause or meet. Each message says what, where, the value found, and what to do.

Messages name parameters through `parameter`, because the command line and Python spell them in different ways.
"""

from __future__ import annotations

import re

_START, _END = "\ue000", "\ue001"
"""Characters around a parameter in a message. They are for private use, so no file holds them."""

_PARAMETER = re.compile(f"{_START}([^={_END}]*)(?:=([^{_END}]*))?{_END}")

_IN_PYTHON = {"edit": "Scoring(edit=True)", "no_traceback": "traceback=False", "self": "with_self"}
"""What Python has in the place of an option of another name."""


def parameter(name: str, value: str | int | None = None) -> str:
    """Reference to a parameter, or to one of its values, for a message: `for_command_line` and `for_python` spell it."""
    return f"{_START}{name}{_END}" if value is None else f"{_START}{name}={value}{_END}"


def for_command_line(message: str) -> str:
    """The message with parameters as options: two hyphens, hyphens in the place of underscores, and the value behind a blank."""

    def spell(match: re.Match[str]) -> str:
        name, value = match.groups()
        option = f"--{name.replace('_', '-')}"
        return option if not value else f"{option} {value}" if re.fullmatch(r"[\w.,:+/-]+", value) else f"{option} '{value}'"

    return _PARAMETER.sub(spell, message)


def for_python(message: str) -> str:
    """The message with parameters as keyword arguments: no_header, type='alleles', ploidy=4."""

    def spell(match: re.Match[str]) -> str:
        name, value = match.groups()
        name = _IN_PYTHON.get(name, name)
        return name if value is None else f"{name}={value if re.fullmatch('[0-9.]+', value) else repr(value)}"

    return _PARAMETER.sub(spell, message)


class GpualignError(Exception):
    """Base of the expected errors; the command line prints its text and exits with `exit_code`."""

    exit_code = 1

    @property
    def message(self) -> str:
        """The text as it was raised, for the face that reports it."""
        return super().__str__()

    def __str__(self) -> str:
        return for_python(self.message)


class InputError(GpualignError, ValueError):
    """Bad usage or bad input: files, records, letters, matrices, options."""

    exit_code = 2


class RunError(GpualignError, RuntimeError):
    """The work itself could not be done: device, memory, disk."""

    exit_code = 1


class TooLittleMemory(RunError):
    """A run does not fit into its memory budget. The message ends in what to do, and in the limit where that may stand in the way.

    problem: what does not fit; needed: bytes that it takes, 0 where that is not known; advice: what to do.
    """

    def __init__(self, problem: str, needed: int = 0, advice: str = f"raise {parameter('memory')}") -> None:
        super().__init__(problem)
        self.needed = needed
        self.advice = advice

    @property
    def message(self) -> str:
        from gpualign.core.common.memory import describe_limit, is_scarce

        limit = f"; {describe_limit()}" if is_scarce(self.needed) else ""
        return f"{super().message}; {self.advice}{limit}"


class InputWarning(UserWarning):
    """A guess about an input, or something in it that looks like a mistake."""


def quoted(text: str) -> str:
    """A cell or an id of a file, for a message: the beginning of a long one."""
    return ascii(text) if len(text) <= 40 else ascii(text[:39] + "…")
