"""Sequences: alphabets, parsing, sequence sets, translation, strands and reading frames, and the database index."""
