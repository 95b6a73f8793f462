"""Readers of inputs other than sequences: arrays, matrices, lists of pairs, calls."""
