"""Prepares the records of `cluster`: sequences or cells to be aligned, or records whose distances are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.clustering.abundances import table_abundances
from gpualign.core.common.dataclass import dataclass
from gpualign.jobs import cluster
from gpualign.jobs.cluster import ClusterJob, ClusterOptions
from gpualign.jobs.reporter import Reporter
from gpualign.jobs.sequence_loading import Inputs

if TYPE_CHECKING:
    from gpualign.core.sequences.cells import Cells
    from gpualign.jobs.cell_clusters import CellDistances
    from gpualign.jobs.cluster_distances import AlignmentDistances, PrecomputedDistances


@dataclass(frozen=True)
class ClusterSource:
    """Records to cluster.

    job: finds the near pairs of the records, and clusters them
    ids: ids of the records
    are_identities: whether the distances are 1 - identity
    inputs: sequences of the records, or of the chains of cells; None: only the ids are known
    alignments: source of distances; None: the distances are known
    cells: the records, if they are cells of the sequences
    """

    job: ClusterJob
    ids: Sequence[str] = field(repr=False)
    are_identities: bool
    inputs: Inputs | None = field(repr=False)
    alignments: AlignmentDistances | CellDistances | None = field(default=None, repr=False)
    cells: Cells | None = field(default=None, repr=False)


def prepare_sequences(inputs: Inputs, options: ClusterOptions, reporter: Reporter) -> ClusterSource:
    """Return the sequences, or the cells if the options join chains of two loci. Raises the same errors as `cluster.prepare` and
    `cell_clusters.prepare`."""
    given = options.alignment_options
    are_identities = not (given.scoring.edit and given.thresholds.max_distance is not None)
    if given.read_options.columns.and_locus:
        from gpualign.jobs import cell_clusters

        job, distances = cell_clusters.prepare(inputs, options, reporter)
        return ClusterSource(job, distances.cells.ids, are_identities, inputs, distances, distances.cells)
    job, alignments = cluster.prepare(inputs, options, reporter)
    return ClusterSource(job, inputs.queries.ids, are_identities, inputs, alignments)


def prepare_known_distances(
    distances: PrecomputedDistances, are_identities: bool, inputs: Inputs | None, options: ClusterOptions, reporter: Reporter
) -> ClusterSource:
    """Return the records of known distances.

    are_identities: whether the distances are 1 - identity
    inputs: sequences of the same records, in any order; None: they are unknown

    Raises the same errors as `cluster.prepare_precomputed`.
    """
    inputs = _order_sequences(distances, inputs)
    lengths = inputs.queries.lengths if inputs else None
    sizes = table_abundances(inputs.queries) if inputs else None
    job = cluster.prepare_precomputed(distances, are_identities, lengths, options, reporter, sizes)
    return ClusterSource(job, list(distances.ids), are_identities, inputs)


def _order_sequences(distances: PrecomputedDistances, inputs: Inputs | None) -> Inputs | None:
    """Return the sequences in the order of the records of the distances; None if there are none."""
    if inputs is None or list(inputs.queries.ids) == list(distances.ids):
        return inputs
    place = {name: k for k, name in enumerate(inputs.queries.ids)}
    ordered = inputs.queries.select(np.array([place[name] for name in distances.ids], dtype=np.int64))
    return Inputs(ordered, ordered, inputs.alphabet, inputs.alphabet_reason)
