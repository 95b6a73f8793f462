"""Click types for numbers, sizes, lists of names and shards."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gpualign.jobs.options import Shard

_UNIT_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_MAX_BYTES = 1 << 50

_MAX_EXACT_INTEGER = 2**53
"""Integers up to this limit are exact in every number type used here."""


class SizeType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.2 on
    """A number of bytes, such as 500M, 2G, 1.5GiB or 1000000."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", str(value), re.IGNORECASE)
        size = float(match[1]) * _UNIT_BYTES[match[2].upper()] if match else 0.0
        if size < 1:
            self.fail(f"{value!r} is not a size; write for instance 500M or 2G", param, ctx)
        if size > _MAX_BYTES:
            self.fail(f"{value!r} is more than any machine has; the limit is 1024T", param, ctx)
        return int(size)


class IntegerType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.2 on
    """An integer from `low` to `high`. (click.IntRange would show these bounds, which are only a safeguard, in every help text.)"""

    name = "integer"

    def __init__(self, low: int = -_MAX_EXACT_INTEGER, high: float = _MAX_EXACT_INTEGER) -> None:
        self._low = low
        self._high = high

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(str(value))
        except ValueError:
            self.fail(f"{value!r} is not an integer", param, ctx)
        if not self._low <= number <= self._high:
            is_below = number < self._low and self._high >= _MAX_EXACT_INTEGER
            expected = f"{self._low:,} or more" if is_below else f"from {self._low:,} to {self._high:,}"
            self.fail(f"expected an integer, {expected}; found {value!r}", param, ctx)
        return number


SCORE_OR_COST_TYPE = IntegerType(-(10**10), 10**10)
"""Letter scores and gap costs. Whether a kernel can represent them is checked later, once all values are known."""


class FiniteNumberType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.2 on
    """A finite number, not "nan", small enough that integers are exact."""

    name = "number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a number{_fraction_advice(str(value))}", param, ctx)
        if not math.isfinite(number) or abs(number) > _MAX_EXACT_INTEGER:
            self.fail(f"expected a number from -2^53 to 2^53, found {value!r}", param, ctx)
        return number


def _fraction_advice(text: str) -> str:
    """Return advice on how to write a percentage as a fraction, or "" if `text` is not a percentage."""
    try:
        return f"; {text} is {float(text[:-1]) / 100:g}" if text.endswith("%") else ""
    except ValueError:
        return ""


class LevelListType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.2 on
    """Distances delimited by commas, as a descending tuple."""

    name = "levels"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        levels = [FiniteNumberType().convert(text.strip(), param, ctx) for text in str(value).split(",")]
        if negative := [level for level in levels if level < 0]:
            self.fail(f"expected distances of 0 or more, found {negative[0]:g}", param, ctx)
        if repeated := [level for level in levels if levels.count(level) > 1]:
            self.fail(f"{repeated[0]:g} is in the list twice", param, ctx)
        return tuple(sorted((abs(level) for level in levels), reverse=True))


class NameListType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.2 on
    """Names delimited by commas, as a tuple without repetitions. upper: whether they are converted to upper case"""

    name = "names"

    def __init__(self, upper: bool = False) -> None:
        self._upper = upper

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        text = str(value).upper() if self._upper else str(value)
        names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
        if not names:
            self.fail(f"expected names, with commas between several; found {value!r}", param, ctx)
        return names


class ShardType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.2 on
    """Value of --shard, K/N."""

    name = "shard"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Shard:
        from gpualign.core.planning.sharding import MAX_SHARDS
        from gpualign.jobs.options import Shard

        if isinstance(value, Shard):
            return value
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", str(value))
        if match is None or not 1 <= int(match[1]) <= int(match[2]) <= MAX_SHARDS:
            self.fail(f"expected K/N, the K-th of N shares, with K from 1 to N and N up to {MAX_SHARDS:,}; found {value!r}", param, ctx)
        return Shard(int(match[1]), int(match[2]))
