"""Pairs within an edit-distance bound, on CUDA devices: sketches on tensor cores, then banded distances for the candidates."""
