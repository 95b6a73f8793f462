"""Alignments: tasks, results of tiles and bands, paths, and definitions of identity."""
