"""Packs allele numbers into bit planes.

Alleles at a locus are numbered from 0, with one plane per bit of the number: two samples differ if any bit differs. A locus with k alleles
needs ceil(log2 k) planes, so loci are sorted by the number of planes they need, and each panel has as many planes as its first locus
needs. Locus order does not matter, because sites are only counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
import numpy.typing as npt

from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance import _sites
from gpualign.core.distance.count_recipe import make_code_recipe
from gpualign.core.distance.engine import WORD_BITS, BitPlanes, Panel, PreparedCounter, empty_planes

AlleleNumbers = npt.NDArray[np.uint32]
LocusIndices = npt.NDArray[np.int64]


def bits_needed(alleles: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the bits per code for each locus, given its number of alleles k: ceil(log2 k), or 0 if k <= 1."""
    return np.array([max(0, int(k) - 1).bit_length() for k in alleles], dtype=np.int64)


def loci_per_panel(bits: npt.NDArray[np.int64], counter: PreparedCounter) -> Iterator[LocusIndices]:
    """Yield the indices of the loci in each panel, beginning with the loci that need the most bits. Where possible, the loci of a panel
    fill whole vectors of the kernels, and few of these loci need fewer planes than the panel has.

    bits: bits per code for each locus
    """
    order = np.argsort(-bits, kind="stable")
    line = counter.words_per_sample(1) * WORD_BITS  # sites that fit in the smallest number of words of a plane
    lines = [order[start : start + line] for start in range(0, len(order), line)]
    for _, alike in groupby(lines, key=lambda loci: int(bits[loci[0]])):
        run = list(alike)
        while run:
            # As many lines at once as a kernel can take without padding.
            count = next(n for n in range(len(run), 0, -1) if counter.words_per_sample(n * line) == n * counter.words_per_sample(1))
            yield np.concatenate(run[:count])
            del run[:count]


def number_alleles(numbers: AlleleNumbers, workers: ThreadPool) -> tuple[AlleleNumbers, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return (codes that count the alleles of each locus from 0, `NO_ALLELE` for a missing call, uint32[loci][samples]; number of alleles
    of each locus; number of samples without one). numbers: allele numbers, uint32[samples][loci]"""
    samples, loci = numbers.shape
    codes = np.empty((loci, samples), dtype=np.uint32)
    alleles, lacking = np.empty(loci, dtype=np.int64), np.empty(loci, dtype=np.int64)
    workers.map(lambda share: _sites.code_alleles(numbers, *share, codes, alleles, lacking), workers.split_rows(loci))
    return codes, alleles, lacking


def pack_alleles(numbers: AlleleNumbers, counter: PreparedCounter, workers: ThreadPool) -> Iterator[Panel]:
    """Pack allele numbers (uint32[samples][loci], `NO_ALLELE` for a missing call) into the bit planes the counter expects."""
    codes, alleles, lacking = number_alleles(numbers, workers)
    bits = bits_needed(alleles)
    for some in loci_per_panel(bits, counter):
        yield _pack_panel(codes, some, int(bits[some].max()), bool(lacking[some].any()), counter, workers)


def _pack_panel(
    codes: AlleleNumbers, loci: LocusIndices, bits: int, has_missing: bool, counter: PreparedCounter, workers: ThreadPool
) -> Panel:
    """Pack the codes (uint32[all loci][samples]) at some loci into one panel.

    loci: indices of the loci
    bits: largest number of bits that a code has at any of these loci
    has_missing: whether any call is missing at these loci
    """
    recipe = make_code_recipe(counter.request, bits, has_missing)
    called = has_missing and bool(recipe.terms)
    planes: BitPlanes = empty_planes(bits + called, codes.shape[1], counter.words_per_sample(len(loci)))

    if len(planes):
        _sites.pack_alleles(codes, loci, bits, called, planes, workers.threads)
    return Panel(planes, len(loci), recipe)
