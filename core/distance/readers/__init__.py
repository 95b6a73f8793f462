"""Readers of calls, a module for each kind of file."""
