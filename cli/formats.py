"""Which format an output has, by --format or by its name; and the files that belong to arrays."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from gpualign.cli.files import STDIO, OutputFiles
from gpualign.core.errors import InputError
from gpualign.core.formats.registry import FORMATS, Results, formats_of
from gpualign.core.sinks.matrix_files import Named, id_list_names, id_lists


def pick_format(output: str, format: str | None, results: Results) -> tuple[str, Path | None]:
    """The format, one of those that hold such results, and the path, None for standard output.

    Raises `InputError` where neither the name nor --format tells.
    """
    path = None if output == STDIO else Path(output)
    suffixes = {suffix: FORMATS[name] for name in formats_of(results) for suffix in FORMATS[name].suffixes}
    if format is not None or path is None:
        chosen = format or "tsv"
    else:
        name = path.name.lower()
        matching = [f.name for suffix, f in suffixes.items() if name.endswith(suffix) or (not f.is_array and name.endswith(f"{suffix}.gz"))]
        if not matching and (not path.exists() or path.is_file()):
            raise InputError(
                f"-o {output}: the name does not tell the format; end it in {', '.join(suffixes)} (text also .gz), or give --format"
            )
        chosen = matching[0] if matching else "tsv"
    if FORMATS[chosen].is_array and path is None:
        raise InputError(f"--format {chosen} cannot go to standard output; name a file with -o")
    return chosen, path


def output_paths(path: Path | None, format: str, one_set: bool) -> list[Path | None]:
    """All files that an output in this format is: itself, and the lists of ids that belong to an .npy array."""
    if path is None or format not in ("npy", "condensed"):
        return [path]
    return [path, *(_id_list(path, name) for name in id_list_names(one_set))]


def open_id_lists(files: OutputFiles, path: Path, queries: Named, targets: Named) -> list[tuple[BinaryIO, Named]]:
    """Files for the ids that belong to an array at `path`, opened before any work is done."""
    return [(files.open(_id_list(path, name)), records) for name, records in id_lists(queries, targets).items()]


def _id_list(path: Path, name: str) -> Path:
    return path.with_name(f"{path.stem}.{name}.txt")
