"""Distances on the CPU."""
