"""Fractions that a user gives: one rule for all of them."""

from __future__ import annotations

from gpualign.core.errors import InputError, parameter


def check_fraction(name: str, given: float | None, most: float = 1, meaning: str = "a fraction") -> None:
    """Raises `InputError` for a parameter that is no fraction from 0 to `most`; a percentage is told how it is written."""
    if given is None or 0 <= given <= most:
        return
    hint = f" ({_percentage(given)})" if most < given <= 100 * most else ""
    raise InputError(f"{parameter(name)} is {meaning} from 0 to {most:g}; found {given:g}{hint}")


def describe_percentage(name: str, given: float) -> str:
    """A report of a threshold above 1 where hardly any value is, for a warning."""
    return f"{parameter(name, f'{given:g}')} keeps nearly every pair; {_percentage(given)}"


def _percentage(given: float) -> str:
    return f"{given:g} % is {given / 100:g}"
