"""Kernels: how one is named and specialised, and the layout of its arguments."""
