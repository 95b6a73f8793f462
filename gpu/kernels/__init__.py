"""Kernel names and specialisations, and the layout of kernel arguments."""
