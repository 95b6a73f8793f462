"""The command line: one module a command. Options, messages and files live here, no algorithm does."""
