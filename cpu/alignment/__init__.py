"""Alignment on the CPU: kernel selection, tiles, paths and the engine."""
