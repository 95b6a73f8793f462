"""Selects the kernel that computes a batch of pairs. Pure.

Of all kernels that represent the scores exactly, the kernel with the shortest estimated time is selected. An estimate is the larger of two
times, in clocks: all DP cells (including padding) at the device's full rate, and the longest chain of dependent steps. As a result, if
there are many pairs, each thread computes one pair, or 32 pairs as bits. If pairs are few or very long, a chain of warps computes each
pair. The selection never changes a score.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpualign.gpu.alignment.families import (
    bit_sliced as slices,
)
from gpualign.gpu.alignment.families import (
    one_thread_per_pair as threads,
)
from gpualign.gpu.alignment.families import (
    warp_chain as chain,
)
from gpualign.gpu.alignment.families import (
    warp_chain_edit as chain_edit,
)
from gpualign.gpu.alignment.families.base import KernelFamily, KernelVariant
from gpualign.gpu.alignment.recipe import Lengths, Recipe
from gpualign.gpu.kernels.kernel import Hardware

FAMILIES: tuple[KernelFamily, ...] = (slices, chain_edit, threads, chain)
"""Kernel families. Among equally fast kernels, the kernel from the first family is selected."""


def kernel_variants(recipe: Recipe, max_query_length: int, max_target_length: int) -> Iterator[KernelVariant]:
    """Yield every kernel that computes pairs of up to these lengths exactly. Raises `OverflowError` if there is none."""
    for family in FAMILIES:
        yield from family.kernel_variants(recipe, max_query_length, max_target_length)


def choose_kernel_variant(
    recipe: Recipe, query_lengths: Lengths, target_lengths: Lengths, hardware: Hardware, memory: int | None = None
) -> KernelVariant:
    """Return the kernel for all pairs of these lengths, on a device with `memory` bytes for a batch (None: enough).

    query_lengths: length of each query
    target_lengths: length of each target, in tile order; an item contains adjacent targets
    """
    query, target = int(query_lengths.max()), int(target_lengths.max())
    candidates = list(kernel_variants(recipe, query, target))
    if memory is not None and recipe.needs_paths:
        candidates = [v for v in candidates if v.min_slot_bytes(query, target, hardware) <= memory // 2] or candidates
    return min(candidates, key=lambda variant: variant.estimate_clocks(query_lengths, target_lengths, hardware))
