"""Errors, text, numbers, threads and signals, for use by every package in the core."""
