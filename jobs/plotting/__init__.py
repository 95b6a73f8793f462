"""Clustered heat maps and networks of clusters, drawn with matplotlib."""
