"""Suggests the nearest name for mistyped commands, options and values."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

import click

from gpualign.core.common.suggestions import did_you_mean

_FILES_ADVICE = "files are named without options: gpualign sw QUERY DB"
_FOREIGN_OPTION_ADVICE = {
    **dict.fromkeys(("query", "db", "subject"), _FILES_ADVICE),
    "outfmt": "--format m8 writes BLAST's columns",
    "max-target-seqs": "--max-hits K writes the K best hits of each query",
    "seqidlist": "--targets FILE",
    "negative-seqidlist": "--exclude FILE",
    "taxids": "--where taxid=LIST",
    "taxidlist": "--where taxid=LIST",
    "dbsize": "--evalue-letters N",
    "cov-mode": "nw --coverage-of both, target or query, which are MMseqs2's 0, 1 and 2",
    "query-cov": "nw --min-coverage F --coverage-of query",
    "target-cov": "nw --min-coverage F --coverage-of target",
    "num-threads": "--threads N",
    **dict.fromkeys(("id", "identity"), "--min-identity F"),
    **dict.fromkeys(("threshold", "cutoff", "snp-threshold"), "--max-distance D"),
    "min-seq-id": "--min-identity F",
    "c": "--min-identity F, or for MMseqs2's -c --min-coverage F",
    "e": "--max-evalue E",
    "gpu": "--device cuda",
    "outgroup": "--root ID puts the root on the branch of an outgroup",
    **dict.fromkeys(("remove", "delete"), "--withdraw ID"),
    "i": "files are named without options, as in gpualign nw SEQS",
    "out": "--output FILE",
}
"""Options of other programs, and what to type instead."""

_SINGLE_DASH_ADVICE = {
    "evalue": "--max-evalue E; --evalue says how E-values are made",
    "perc-identity": "--min-identity F, a fraction",
    "gapopen": "--gap-open G, which is BLAST's -gapopen and -gapextend together",
    "gapextend": "--gap-extend G",
    "aL": "--min-coverage F",
    "aS": "--min-coverage F --coverage-of shorter",
}
"""Options of BLAST and CD-HIT with one dash, and what to type instead."""

_FOREIGN_COMMANDS = {
    **dict.fromkeys(("align", "needle", "needleall", "needleman", "needleman-wunsch", "allpairs"), "nw SEQS"),
    **dict.fromkeys(("blastp", "blastn", "search", "easy-search", "ssearch36", "swipe", "smith-waterman"), "sw QUERY DB"),
    "blastx": "sw QUERY DB --translate query",
    "tblastn": "sw QUERY DB --translate target",
    **dict.fromkeys(("makeblastdb", "makedb", "createdb"), "index DB -o DB.gpa"),
    **dict.fromkeys(("linclust", "easy-cluster", "easy-linclust"), "cluster SEQS --min-identity F"),
    **dict.fromkeys(("snp-dists", "cgmlst-dists"), "dist SAMPLES"),
    "king": "dist SAMPLES --metric king",
}
"""Commands of other programs, and the command of gpualign for the same work."""


class ChoiceType(click.Choice):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.2 on
    """Click type for one of `choices`.

    number_option: option to suggest if the user types a number instead of a choice
    refused: choices that only another command or program has, and what to do instead
    """

    def __init__(self, choices: Sequence[str], number_option: str | None = None, refused: Mapping[str, str] | None = None) -> None:
        super().__init__(choices)
        self._number_option = number_option
        self._refused = refused or {}

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        *before, last = self.choices
        return f"Choose {', '.join(before)} or {last}."

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            if self._number_option is not None and value[:1].isdigit():
                self.fail(f"{value!r} is not one of {', '.join(self.choices)}; type {self._number_option} {value}", param, ctx)
            if value in self._refused:
                self.fail(f"{value!r} is not one of {', '.join(self.choices)}: {self._refused[value]}", param, ctx)
            self.fail(f"{value!r} is not one of {', '.join(self.choices)}{did_you_mean(value, self.choices)}", param, ctx)
        return value


class CommandGroup(click.Group):
    """Command group that suggests the nearest name for a mistyped command."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.commands and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command {name!r}{_command_advice(args) or did_you_mean(name, self.commands)}")
        resolved = super().resolve_command(ctx, args)
        if resolved[1] is not None and not ctx.resilient_parsing:
            _reject_single_dash(resolved[1], args[1:])
        return resolved


def _reject_single_dash(command: click.Command, args: Sequence[str]) -> None:
    """Raise `click.UsageError` for a long option with one dash, which Click would parse as short options: -out x as -o ut."""
    for arg in takewhile("--".__ne__, args):
        word = arg.partition("=")[0]
        name = word[1:].replace("_", "-")
        if len(name) < 2 or not arg.startswith("-") or arg.startswith("--"):
            continue
        advice = {**_FOREIGN_OPTION_ADVICE, **_SINGLE_DASH_ADVICE}.get(name) or (
            f"did you mean --{name}?" if f"--{name}" in _long_option_names(command) else None
        )
        if advice is not None:
            raise click.UsageError(f"No such option {word!r}; {advice}")


def _command_advice(args: Sequence[str]) -> str:
    """Return advice for a word that is not a command, or "" if there is none."""
    if args[0] == "version":
        return "; type gpualign --version"
    if args[0] in _FOREIGN_COMMANDS:
        return f"; type gpualign {_FOREIGN_COMMANDS[args[0]]}"
    if os.path.isfile(args[0]):
        return f", which is a file; type gpualign nw {args[0]}, or another command before it"
    return f"; type gpualign {' '.join([*args[1:2], '--help'])}" if args[0] == "help" else ""


def with_option_suggestion(error: click.NoSuchOption, commands: Mapping[str, click.Command]) -> click.UsageError:
    """Return `error`, extended with the commands that have the option, or else with the nearest option of the current command."""
    name = error.option_name
    message = f"No such option {name!r}"
    of_other = _FOREIGN_OPTION_ADVICE.get(name.lstrip("-").replace("_", "-"), "")
    advised = re.match(r"--[\w-]+", of_other)
    if of_other and not (advised and error.ctx is not None and advised[0] not in _long_option_names(error.ctx.command)):
        return click.UsageError(f"{message}; {of_other}", error.ctx)
    if error.ctx is not None and name.startswith("--"):
        others = [f"gpualign {other}" for other, command in commands.items() if name in _long_option_names(command)]
        message += f"; it belongs to {_join_names(others)}" if others else did_you_mean(name, _long_option_names(error.ctx.command))
    return click.UsageError(message, error.ctx)


def with_example(error: click.MissingParameter) -> click.UsageError:
    """Return `error`, extended with the first example of the command's help."""
    example = re.search(r"^ +(gpualign .*?)(?: {2,}.*)?$", (error.ctx and error.ctx.command.help) or "", re.MULTILINE)
    return click.UsageError(f"{error.format_message()} For example: {example[1]}" if example else error.format_message(), error.ctx)


def _join_names(names: Sequence[str]) -> str:
    """Return the names as "a, b and c"."""
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def _long_option_names(command: click.Command) -> list[str]:
    """Return the names of the long options of a command."""
    return ["--help", *(name for one in command.params for name in one.opts if name.startswith("--"))]
