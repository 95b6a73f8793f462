"""Runs work on the workers of a `concurrent.futures.Executor`, on this machine or remote ones."""
