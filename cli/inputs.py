"""From the paths and scoring options of a command to a task."""

from __future__ import annotations

from pathlib import Path

from gpualign.cli.files import open_input
from gpualign.cli.messages import Messages
from gpualign.core import matrices
from gpualign.core.engine import Task
from gpualign.core.errors import InputError
from gpualign.core.matrices import SubstitutionMatrix
from gpualign.core.reader import encode_all, read_raw
from gpualign.core.scoring import ScoringOptions, make_scoring


def load_matrix(name: str) -> SubstitutionMatrix:
    """A matrix file if there is one of this name, else a matrix of Biopython's collection. Raises `InputError`."""
    if not Path(name).is_file():
        return matrices.by_name(name)
    try:
        with open(name, encoding="utf-8") as stream:
            return matrices.from_file(stream, name)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read as a matrix file ({error})") from None


def read_task(paths: list[str], alphabet: str, allow_duplicates: bool, options: ScoringOptions, messages: Messages) -> Task:
    """Read one or two files; notes the alphabet that was chosen. Raises `InputError`."""
    raw = []
    for path in paths:
        with open_input(path) as (stream, source):
            raw.append(read_raw(stream, source, allow_duplicates))
    chosen, sets = encode_all(raw, alphabet)
    scoring = make_scoring(chosen, options, sets)
    how = "by --alphabet" if alphabet != "auto" else "by its letters"
    messages.note(f"{chosen.name} ({how}), {scoring.name}")
    return Task(sets[0], sets[-1], scoring, alphabet=chosen)
