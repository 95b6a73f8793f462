"""Finds pairs within an edit-distance bound on CUDA devices: compares sketches on tensor cores, then computes the candidates' distances."""
