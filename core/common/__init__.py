"""Errors, text, numbers, threads and signals, which every other package of the core may use."""
