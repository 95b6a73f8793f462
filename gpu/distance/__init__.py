"""Distances on CUDA devices."""
