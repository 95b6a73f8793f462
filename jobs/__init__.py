"""Implements the commands independently of the command line: typed options -> prepare -> a job with its plan -> run. No Click, no standard
output."""
