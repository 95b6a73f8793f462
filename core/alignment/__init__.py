"""Alignments: tasks, tile and band results, paths, and identity definitions."""
