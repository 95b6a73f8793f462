"""Alignment kernel families. Each module implements one family, from the variants to their launch;
`gpu/alignment/kernel_selection.py` lists the families."""
