"""Kinds of output, one module each: from device memory to a tile's results. `selection.py` selects one kind."""
