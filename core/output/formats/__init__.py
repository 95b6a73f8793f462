"""Formats that are rows of pairs, one module per format. Each defines its header and the columns of a row."""
