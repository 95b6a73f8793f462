"""Exact all-vs-all sequence alignment and distance on CPUs, GPUs and clusters."""

__version__ = "0.1.0"
