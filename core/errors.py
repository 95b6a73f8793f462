"""Errors that a user can cause or meet. Each message says what, where, the value found, and what to do."""


class GpualignError(Exception):
    """Base of the expected errors; the command line prints its text and exits with `exit_code`."""

    exit_code = 1


class InputError(GpualignError, ValueError):
    """Bad usage or bad input: files, records, letters, matrices, options."""

    exit_code = 2


class RunError(GpualignError, RuntimeError):
    """The work itself could not be done: device, memory, disk."""

    exit_code = 1


def quoted(text: str) -> str:
    """A cell or an id of a file, for a message: the beginning of a long one."""
    return ascii(text) if len(text) <= 40 else ascii(text[:39] + "…")
