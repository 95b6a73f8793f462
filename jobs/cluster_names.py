"""Names of clusters that stay when records are added: what `gpualign cluster` with several thresholds reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field
from pathlib import Path

from gpualign.core.clustering.coloured_names import write_coloured_names, write_colours
from gpualign.core.clustering.names import ClusterNames, extend_names, no_names
from gpualign.core.clustering.names_files import MergeLog, level_title, merge_line, read_merge_log, read_names, write_merge_log, write_names
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.units import format_count
from gpualign.core.files.paths import STDIO, open_file
from gpualign.core.output.writer import ByteWriter
from gpualign.jobs.output.atomic_files import OutputFiles, is_file_name, output_path, translate_output_errors
from gpualign.jobs.output.format_selection import separator_of
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter


def log_path(table: Path) -> Path:
    """Return the path of the log of merges that belongs to a table of names."""
    return table.with_name(f"{table.name}.log")


@dataclass(frozen=True)
class NamedClusters:
    """Names of all records, those of earlier runs included.

    levels: thresholds, descending
    names: the names
    log_lines: a line for each merge so far
    added_count: number of records that had no name
    merge_count: number of merges in this run
    """

    levels: Sequence[float]
    names: ClusterNames = field(repr=False)
    log_lines: Sequence[str] = field(repr=False)
    added_count: int
    merge_count: int

    @property
    def cluster_counts(self) -> dict[str, int]:
        """Number of clusters at each level, by the title of its column."""
        return {level_title(level): len(set(codes.tolist())) for level, codes in zip(self.levels, self.names.codes, strict=True)}

    @property
    def summary(self) -> dict[str, object]:
        """Numbers for the summary of the run."""
        return {"clusters_at": self.cluster_counts, "new_sequences": self.added_count, "merges": self.merge_count}


@dataclass(frozen=True)
class EarlierNames:
    """Names that a run continues.

    names: names of the records so far
    log_lines: a line for each of their merges
    overwritten: log that the output will replace; None: there is none
    """

    names: ClusterNames
    log_lines: Sequence[str] = field(repr=False)
    overwritten: MergeLog | None

    def with_ids(self, ids: Sequence[str]) -> list[str]:
        """Return the ids of the named records, followed by all other `ids`, sorted. This is the order in which `extend` returns them."""
        return [*self.names.ids, *sorted(set(ids).difference(self.names.ids))]

    def check_compared(self, ids: Sequence[str]) -> None:
        """Raise `InputError` if a named record is not among the records with these ids, with which new ones are compared."""
        if missing := sorted(set(self.names.ids).difference(ids)):
            count = f"{len(missing):,} of the {len(self.names.ids):,} records with names"
            raise InputError(
                f"{count} are not in the input, {missing[0]!a} the first, and a new record near them would get a new name; give all"
                f" records, or as {parameter('edges')} the pairs of the new records with each other and with the old ones"
            )

    def describe_size(self, ids: Sequence[str]) -> str:
        """Return the human-readable number of rows of the names once these records are added."""
        return format_count(len(self.with_ids(ids)), "row")

    def extend(self, levels: Sequence[float], ids: Sequence[str], labels: Integers) -> NamedClusters:
        """Return the names after records have been added.

        levels: thresholds, descending
        ids: ids of the records
        labels: their clusters at each level, int64[levels][records]

        A merge that is already in the log to be replaced keeps its date, so that a run that is repeated changes nothing. Raises
        `InputError` if that log has other merges, which would be lost.
        """
        from datetime import datetime, timezone

        names, merges = extend_names(self.names, ids, labels)
        today = datetime.now(timezone.utc).date().isoformat()
        known = {_undated(line): line for line in self.overwritten.lines} if self.overwritten is not None else {}
        lines = [merge_line(one, levels, today) for one in merges]
        lines = [*self.log_lines, *(known.get(_undated(line), line) for line in lines)]
        if lost := sorted(known.keys() - set(map(_undated, lines))):
            raise InputError(
                f"the log of the output has {format_count(len(lost), 'merge')} that these names lack, and which would be lost,"
                f" first {lost[0]!a}; write to another file, or give the names that had it as {parameter('previous')}"
            )
        return NamedClusters(levels, names, lines, len(names.ids) - len(self.names.ids), len(merges))


def _undated(line: str) -> str:
    return line.partition("\t")[2]


@dataclass(frozen=True)
class NamesFiles:
    """Files with names: the table to continue and the one to write, each with a log beside it.

    levels: thresholds, descending
    previous: table of an earlier run; None: there are no names yet
    path: table to write; None: standard output
    format: format of this table, tsv or microreact
    colours: name of a file for the clusters' colours; None: not written
    """

    levels: Sequence[float]
    previous: str | None
    path: Path | None
    format: str = "tsv"
    colours: str | None = None

    @property
    def inputs(self) -> list[str]:
        """Names of the files to read."""
        return [] if self.previous is None else [self.previous, str(log_path(Path(self.previous)))]

    @property
    def log(self) -> Path | None:
        """Path of the log to write; None if the table goes to standard output, a device or a pipe."""
        return None if self.path is None or not is_file_name(self.path) else log_path(self.path)

    @property
    def colours_path(self) -> Path | None:
        """Path of the file of colours; None: not written. Raises `InputError` for standard output, to which the names go."""
        if self.colours is None:
            return None
        path = output_path(self.colours)
        if path is None:
            raise InputError(f"{parameter('colours')}: name a file; standard output is for the names")
        return path

    @property
    def files_beside(self) -> list[Path]:
        """Paths of the files to write beside the table: the log and the colours, if there are any."""
        return [path for path in (self.log, self.colours_path) if path is not None]

    def read(self, reporter: Reporter = SILENT_REPORTER) -> EarlierNames:
        """Read the names to continue, and the log that will be replaced.

        Raises `InputError` for a file that cannot be read, that is damaged, or that has other levels, and if names are to be continued
        where no log can be written.
        """
        if self.previous == STDIO:
            raise InputError(f"{parameter('previous')}: name a file; its log is read from beside it")
        if self.log is None:
            if self.previous is not None:
                raise InputError(f"{parameter('previous')} needs -o FILE, beside which the log of merges is written")
            reporter.note(f"these names cannot be continued with {parameter('previous')}: for that, write them to a file with -o")
        overwritten = None
        if self.log is not None and self.log.exists():
            with open_file(self.log) as stream:
                try:
                    overwritten = read_merge_log(stream, str(self.log))
                except InputError as error:
                    raise InputError(f"{error.message}; it would be overwritten: move it away, or write to another file") from None
        if self.previous is None:
            return EarlierNames(no_names(len(self.levels)), (), overwritten)
        table, log = self.inputs
        with open_file(table) as stream:
            if not Path(log).exists():
                raise InputError(
                    f"{log}: no such file; it has the codes of merged clusters, which must not be given again, and is written beside"
                    f" {table} with -o: keep both together"
                )
            with open_file(log) as log_stream:
                merges = read_merge_log(log_stream, log)
            return EarlierNames(read_names(stream, table, self.levels, merges, log), merges.lines, overwritten)

    @contextmanager
    def open(self, files: OutputFiles) -> Iterator[Callable[[NamedClusters], None]]:
        """Open the outputs before any work is done, and yield the function that writes them. `files` commits the outputs."""
        with ExitStack() as stack:

            def opened(path: Path | None) -> ByteWriter:
                stack.enter_context(translate_output_errors(path))
                return stack.enter_context(files.open_text(path))

            log = None if self.log is None else opened(self.log)
            colours = None if self.colours_path is None else opened(self.colours_path)
            table = opened(self.path)

            def write(named: NamedClusters) -> None:
                if log is not None:
                    write_merge_log(log, self.levels, named.names, named.log_lines)
                if colours is not None:
                    write_colours(colours, self.levels, named.names)
                if self.format == "microreact":
                    write_coloured_names(table, self.levels, named.names, separator_of(self.format, self.path))
                else:
                    write_names(table, self.levels, named.names)

            yield write
