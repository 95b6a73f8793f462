"""Readers for inputs other than sequences: arrays, matrices, pair lists and calls."""
