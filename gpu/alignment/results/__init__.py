"""Kinds of output. The module of each kind copies results from device memory to the results of a tile; `selection.py` selects the kind."""
