"""Headings that group the options in `--help`. Every option names the heading that it is listed under."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Any

import click

from gpualign.cli.options import F

_MAX_NAMES_WIDTH = 30
"""Width of the column of names, as in Click. Where an option's names are longer, its help begins on the next line."""


_BARE_DEFAULT = re.compile(r"  \[(?!default: |required\])")
"""Start of a default at the end of a help text, where it is not named as such."""


class Heading(Enum):
    """Headings in the order in which commands show them."""

    INPUT = "Input"
    SCORING = "Scoring"
    DISTANCE = "Distance"
    SAMPLES_AND_SITES = "Which samples and sites"
    PAIRS = "Which pairs"
    METHOD = "Method"
    ORDER = "Order of the records"
    OUTPUT = "What is written"
    COLOURS = "Colours"
    EXECUTION = "Where and how it runs"
    LONG_RUNS = "Long runs"
    MESSAGES = "Messages"
    PAPERS = "Methods of papers"

    def option(self, *names: str, **settings: Any) -> Callable[[F], F]:
        """Return the decorator `click.option`, for an option below this heading."""
        return click.option(*names, cls=OptionWithHeading, heading=self, **settings)


class OptionWithHeading(click.Option):
    """An option that has a heading."""

    def __init__(self, *names: Any, heading: Heading, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.heading = heading

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names and the help. Defaults in brackets look as those that Click itself adds."""
        record = super().get_help_record(ctx)
        return record and (record[0], _BARE_DEFAULT.sub("  [default: ", record[1]))


class CommandWithHeadings(click.Command):
    """A command whose help shows the options below their headings; options of the same heading are in the order of the command's
    decorators."""

    def sections(self, ctx: click.Context) -> dict[Heading, list[tuple[str, str]]]:
        """Return the options as (names, help), by their headings."""
        sections: dict[Heading, list[tuple[str, str]]] = {heading: [] for heading in Heading}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
                # Click makes --help by itself.
                sections[param.heading if isinstance(param, OptionWithHeading) else Heading.MESSAGES].append(record)
        return {heading: records for heading, records in sections.items() if records}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections = self.sections(ctx)
        lengths = [len(names) for records in sections.values() for names, _ in records]
        width = min(max(lengths), _MAX_NAMES_WIDTH)
        for heading, records in sections.items():
            with formatter.section(heading.value):
                # Padded, or each section would have columns of its own.
                formatter.write_dl([(f"{names:<{width}}", text) for names, text in records], col_max=_MAX_NAMES_WIDTH)
