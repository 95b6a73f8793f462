"""Formats that are rows of pairs: one module a format. Each says what it writes first and the columns of a row."""
