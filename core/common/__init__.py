"""Errors, text, numbers and signals: what every other package of the core may use."""
