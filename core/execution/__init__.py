"""Runs planned work: the engine interface, workers, load balancing, multiple devices, remote workers."""
