"""From codes of a panel to its bit planes."""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np

from gpualign.core import _sites
from gpualign.core.distance.calls import Codes
from gpualign.core.distance.engine import Bits, DistanceEngine, Panel, empty_planes
from gpualign.core.distance.recipe import Wanted, make_recipe

_PLANES_AT_ONCE = 8


def _bounds(samples: int, parts: int) -> list[int]:
    return [samples * k // parts for k in range(parts + 1)]


def used_codes(codes: Codes, workers: Executor, parts: int) -> frozenset[int]:
    """The codes that occur in a panel."""
    bounds = _bounds(len(codes), parts)
    seen = workers.map(lambda k: _sites.seen_codes(codes[bounds[k] : bounds[k + 1]]), range(parts))
    return frozenset(np.flatnonzero(np.any(list(seen), axis=0)).tolist())


def pack_panel(codes: Codes, used: frozenset[int], wanted: Wanted, engine: DistanceEngine, workers: Executor) -> Panel:
    """Bit planes of codes, uint8[samples][sites], of which `used` occur, for an engine, by `workers`."""
    samples, sites = codes.shape
    parts = engine.threads
    bounds = _bounds(samples, parts)
    recipe = make_recipe(wanted, used, engine.products_only)
    bits = empty_planes(len(recipe.planes), samples, engine.padded_words(sites))
    for first in range(0, len(recipe.planes), _PLANES_AT_ONCE):
        table = np.zeros(256, dtype=np.uint8)
        some = recipe.planes[first : first + _PLANES_AT_ONCE]
        for number, plane in enumerate(some):
            table[list(plane)] |= 1 << number
        out = bits[first : first + len(some)]

        def pack(k: int, table: Codes = table, out: Bits = out) -> None:
            _sites.pack(codes, table, bounds[k], bounds[k + 1] - bounds[k], out)

        list(workers.map(pack, range(parts)))
    return Panel(bits, sites, recipe)
