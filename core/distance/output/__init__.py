"""Sinks that write distances."""
