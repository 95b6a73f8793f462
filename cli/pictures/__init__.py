"""Clustered heat maps."""
