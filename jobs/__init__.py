"""Does what a command does, without a command line: typed options -> prepare -> a job with its plan -> run. No Click, no standard
output."""
