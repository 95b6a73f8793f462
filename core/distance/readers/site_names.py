"""Names of sites, and the check that two inputs have the same sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum
from itertools import zip_longest
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.distance.positions import Positions, VariantPositions

_UNKNOWN_ALLELES = frozenset("0.")
"""Names for an allele that no sample has."""

_FIXED_PARTS = 3
"""Number of parts of a VCF record before the alternative alleles: chromosome, position and reference allele."""


SiteName: TypeAlias = tuple[str, ...]
"""Parts of the name of a site (`SiteScheme`)."""


class SiteScheme(Enum):
    """How sites are named.

    TITLES: by a title, and perhaps two alleles, one of which genotypes count. RECORDS: as in VCF, by chromosome, position, reference allele
    and alternative alleles, if any. VARIANTS: as in PLINK filesets, by chromosome, position and alleles, whose order may be reversed
    """

    TITLES = "titles"
    RECORDS = "records"
    VARIANTS = "variants"

    @property
    def min_parts(self) -> int:
        """Minimum number of parts of a name."""
        return {SiteScheme.TITLES: 1, SiteScheme.RECORDS: 3, SiteScheme.VARIANTS: 4}[self]


@dataclass(frozen=True)
class SiteNames:
    """Names of the sites of an input, in its order.

    scheme: how sites are named
    names: parts of each name
    """

    scheme: SiteScheme
    names: Sequence[SiteName] = field(repr=False)

    def positions(self, source: str) -> Positions:
        """Return the positions of the sites. Raises `InputError` for text that is not a position, such as a title."""
        try:
            return VariantPositions.of(source, [(chromosome, int(position)) for chromosome, position, *_ in self.names])
        except ValueError as error:
            raise InputError(f"{source}: a site has no position, by which sites are selected ({error})") from None


def match_sites(one: SiteNames, other: SiteNames, one_source: str, other_source: str) -> tuple[SiteNames, npt.NDArray[np.bool_] | None]:
    """Return (names of the sites, with alleles that only one input names; mask of the sites whose alleles `other` names in reverse order,
    bool[sites], None if there are none). Raises `InputError` if sites differ, naming the first one that does.

    one_source, other_source: names of the inputs, for messages
    """
    if one.scheme is not other.scheme:
        kinds = {SiteScheme.TITLES: "a table", SiteScheme.RECORDS: "VCF", SiteScheme.VARIANTS: "a PLINK fileset"}
        raise InputError(
            f"{other_source} has the sites of {kinds[other.scheme]}, {one_source} those of {kinds[one.scheme]}; two inputs must be of one"
            " kind"
        )
    if len(one.names) != len(other.names) and one.scheme is not SiteScheme.TITLES:
        raise InputError(f"{other_source}: {len(other.names):,} sites, {one_source} has {len(one.names):,}; sites must be the same")
    if one.scheme is SiteScheme.VARIANTS:
        swapped = swapped_sites(one.names, other.names, one_source, other_source)
        merged = [
            _merge_alleles(a, b, 2, swapped is not None and bool(swapped[k]))
            for k, (a, b) in enumerate(zip(one.names, other.names, strict=True))
        ]
        return SiteNames(one.scheme, merged), swapped
    are_same = are_same_titled if one.scheme is SiteScheme.TITLES else are_same_record
    for k, (a, b) in enumerate(zip_longest(one.names, other.names, fillvalue=())):
        if a != b and not are_same(a, b):
            what = "sites and alleles" if max(len(a), len(b)) > 1 else "sites"
            raise InputError(
                f"{other_source}: site {k + 1} is {_format(b, one.scheme)}, in {one_source} it is {_format(a, one.scheme)}; {what} must be"
                " the same"
            )
    pairs = zip(one.names, other.names, strict=True)
    if one.scheme is SiteScheme.TITLES:
        return SiteNames(one.scheme, [_merge_alleles(a, b, 1) if len(a) == len(b) else max(a, b, key=len) for a, b in pairs]), None
    return SiteNames(one.scheme, [max(a, b, key=len) for a, b in pairs]), None


def are_same_titled(a: SiteName, b: SiteName) -> bool:
    """Return whether two sites of tables have the same title and, if both name their alleles, the same ones in the same order."""
    return a[:1] == b[:1] and (len(a) != len(b) or _are_same_alleles(a[1:], b[1:]))


def are_same_record(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Return whether two VCF records, each with chromosome, position, reference allele and alternative alleles, describe the same site. A
    record without alternative alleles matches any record with the same position and reference allele, because all of its calls are
    reference calls."""
    return a == b or (a[:_FIXED_PARTS] == b[:_FIXED_PARTS] and _FIXED_PARTS in (len(a), len(b)))


def swapped_sites(one: Sequence[SiteName], other: Sequence[SiteName], one_source: str, other_source: str) -> npt.NDArray[np.bool_] | None:
    """Return a mask of the sites of PLINK filesets whose two alleles are in reverse order in the second one, bool[sites]; None if there are
    none.

    If no sample of a fileset has an allele, that fileset may list the allele as unknown. Raises `InputError` if sites or alleles differ.
    """
    if len(one) != len(other):
        raise InputError(f"{other_source}: {len(other):,} sites, {one_source} has {len(one):,}; sites must be the same")
    out = np.zeros(len(one), dtype=bool)
    for k, (a, b) in enumerate(zip(one, other, strict=True)):
        if a == b or (a[:2] == b[:2] and len(a) == len(b) == 4 and _are_same_alleles(a[2:], b[2:])):
            continue
        if a[:2] != b[:2] or not len(a) == len(b) == 4 or not _are_same_alleles(a[2:], b[:1:-1]):
            raise InputError(
                f"{other_source}: site {k + 1} is {' '.join(b)}, in {one_source} it is {' '.join(a)}; sites and alleles must be the same"
            )
        out[k] = True
    return out if out.any() else None


def _are_same_alleles(some: SiteName, others: SiteName) -> bool:
    """Return whether two allele pairs can be the same in this order. An unknown allele may be any allele except the other one of its
    pair."""
    merged = [
        b if a in _UNKNOWN_ALLELES else a
        for a, b in zip(some, others, strict=True)
        if a == b or a in _UNKNOWN_ALLELES or b in _UNKNOWN_ALLELES
    ]
    known = [allele for allele in merged if allele not in _UNKNOWN_ALLELES]
    return len(merged) == len(some) and len(set(known)) == len(known)


def _merge_alleles(a: SiteName, b: SiteName, first: int, is_swapped: bool = False) -> SiteName:
    """Return the name `a` with its unknown alleles replaced by those of `b`.

    first: index of the first allele in a name
    is_swapped: whether `b` has the alleles in reverse order
    """
    alleles = b[: first - 1 : -1] if is_swapped else b[first:]
    return (*a[:first], *(other if allele in _UNKNOWN_ALLELES else allele for allele, other in zip(a[first:], alleles, strict=True)))


def _format(name: SiteName, scheme: SiteScheme) -> str:
    """Return a name as text, for messages. name: may be (), for a site that an input lacks"""
    if not name:
        return "nothing"
    if scheme is SiteScheme.TITLES:
        return " ".join((repr(name[0]), *filter(None, ("/".join(name[1:]),))))
    return f"{name[0]}:{name[1]} {'/'.join(name[2:])}"
