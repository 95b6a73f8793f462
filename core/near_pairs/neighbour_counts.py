"""Counts neighbours by groups of equal records, without expanding pairs of groups into pairs of records. Pure.

If two groups of m and n equal records are near, each record of the first group has n neighbours in the second. The earlier record of a pair
is the query, and whether the pair passes the thresholds may depend on which record is the query. If the records of two groups alternate in
the input, the pair of groups is therefore tested in both directions; if it passes in only one, neighbours are counted record by record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import ClassVar

import numpy as np

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.near_pairs.deduplication import DuplicateGroups
from gpualign.core.results.near_results import NearPairResults


@dataclass(frozen=True)
class GroupPairs:
    """Near pairs of groups of equal records, each pair once, and what was computed for them.

    queries, targets: groups of the queries and of the targets; the same object for one set
    pairs: the pairs, as group numbers; for one set, those of two groups, the lower number first, and those of a group with itself,
        which stand for the pairs of its records
    results: results for their first records, in the same order
    turned: indices in `pairs` of the pairs that are also tested in the other direction; always empty for two sets
    turned_results: results for `turned`, with queries and targets swapped
    turned_order: index in `turned` of each pair in `turned_results`
    """

    queries: DuplicateGroups
    targets: DuplicateGroups
    pairs: NearPairs
    results: NearPairResults
    turned: Integers = field(repr=False)
    turned_results: NearPairResults
    turned_order: Integers = field(repr=False)
    completed_query_count: ClassVar[int] = 0

    def add_neighbours(self, passing: Callable[[NearPairResults], Booleans], counts: Integers) -> None:
        """Add the numbers of neighbours to the counts of the queries, int64[queries].

        passing: returns which pairs in a list of results pass the thresholds
        """
        first, second = self.pairs.queries, self.pairs.targets
        passes = passing(self.results)
        also = passes.copy()  # whether pairs pass in the other direction: the same unless that is tested
        if len(self.turned):
            also[self.turned[self.turned_order]] = passing(self.turned_results)
        whole = passes & also
        by_group = np.zeros(len(self.queries), dtype=np.int64)
        if self.queries is not self.targets:
            np.add.at(by_group, first[whole], self.targets.sizes[second[whole]])
        else:
            sizes, own = self.queries.sizes, first == second
            apart = whole & ~own
            np.add.at(by_group, first[apart], sizes[second[apart]])
            np.add.at(by_group, second[apart], sizes[first[apart]])
            np.add.at(by_group, first[whole & own], sizes[first[whole & own]] - 1)
        counts += by_group[self.queries.group_of]
        for pair in np.flatnonzero(passes != also).tolist():
            earlier, later = self.queries.members_of(int(first[pair])), self.queries.members_of(int(second[pair]))
            if not passes[pair]:
                earlier, later = later, earlier
            # Only pairs in which a record of `earlier` comes first pass.
            counts[earlier] += len(later) - np.searchsorted(later, earlier)
            counts[later] += np.searchsorted(earlier, later)
