"""Scoring: substitution matrices, gap costs, recurrence forms, edit distance bounds, E-values, masking."""
