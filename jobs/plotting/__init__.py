"""Clustered heat maps, drawn with matplotlib."""
