"""Implements the commands independently of the command line. `prepare` takes the typed options of a command and returns a job with its
plan; the job's `run` does the work. Nothing here depends on Click."""
