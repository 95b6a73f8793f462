"""Functions shared by the readers for both versions of PLINK filesets. They handle table lines, sample names, and alleles in reverse
order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.errors import InputError
from gpualign.core.distance.calls import MISSING, Samples
from gpualign.core.distance.positions import VariantPositions

SITE_MAJOR_MODE = 1
"""Third byte of a readable .bed; the third byte of a .pgen is larger."""

_POSITION_PATTERN = re.compile("-?[0-9]{1,18}")

UNKNOWN_ALLELES = frozenset("0.")
"""Names for an allele that no sample has."""

_UNKNOWN_PARENT_IDS = frozenset(("", "0"))

Site: TypeAlias = tuple[str, ...]
"""A site of a fileset: its chromosome, position and alleles."""


class Fileset(Protocol):
    """Interface of an open fileset. `calls_path` is the path of its calls file."""

    @property
    def calls_path(self) -> Path: ...

    @property
    def sites(self) -> Sequence[Site]: ...


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

    place_format: format string for messages that tells where a site is; {} is the site's number
    """
    sites = []
    for number, (chromosome, position, *_) in enumerate(fileset.sites, 1):
        if not _POSITION_PATTERN.fullmatch(position):
            raise InputError(f"{place_format.format(number)}: expected a position, by which sites are selected, found {position!r}")
        sites.append((chromosome, int(position)))
    return VariantPositions.of(str(fileset.calls_path), sites)


def swapped_sites(one: Fileset, other: Fileset) -> npt.NDArray[np.bool_] | None:
    """Return a mask of the sites whose two alleles are in reverse order in the second fileset, bool[sites]; None if there are none.

    If no sample of a fileset has an allele, that fileset may list the allele as unknown. Raises `InputError` if sites or alleles differ.
    """
    if len(one.sites) != len(other.sites):
        raise InputError(f"{other.calls_path}: {len(other.sites):,} sites, {one.calls_path} has {len(one.sites):,}; sites must be the same")
    out = np.zeros(len(one.sites), dtype=bool)
    for k, (a, b) in enumerate(zip(one.sites, other.sites, strict=True)):
        if a == b or (a[:2] == b[:2] and len(a) == len(b) == 4 and _are_same_alleles(a[2:], b[2:])):
            continue
        if a[:2] != b[:2] or not len(a) == len(b) == 4 or not _are_same_alleles(a[2:], b[:1:-1]):
            raise InputError(
                f"{other.calls_path}: site {k + 1} is {' '.join(b)}, in {one.calls_path} it is {' '.join(a)};"
                " sites and alleles must be the same"
            )
        out[k] = True
    return out if out.any() else None


def _are_same_alleles(some: Site, others: Site) -> bool:
    """Return whether two allele pairs can be the same in this order. An unknown allele may be any allele except the other one of its
    pair."""
    merged = [
        b if a in UNKNOWN_ALLELES else a
        for a, b in zip(some, others, strict=True)
        if a == b or a in UNKNOWN_ALLELES or b in UNKNOWN_ALLELES
    ]
    known = [allele for allele in merged if allele not in UNKNOWN_ALLELES]
    return len(merged) == len(some) and len(set(known)) == len(known)


def swap_alleles_back(codes: Codes, swapped: npt.NDArray[np.bool_]) -> None:
    """Recode the calls at `swapped` sites, in place, so that they count the other of the two alleles. codes: uint8[samples][sites]."""
    some = np.flatnonzero(swapped)
    codes[:, some] = np.where(codes[:, some] == MISSING, MISSING, 2 - codes[:, some])
