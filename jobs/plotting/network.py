"""Describes what a network shows: clusters of records, and the links of their minimum spanning tree. Draws nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field

import numpy as np

from gpualign.core.clustering.clusters import renumber_labels
from gpualign.core.clustering.edges import Edges
from gpualign.core.clustering.linkage import single_linkage
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.trees.tree import Tree
from gpualign.jobs.plotting.group_colours import ColourStrip

NO_GROUP_COLOUR = "#ffffff"

MAX_CLUSTERS = 500
"""Maximum number of clusters of a network. Placing them takes up to 6 s, and the time grows with the third power of their number."""


@dataclass(frozen=True)
class Network:
    """Clusters, and links between them that form one tree or several.

    ids: ids of the records
    members: records of each cluster, ascending; clusters are in the order of their first records
    links: numbers of the two clusters that each link joins, int64[links][2], the smaller one first
    distances: distance that each link stands for, float64[links]
    collapse: distance within which records are in one cluster
    """

    ids: Sequence[str] = field(repr=False)
    members: Sequence[Sequence[int]] = field(repr=False)
    links: Integers = field(repr=False)
    distances: Reals = field(repr=False)
    collapse: float = 0.0

    @property
    def sizes(self) -> Integers:
        """Number of records in each cluster: int64[clusters]."""
        return np.array([len(own) for own in self.members], dtype=np.int64)

    def names(self) -> list[str]:
        """Return the name of each cluster: the id of its first record, and how many others there are."""
        return [self.ids[own[0]] + (f" +{len(own) - 1}" if len(own) > 1 else "") for own in self.members]


def network_of(tree: Tree, collapse: float, limit: float) -> Network:
    """Return the network of a spanning tree, whose clusters are those of single linkage.

    collapse: distance within which records are in one cluster, as the user gave it
    limit: branches of this length or less are such distances, rounding included

    Raises `InputError` for more clusters than can be placed and told apart.
    """
    nodes = np.flatnonzero(tree.parents >= 0)
    parents, lengths = tree.parents[nodes], tree.lengths[nodes]
    near = lengths <= limit
    labels = renumber_labels(single_linkage(Edges(len(tree.ids), nodes[near], parents[near], lengths[near])))
    members: list[list[int]] = [[] for _ in range(int(labels.max(initial=-1)) + 1)]
    for record, label in enumerate(labels.tolist()):
        members[label].append(record)
    if len(members) > MAX_CLUSTERS:
        raise InputError(
            f"a network of {len(members):,} clusters cannot be read, and at most {MAX_CLUSTERS:,} are drawn; join near ones with"
            f" {parameter('collapse')} and a larger distance"
        )
    links = np.sort(np.stack((labels[nodes[~near]], labels[parents[~near]]), axis=1), axis=1)
    order = np.lexsort((links[:, 1], links[:, 0]))
    return Network(tree.ids, members, links[order], lengths[~near][order], collapse)


def cluster_shares(network: Network, strip: ColourStrip) -> list[list[tuple[str, int]]]:
    """Return the number of records of each colour in each cluster, colours in the order of the legend, or of the gradient. Records without
    a group have `NO_GROUP_COLOUR` and come last."""
    order = [colour for _, colour in strip.legend] if strip.gradient is None else strip.gradient.colours
    rank = {colour: k for k, colour in enumerate(order)}
    shares = []
    for own in network.members:
        counts = Counter(strip.row_colours[record] for record in own)
        known = sorted((colour for colour in counts if colour is not None), key=lambda colour: rank[colour])
        shares.append([(colour, counts[colour]) for colour in known] + ([(NO_GROUP_COLOUR, counts[None])] if counts[None] else []))
    return shares
