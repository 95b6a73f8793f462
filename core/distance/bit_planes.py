"""Packs the codes of a panel into bit planes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance import _sites
from gpualign.core.distance.allele_planes import pack_alleles
from gpualign.core.distance.call_parts import PLANES_PER_PACK, CallParts, StoredPlanes, pack_numbered
from gpualign.core.distance.calls import MISSING, Calls
from gpualign.core.distance.count_recipe import MAX_BIALLELIC_CODE, Measure, PanelRecipe, make_recipe
from gpualign.core.distance.engine import WORD_BITS, BitPlanes, Panel, PlaneRows, PreparedCounter, empty_planes, whole_line_words

_BIALLELIC_CODES = frozenset({0, 1})
"""Codes that replace the calls at a site that has only two different calls."""

SEARCH_SECONDS_PER_CALL = 1e-9
"""Upper estimate of the time per call, in seconds, that one thread takes to find the sites with two different calls and to code them."""


def find_used_codes(codes: Codes, workers: ThreadPool) -> frozenset[int]:
    """Return the codes that occur in a panel."""
    seen = workers.map(lambda share: _sites.seen_codes(codes[share[0] : sum(share)]), workers.split_rows(len(codes)))
    return frozenset(np.flatnonzero(np.any(seen, axis=0)).tolist())


def count_calls(calls: Calls, workers: ThreadPool) -> npt.NDArray[np.int64]:
    """Return the number of sites at which each sample has a call: int64[samples]."""
    called = np.empty(len(calls), dtype=np.int64)

    def count(share: tuple[int, int]) -> None:
        if calls.dtype == np.uint8:
            _sites.count_calls(calls.view(np.uint8), *share, called)
        else:
            some = slice(share[0], sum(share))
            called[some] = np.count_nonzero(calls[some] != _sites.NO_ALLELE, axis=1)

    workers.map(count, workers.split_rows(len(calls)))
    return called


@dataclass(frozen=True)
class _SiteSubset:
    """Some sites of a panel.

    codes: codes that may occur at these sites
    runs: runs of consecutive sites, each as (first site, last site + 1), int64[runs][2]
    reference: one of the calls at each site of the panel, uint8[sites]; calls that are equal to it get the code 0, different calls the
        code 1. None: calls keep their codes
    """

    codes: frozenset[int]
    runs: npt.NDArray[np.int64]
    reference: Codes | None = None

    @property
    def site_count(self) -> int:
        """Number of sites."""
        return int((self.runs[:, 1] - self.runs[:, 0]).sum())


def pack_panels(calls: Calls | CallParts, counter: PreparedCounter, workers: ThreadPool) -> Iterator[Panel]:
    """Pack codes (uint8[samples][sites]) or allele numbers (uint32) into the bit planes the counter expects, in one panel or, if that saves
    memory, in several."""
    if isinstance(calls, CallParts):
        yield _pack_parts(calls, counter, workers)
        return
    if counter.request.multiallelic:
        yield from pack_alleles(calls.view(np.uint32), counter, workers)
        return
    codes = calls.view(np.uint8)
    for subset in _split_sites(codes, find_used_codes(codes, workers), counter, workers):
        yield _pack_subset(codes, subset, counter, workers)


def _pack_parts(calls: CallParts, counter: PreparedCounter, workers: ThreadPool) -> Panel:
    """Pack calls that come in parts into one panel."""
    used_codes, sites = calls.used_codes, calls.site_count
    recipe = make_recipe(counter.request, used_codes, counter.products_only)
    if counter.takes_rows and (panel := _panel_of_rows(calls, used_codes, recipe, workers)) is not None:
        return panel
    bits = empty_planes(len(recipe.planes), sum(map(len, calls.parts)), counter.words_per_sample(sites))
    first = 0
    for part in calls.parts:
        if isinstance(part, StoredPlanes):
            part.select(recipe.planes, -(-sites // WORD_BITS), bits, first, workers.threads)
        else:
            bits[:, first : first + len(part)] = pack_panel(part, used_codes, counter, workers).bits
        first += len(part)
    return Panel(bits, sites, recipe)


def _panel_of_rows(calls: CallParts, used_codes: frozenset[int], recipe: PanelRecipe, workers: ThreadPool) -> Panel | None:
    """Return a panel whose planes stay where they are stored; codes become planes of the same kind. Returns None if the recipe needs
    planes that are not stored, or if the stored planes of the parts differ in their layout."""
    stored = [part for part in calls.parts if isinstance(part, StoredPlanes)]
    first = stored[0]
    _, count, row_words = first.planes.shape
    stored_planes = [first.plane_of(codes) for codes in recipe.planes]
    if min(stored_planes, default=0) < 0 or max(stored_planes, default=0) >= count or not used_codes - {MISSING} <= set(first.codes):
        return None
    if any(part.codes != first.codes or part.planes.shape[1:] != first.planes.shape[1:] for part in stored):
        return None
    parts = list[tuple[BitPlanes, npt.NDArray[np.int64]]]()
    for part in calls.parts:
        if isinstance(part, StoredPlanes):
            parts.append((part.planes, part.rows))
            continue
        words = -(-calls.site_count // WORD_BITS)
        planes, packed = np.zeros((len(part), count, row_words), np.uint64), np.empty((count, len(part), words), np.uint64)
        pack_numbered(part, first.codes, packed, workers.threads)
        planes[:, :, first.first_word : first.first_word + words] = packed.transpose(1, 0, 2)
        parts.append((planes, np.arange(len(part))))
    rows = PlaneRows(parts, first.first_word, whole_line_words(calls.site_count))
    return Panel(np.empty((0, 0, 0), np.uint64), calls.site_count, _recipe_for_stored_planes(recipe, first, stored_planes), rows=rows)


def _recipe_for_stored_planes(recipe: PanelRecipe, stored: StoredPlanes, stored_planes: list[int]) -> PanelRecipe:
    """Return the recipe for planes as they are stored. stored_planes: index of the stored plane for each plane of the recipe."""
    terms = [
        replace(
            term,
            left=tuple(stored_planes[plane] for plane in term.left),
            right=tuple(stored_planes[plane] for plane in term.right),
            mask=None if term.mask is None else stored_planes[term.mask],
        )
        for term in recipe.terms
    ]
    return PanelRecipe(stored.plane_codes, tuple(terms), recipe.constants)


def pack_panel(codes: Codes, used_codes: frozenset[int], counter: PreparedCounter, workers: ThreadPool) -> Panel:
    """Pack codes (uint8[samples][sites]) into the bit planes the counter expects.

    used_codes: codes that occur in the panel
    """
    return _pack_subset(codes, _all_sites(codes, used_codes), counter, workers)


def _split_sites(codes: Codes, used_codes: frozenset[int], counter: PreparedCounter, workers: ThreadPool) -> list[_SiteSubset]:
    """Return the sites in two subsets, those with few different calls first, if their two sets of planes take less memory than one set for
    all sites; otherwise return one subset of all sites."""
    request, whole, reference = counter.request, _all_sites(codes, used_codes), None
    if request.separates_biallelic(used_codes):
        more = np.any((codes > MAX_BIALLELIC_CODE) & (codes != MISSING), axis=0)
        few = used_codes & {*range(MAX_BIALLELIC_CODE + 1), MISSING}
    elif (
        request.measure is Measure.DIFFERENCES
        and len(used_codes - {MISSING}) > len(_BIALLELIC_CODES)
        and _split_saves_time(len(codes), used_codes, counter)
    ):
        reference, more = _find_reference_calls(codes, workers)
        few = used_codes & {MISSING} | _BIALLELIC_CODES
    else:
        return [whole]
    subsets = [subset for subset in (_SiteSubset(few, _runs(~more), reference), _SiteSubset(used_codes, _runs(more))) if subset.site_count]

    def words(subset: _SiteSubset) -> int:
        return len(make_recipe(request, subset.codes, counter.products_only).planes) * counter.words_per_sample(subset.site_count)

    return subsets if sum(map(words, subsets)) < words(whole) else [whole]


def _split_saves_time(samples: int, used_codes: frozenset[int], counter: PreparedCounter) -> bool:
    """Return whether it saves time to code sites with only two different calls separately. This halves the time for comparing all pairs,
    but finding these sites also takes time.

    If calls are missing, the comparison becomes faster only on engines that are limited to `Operation.AND`, not on engines that compare
    calls bit by bit (`Operation.DIFFER`).
    """
    halves = counter.products_only or MISSING not in used_codes
    return halves and samples / 2 / counter.comparisons_per_second / 2 > SEARCH_SECONDS_PER_CALL / counter.threads


def _all_sites(codes: Codes, used_codes: frozenset[int]) -> _SiteSubset:
    """Return the subset that has all sites of the panel."""
    return _SiteSubset(used_codes, np.array([[0, codes.shape[1]]], dtype=np.int64))


def _runs(chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the runs of consecutive chosen sites, each as (first site, last site + 1): int64[runs][2]."""
    return np.flatnonzero(np.diff(chosen, prepend=False, append=False)).reshape(-1, 2)


def _find_reference_calls(codes: Codes, workers: ThreadPool) -> tuple[Codes, npt.NDArray[np.bool_]]:
    """Return (one of the calls at each site, which serves as the reference; a mask of the sites with more than two different calls)."""
    sites = codes.shape[1]
    one, more = np.empty(sites, dtype=np.uint8), np.empty(sites, dtype=np.uint8)
    workers.map(lambda share: _sites.find_two(codes, *share, one, more), workers.split_rows(sites))
    return one, more.view(np.bool_)


def _pack_subset(codes: Codes, subset: _SiteSubset, counter: PreparedCounter, workers: ThreadPool) -> Panel:
    """Pack the codes at some sites into the planes that the recipe for these sites lists."""
    samples, sites = len(codes), subset.site_count
    recipe = make_recipe(counter.request, subset.codes, counter.products_only)
    bits: BitPlanes = empty_planes(len(recipe.planes), samples, counter.words_per_sample(sites))
    for first in range(0, len(recipe.planes), PLANES_PER_PACK):
        table = np.zeros(256, dtype=np.uint8)
        some = recipe.planes[first : first + PLANES_PER_PACK]
        for number, plane in enumerate(some):
            table[list(plane)] |= 1 << number
        _sites.pack(codes, subset.runs, subset.reference, table, bits[first : first + len(some)], workers.threads)
    return Panel(bits, sites, recipe)
