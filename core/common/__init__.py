"""Errors, array types, units, threads, signals and memory limits, for use by every package of the core."""
