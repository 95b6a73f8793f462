"""From codes of a panel to its bit planes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gpualign.core import _sites
from gpualign.core.distance.calls import MISSING, Calls, Codes
from gpualign.core.distance.engine import Bits, Counter, Panel, empty_planes
from gpualign.core.distance.pack_alleles import pack_alleles
from gpualign.core.distance.recipe import SECOND_ALLELE, make_recipe
from gpualign.core.distance.workers import Workers

_PLANES_AT_ONCE = 8


def used_codes(codes: Codes, workers: Workers) -> frozenset[int]:
    """The codes that occur in a panel."""
    seen = workers.map(lambda share: _sites.seen_codes(codes[share[0] : sum(share)]), workers.shares(len(codes)))
    return frozenset(np.flatnonzero(np.any(seen, axis=0)).tolist())


def count_calls(calls: Calls, workers: Workers) -> npt.NDArray[np.int64]:
    """Sites at which each sample has a call: int64[samples]."""
    called = np.empty(len(calls), dtype=np.int64)

    def count(share: tuple[int, int]) -> None:
        if calls.dtype == np.uint8:
            _sites.count_calls(calls.view(np.uint8), *share, called)
        else:
            some = slice(share[0], sum(share))
            called[some] = np.count_nonzero(calls[some] != _sites.NO_ALLELE, axis=1)

    workers.map(count, workers.shares(len(calls)))
    return called


def pack_panels(calls: Calls, counter: Counter, workers: Workers) -> Iterator[Panel]:
    """Bit planes of codes, uint8[samples][sites], or of numbers of alleles, uint32, as a counter wants them, in as many panels as are
    best."""
    if counter.wanted.numbered:
        yield from pack_alleles(calls.view(np.uint32), counter, workers)
        return
    codes = calls.view(np.uint8)
    used = used_codes(codes, workers)
    if not counter.wanted.apart(used):
        yield pack_panel(codes, used, counter, workers)
        return
    more = np.any((codes > SECOND_ALLELE) & (codes != MISSING), axis=0)
    for some in (~more, more):
        if some.any():
            part = codes if some.all() else np.ascontiguousarray(codes[:, some])
            yield pack_panel(part, used_codes(part, workers), counter, workers)


def pack_panel(codes: Codes, used: frozenset[int], counter: Counter, workers: Workers) -> Panel:
    """Bit planes of codes, uint8[samples][sites], of which `used` occur, as a counter wants them."""
    samples, sites = codes.shape
    recipe = make_recipe(counter.wanted, used, counter.products_only)
    bits: Bits = empty_planes(len(recipe.planes), samples, counter.words(sites))
    for first in range(0, len(recipe.planes), _PLANES_AT_ONCE):
        table = np.zeros(256, dtype=np.uint8)
        some = recipe.planes[first : first + _PLANES_AT_ONCE]
        for number, plane in enumerate(some):
            table[list(plane)] |= 1 << number
        out = bits[first : first + len(some)]

        def pack(share: tuple[int, int], table: Codes = table, out: Bits = out) -> None:
            _sites.pack(codes, table, *share, out)

        workers.map(pack, workers.shares(samples))
    return Panel(bits, sites, recipe)
