"""Measurements and reports for `gpualign bench`, one module per paper."""
