"""Kinds of output. Each has a module that brings results from device memory to a tile's results; `selection.py` selects one kind."""
