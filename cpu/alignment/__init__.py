"""Alignment on the CPU: which kernel, tiles, paths, and the engine."""
