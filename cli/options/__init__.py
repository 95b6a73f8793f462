"""Command options, as decorators: one module per topic. `headings` says how --help groups them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def combine_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds `options` to a command, in this order."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
