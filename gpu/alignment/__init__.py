"""Alignment on CUDA devices: which kernel, batches, launches, and the engine."""
