"""Alignment on the CPU: choice of kernels, tiles, paths and the engine."""
