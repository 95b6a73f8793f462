"""Finds commands and Python code in pages, and compares what a command prints with what the page shows."""

import re
from textwrap import dedent
from typing import NamedTuple

CUT = "..."
"""A line of a shown output that stands for one or more lines that are left out."""


class Example(NamedTuple):
    command: str
    output: list[str]


class Python(NamedTuple):
    code: str


class Indented(NamedTuple):
    commands: list[str]
    others: list[str]


def blocks(page):
    """The commands of ```console blocks (lines that begin with `$ `), each with the lines below it, and the ```python blocks, in order."""
    found = []
    for kind, block in re.findall(r"```(console|python)\n(.*?)```", page.read_text(), re.DOTALL):
        if kind == "python":
            found.append(Python(block))
            continue
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *output = part.rstrip("\n").split("\n")
            found.append(Example(command, output))
    return found


def examples(page):
    """The commands of ```console blocks."""
    return [block for block in blocks(page) if isinstance(block, Example)]


_COMMANDS = re.compile(r"(gpualign \w+|augur|bcftools|cat|cut|duckdb|ls|mpirun|openssl|pip|plink2|python|zcat)(\s|$)")
"""How indented blocks of commands begin."""


def indented(text):
    """Contents of the indented blocks of a page: commands, and other lines. A line that ends in a backslash is joined with the next one.

    If some lines of a block begin with `$ `, these are its commands.
    """
    found = Indented([], [])
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for block in re.findall(r"(?:^ {4}.*\n?(?:\n+(?= {4}))?)+", text, re.MULTILINE):
        lines = [line for line in re.sub(r"\\\n\s*", "", dedent(block)).splitlines() if line.strip()]
        if any(line.startswith("$ ") for line in lines):
            for line in lines:
                (found.commands if line.startswith("$ ") else found.others).append(line.removeprefix("$ "))
        else:
            (found.commands if _COMMANDS.match(lines[0]) else found.others).extend(lines)
    return found


def inline(text):
    """Commands of gpualign in tables and sentences of a page that can run because they name their input.

    A name in capitals stands for any file, and a command whose first argument is an option is only part of one.
    """
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [" ".join(words.split()) for words in re.findall(r"`(gpualign \w+ [^-`A-Z\s][^`]*)`", text)]


def help_examples(reference):
    """{command: the examples in its help}, from the page with the help of all commands. The remark beside each example is cut off."""
    found = {}
    for name, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", reference, re.DOTALL | re.MULTILINE):
        found[name] = [re.split(r" {2,}", line)[0] for line in re.findall(r"^ {4}(\S.*)", text, re.MULTILINE)]
    return found


def timeless(lines):
    """Lines without times, rates and devices, which differ from machine to machine; the words around them do not."""
    return [re.sub(r"[\d.,]+ (s|GCUPS|G/s)\b|cpu \(.*", "#", line) for line in lines]


def shows(shown, printed):
    """Whether `shown` is `printed`, except that each line `...` stands for lines that are left out."""
    if shown == [CUT]:
        return bool(printed)
    if not shown or not printed:
        return not shown and not printed
    if shown[0] == CUT:  # a shown line stands where it is printed first
        return shown[1] in printed[1:] and shows(shown[1:], printed[printed.index(shown[1], 1) :])
    return shown[0] == printed[0] and shows(shown[1:], printed[1:])
