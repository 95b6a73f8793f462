"""Errors that a user can cause or encounter. Each message says what is wrong and where, the value found, and what to do.

Messages name parameters using `parameter`, because the command line and Python spell them differently.
"""

from __future__ import annotations

import re

_PARAMETER_START, _PARAMETER_END = "\ue000", "\ue001"
"""Characters that enclose a reference to a parameter in a message. They are private-use characters of Unicode, which no input file is
expected to contain."""

_PARAMETER_PATTERN = re.compile(f"{_PARAMETER_START}([^={_PARAMETER_END}]*)(?:=([^{_PARAMETER_END}]*))?{_PARAMETER_END}")

LINE_BREAK = "\ue002"
"""Intended line break in a message. Other line ends come from the names of files, and `command_line_message` escapes them."""

_CONTROL_CHARACTER = re.compile("[\0-\x1f\x7f-\x9f]")

_PYTHON_SPELLINGS = {
    "edit": "Scoring(edit=True)",
    "hamming": "Scoring(hamming=True)",
    "tcrdist": "Scoring(tcrdist=True)",
    "align_distance": "Scoring(align_distance=True)",
    "no_traceback": "traceback=False",
    "self": "with_self",
}
"""Python spellings of the parameters whose names in Python differ from the names of the options."""


def parameter(name: str, value: str | int | None = None) -> str:
    """Return a reference to a parameter or its value, for use in messages. `command_line_message` and `python_message` spell it out."""
    return f"{_PARAMETER_START}{name}{_PARAMETER_END}" if value is None else f"{_PARAMETER_START}{name}={value}{_PARAMETER_END}"


def command_line_message(message: str) -> str:
    """Return the message with parameters spelled as options: two leading hyphens, hyphens for underscores, and a space before the value."""

    def spell(match: re.Match[str]) -> str:
        name, value = match.groups()
        option = f"--{name.replace('_', '-')}"
        return option if not value else f"{option} {value}" if re.fullmatch(r"[\w.,:+/-]+", value) else f"{option} '{value}'"

    # A file may have a line end or an escape sequence for terminals in its name.
    escaped = _CONTROL_CHARACTER.sub(lambda match: ascii(match[0])[1:-1], _PARAMETER_PATTERN.sub(spell, message))
    return escaped.replace(LINE_BREAK, "\n")


def python_message(message: str) -> str:
    """Return the message with parameters spelled as keyword arguments, such as type='alleles' or ploidy=4."""

    def spell(match: re.Match[str]) -> str:
        name, value = match.groups()
        name = _PYTHON_SPELLINGS.get(name, name)
        return name if value is None else f"{name}={value if re.fullmatch('[0-9.]+', value) else repr(value)}"

    return _PARAMETER_PATTERN.sub(spell, message).replace(LINE_BREAK, "\n")


class GpualignError(Exception):
    """Base class for expected errors. The command line prints the message and exits with `exit_code`."""

    exit_code = 1

    @property
    def message(self) -> str:
        """Text of the error, in which parameters are written as references (see `parameter`). The interface that reports the error spells
        them out."""
        return super().__str__()

    def __str__(self) -> str:
        return python_message(self.message)


class InputError(GpualignError, ValueError):
    """Error in an option or in the input, such as an invalid file, record, letter or matrix."""

    exit_code = 2


class RunError(GpualignError, RuntimeError):
    """Error that ends a run, for example because a device fails, or because memory or disk space is exhausted."""

    exit_code = 1


class TooLittleMemory(RunError):
    """Error of a run that does not fit into its memory budget.

    problem: what does not fit
    needed_bytes: number of bytes that the run needs, 0 if unknown
    advice: what the user can do
    available_bytes: number of bytes that were left for what does not fit; 0 if this is unknown or not a share of the budget

    The message ends with the advice. Shares grow at least as fast as the budget, so the message can say how much more memory is enough. If
    this process's memory limit might make the advice impossible to follow, the message also states the limit.
    """

    def __init__(self, problem: str, needed_bytes: int = 0, advice: str = f"raise {parameter('memory')}", available_bytes: int = 0) -> None:
        super().__init__(problem)
        self.needed = needed_bytes
        self.advice = advice
        self.available = available_bytes

    @property
    def message(self) -> str:
        from gpualign.core.common.memory import describe_limit, exceeds_half_of_free_memory

        limit = f"; {describe_limit()}" if exceeds_half_of_free_memory(self.needed) else ""
        enough = f"; {-(-self.needed // self.available):,} times as much is enough for this step" if self.available > 0 else ""
        return f"{super().message}; {self.advice}{enough}{limit}"


class InputWarning(UserWarning):
    """Warning that the meaning of an input was guessed, or that an input looks like a mistake."""


def different_numbers(one: float, other: float) -> tuple[str, str]:
    """Return two numbers that differ for a message: with six digits, or with all if six are the same."""
    short = f"{one:g}", f"{other:g}"
    return short if short[0] != short[1] else (str(one), str(other))


def quoted(text: str) -> str:
    """Quote a cell or id from a file for a message. Long text is truncated after 39 characters."""
    return ascii(text) if len(text) <= 40 else ascii(text[:39] + "…")
