"""Names of the files of an output: the output itself, and the id lists beside an array."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gpualign.jobs.output.atomic_files import is_file_name

if TYPE_CHECKING:
    from gpualign.core.output.matrix_files import IdentifiedRecords
    from gpualign.jobs.options import Shard
    from gpualign.jobs.output.atomic_files import OutputFiles


def output_paths(path: Path | None, format: str, one_set: bool, shard: Shard | None = None) -> list[Path | None]:
    """Return all files of an output in this format: the output and, for an .npy array, the id lists; for a shard, only the part file."""
    if path is None:
        return [None]
    if shard is not None:
        return [shard.part_path(path)]
    if format != "npy" or not is_file_name(path):
        return [path]
    from gpualign.core.output.matrix_files import id_list_names

    return [path, *(_id_list_path(path, name) for name in id_list_names(one_set))]


def open_id_lists(
    files: OutputFiles, path: Path, queries: IdentifiedRecords, targets: IdentifiedRecords
) -> list[tuple[BinaryIO, IdentifiedRecords]]:
    """Open the id lists for an array at `path`, before any work is done. Returns an empty list if the output is not a file."""
    from gpualign.core.output.matrix_files import id_lists

    if not is_file_name(path):
        return []
    return [(files.open(_id_list_path(path, name)), records) for name, records in id_lists(queries, targets).items()]


def _id_list_path(path: Path, name: str) -> Path:
    return path.with_name(f"{path.stem}.{name}.txt")
