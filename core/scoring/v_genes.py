"""Distances of V genes in TCRdist (Dash et al. 2017, https://doi.org/10.1038/nature22383), by their loops CDR1, CDR2 and CDR2.5. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import chain

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.tcrdist import MAX_COST, MAX_DISTANCE, amino_acid_costs
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.core.sequences.annotations import AnnotationColumn
from gpualign.core.sequences.gene_calls import gene_names

GAPS = ".-"
"""Letters of gaps in aligned loops."""
_FIRST_ALLELE, _UNKNOWN_ALLELE = "*01", "*00"

BEYOND = MAX_DISTANCE + 1
"""Distance of genes that cannot be compared, above every threshold."""


@dataclass(frozen=True)
class VGenes:
    """V genes with their loops.

    source: name of the table, for messages
    loops: CDR1, CDR2 and CDR2.5 of each gene or allele, aligned with those of the other genes by gaps
    """

    source: str
    loops: Mapping[str, tuple[str, str, str]] = field(repr=False)

    def label(self, columns: Sequence[AnnotationColumn]) -> tuple[list[npt.NDArray[np.int32]], npt.NDArray[np.int32]]:
        """Return (label of each record, for each column of calls; distances of the labels: int32[labels][labels]).

        A label is a set of genes that a call names. The distance of two sets is that of their nearest genes, and `BEYOND` if the table has
        none of the genes of a call, or loops of other lengths.
        """
        labels, numbers = self._number(columns)
        names = sorted(set(chain.from_iterable(numbers)))
        places, between = {name: k for k, name in enumerate(names)}, self._gene_distances(names)
        distances = np.full((len(numbers), len(numbers)), BEYOND, dtype=np.int32)
        for genes, one in numbers.items():
            for others, other in numbers.items():
                if genes and others:
                    distances[one, other] = min(between[places[a], places[b]] for a in genes for b in others)
        return labels, distances

    def deduplication_keys(self, calls: AnnotationColumn) -> Integers:
        """Return keys, int64[records], that are equal for records whose V genes have a distance of 0 because they are the same. A record
        without a known gene has a key of its own."""
        (labels,), numbers = self._number([calls])
        is_known = np.array([bool(genes) for genes in numbers], dtype=np.bool_)[labels]
        return np.where(is_known, labels, len(numbers) + np.arange(len(labels)))

    def _number(self, columns: Sequence[AnnotationColumn]) -> tuple[list[npt.NDArray[np.int32]], dict[frozenset[str], int]]:
        """Return (label of each record, for each column of calls; label of each set of genes)."""
        numbers: dict[frozenset[str], int] = {}
        labels = []
        for column in columns:
            known = [numbers.setdefault(self._find(call), len(numbers)) for call in column.values]
            labels.append(np.array(known, dtype=np.int32)[column.codes])
        return labels, numbers

    def unknown_count(self, calls: AnnotationColumn) -> int:
        """Return the number of records whose call names no gene of the table."""
        unknown = np.array([not self._find(call) for call in calls.values], dtype=np.bool_)
        return int(np.count_nonzero(unknown[calls.codes]))

    def _find(self, call: str) -> frozenset[str]:
        """Return the names, in the table, of the genes in a call. A gene without an allele (MiXCR: *00) is its first allele, and an allele
        that the table lacks is its gene."""
        found = set()
        for name in gene_names(call, alleles=True):
            name = name.removesuffix(_UNKNOWN_ALLELE)
            spellings = (name, name + _FIRST_ALLELE, name.partition("*")[0])
            found.update([next((one for one in spellings if one in self.loops), "")])
        return frozenset(found - {""})

    def _gene_distances(self, names: Sequence[str]) -> Integers:
        """Return the distance of each gene to each other: int64[genes][genes]."""
        costs = np.full((len(PROTEIN.letters) + 1,) * 2, MAX_COST, dtype=np.int64)  # the last letter is a gap
        costs[:-1, :-1] = amino_acid_costs()
        costs[-1, -1] = 0
        distances = np.full((len(names), len(names)), BEYOND, dtype=np.int64)
        widths = [tuple(map(len, self.loops[name])) for name in names]
        for width in set(widths):
            members = np.array([k for k, one in enumerate(widths) if one == width])
            letters = np.array([[_code(letter) for letter in "".join(self.loops[names[k]])] for k in members.tolist()]).reshape(
                len(members), -1
            )
            distances[np.ix_(members, members)] = costs[letters[:, None], letters[None]].sum(axis=2)
        return distances


def _code(letter: str) -> int:
    return len(PROTEIN.letters) if letter in GAPS else int(PROTEIN.encoding[ord(letter)])
