"""Measurements and reports of `gpualign bench`: a module for each paper."""
