"""Kinds of output, a module for each: from memory on the device to the results of a tile; `selection.py` selects one."""
