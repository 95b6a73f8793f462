"""`gpualign dist` in this process: what it writes and notes, or why it refuses; and a small alignment for it."""

import pytest
from command import gpualign_here

from gpualign.core.common.errors import InputError


def dist(*words):
    """(what is written, the note about sites, or all notes)"""
    written, notes = gpualign_here("dist", *words, "--device", "cpu")
    told = [line.removeprefix("gpualign dist: ") for line in notes.splitlines()]
    return written.decode(), next((line for line in told if line.startswith("sites: ")), told)


def refused(*words):
    with pytest.raises(InputError) as found:
        gpualign_here("dist", *words, "--device", "cpu")
    return str(found.value)


def write_alignment(path, rows, names="s"):
    path.write_bytes(b"".join(b">%s%d\n%s\n" % (names.encode(), k, bytes(row)) for k, row in enumerate(rows)))
