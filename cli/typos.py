"""Answers to mistyped commands, options and values: the name that is nearest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from gpualign.core.nearest import did_you_mean


class ChoiceType(click.Choice):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.2 on
    """One of some names."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            self.fail(f"{value!r} is not one of {', '.join(self.choices)}{did_you_mean(value, self.choices)}", param, ctx)
        return value


class CommandGroup(click.Group):
    """Commands by their names."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.commands and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command {name!r}{did_you_mean(name, self.commands)}")
        return super().resolve_command(ctx, args)


def explained(error: click.NoSuchOption, commands: Mapping[str, click.Command]) -> click.UsageError:
    """The same error, with the commands that have such an option, or else with the nearest option of its command."""
    name = error.option_name
    message = f"No such option {name!r}"
    if error.ctx is not None and name.startswith("--"):
        others = [f"gpualign {other}" for other, command in commands.items() if name in _options(command)]
        message += f"; it belongs to {_listed(others)}" if others else did_you_mean(name, _options(error.ctx.command))
    return click.UsageError(message, error.ctx)


def _listed(names: Sequence[str]) -> str:
    """Such as "a, b and c"."""
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def _options(command: click.Command) -> list[str]:
    """Long options."""
    return ["--help", *(name for one in command.params for name in one.opts if name.startswith("--"))]
