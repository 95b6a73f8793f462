"""Reads distances for clusters and trees from a pair list or a matrix."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpualign.cli.inputs.distance_matrices import StoredMatrix, check_ids, read_matrix
from gpualign.cli.inputs.pair_lists import read_pair_list
from gpualign.core.clustering.edge_builder import EdgeStorage
from gpualign.core.clustering.precomputed import ListedPairs, MatrixOfPairs
from gpualign.core.common.errors import InputError, different_numbers, parameter, quoted
from gpualign.core.common.units import format_count
from gpualign.core.files.paths import input_name
from gpualign.core.files.square_matrices import may_be_percent_identities
from gpualign.core.sequences.ids import describe_changed_ids, match_changed_ids
from gpualign.jobs.cluster_distances import PrecomputedDistances
from gpualign.jobs.plotting.heatmap import guess_kind
from gpualign.jobs.reporter import Reporter

if TYPE_CHECKING:
    from gpualign.jobs.cluster import ClusterOptions


def read_precomputed(
    edges: str | None,
    distances: str | None,
    edit: bool | None,
    wants_identities: bool,
    ids: Sequence[str] | None,
    warn: Callable[[str], None],
    storage: EdgeStorage | None = None,
) -> tuple[PrecomputedDistances, bool]:
    """Return (values, whether the values are identities) from a pair list or a matrix.

    edges: path of the list; None: read the matrix
    distances: path of the matrix; None: read the list
    edit: whether scores are edit distances; None: the command has no --edit
    wants_identities: whether the threshold is on identities
    ids: ids of the sequences; None: there are no sequences
    warn: receives what was assumed about the file
    storage: place of the pairs of a list; None: in memory, without a limit

    Raises `InputError` if the values are neither distances nor identities, or if the records differ from the sequences.
    """
    if edges is not None:
        listed = read_pair_list(edges, edit, wants_identities, ids, storage)
        for note in listed.notes:
            warn(f"{input_name(edges)}: {note}")
        return listed.pairs, listed.are_identities
    assert distances is not None
    stored, source = read_matrix(distances), input_name(distances)
    for note in stored.notes:
        warn(f"{source}: {note}")
    check_ids(stored.row_ids, source)
    if not stored.one_set:
        raise InputError(f"{source}: {_describe_two_sets(stored)}; expected distances within one set")
    kind = _kind_of_values(stored, source, edit)
    if wants_identities and kind == "distance" and stored.values.ndim == 1 and stored.value_name is None:
        raise InputError(
            f"{source}: has no diagonal, so its values are taken for distances; if they are identities, write the square with its"
            f" diagonal of 1, or .npz with an array called identity; otherwise give {parameter('max_distance')}"
        )
    values = stored.values
    invalid = np.flatnonzero(np.isinf(values) | (values < 0) | (values > (1 if kind == "identity" else np.inf)))
    if len(invalid):
        place, count = int(invalid[0]), len(stored.row_ids)
        i, j = divmod(place, count) if values.ndim == 2 else next(itertools.islice(itertools.combinations(range(count), 2), place, None))
        expected = "identities from 0 to 1" if kind == "identity" else "distances that are finite and not negative"
        found = f"{values.flat[place]:g} for {quoted(stored.row_ids[i])} and {quoted(stored.row_ids[j])}"
        raise InputError(f"{source}: expected {expected}, found {found}; write nan if the pair has no distance")
    rows = stored.row_ids
    if ids is not None and (changed := match_changed_ids(rows, ids)):
        warn(describe_changed_ids(changed, source))
        rows = [changed.get(name, name) for name in rows]
    if ids is not None and set(ids) != set(rows):
        other = sorted(set(ids) ^ set(rows))[0]
        raise InputError(
            f"{source}: {other!r} is only in the {'sequences' if other in set(ids) else 'matrix'}; both must have the same records"
        )
    return MatrixOfPairs(rows, values), kind == "identity"


def _kind_of_values(stored: StoredMatrix, source: str, edit: bool | None) -> str:
    """Return "distance" or "identity". edit: as in `read_precomputed`. Raises `InputError` for other values, and if they are neither for
    certain."""
    values = stored.values
    others = "scores, kinships or percent identities"
    advice = "write distances: nw with --value distance, dist with --metric ibs or similar, or 100 - value of percent identities"
    if edit:
        own = np.diagonal(values) if values.ndim == 2 else values[:0]
        for record in np.flatnonzero(np.nan_to_num(own)):
            name = quoted(stored.row_ids[record])
            raise InputError(f"{source}: holds {others}, not edit distances: {name} is at {own[record]:g} from itself; {advice}")
        return "distance"
    kind = guess_kind(values, stored.value_name, True)
    is_square_of_percents = values.ndim == 2 and np.nanmax(values, initial=0) > 1
    if kind is None and stored.value_name is None and (is_square_of_percents or may_be_percent_identities(values)):
        raise InputError(
            f"{source}: has no diagonal, so distances and percent identities cannot be told apart; write 100 - value if they are percent"
            " identities, and otherwise the square with its diagonal of 0"
        )
    if kind is None and values.ndim == 2:
        raise InputError(f"{source}: the diagonal is empty, so distances and identities cannot be told apart; write 0 or 1 there")
    if kind in ("kinship", "relationship"):
        raise InputError(f"{source}: holds {kind}s, which are not distances; write distances, with --metric ibs")
    if kind in ("distance", "identity"):
        return kind
    if edit is not None and values.ndim == 1:
        advice = "say --edit if they are edit distances"
    raise InputError(f"{source}: holds {others}, which are not distances; {advice}")


def read_cluster_distances(
    edges: str | None,
    distances: str | None,
    ids: Sequence[str] | None,
    options: ClusterOptions,
    reporter: Reporter,
    storage: EdgeStorage,
) -> tuple[PrecomputedDistances, bool]:
    """Return (values, whether the values are identities) like `read_precomputed`, and report what a list may lack.

    ids: ids of the records; None: the records in the file
    """
    given = options.alignment_options
    limits = given.thresholds
    values, are_identities = read_precomputed(
        edges, distances, given.scoring.edit, limits.min_identity is not None, ids, reporter.warn, storage
    )
    if edges is not None and options.previous is None:
        short = _describe_short_reach(edges, values, are_identities, limits.max_distance, limits.min_identity)
        if short is not None:
            reporter.note(short)
    if edges is not None and ids is None:
        count = format_count(len(values.ids), "record")
        reporter.note(
            f"{input_name(edges)} names {count}; a record that is in no pair is in no cluster: --ids FILE names all records, or give the"
            " sequences"
        )
    return values, are_identities


def _describe_short_reach(
    path: str, pairs: PrecomputedDistances, are_identities: bool, max_distance: float | None, min_identity: float | None
) -> str | None:
    """Return a note if the farthest pair of a list is within half of the distance at which clusters are made: the list may have been
    written with a smaller threshold, and then lacks pairs. None otherwise."""
    if not isinstance(pairs, ListedPairs) or (found := pairs.value_range) is None:
        return None
    source = input_name(path)
    smallest, largest = found
    if are_identities and min_identity is not None and 2 * (1 - smallest) <= 1 - min_identity:
        threshold = f"{parameter('min_identity', f'{min_identity:g}')} or less"
        return f"{source}: the lowest identity is {smallest:g}; for clusters at {min_identity:g} it must have been written with {threshold}"
    if not are_identities and max_distance is not None and 2 * largest <= max_distance and max_distance > 0:
        threshold = f"{parameter('max_distance', f'{max_distance:g}')} or more"
        return f"{source}: the farthest pair is at {largest:g}; for clusters at {max_distance:g} it must have been written with {threshold}"
    return None


def _describe_two_sets(stored: StoredMatrix) -> str:
    values, rows, columns = stored.values, stored.row_ids, stored.column_ids
    if rows != columns and sorted(rows) == sorted(columns):
        return "rows and columns are in different orders"
    if rows != columns:
        counts = f"{format_count(len(rows), 'row')} and {format_count(len(columns), 'column')}"
        for where, some, others in (("columns", columns, rows), ("rows", rows, columns)):
            known = set(others)
            alone = next((name for name in some if name not in known), None)
            if alone is not None:
                return f"{counts}, and {quoted(alone)} is only in the {where}"
        return counts
    i, j = np.argwhere(~np.isclose(values, values.T, rtol=1e-9, atol=0, equal_nan=True))[0].tolist()
    there, back = different_numbers(values[i, j], values[j, i])
    return f"not symmetric: {rows[i]!r} to {rows[j]!r} is {there}, the other way {back}"
