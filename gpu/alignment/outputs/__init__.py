"""What comes back of a run, a module a kind: from room on the device to the results of a tile; `kinds.py` lists them."""
