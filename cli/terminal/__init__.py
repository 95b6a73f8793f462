"""User-facing output of a running command: notes, progress, timings and the log file."""
