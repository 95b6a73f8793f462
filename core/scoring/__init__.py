"""Scoring: substitution matrices, gap costs, forms of the recurrences, bounds on edit distances, E-values, masking."""
