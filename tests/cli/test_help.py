"""The options in --help stand below headings: each once, the same ones below the same heading, in one order for all commands."""

import re

import click
import pytest
from command import gpualign_here

from gpualign.cli.main import COMMAND_NAMES, cli
from gpualign.cli.options.headings import CommandWithHeadings, Heading, OptionWithHeading

# Different options that share a name: targets or samples, groups of records or colours, letters or sites, centroids or rows, what is
# written or read.
HOMONYMS = {"--exclude", "--groups", "--mask", "--order", "--value"}


def sections(command):
    """(heading, lines below it) of each section of --help."""
    _, *parts = re.split(r"^(\w.*):\n", gpualign_here(command, "--help")[0].decode(), flags=re.MULTILINE)
    return list(zip(parts[::2], parts[1::2], strict=True))


def shown(command):
    """(heading, long names of the options below it) of each section of --help."""
    return [(heading, re.findall(r"^  (?:-\w, )?(--[\w-]+)", lines, re.MULTILINE)) for heading, lines in sections(command)]


def options(command):
    return [one for one in cli.commands[command].params if isinstance(one, click.Option)]


@pytest.mark.parametrize("command", COMMAND_NAMES)
def test_every_option_has_a_heading(command):
    assert isinstance(cli.commands[command], CommandWithHeadings)
    assert [one.name for one in options(command) if not isinstance(one, OptionWithHeading)] == []


@pytest.mark.parametrize("command", COMMAND_NAMES)
def test_every_option_is_shown_once_below_its_heading(command):
    expected = {heading.value: [] for heading in Heading}
    for one in options(command):
        expected[one.heading.value] += [name for name in one.opts if name.startswith("--")]
    expected[Heading.MESSAGES.value].append("--help")
    assert shown(command) == [(heading, names) for heading, names in expected.items() if names]


def test_the_same_option_has_the_same_heading_in_every_command():
    headings = {}
    for command in COMMAND_NAMES:
        for one in options(command):
            headings.setdefault(max(one.opts, key=len), set()).add(one.heading)
    assert {name for name, found in headings.items() if len(found) > 1} == HOMONYMS


def test_headings_stand_in_the_order_of_use():
    everyday = ["Input", "Scoring", "Which pairs", "What is written", "Where and how it runs", "Long runs", "Messages"]
    assert [heading for heading, _ in shown("nw")] == [*everyday, "Methods of papers"]
    assert list(Heading)[-1] is Heading.PAPERS


@pytest.mark.parametrize("command", COMMAND_NAMES)
def test_all_sections_share_a_column(command):
    text = "".join(lines for _, lines in sections(command))
    assert len({len(beside) for beside in re.findall(r"^(  -(?:\S| \S)* {2,}| {3,})", text, re.MULTILINE)}) == 1
