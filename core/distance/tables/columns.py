"""Chooses which columns of a table to read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.distance import _sites
from gpualign.core.distance.tables.options import CallOptions
from gpualign.core.distance.tables.titles import (
    SITE_NAME_PATTERN,
    annotation_column_count,
    is_metadata_title,
    is_numbered_header,
    metadata_columns_beside,
    place_and_allele_columns,
    serial_stems,
    split_numbered_header,
    title_stem,
)
from gpualign.core.sequences.ids import may_be_id_title

_MAX_TITLES_IN_MESSAGE = 8
_PLINK_RAW_TITLES = ("FID", "IID", "PAT", "MAT", "SEX", "PHENOTYPE")
"""First columns of a PLINK .raw file, which has a row per sample."""
_FAMILY_TITLES = (("FID", "IID"), ("#FID", "IID"))
"""First columns of other tables with a row per sample that PLINK reads or writes."""
_PLINK_TRAW_TITLES = ("CHR", "SNP", "(C)M", "POS", "COUNTED", "ALT")
"""First columns of a PLINK .traw file, which has a row per site."""
_HETEROZYGOUS_SUFFIX = "_HET"
"""Suffix in the titles of .raw columns that only repeat which genotypes of the previous column are heterozygous."""

_SUMMARY_PATTERN = re.compile(r"(?:(?:sub|grand )?totals?|sums?|means?|averages?|avg|medians?|minimum|maximum):?", re.IGNORECASE)
"""Pattern of the ids of rows that sum up the rows above them, as in spreadsheets."""


@dataclass(frozen=True)
class ColumnPlan:
    """Plan for a table's columns.

    titles: titles of the columns to read
    actions: READ, SKIP_COLUMN or EMPTY from `_sites` for each column after the first, uint8[columns]; if empty, all columns are read
    ignored_titles: titles of the columns left out because they are known not to be sites
    untitled_count: number of columns without a title, in which every cell must be empty
    id_cells: indices of the cells that form a row's id: one cell, or two for family and individual
    unknown_titles: titles of columns to leave out that the table does not have
    place_cells, allele_cells: indices of the cells with the chromosome and position, and with the two alleles, of a row that is a site
    """

    titles: list[str]
    actions: npt.NDArray[np.uint8] = field(repr=False)
    ignored_titles: list[str] = field(default_factory=list)
    untitled_count: int = 0
    id_cells: tuple[int, ...] = (0,)
    unknown_titles: tuple[str, ...] = ()
    place_cells: tuple[int, ...] = ()
    allele_cells: tuple[int, ...] = ()

    def may_have_ids_in_second_column(self, header: Sequence[str], options: CallOptions) -> bool:
        """Return whether the second column has a title of ids, and no option says that it is something else.

        header: titles of all columns
        """
        if len(header) < 2 or not may_be_id_title(header[1]):
            return False
        return self.ignored_titles[:1] == [header[1]] if options.columns is None else header[1] not in options.ignore_columns

    def with_ids_in_second_column(self) -> ColumnPlan:
        """Return the plan with the ids in the second column of the table, which was left out as metadata, or may be one that
        `options.columns` names. Raises `InputError` if no other column is read."""
        actions = self.actions.copy() if len(self.actions) else np.full(len(self.titles), _sites.READ, dtype=np.uint8)
        titles = self.titles[1:] if actions[0] == _sites.READ else self.titles
        if not titles:
            raise InputError(f"no column but that of the ids, {self.titles[0]!r}, is read")
        actions[0] = _sites.SKIP_COLUMN
        return replace(self, titles=titles, actions=actions, id_cells=(1,), ignored_titles=self.ignored_titles[1:])

    def column_number(self, index: int) -> int:
        """Return the number of a column, given its index among the columns that are read. The second column of the table has number 0,
        because the first one holds the ids."""
        return index if not len(self.actions) else int(np.flatnonzero(self.actions == _sites.READ)[index])

    def read_index(self, column: int) -> int:
        """Return the index of a column among the columns that are read, given its number as in `column_number`."""
        return column if not len(self.actions) else int(np.count_nonzero(self.actions[:column] == _sites.READ))


def plink_export_suffix(header: Sequence[str]) -> str | None:
    """Return ".raw" or ".traw" if this is the header of such a PLINK file, else None."""
    first = tuple(title.upper() for title in header[: len(_PLINK_RAW_TITLES)])
    return ".raw" if first == _PLINK_RAW_TITLES else ".traw" if first == _PLINK_TRAW_TITLES else None


def plan_columns(header: Sequence[str], options: CallOptions) -> ColumnPlan:
    """Decide from the titles how to treat each column after the first.

    If `options.columns` is set, only the columns that it names are read, whatever their titles; it may also name the first one, which is
    always read. Otherwise, metadata columns, and annotation columns next to samples, are left out. Columns in `options.ignore_columns` are
    always left out.

    Raises `InputError` for columns to read that the table does not have, and if no column remains.

    header: titles of all columns
    """
    annotation: list[int] = []
    if not options.no_header and is_numbered_header(header):
        header, annotation = _split_numbered_header(header, options)
    elif options.transpose:
        annotation = list(range(1, annotation_column_count(header)))
    titles, chosen, ignored = header[1:], options.columns, options.ignore_columns
    known = {*titles}
    for title in chosen or ():
        if title not in known and (options.no_header or title != header[0]):
            raise unknown_column_error("columns", title, titles)
    unknown = tuple(title for title in ignored if title not in known)
    export = None if options.no_header else plink_export_suffix(header)
    if export is None:
        _refuse_sites_as_rows(header, options)
    id_cells = {None: (0,), ".raw": (0, 1), ".traw": (1,)}[export]
    actions = np.full(len(titles), _sites.READ, dtype=np.uint8)
    actions[: len(_PLINK_RAW_TITLES) - 1 if export else 0] = _sites.SKIP_COLUMN
    if export is None and _begins_with_family(header, options):
        id_cells, actions[0] = (0, 1), _sites.SKIP_COLUMN
    if chosen is not None or ignored:
        picked, dropped = set(titles if chosen is None else chosen), set(ignored)
        actions[[title not in picked or title in dropped for title in titles]] = _sites.SKIP_COLUMN
    left_out: list[str] = []
    for k in _non_call_columns(header, annotation if options.transpose else None, export):
        if actions[k] == _sites.SKIP_COLUMN:
            continue
        if not titles[k]:
            actions[k] = _sites.EMPTY
        elif chosen is None:
            actions[k] = _sites.SKIP_COLUMN
            left_out.append(titles[k])
    read = actions == _sites.READ
    if read.all():
        return ColumnPlan(list(titles), actions[:0], id_cells=id_cells, unknown_titles=unknown)
    of_site = range(1, len(_PLINK_TRAW_TITLES)) if export == ".traw" else annotation
    place_cells, allele_cells = place_and_allele_columns(header, of_site)
    if not read.any():
        raise InputError(f"none of the columns {', '.join(map(repr, titles[:_MAX_TITLES_IN_MESSAGE]))} is read")
    untitled = int(np.count_nonzero(actions == _sites.EMPTY))
    names = [titles[k] for k in np.flatnonzero(read).tolist()]
    return ColumnPlan(names, actions, left_out, untitled, id_cells, unknown, place_cells, allele_cells)


def unknown_column_error(option: str, title: str, titles: Sequence[str]) -> InputError:
    """Return the error for a column that a table does not have.

    option: name of the parameter that names the column
    titles: titles of the table's columns
    """
    return InputError(f"{parameter(option)}: there is no column {title!r}{did_you_mean(title, titles)}")


def _begins_with_family(header: Sequence[str], options: CallOptions) -> bool:
    """Return whether the first two columns hold the ids of families and individuals."""
    first = tuple(title.upper() for title in header[:2])
    return first in _FAMILY_TITLES and not (options.transpose or options.no_header)


def _split_numbered_header(header: Sequence[str], options: CallOptions) -> tuple[list[str], list[int]]:
    """Return the result of `split_numbered_header`. Raises `InputError` if the rows, which are sites, are to be read as samples."""
    if not options.transpose:
        raise InputError(
            f"rows are sites, by the titles that bcftools query numbers ({header[1]!r}); read it with {parameter('transpose')}"
        )
    return split_numbered_header(header)


def _refuse_sites_as_rows(header: Sequence[str], options: CallOptions) -> None:
    """Raise `InputError` if a table's titles show that its rows are sites, or if extra columns precede those of a PLINK .raw file."""
    if set(_PLINK_RAW_TITLES[:4]) <= set(header[1:]):
        raise InputError(
            f"columns as in PLINK's .raw, but the first one is {header[0]!r}; delete the columns before {_PLINK_RAW_TITLES[0]}"
        )
    width = 1 if options.transpose or options.columns is not None else annotation_column_count(header)
    if width > 1 and not set(header[1:width]) <= set(options.ignore_columns):
        shown, are = _format_titles(header[1:width])
        raise InputError(
            f"rows may be sites, as columns {shown} {are} annotation of sites ({parameter('transpose')} reads such a table), or samples"
            f" ({parameter('ignore_columns')} leaves these columns out); say which"
        )


def _non_call_columns(header: Sequence[str], annotation: Sequence[int] | None, export: str | None) -> list[int]:
    """Return the indices of columns that have no title, or a title that does not belong to calls. The second column of the table has index
    0.

    annotation: columns that describe sites, numbered from 0 for the first one, if rows are sites; otherwise None
    """
    titles = header[1:]
    empty = [k for k, title in enumerate(titles) if not title]
    if export is not None:
        return empty + [k for k, title in enumerate(titles) if _repeats_previous_column(title, titles[k - 1], export)]
    if annotation is not None:
        return empty + [k - 1 for k in annotation]
    names_site = SITE_NAME_PATTERN.match
    metadata = [k for k, title in enumerate(titles) if title and not names_site(title) and is_metadata_title(title)]
    serial = serial_stems((titles[k] for k in metadata), titles)
    metadata = [k for k in metadata if title_stem(titles[k]) not in serial]
    return sorted({*empty, *metadata, *(k - 1 for k in metadata_columns_beside(header) if k)})


def _repeats_previous_column(title: str, previous: str, export: str) -> bool:
    """Return whether a .raw column shows which genotypes in the previous column are heterozygous (`--recode AD`)."""
    return (
        export == ".raw" and title.endswith(_HETEROZYGOUS_SUFFIX) and previous.rsplit("_", 1)[0] == title.removesuffix(_HETEROZYGOUS_SUFFIX)
    )


def describe_columns_left_out(titles: Sequence[str], transpose: bool) -> str:
    """Return a note on columns that are left out because of their titles. transpose: whether the columns of the table are samples."""
    shown, are = _format_titles(titles)
    why = "annotation of sites" if transpose else "metadata"
    return f"column{'s'[: len(titles) != 1]} {shown} {are} left out as {why}, by title; {parameter('columns')} names the columns to read"


def describe_rows_left_out(titles: Sequence[str]) -> str:
    """Return a note on rows that are left out because of their titles."""
    shown, are = _format_titles(titles)
    return f"row{'s'[: len(titles) != 1]} {shown} {are} left out as metadata, by title; rename those that are sites"


def describe_empty_columns(titles: Sequence[str]) -> str:
    """Return a note on columns left out because they have no call, and a title that programs give to columns without one."""
    shown, are = _format_titles(titles)
    return (
        f"column{'s'[: len(titles) != 1]} {shown} {are} left out: without a call, and with a title that programs give to columns that have"
        f" none; {parameter('columns')} names the columns to read"
    )


def describe_footers(ids: Sequence[str]) -> str:
    """Return a note on rows below an empty row that are left out because they have nothing but an id."""
    shown, are = _format_titles(ids)
    return f"row{'s'[: len(ids) != 1]} {shown} below an empty row {are} left out, as all other cells are empty"


def describe_summary_row(row_ids: Sequence[str], row_word: str) -> str | None:
    """Return a note on a last row whose id says that it sums up the other rows; None if there is none.

    row_word: word for a row in messages
    """
    if not row_ids or _SUMMARY_PATTERN.fullmatch(row_ids[-1]) is None:
        return None
    return f"the last row, {row_ids[-1]!r}, is read as a {row_word}; delete it if it sums up the rows above it"


def describe_repeated_sites(titles: Sequence[str]) -> str | None:
    """Return a note on sites with equal titles, which may be copies of one site; None if there are none."""
    if len(set(titles)) == len(titles):
        return None
    repeated = [title for title, count in Counter(titles).items() if count > 1 and title]
    if not repeated:
        return None
    shown, _ = _format_titles(repeated)
    return f"several sites are called {shown}; each of them counts"


def _format_titles(titles: Sequence[str]) -> tuple[str, str]:
    """Return (text that lists the first titles; "is" or "are", to agree with the number of all titles)."""
    more = f" and {len(titles) - _MAX_TITLES_IN_MESSAGE:,} more" if len(titles) > _MAX_TITLES_IN_MESSAGE else ""
    return ", ".join(map(repr, titles[:_MAX_TITLES_IN_MESSAGE])) + more, "is" if len(titles) == 1 else "are"
