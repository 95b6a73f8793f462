"""Checks and parses fractions that users give as parameters, by the same rules for all parameters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpualign.core.common.errors import InputError, different_numbers, parameter

if TYPE_CHECKING:
    from fractions import Fraction

_NUMBER = re.compile(r"(?=.{1,24}$)([0-9]+\.?[0-9]*|\.[0-9]+)(e-[0-9]{1,2})?")
"""Pattern of a number in the notation that users type and Python prints."""

_PERCENTAGE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?) ?%")


def check_fraction(name: str, value: float | None, maximum: float = 1, meaning: str = "a fraction") -> None:
    """Raise `InputError` if a parameter is not a fraction from 0 to `maximum`.

    name: the parameter's name
    meaning: what the message calls the expected value

    If the value looks like a percentage, the message shows how to write it as a fraction.
    """
    if value is None or 0 <= value <= maximum:
        return
    found, _ = different_numbers(value, maximum)
    hint = f" ({_fraction_text(value)})" if 1 <= value <= 100 * maximum and found == f"{value:g}" else ""
    raise InputError(f"{parameter(name)} is {meaning} from 0 to {maximum:g}; found {found}{hint}")


def exact_fraction(name: str, value: str | float, maximum: float = 1) -> Fraction:
    """Return a parameter's value as the exact fraction that its decimal notation states: 0.1 is one tenth.

    Raises the same errors as `check_fraction`, and `InputError` for text that is not a number.
    """
    from fractions import Fraction

    text = str(value)
    if _NUMBER.fullmatch(text):
        check_fraction(name, float(text), maximum)
        return Fraction(text)
    raise InputError(f"{parameter(name)} is a fraction from 0 to {maximum:g}; found {value!r}{_percentage_hint(text)}")


def site_count_or_fraction(name: str, value: str | float) -> int | Fraction:
    """Return the number of sites if the value is an integer (50), or the fraction of all sites if the value has a decimal point (0.5).

    Raises `InputError` for any other value.
    """
    text = str(value)
    if re.fullmatch(r"0*[1-9][0-9]*", text):
        return int(text)
    if _NUMBER.fullmatch(text) and not text.isdigit() and 0 < float(text) <= 1:
        return exact_fraction(name, text)
    hint = _percentage_hint(f"{text}%" if text.endswith(".0") else text)
    expected = "a whole number of sites from 1 on (50), or a fraction of the sites with a point, up to 1 (0.5)"
    raise InputError(f"{parameter(name)} is {expected}; found {value!r}{hint}")


def percentage_warning(name: str, value: float, kept: str = "nearly every pair") -> str:
    """Return a warning that the threshold `name` keeps the pairs `kept` because its value is 1 or more.

    The warning also shows the value as a fraction, in case the user meant a percentage.
    """
    return f"{parameter(name, f'{value:g}')} keeps {kept}; {_fraction_text(value)}"


def _percentage_hint(text: str) -> str:
    """Return a hint on how to write a percentage as a fraction; "" if the text is not a percentage."""
    match = _PERCENTAGE.fullmatch(text)
    return f" ({_fraction_text(float(match[1]))})" if match and float(match[1]) <= 100 else ""


def _fraction_text(percentage: float) -> str:
    return f"{percentage:g} % is {percentage / 100:g}"
