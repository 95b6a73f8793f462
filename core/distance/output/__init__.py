"""Sinks of distances."""
