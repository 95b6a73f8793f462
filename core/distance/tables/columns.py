"""Which columns of a table are read, and what the others are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from gpualign.core import _sites
from gpualign.core.dataclass import dataclass
from gpualign.core.distance.tables.titles import NAME_OF_SITE, is_metadata, is_of_sites
from gpualign.core.errors import InputError, parameter
from gpualign.core.nearest import did_you_mean

_MOST_NAMED = 8
_RAW = ("FID", "IID", "PAT", "MAT", "SEX", "PHENOTYPE")
"""The first columns of PLINK's .raw, which has a row per sample."""
_TRAW = ("CHR", "SNP", "(C)M", "POS", "COUNTED", "ALT")
"""The first columns of PLINK's .traw, which has a row per site."""
_HETEROZYGOUS = "_HET"
"""Ends titles of .raw whose columns say again which genotypes are heterozygous."""


@dataclass(frozen=True)
class Columns:
    """What is done with the columns of a table.

    titles: of the columns that are read
    actions: for each column after the first, READ, PASS_OVER or EMPTY of `_sites`, uint8[columns]; without any all are read
    left_out: known titles of something else than sites
    untitled: columns without a title, in which every cell must be empty
    id_cells: cells of a row that make its id: one, or family and person
    """

    titles: list[str]
    actions: npt.NDArray[np.uint8] = field(repr=False)
    left_out: list[str] = field(default_factory=list)
    untitled: int = 0
    id_cells: tuple[int, ...] = (0,)

    def number_of(self, place: int) -> int:
        """The column, counted after the first, of a place among those that are read."""
        return place if not len(self.actions) else int(np.flatnonzero(self.actions == _sites.READ)[place])

    def place_of(self, column: int) -> int:
        """The place of a column that is read among all that are."""
        return column if not len(self.actions) else int(np.count_nonzero(self.actions[:column] == _sites.READ))


def plink_export(header: Sequence[str]) -> str | None:
    """ ".raw" or ".traw" for the first line of such a file of PLINK's, else None."""
    first = tuple(title.upper() for title in header[: len(_RAW)])
    return ".raw" if first == _RAW else ".traw" if first == _TRAW else None


def plan_columns(
    header: Sequence[str],
    titles: Sequence[str],
    transpose: bool,
    chosen: Sequence[str] | None = None,
    ignored: Sequence[str] = (),
) -> Columns:
    """Say what is done with each column after the first, by its title.

    header: all cells of the first line; titles: of the columns after the first. chosen, ignored: titles that a user names, of what is
    read and what is not; chosen ones are read whatever they are called. transpose: columns are samples. Raises `InputError` for titles
    that the table does not have, and where no column is left.
    """
    for name, some in (("columns", chosen or ()), ("ignore_columns", ignored)):
        known = set(titles)
        for title in some:
            if title not in known:
                raise InputError(f"{parameter(name)}: there is no column {title!r}{did_you_mean(title, titles)}")
    export = plink_export(header)
    id_cells = {None: (0,), ".raw": (0, 1), ".traw": (1,)}[export]
    described = len(_RAW) - 1 if export else 0
    actions = np.full(len(titles), _sites.READ, dtype=np.uint8)
    actions[:described] = _sites.PASS_OVER
    if chosen is not None or ignored:
        picked, dropped = set(titles if chosen is None else chosen), set(ignored)
        actions[[title not in picked or title in dropped for title in titles]] = _sites.PASS_OVER
    left_out: list[str] = []
    is_other = is_of_sites if transpose else is_metadata
    names_site = NAME_OF_SITE.match
    for k in range(len(titles)) if export else [k for k, title in enumerate(titles) if not names_site(title)]:
        title = titles[k]
        if actions[k] == _sites.PASS_OVER:
            continue
        if not title:
            actions[k] = _sites.EMPTY
        elif chosen is None and (is_other(title) if export is None else _repeats(title, titles[k - 1], export)):
            actions[k] = _sites.PASS_OVER
            left_out.append(title)
    read = actions == _sites.READ
    if read.all():
        return Columns(list(titles), actions[:0], id_cells=id_cells)
    if not read.any():
        raise InputError(f"none of the columns {', '.join(map(repr, titles[:_MOST_NAMED]))} is read")
    untitled = int(np.count_nonzero(actions == _sites.EMPTY))
    return Columns([titles[k] for k in np.flatnonzero(read).tolist()], actions, left_out, untitled, id_cells)


def _repeats(title: str, before: str, export: str) -> bool:
    """Whether a column of .raw says which genotypes of the one before it are heterozygous (`--recode AD`)."""
    return export == ".raw" and title.endswith(_HETEROZYGOUS) and before.rsplit("_", 1)[0] == title.removesuffix(_HETEROZYGOUS)


def describe_left_out(titles: Sequence[str], what: str) -> str:
    """Report of columns (`what`: rows) that are left out because of their titles."""
    shown = ", ".join(map(repr, titles[:_MOST_NAMED])) + (f" and {len(titles) - _MOST_NAMED:,} more" if len(titles) > _MOST_NAMED else "")
    kept = f"; {parameter('columns')} reads the columns that it names" if what == "column" else ""
    if len(titles) == 1:
        return f"{what} {shown} is left out, as its title is not of sites{kept}"
    return f"{what}s {shown} are left out, as their titles are not of sites{kept}"
