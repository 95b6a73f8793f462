"""Opens the inputs of `gpualign dist`. core/distance/readers/detection.py detects the formats."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from gpualign.cli.inputs.file_lists import InputFiles
from gpualign.core.distance.readers.detection import CallFile, fileset_files, fileset_path
from gpualign.core.files.paths import STDIO, open_input
from gpualign.jobs.dist import open_if_stored

if TYPE_CHECKING:
    from gpualign.core.distance.calls import Samples
    from gpualign.core.distance.sample_sets.sample_set import SampleSet
    from gpualign.jobs.output.run_summary import InputCounts


def paths_of_input(path: str) -> list[str]:
    """Return all files to be read for the input `path`."""
    return [path] if path == STDIO else fileset_files(path)


def rereadable_files(paths: Sequence[str], site_files: Sequence[str]) -> list[str] | None:
    """Return the input files, followed by the files that select sites (`site_files`). Returns None if one of them is not a regular file,
    because it could not be read twice."""
    if any(path == STDIO or not os.path.isfile(path) for path in [*map(fileset_path, paths), *site_files]):
        return None
    return [name for path in paths for name in paths_of_input(path) if os.path.isfile(name)] + [*site_files]


def stored_sets(sets: Sequence[InputFiles]) -> list[SampleSet | None]:
    """Return for each input the set of samples that it is, or None. Raises `InputError` for a damaged set."""
    return [open_if_stored(one.paths[0]) if one.list_path is None else None for one in sets]


def open_call_files(sets: Sequence[InputFiles], stack: ExitStack) -> Iterator[CallFile]:
    """Yield the files of all sets, each opened when the caller asks for it; `stack` closes them. In a multi-file set, each file is closed
    before the next is opened, because there may be thousands. Raises `InputError` if a file cannot be opened."""
    for one in sets:
        for number, name in enumerate(one.paths):
            path = name if name == STDIO else fileset_path(name)
            with ExitStack() as single:
                stream, source = (stack if len(one.paths) == 1 else single).enter_context(open_input(path))
                yield CallFile(stream, source, None if path == STDIO else path, number > 0)


def sample_counts(sets: Sequence[InputFiles], samples: Samples) -> dict[str, InputCounts]:
    """Return the number of samples in each file of calls, by path. sets: files of the queries, and of the targets if they are a second
    set."""
    counts: dict[str, InputCounts] = {}
    for one, names in zip(sets, (samples.queries, samples.targets), strict=False):
        for path, count in zip(one.paths, names.files or (len(names),), strict=True):
            counts[path if path == STDIO else fileset_path(path)] = count, None
    return counts
