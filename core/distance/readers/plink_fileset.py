"""Functions shared by the readers for both versions of PLINK filesets. They handle table lines, sample names, and alleles in reverse
order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.errors import InputError
from gpualign.core.distance.calls import MISSING, CallKind, Samples, make_samples
from gpualign.core.distance.positions import VariantPositions
from gpualign.core.distance.readers.base import CallReader, RandomAccessSource
from gpualign.core.distance.readers.site_names import SiteName, SiteNames, SiteScheme, swapped_sites
from gpualign.core.sequences.ids import unique_ids

SITE_MAJOR_MODE = 1
"""Third byte of a readable .bed; the third byte of a .pgen is larger."""

_POSITION_PATTERN = re.compile("-?[0-9]{1,18}")

_UNKNOWN_PARENT_IDS = frozenset(("", "0"))


class Fileset(Protocol):
    """Interface of an open fileset. `calls_path` is the path of its calls file."""

    @property
    def calls_path(self) -> Path: ...

    @property
    def sites(self) -> Sequence[SiteName]: ...

    @property
    def ids(self) -> list[str]: ...

    @property
    def parents(self) -> Sequence[tuple[str, str]]: ...

    def positions(self) -> VariantPositions:
        """Return the positions of the sites. Raises `InputError` for text that is not a position."""

    def call_reader(self, swapped: npt.NDArray[np.bool_] | None) -> CallReader:
        """Return a call reader. At the sites that `swapped` (bool[sites]) selects, its calls count the other allele."""


def split_at_blanks(line: bytes, max_splits: int = -1) -> list[str]:
    """Split a line at blanks, at most `max_splits` times (-1: no limit). The last cell is the rest of the line."""
    return [cell.decode("utf-8", "surrogateescape") for cell in line.split(None, max_splits)]  # bytes are split at ASCII blanks only


def sample_ids_of(people: Sequence[tuple[str, str]]) -> list[str]:
    """Return sample ids: the individual ids if these are unique, otherwise FAMILY_INDIVIDUAL, as in VCF files written by PLINK.

    people: (family id, or "" if there is none; individual id) of each sample
    """
    ids = [person for _, person in people]
    return (
        ids if len(set(ids)) == len(ids) or not all(family for family, _ in people) else [f"{family}_{person}" for family, person in people]
    )


def mark_founders(samples: Samples, parents: Sequence[Sequence[tuple[str, str]]]) -> Samples:
    """Return the samples with founders marked as in PLINK: a founder has neither parent named, whether or not the parents are in the file.

    parents: one sequence per fileset, with (father, mother) of each sample; an unknown parent is "0" or ""
    """
    founders = np.array([all(parent in _UNKNOWN_PARENT_IDS for parent in both) for some in parents for both in some], dtype=np.bool_)
    return samples if founders.all() else replace(samples, founders=founders)


def positions_of(fileset: Fileset, place_format: str) -> VariantPositions:
    """Return the positions of the sites. Raises `InputError` for text that is not a position.

    place_format: format string for the location of a site, for messages; {} is the site's number
    """
    sites = []
    for number, (chromosome, position, *_) in enumerate(fileset.sites, 1):
        if not _POSITION_PATTERN.fullmatch(position):
            raise InputError(f"{place_format.format(number)}: expected a position, by which sites are selected, found {position!r}")
        sites.append((chromosome, int(position)))
    return VariantPositions.of(str(fileset.calls_path), sites)


def swap_alleles_back(codes: Codes, swapped: npt.NDArray[np.bool_]) -> None:
    """Recode the calls at `swapped` sites, in place, so that they count the other of the two alleles. codes: uint8[samples][sites]."""
    some = np.flatnonzero(swapped)
    codes[:, some] = np.where(codes[:, some] == MISSING, MISSING, 2 - codes[:, some])


def source_of_filesets(filesets: Sequence[Fileset], allow_duplicates: bool, nonfounders: bool) -> RandomAccessSource:
    """Return the calls of one fileset, or of two with the same sites. Raises `InputError` if the files do not belong together.

    nonfounders: whether samples with parents count as founders, too
    """
    first = filesets[0]
    ids = [unique_ids(f.ids, str(f.calls_path), allow_duplicates) for f in filesets]
    readers = [first.call_reader(None)]
    readers += [f.call_reader(swapped_sites(first.sites, f.sites, str(first.calls_path), str(f.calls_path))) for f in filesets[1:]]
    samples = make_samples(*ids) if nonfounders else mark_founders(make_samples(*ids), [f.parents for f in filesets])
    return RandomAccessSource(
        samples,
        CallKind.GENOTYPE,
        len(first.sites),
        readers,
        make_positions=first.positions,
        make_names=lambda: SiteNames(SiteScheme.VARIANTS, first.sites),
    )
