"""Alignment on CUDA devices: the selection of kernels, batches, launches, and the engine."""
