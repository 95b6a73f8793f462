"""Fractions that a user gives: one rule for all of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpualign.core.common.errors import InputError, parameter

if TYPE_CHECKING:
    from fractions import Fraction

_NUMBER = re.compile(r"(?=.{1,24}$)([0-9]+\.?[0-9]*|\.[0-9]+)(e-[0-9]{1,2})?")
"""A number as people and Python write it."""

_PERCENTAGE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?) ?%")


def check_fraction(name: str, given: float | None, most: float = 1, meaning: str = "a fraction") -> None:
    """Raises `InputError` for a parameter that is no fraction from 0 to `most`; a percentage is told how it is written."""
    if given is None or 0 <= given <= most:
        return
    hint = f" ({_as_fraction(given)})" if most < given <= 100 * most else ""
    raise InputError(f"{parameter(name)} is {meaning} from 0 to {most:g}; found {given:g}{hint}")


def exact_fraction(name: str, given: str | float, most: float = 1) -> Fraction:
    """The fraction that a parameter's text or number is as it is written: 0.1 is a tenth. Raises `InputError` as `check_fraction` does."""
    from fractions import Fraction

    text = str(given)
    if _NUMBER.fullmatch(text):
        check_fraction(name, float(text), most)
        return Fraction(text)
    raise InputError(f"{parameter(name)} is a fraction from 0 to {most:g}; found {given!r}{_hint(text)}")


def sites_or_fraction(name: str, given: str | float) -> int | Fraction:
    """A number of sites if it is whole (50), or a fraction of them if it has a point (0.5), as it is written. Raises `InputError`."""
    text = str(given)
    if re.fullmatch(r"0*[1-9][0-9]*", text):
        return int(text)
    if _NUMBER.fullmatch(text) and not text.isdigit() and 0 < float(text) <= 1:
        return exact_fraction(name, text)
    hint = _hint(f"{text}%" if text.endswith(".0") else text)
    wanted = "a whole number of sites from 1 on (50), or a fraction of the sites with a point, up to 1 (0.5)"
    raise InputError(f"{parameter(name)} is {wanted}; found {given!r}{hint}")


def describe_percentage(name: str, given: float) -> str:
    """A report of a threshold above 1 where hardly any value is, for a warning."""
    return f"{parameter(name, f'{given:g}')} keeps nearly every pair; {_as_fraction(given)}"


def _hint(text: str) -> str:
    """How a percentage is written as a fraction; nothing for another text."""
    match = _PERCENTAGE.fullmatch(text)
    return f" ({_as_fraction(float(match[1]))})" if match and float(match[1]) <= 100 else ""


def _as_fraction(percentage: float) -> str:
    return f"{percentage:g} % is {percentage / 100:g}"
