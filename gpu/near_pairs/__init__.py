"""Pairs within a bound on their edit distance, on CUDA devices: sketches on tensor cores, then banded distances of the candidates."""
