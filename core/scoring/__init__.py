"""Scoring: substitution matrices, gap costs, ranges of the recurrences, bounds on edits, E-values, masking."""
