"""Files that calls write."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gpualign.core.errors import RunError


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file, readable and writable, that takes its name when it is complete; after an error it is gone. Errors of the system become
    `RunError`."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "x+b") as stream:
            yield stream
        os.replace(part, path)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
