"""Determines which bounds on the edit distance a threshold implies. Imports nothing, so that commands can ask before their other imports.
Pure."""

from __future__ import annotations

MATCHES_BOUND, COLUMNS_BOUND, COVERED_BOUND = "matches", "columns", "covered"
"""Kinds of bounds, which `matches_bound`, `columns_bound` and `covered_bound` in core/scoring/edit_bounds.py return."""


def identity_bounds(definition: int, free_ends: bool, has_coverage: bool) -> tuple[str, ...]:
    """Return the kinds of bounds that an identity threshold implies.

    definition: number of the identity definition, see core/alignment/identity.py
    free_ends: whether end gaps cost nothing
    has_coverage: whether there is also a coverage threshold
    """
    if definition == 0:
        return (MATCHES_BOUND,)
    columns = (COLUMNS_BOUND,) if definition in (1, 4) and not free_ends else ()
    return (*columns, COVERED_BOUND) if has_coverage and definition in (1, 2, 4) else columns
