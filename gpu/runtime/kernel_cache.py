"""Cache of the kernels' machine code: compiled once and stored on disk, so that a second run needs no compiler."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from gpualign.gpu.kernels.argument_structs import CONTRACT
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.compilers.base import STANDARD, Source


def cache_folder() -> Path:
    """Return the folder of the cache: GPUALIGN_CACHE, or gpualign/ in the user's cache folder."""
    if own := os.environ.get("GPUALIGN_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpualign"


def architecture(compute_capability: tuple[int, int]) -> str:
    """Return the name of an architecture in compilers: sm_90a for Hopper, else sm_XY."""
    major, minor = compute_capability
    return f"sm_{major}{minor}" + ("a" if (major, minor) == (9, 0) else "")


def _sources() -> Iterable[tuple[str, bytes]]:
    """Yield names and texts of all files of CUDA C++. No name is in two folders, and one file includes another by its name alone."""
    folders = [entry for entry in files("gpualign.cuda_src").iterdir() if entry.is_dir()]
    for entry in sorted((entry for folder in folders for entry in folder.iterdir()), key=lambda e: e.name):
        if entry.name.endswith((".cu", ".cuh")):
            yield entry.name, entry.read_bytes()


def source_of(kernel: Kernel) -> Source:
    """Return the input of a compiler for a kernel."""
    every = dict(_sources())
    headers = {name: text for name, text in every.items() if name.endswith(".cuh")}
    return Source(kernel, every[kernel.file], headers, (*kernel.macros, *CONTRACT))


def _key(source: Source, arch: str, driver: int | None) -> str:
    """Return a digest of all that machine code depends on: sources, macros, language, architecture, and the newest CUDA version allowed.

    The compiler is not part of it: with the code in the cache, none is needed.
    """
    digest = hashlib.sha256()
    for name, content in {**source.headers, source.kernel.file: source.text}.items():
        digest.update(f"{name} {len(content)}\n".encode() + content)
    digest.update(repr((source.kernel.file, source.macros, STANDARD, arch, driver)).encode())
    return digest.hexdigest()[:32]


def cubin(kernel: Kernel, arch: str, driver: int | None = None) -> bytes:
    """Return the machine code of a kernel for a driver of CUDA major version `driver` (None: any), from the cache or compiled now.

    A cache that cannot be written is not used. Raises `RunError` if there is no compiler for it, and with the compiler's message if it
    fails.
    """
    source = source_of(kernel)
    place = cache_folder() / f"{Path(kernel.file).stem}-{arch}-{_key(source, arch, driver)}.cubin"
    if place.is_file():
        return place.read_bytes()
    # Imported only now, because the search for a compiler loads libraries.
    from gpualign.gpu.runtime.compilers.selection import choose_compiler

    code = choose_compiler(arch, driver).compile(source, arch)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        # Written under another name and renamed, so that a concurrent run never reads half a file.
        with tempfile.NamedTemporaryFile(dir=place.parent, suffix=".part", delete=False) as part:
            try:
                part.write(code)
                part.flush()
                os.replace(part.name, place)
            except BaseException:
                Path(part.name).unlink(missing_ok=True)
                raise
    except OSError:
        pass  # the next run compiles again
    return code
