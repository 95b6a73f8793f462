"""Families of alignment kernels. A module implements one family, from its variants to their launch;
`gpu/alignment/kernel_selection.py` lists them."""
