"""Names the distances that only near pairs have: pairs within a threshold, which are listed without their alignments. This module imports
nothing from the package, so that commands can ask before their other imports. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

UNEQUAL_LENGTHS = (1 << 31) - 1
"""Hamming distance of sequences of different lengths, the largest number of 32 bits. Every threshold is below it."""


class ListedDistance(Enum):
    """A distance that is only computed for pairs within a threshold. The value is the name of the option that selects it."""

    HAMMING = "hamming"
    TCRDIST = "tcrdist"
    ALIGNMENT = "align_distance"

    @property
    def usual_threshold(self) -> int:
        """A maximum distance that is common in practice, for messages."""
        return {ListedDistance.HAMMING: 1, ListedDistance.TCRDIST: 15, ListedDistance.ALIGNMENT: 10}[self]


def selected_distances(options: Mapping[str, object]) -> list[ListedDistance]:
    """Return the distances whose options are set. options: values of options by their names"""
    return [one for one in ListedDistance if options[one.value]]


def has_distances(options: Mapping[str, object]) -> bool:
    """Return whether the results are distances, which are minimised. options: as for `selected_distances`, including `edit`"""
    return bool(options["edit"] or selected_distances(options))


def may_use_device(options: Mapping[str, object]) -> bool:
    """Return whether a device may find the near pairs from the start of a run. TCRdists, and almost all alignment distances, are found on
    CPUs. options: as for `selected_distances`"""
    return not (options[ListedDistance.TCRDIST.value] or options[ListedDistance.ALIGNMENT.value])
