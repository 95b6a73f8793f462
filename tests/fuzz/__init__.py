"""Malformed input, extreme options and signals for the real executable, for as long as one likes: see docs/reliability.md."""
