"""Runs the installed `gpualign` executable, as a user does, or its commands in this process."""

import functools
import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

GPUALIGN = str(Path(sys.executable).with_name("gpualign"))
# If the package was installed into a folder of its own, there is no executable beside the interpreter.
_COMMAND = [GPUALIGN] if Path(GPUALIGN).exists() else [sys.executable, "-m", "gpualign"]
LIMIT = 1800
"""Time, in seconds, after which a process certainly hangs, however loaded the machine."""


@functools.cache
def _server():
    """Return the server that runs commands without the start-up time of the executable; None if every command must be the executable."""
    if sys.platform != "linux" or os.environ.get("GPUALIGN_TEST_EXECUTABLE") or len(_COMMAND) > 1:
        return None
    from fork_server import ForkServer

    return ForkServer(GPUALIGN)


def gpualign(*arguments, stdin=None, check=True, cwd=None, env=None):
    """Run a command and return the finished process, with stdout and stderr as bytes."""
    words = [*map(str, arguments)]
    # A forked process has the memory of all imports, which would be in the summary.
    done = _server().run(words, stdin, cwd, LIMIT) if env is None and "--summary" not in words and _server() else None
    if done is None:
        done = subprocess.run(
            [*_COMMAND, *words],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            timeout=LIMIT,
        )
    if check and done.returncode:
        raise AssertionError(f"gpualign {arguments} ended with {done.returncode}: {done.stderr.decode()}")
    return done


def gpualign_here(*arguments):
    """Run a command in this process, where parts of it can be replaced: (stdout as bytes, stderr as text). Its exceptions propagate, with
    parameters in messages spelled as on the command line."""
    from gpualign.cli.main import cli
    from gpualign.core.common.errors import GpualignError, InputError, RunError, command_line_message

    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")) as out, redirect_stderr(io.StringIO()) as messages:
        try:
            cli.main([*map(str, arguments)], prog_name="gpualign", standalone_mode=False)
        except GpualignError as error:
            kind = InputError if isinstance(error, InputError) else RunError
            raise kind(command_line_message(error.message)) from None
        out.flush()
    return out.buffer.getvalue(), messages.getvalue()


def shell(command, cwd=None, env=None):
    """Run a line of bash and return the finished process, with stdout and stderr as bytes. A pipe fails if any of its commands does."""
    return subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], cwd=cwd, env=env, capture_output=True, timeout=LIMIT)
