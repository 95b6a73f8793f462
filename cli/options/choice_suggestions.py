"""Suggests the nearest name for mistyped commands, options and values."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

import click

from gpualign.core.common.suggestions import did_you_mean

_FILES_ADVICE = "files are named without options, as in: "
"""Start of advice that ends with the first example of the command."""

_THREADS_ADVICE = "use --threads N"
_NO_PREFILTER_ADVICE = "every pair is compared, so there is no word size and no sensitivity to set"
_MAX_HITS_ADVICE = "use --max-hits K, which writes the K best hits of each query"
_BLAST_TABLE_ADVICE = "use --format m8, which writes BLAST's columns"
_IDENTITY_ADVICE = "use --min-identity F, a fraction such as 0.97"

_FOREIGN_OPTION_ADVICE = {
    **dict.fromkeys(("query", "db", "subject", "i", "in", "input", "fasta", "cluster-fast", "cluster-size"), _FILES_ADVICE),
    **dict.fromkeys(("cluster-smallmem", "allpairs-global", "usearch-global", "bfile", "pfile", "vcf"), _FILES_ADVICE),
    **dict.fromkeys(("outfmt", "blast6out"), _BLAST_TABLE_ADVICE),
    **dict.fromkeys(("max-target-seqs", "max-seqs", "maxaccepts", "num-alignments"), _MAX_HITS_ADVICE),
    "userfields": "use --fields LIST",
    "seqidlist": "use --targets FILE",
    "negative-seqidlist": "use --exclude FILE",
    **dict.fromkeys(("taxids", "taxidlist"), "use --where taxid=LIST"),
    "dbsize": "use --evalue-letters N",
    "cov-mode": "use --coverage-of both, target or query, which are MMseqs2's 0, 1 and 2",
    "query-cov": "use --min-coverage F --coverage-of query",
    "target-cov": "use --min-coverage F --coverage-of target",
    **dict.fromkeys(("num-threads", "cpus", "cpu", "cores", "nproc", "t", "T", "j", "p"), _THREADS_ADVICE),
    **dict.fromkeys(("id", "identity", "min-seq-id", "perc-identity", "pident"), _IDENTITY_ADVICE),
    "iddef": "use --identity-def N, which has the same numbers",
    **dict.fromkeys(("threshold", "cutoff", "snp-threshold"), "use --max-distance D"),
    "c": "use --min-identity F, or for MMseqs2's -c --min-coverage F",
    **dict.fromkeys(("e", "e-value"), "use --max-evalue E"),
    "gpu": "use --device cuda",
    "outgroup": "use --root ID, which puts the root on the branch of an outgroup",
    **dict.fromkeys(("remove", "delete"), "use --withdraw ID"),
    "out": "use --output FILE",
    **dict.fromkeys(("word-size", "wordlength", "k-mer-size", "sensitive", "very-sensitive"), _NO_PREFILTER_ADVICE),
    "M": "use --memory SIZE, such as 2G",
}
"""Options of other programs, and what to type instead."""

_COVERAGE_IN_SEARCHES = "sw has no coverage threshold; filter its columns qcov and tcov"

_ADVICE_BY_COMMAND: Mapping[str, Mapping[str, str]] = {
    "sw": {
        "d": _FILES_ADVICE,
        **dict.fromkeys(("k", "top", "n"), _MAX_HITS_ADVICE),
        **dict.fromkeys(
            ("min-coverage", "qcov-hsp-perc", "query-cover", "subject-cover", "query-cov", "target-cov"), _COVERAGE_IN_SEARCHES
        ),
        **dict.fromkeys(("cov-mode", "c"), _COVERAGE_IN_SEARCHES),
        **dict.fromkeys(("seg", "dust", "soft-masking", "masking"), "use --mask seg, dust or none"),
        "comp-based-stats": "use --composition adjust, scale or none",
        **dict.fromkeys(("query-gencode", "db-gencode"), "use --genetic-code N, with --translate"),
    },
    "dist": {
        "a": "use --all-letters, which counts differences of all letters",
        "b": "the first cell is empty already",
        "c": "use --format csv",
        "k": "case does not matter",
        **dict.fromkeys(("m", "molten"), "use --format molten"),
        "x": "use --max-distance D, which leaves out the other pairs",
        **dict.fromkeys(("make-king", "make-king-table", "kinship"), "use --metric king"),
        **dict.fromkeys(("make-rel", "make-grm", "make-grm-bin"), "use --metric grm"),
        "king-table-filter": "use --min-kinship K",
        "max-missing": "use --core F",
        "geno": "use --core F, where F is 1 - plink's --geno",
        "mind": "use --min-called F, where F is 1 - plink's --mind",
        **dict.fromkeys(("remove", "remove-indv"), "use --exclude FILE"),
        **dict.fromkeys(("chr", "targets", "targets-file"), "use --regions LIST or --regions BED"),
    },
    "cluster": {
        "centroids": "use --representatives FILE",
        "sizein": "use --method greedy --order size, which reads ;size=N in ids",
        "sizeout": "the sizes of clusters are a column of the table",
        "n": _NO_PREFILTER_ADVICE,
        "g": "with --method greedy each record joins the nearest centroid, as with -g 1",
        **dict.fromkeys(("cov-mode", "query-cov", "target-cov"), "use --min-coverage F --coverage-of both or shorter"),
        **dict.fromkeys(("linkage", "cluster-mode"), "use --method single, complete, average or greedy"),
    },
    "tree": {name: f"use --method {name}" for name in ("nj", "upgma", "mst")},
    "index": {"d": "name the index with -o NAME.gpa", "dbtype": "use --alphabet dna or protein"},
}
"""Options of other programs that mean something of their own in a command, and what to type instead."""

_SINGLE_DASH_ADVICE = {
    "evalue": "use --max-evalue E; --evalue says how E-values are computed",
    "gapopen": "use --gap-open C, the sum of BLAST's -gapopen and -gapextend",
    "gapextend": "use --gap-extend C",
    "aL": "use --min-coverage F",
    "aS": "use --min-coverage F --coverage-of shorter",
}
"""Options of BLAST and CD-HIT with one dash, and what to type instead."""

_FOREIGN_COMMANDS = {
    **dict.fromkeys(("align", "needle", "needleall", "needleman", "needleman-wunsch", "allpairs"), "nw SEQS"),
    **dict.fromkeys(("levenshtein", "edit"), "nw SEQS --edit"),
    **dict.fromkeys(("blast", "blastp", "blastn", "search", "easy-search", "ssearch36", "swipe", "smith-waterman"), "sw QUERY DB"),
    "blastx": "sw QUERY DB --translate query",
    "tblastn": "sw QUERY DB --translate target",
    **dict.fromkeys(("makeblastdb", "makedb", "createdb"), "index DB -o DB.gpa"),
    **dict.fromkeys(("linclust", "easy-cluster", "easy-linclust", "cd-hit", "cd-hit-est"), "cluster SEQS --min-identity F"),
    **dict.fromkeys(("snp-dists", "cgmlst-dists", "snps", "distance", "distances"), "dist SAMPLES"),
    "king": "dist SAMPLES --metric king",
    **{name: f"tree MATRIX --method {name}" for name in ("nj", "upgma", "mst")},
    **dict.fromkeys(("heatmap", "heat-map", "draw"), "plot MATRIX -o heat.png"),
}
"""Commands of other programs, and the command of gpualign for the same work."""

_COMMANDS_OF_LISTS = ("nw", "sw", "dist", "cluster")
"""Commands whose arguments may be @LIST."""


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
        advice = _SINGLE_DASH_ADVICE.get(name) or _foreign_option_advice(word, command)
        if not advice and f"--{name}" in _long_option_names(command):
            advice = f"did you mean --{name}?"
        if advice:
            raise click.UsageError(f"No such option {word!r}; {advice}")


def _foreign_option_advice(option: str, command: click.Command | None) -> str:
    """Return what to type instead of an option of another program, or "" if nothing is known of it or the command lacks the option that
    would be advised."""
    name = option.lstrip("-").replace("_", "-")
    of_command = _ADVICE_BY_COMMAND.get((command and command.name) or "", {})
    advice = of_command.get(name) or _FOREIGN_OPTION_ADVICE.get(name, "")
    advised = re.search(r"(?<=use )--[\w-]+", advice)
    if command is not None and advised and advised[0] not in _long_option_names(command):
        return ""
    return f"{advice}{_first_example(command)}" if advice == _FILES_ADVICE else advice


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
    command = None if error.ctx is None else error.ctx.command
    if advice := _foreign_option_advice(name, command):
        return click.UsageError(f"{message}; {advice}", error.ctx)
    if isinstance(command, click.Group) and any(name in option.opts for one in commands.values() for option in one.params):
        return click.UsageError(f"{message} before the command; type it after the command's name", error.ctx)
    if command is not None and name.startswith("--"):
        others = [f"gpualign {other}" for other, one in commands.items() if name in _long_option_names(one)]
        message += f"; it belongs to {_join_names(others)}" if others else did_you_mean(name, _long_option_names(command))
    return click.UsageError(message, error.ctx)


def with_example(error: click.MissingParameter) -> click.UsageError:
    """Return `error`, extended with the first example of the command's help."""
    example = _first_example(None if error.ctx is None else error.ctx.command)
    return click.UsageError(f"{error.format_message()} For example: {example}" if example else error.format_message(), error.ctx)


def with_file_advice(error: click.UsageError) -> click.UsageError:
    """Return `error`, extended with how an output or several inputs are named, if it is about extra arguments."""
    found = re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", error.message)
    if found is None or error.ctx is None or "--output" not in _long_option_names(error.ctx.command):
        return error
    if not all(os.path.isfile(name) for name in found[1].split()):
        return click.UsageError(f"{error.message}; an output is named with -o", error.ctx)
    if error.ctx.command.name not in _COMMANDS_OF_LISTS:
        return error
    return click.UsageError(f"{error.message}; @LIST reads several files as one: LIST is a file with their names, one per line", error.ctx)


def _first_example(command: click.Command | None) -> str:
    """Return the first example of the command's help, or "" if it has none."""
    example = re.search(r"^ +(gpualign .*?)(?: {2,}.*)?$", (command and command.help) or "", re.MULTILINE)
    return example[1] if example else ""


def _join_names(names: Sequence[str]) -> str:
    """Return the names as "a, b and c"."""
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def _long_option_names(command: click.Command) -> list[str]:
    """Return the names of the long options of a command."""
    return ["--help", *(name for one in command.params for name in one.opts if name.startswith("--"))]
