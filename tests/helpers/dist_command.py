"""Runs `gpualign dist` in this process, and makes small alignments for it."""

import pytest
from command import gpualign_here

from gpualign.core.common.errors import InputError


def dist(*words):
    """(output, the note about sites; if there is none, all notes)"""
    written, messages = gpualign_here("dist", *words, "--device", "cpu")
    notes = [line.removeprefix("gpualign dist: ") for line in messages.splitlines()]
    return written.decode(), next((line for line in notes if line.startswith("sites: ")), notes)


def refused(*words):
    """The message with which a command is refused."""
    with pytest.raises(InputError) as found:
        gpualign_here("dist", *words, "--device", "cpu")
    return str(found.value)


def write_alignment(path, rows, names="s"):
    path.write_bytes(b"".join(b">%s%d\n%s\n" % (names.encode(), k, bytes(row)) for k, row in enumerate(rows)))
