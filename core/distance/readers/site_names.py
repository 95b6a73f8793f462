"""Names of sites, by which two inputs are found to have the same sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.distance.positions import Positions, VariantPositions

_FIXED_PARTS = 3
"""Number of parts of a VCF record before the alternative alleles: chromosome, position and reference allele."""


class SiteScheme(Enum):
    """How sites are named.

    TITLES: by the title of a column. RECORDS: as in VCF, by chromosome, position, reference allele and alternative alleles, if any.
    VARIANTS: as in PLINK filesets, by chromosome, position and alleles, whose order may be reversed
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
    names: Sequence[tuple[str, ...]] = field(repr=False)

    def positions(self, source: str) -> Positions:
        """Return the positions of the sites. Raises `InputError` for text that is not a position, such as a title."""
        try:
            return VariantPositions.of(source, [(chromosome, int(position)) for chromosome, position, *_ in self.names])
        except ValueError as error:
            raise InputError(f"{source}: a site has no position, by which sites are selected ({error})") from None


@dataclass(frozen=True)
class _NamedSites:
    """Sites of an input, as `plink_fileset.Fileset` has them. calls_path: name of the input."""

    calls_path: Path
    sites: Sequence[tuple[str, ...]]


def match_sites(one: SiteNames, other: SiteNames, one_source: str, other_source: str) -> tuple[SiteNames, npt.NDArray[np.bool_] | None]:
    """Return (names of the sites, with alleles that only one input names; mask of the sites whose alleles `other` names in reverse order,
    bool[sites], None if there are none). Raises `InputError` if sites differ, naming the first one that does.

    one_source, other_source: names of the inputs, for messages
    """
    if one.scheme is not other.scheme:
        kinds = {SiteScheme.TITLES: "a table", SiteScheme.RECORDS: "VCF", SiteScheme.VARIANTS: "a PLINK fileset"}
        raise InputError(f"{other_source} is {kinds[other.scheme]}, and {one_source} was made of {kinds[one.scheme]}")
    if len(one.names) != len(other.names):
        raise InputError(f"{other_source}: {len(other.names):,} sites, {one_source} has {len(one.names):,}; sites must be the same")
    if one.scheme is SiteScheme.VARIANTS:
        from gpualign.core.distance.readers.plink_fileset import swapped_sites

        swapped = swapped_sites(_NamedSites(Path(one_source), one.names), _NamedSites(Path(other_source), other.names))
        merged = [
            _merge_alleles(a, b, swapped is not None and bool(swapped[k]))
            for k, (a, b) in enumerate(zip(one.names, other.names, strict=True))
        ]
        return SiteNames(one.scheme, merged), swapped
    for k, (a, b) in enumerate(zip(one.names, other.names, strict=True)):
        if a != b and (one.scheme is SiteScheme.TITLES or not are_same_record(a, b)):
            raise InputError(f"{other_source}: site {k + 1} is {_format(b)}, in {one_source} it is {_format(a)}; sites must be the same")
    return SiteNames(one.scheme, [max(a, b, key=len) for a, b in zip(one.names, other.names, strict=True)]), None


def are_same_record(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Return whether two VCF records, each with chromosome, position, reference allele and alternative alleles, describe the same site. A
    record without alternative alleles matches any record with the same position and reference allele, because all of its calls are
    reference calls."""
    return a == b or (a[:_FIXED_PARTS] == b[:_FIXED_PARTS] and _FIXED_PARTS in (len(a), len(b)))


def _merge_alleles(a: tuple[str, ...], b: tuple[str, ...], is_swapped: bool) -> tuple[str, ...]:
    from gpualign.core.distance.readers.plink_fileset import UNKNOWN_ALLELES

    alleles = b[:1:-1] if is_swapped else b[2:]
    return (*a[:2], *(theirs if mine in UNKNOWN_ALLELES else mine for mine, theirs in zip(a[2:], alleles, strict=True)))


def _format(name: tuple[str, ...]) -> str:
    return repr(name[0]) if len(name) == 1 else f"{name[0]}:{name[1]} {'/'.join(name[2:])}"
