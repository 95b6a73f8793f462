"""Clusters of sequences or of the records in a matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpualign._execution_options import LOG, ProgressCallback, ProgressReporter, checked_choice, checked_names, make_resources
from gpualign._nw import nw_options, pair_thresholds
from gpualign._results import ComparedByContent, Matrix, checked_values, text_series
from gpualign._scoring import Scoring, checked_scoring
from gpualign._sequences import SequencesInput, encode_inputs
from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.clustering.clusters import Clustering
from gpualign.core.clustering.greedy import CLUSTERING_ORDERS
from gpualign.core.clustering.precomputed import MatrixOfPairs
from gpualign.core.common.errors import InputError, different_numbers
from gpualign.core.common.parameter_fractions import check_fraction
from gpualign.core.distance.metrics import METRICS
from gpualign.core.files.scratch import ScratchFiles
from gpualign.core.files.square_matrices import rounding_tolerance
from gpualign.core.sequences.ids import id_text
from gpualign.jobs.cluster import CLUSTERING_METHODS, ClusterJob, ClusterOptions, prepare, prepare_precomputed

if TYPE_CHECKING:
    import pandas as pd

_TILE_SIDE = 1024
"""Number of rows and columns of a matrix that are checked in one step."""

_ROUNDING_ERROR = 1e-9
"""Maximum difference, absolute or relative, between the values of a pair in both directions that counts as a rounding error."""


@dataclass(frozen=True, eq=False)
class Clusters(ComparedByContent):
    """Clusters, numbered from 0 in the order of their first records.

    labels: int64[records], cluster number for each record
    representatives: int64[clusters], record number of the representative of each cluster
    distances: float64[records], distance of each record to its representative; nan if unknown
    ids: record ids
    """

    labels: npt.NDArray[np.int64] = field(repr=False)
    representatives: npt.NDArray[np.int64] = field(repr=False)
    distances: npt.NDArray[np.float64] = field(repr=False)
    ids: list[str] = field(repr=False)

    def __len__(self) -> int:
        return len(self.representatives)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of records in each cluster: int64[clusters]."""
        return Clustering(self.labels, self.representatives, self.distances).sizes

    def members(self, cluster: int) -> list[str]:
        """Return the ids of the records in a cluster, in input order."""
        return [self.ids[k] for k in np.flatnonzero(self.labels == range(len(self))[cluster]).tolist()]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas.DataFrame with the columns of `gpualign cluster`: id, cluster (numbered from 1), size, representative and
        distance."""
        import pandas as pd

        names = text_series(self.ids)
        columns = {
            "id": names,
            "cluster": self.labels + 1,
            "size": self.sizes[self.labels],
            "representative": names.take(self.representatives[self.labels]).reset_index(drop=True),
            "distance": self.distances,
        }
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        return f"<Clusters: {len(self):,} of {len(self.ids):,} records>"


def cluster(
    seqs: SequencesInput | Matrix,
    *,
    scoring: Scoring | None = None,
    metric: str | None = None,
    max_distance: float | None = None,
    min_identity: float | None = None,
    min_coverage: float | None = None,
    coverage_of: str | None = None,
    same: str | Sequence[str] | None = None,
    alleles: bool = False,
    method: str = "single",
    order: str | None = None,
    identity_def: int = DEFAULT_DEFINITION,
    strand: str | None = None,
    ambiguous: str | None = None,
    device: str = "auto",
    threads: int | None = None,
    memory: int | None = None,
    progress: ProgressCallback | None = None,
) -> Clusters:
    """Cluster sequences, or the records of a matrix, under a threshold, like `gpualign cluster`.

    seqs: sequences, a sequence file, or a matrix of distances or identities returned by `nw` or `dist`
    scoring: letter scores and gap costs; None: the defaults for the alphabet
    metric: "edit", "hamming", "tcrdist" or "align_distance", short for the scoring `gpualign.EDIT`, `HAMMING`, `TCRDIST` or
        `ALIGN_DISTANCE`
    max_distance: maximum distance, 1 - identity; with `gpualign.EDIT` or a metric the maximum of that distance (a score matrix is then a
        matrix of edit distances); for a distance matrix, in the units of the matrix
    min_identity: minimum identity, a fraction, instead of `max_distance`
    min_coverage: minimum fraction of each sequence that is aligned to letters of the other; 0 for any. Default: 0.8 if end gaps do not
        count in the identity of the threshold (definitions 0 and 2), else 0
    coverage_of: sequences to which `min_coverage` applies: "both" (default) or "shorter"
    same, alleles: columns in which near records must agree, as for `pairs`; not for a matrix
    method: "single", "complete" or "average" linkage, which need scipy, or "greedy" centroids
    order: order in which greedy centroids are chosen: "length" (longest first), "size" (most abundant first, according to `;size=` in
        the ids, or to the column duplicate_count of an AIRR table) or "input"
    identity_def: identity definition, numbered 0 to 4 as in vsearch
    strand: for DNA only: "both" (the better strand for each pair) or "plus" (default); not for a matrix
    ambiguous: how ambiguity letters count in identities: "compatible", "unequal" or "skip", as for `nw`; not for a matrix
    device: "auto", "cpu", "cuda", "all", ...
    threads: CPU threads
    memory: bytes of memory for work, in addition to the sequences and results
    progress: called with (DP cells done, total)

    Returns `Clusters`.
    Raises `InputError` for bad input, `RunError` if a device fails or memory runs out.

    >>> found = cluster(["ACGTACGT", "ACGAACGT", "TTTTGGCC"], metric="edit", max_distance=1, method="greedy")
    >>> found.labels.tolist(), found.members(0)
    ([0, 0, 1], ['0', '1'])
    """
    checked_choice("method", method, CLUSTERING_METHODS)
    if order is not None:
        checked_choice("order", order, CLUSTERING_ORDERS)
    of_sequences = {"strand": strand, "ambiguous": ambiguous, "same": same}
    if isinstance(seqs, Matrix) and (given := [name for name, value in of_sequences.items() if value is not None]):
        raise InputError(f"{given[0]} is for sequences; found a matrix, whose alignments are done")
    alignment = nw_options(
        scoring=checked_scoring(scoring, metric=metric).options(),
        thresholds=pair_thresholds(None, min_identity, min_coverage, max_distance, coverage_of),
        strand=strand,
        identity_def=identity_def,
        ambiguous=ambiguous,
        same=same,
        alleles=alleles,
        resources=make_resources(device, threads, memory),
    )
    options = ClusterOptions(alignment, method, order)
    job: ClusterJob
    if isinstance(seqs, Matrix):
        ids, job = list(map(id_text, seqs.ids)), _prepare_matrix_job(seqs, options)
    else:
        options.check(aligned=True)
        inputs = encode_inputs(seqs, None, alignment.resources.host_threads, alignment.read_options)
        ids, job = list(inputs.queries.ids), prepare(inputs, options, LOG)[0]
    with ScratchFiles() as files:
        clustering, _ = job.run(ProgressReporter(progress), files.new_scratch)
    return Clusters(clustering.labels, clustering.representatives, clustering.distances, ids)


def _prepare_matrix_job(matrix: Matrix, options: ClusterOptions) -> ClusterJob:
    if matrix.value == "score" and not options.alignment_options.scoring.edit:
        raise InputError("a matrix of scores; expected distances or identities, or scoring=gpualign.EDIT if they are edit distances")
    precomputed = matrix_pairs(matrix, "clusters")
    if matrix.value == "score" and np.diagonal(matrix.values).any():
        raise InputError("a matrix of scores, not edit distances, because records are not at 0 from themselves; expected distances")
    if matrix.value in METRICS and METRICS[matrix.value].max_value == 1:
        check_fraction("max_distance", options.alignment_options.thresholds.max_distance, meaning=f"a distance by {matrix.value},")
    return prepare_precomputed(precomputed, matrix.value == "identity", None, options, LOG)


def matrix_pairs(matrix: Matrix, purpose: str) -> MatrixOfPairs:
    """Return the distances or identities in a matrix. Scores are interpreted as edit distances. purpose: name of the result in messages.

    Raises `InputError` for a matrix of two sets and for values that are not distances; also, in a matrix that a caller made, for repeated
    ids, and for values that cannot be distances within one set.
    """
    if not matrix.one_set:
        raise InputError(f"a matrix of two sets has no {purpose}; expected a matrix of a set with itself")
    if matrix.value in METRICS and METRICS[matrix.value].is_similarity:
        raise InputError(f"a matrix of {METRICS[matrix.value].value_name}s, which are no distances; dist(..., metric='ibs') has distances")
    ids, values = checked_names("matrix.ids", matrix.ids, "ids"), checked_values(matrix)
    for name, count in Counter(ids).items():
        if count > 1:
            raise InputError(f"matrix: {count} records have the same id {name!r}; make ids unique")
    return MatrixOfPairs(ids, _checked_distances(values, ids, matrix.value == "identity"))


def _checked_distances(values: npt.NDArray[Any], ids: Sequence[str], are_identities: bool) -> npt.NDArray[Any]:
    """Return distances or identities within one set, without rounding errors below 0 and above 1. They are copied only if they have some.

    Raises `InputError` for values that are not symmetric, infinite or out of range.
    """
    highest = 1 if are_identities else np.inf
    rounded = False
    tolerance = max(rounding_tolerance(values[start : start + _TILE_SIDE]) for start in range(0, len(values), _TILE_SIDE))
    for start in range(0, len(values), _TILE_SIDE):
        for other in range(start, len(values), _TILE_SIDE):
            tile = values[start : start + _TILE_SIDE, other : other + _TILE_SIDE]
            mirrored = values[other : other + _TILE_SIDE, start : start + _TILE_SIDE].T
            wrong = np.isinf(tile) | (tile < -tolerance) | (tile > highest + tolerance)
            if not np.array_equal(tile, mirrored):
                wrong |= ~np.isclose(tile, mirrored, rtol=_ROUNDING_ERROR, atol=_ROUNDING_ERROR, equal_nan=True)
            if wrong.any():
                i, j = (int(place) for place in np.argwhere(wrong)[0])
                expected = "identities from 0 to 1" if are_identities else "distances that are finite and not negative"
                one, back = different_numbers(tile[i, j], mirrored[i, j])
                raise InputError(
                    f"matrix: expected {expected}, the same in both directions; found {one} for {ids[start + i]!r} and {ids[other + j]!r}"
                    f"{'' if one == back else f', and {back} the other way'}"
                )
            rounded |= bool((tile < 0).any() or (tile > highest).any() or (mirrored < 0).any() or (mirrored > highest).any())
    return np.clip(values, 0, highest) if rounded else values
