"""Implements the commands independently of the command line. `prepare` takes the typed options of a command and returns a job with its
plan; `run` of the job does the work. Nothing here depends on Click."""
