"""Output to the user while a command runs: notes, progress, times, and the log file."""
