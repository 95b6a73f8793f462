"""Commands and Python that pages show, and whether what a command prints is what the page shows."""

import re
from typing import NamedTuple

CUT = "..."
"""A line of a shown output that stands for one or more lines which are left out there."""


class Example(NamedTuple):
    command: str
    output: list[str]


class Python(NamedTuple):
    code: str


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
    """The commands alone."""
    return [block for block in blocks(page) if isinstance(block, Example)]


def timeless(lines):
    """Lines without times, rates and devices, which differ from machine to machine; the words around them do not."""
    return [re.sub(r"[\d.,]+ (s|GCUPS|G/s)\b|cpu \(.*", "#", line) for line in lines]


def shows(shown, printed):
    """Whether `shown` is `printed`, with runs of lines left out where, and only where, a line `...` stands."""
    if shown == [CUT]:
        return bool(printed)
    if not shown or not printed:
        return not shown and not printed
    if shown[0] == CUT:  # a shown line stands where it is printed first
        return shown[1] in printed[1:] and shows(shown[1:], printed[printed.index(shown[1], 1) :])
    return shown[0] == printed[0] and shows(shown[1:], printed[1:])
