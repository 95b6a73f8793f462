"""Indexes for frequently searched databases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO

from gpualign._execution_options import LOG, checked_flag
from gpualign._output import checked_output_path
from gpualign._sequences import Sequences, StrPath, checked_path
from gpualign.core.files.paths import open_file
from gpualign.core.sequences.alphabet import checked_alphabet_name
from gpualign.core.sequences.database_index import open_index
from gpualign.jobs.index import build_index
from gpualign.jobs.output.atomic_files import OutputFiles, translate_output_errors
from gpualign.jobs.sequence_loading import ReadOptions


class Index:
    """An indexed database: sequences in a memory-mapped file, ready to be searched.

    path: path of the file
    sequences: records in the file, ordered by length
    """

    def __init__(self, path: str, sequences: Sequences) -> None:
        self.path = path
        self.sequences = sequences

    @property
    def alphabet(self) -> str:
        """Name of the alphabet: "dna" or "protein"."""
        return self.sequences.alphabet

    def __len__(self) -> int:
        return len(self.sequences)

    def __repr__(self) -> str:
        return f"<Index {self.path}: {len(self):,} {self.alphabet}>"

    @classmethod
    def open(cls, path: StrPath) -> Index:
        """Open an index built with `Index.build` or `gpualign index`. Raises `InputError` for a damaged file, or one that is not an
        index."""
        name = checked_path("path", path)
        open_file(name).close()
        return cls(name, Sequences.from_encoded(*open_index(name)))

    @classmethod
    def build(cls, fasta: StrPath, out: StrPath, *, alphabet: str = "auto", degap: bool = False, allow_duplicates: bool = False) -> Index:
        """Index a FASTA or FASTQ file, and open the index. Records without letters are left out.

        fasta: path of the file, plain or compressed
        out: path of the index
        alphabet: "dna", "protein" or "auto" (determined from the letters)
        degap: whether gaps (- and .) are removed
        allow_duplicates: whether repeated ids are numbered

        Returns an `Index`. Raises an `InputError` that names the file, the record and the reason; `RunError` if `out` cannot be written.
        """
        path = checked_path("fasta", fasta)
        target = checked_output_path(out, path)
        options = ReadOptions(
            checked_alphabet_name(alphabet), checked_flag("allow_duplicates", allow_duplicates), checked_flag("degap", degap)
        )
        with open_file(path) as stream, OutputFiles(LOG.note) as files:

            @contextmanager
            def result() -> Iterator[BinaryIO]:
                with translate_output_errors(target):
                    yield files.open(target)

            build_index((stream, path), options, result, target.parent, partial(files.new_scratch, target), LOG)
        return cls.open(target)
