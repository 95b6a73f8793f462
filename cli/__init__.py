"""The command line: commands, options, messages and input files; no algorithms."""
