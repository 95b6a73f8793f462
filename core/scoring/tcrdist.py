"""Costs of TCRdist (Dash et al. 2017, https://doi.org/10.1038/nature22383), a distance of the CDR3s of T cell receptors. Pure.

The distance of two CDR3s is `WEIGHT` times the costs of unequal amino acids in the same column, plus a cost for each letter by which their
lengths differ. The gap has a fixed place, `TRIM_START` letters at the start and `TRIM_END` at the end cost nothing, and the cost of two
amino acids is 4 less their score by BLOSUM62, at most 4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.scoring.matrices import matrix_by_name
from gpualign.core.sequences.alphabet import PROTEIN

WEIGHT = 3
GAP_COST = 12
"""Cost of a letter in the gap: 4 times `WEIGHT`, as published and in tcrdist3. pwseqdist and scirpy have 4."""
TRIM_START, TRIM_END = 3, 2
MAX_COST = 4
"""Largest cost of two amino acids, before it is multiplied by `WEIGHT`."""

MAX_DISTANCE = 600
"""Maximum threshold: sums of costs must fit a byte. CDR3s with up to 50 unequal amino acids are within it."""


def amino_acid_costs() -> npt.NDArray[np.int64]:
    """Return the cost of each letter of proteins with each other letter, int64[letters][letters], indexed by code."""
    scores, _ = matrix_by_name("BLOSUM62").table(PROTEIN)
    costs = np.clip(MAX_COST - scores, 0, MAX_COST)  # at least 0: U scores as C
    np.fill_diagonal(costs, 0)
    return costs
