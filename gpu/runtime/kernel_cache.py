"""Cache of the kernels' machine code. Each kernel is compiled once and stored on disk, so that later runs need no compiler."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from gpualign.gpu.kernels.argument_structs import CONTRACT_MACROS
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.compilers.base import CPP_STANDARD, Source


def cache_folder() -> Path:
    """Return the cache folder: GPUALIGN_CACHE, or gpualign/ in the user's cache folder."""
    if own := os.environ.get("GPUALIGN_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpualign"


def architecture(compute_capability: tuple[int, int]) -> str:
    """Return the compiler name of the architecture with this compute capability: sm_90a for Hopper, sm_XY for others."""
    major, minor = compute_capability
    return f"sm_{major}{minor}" + ("a" if (major, minor) == (9, 0) else "")


def _source_files() -> Iterable[tuple[str, bytes]]:
    """Yield the names and texts of all CUDA C++ files. Names are unique across folders, and files include each other by name only."""
    folders = [entry for entry in files("gpualign.cuda_src").iterdir() if entry.is_dir()]
    for entry in sorted((entry for folder in folders for entry in folder.iterdir()), key=lambda e: e.name):
        if entry.name.endswith((".cu", ".cuh")):
            yield entry.name, entry.read_bytes()


def kernel_source(kernel: Kernel) -> Source:
    """Return the compiler input for a kernel."""
    every = dict(_source_files())
    headers = {name: text for name, text in every.items() if name.endswith(".cuh")}
    return Source(kernel, every[kernel.file], headers, (*kernel.macros, *CONTRACT_MACROS))


def _cache_key(source: Source, arch: str, driver: int | None) -> str:
    """Return a digest of everything the machine code depends on: sources, macros, language, architecture, newest CUDA version allowed.

    The compiler is not included, because cached code needs no compiler.
    """
    digest = hashlib.sha256()
    for name, content in {**source.headers, source.kernel.file: source.text}.items():
        digest.update(f"{name} {len(content)}\n".encode() + content)
    digest.update(repr((source.kernel.file, source.macros, CPP_STANDARD, arch, driver)).encode())
    return digest.hexdigest()[:32]


def load_cubin(kernel: Kernel, arch: str, driver: int | None = None) -> bytes:
    """Return a kernel's machine code, which is compiled if it is not in the cache.

    A cache that cannot be written to is ignored.

    driver: CUDA major version that the driver supports (None: any)

    Raises `RunError` if there is no suitable compiler, or if compilation fails.
    """
    source = kernel_source(kernel)
    path = cache_folder() / f"{Path(kernel.file).stem}-{arch}-{_cache_key(source, arch, driver)}.cubin"
    if path.is_file():
        return path.read_bytes()
    # Imported only now, because the search for a compiler loads libraries.
    from gpualign.gpu.runtime.compilers.selection import choose_compiler

    code = choose_compiler(arch, driver).compile(source, arch)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written under another name and renamed, so that a concurrent run never reads half a file.
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
            try:
                part.write(code)
                part.flush()
                os.replace(part.name, path)
            except BaseException:
                Path(part.name).unlink(missing_ok=True)
                raise
    except OSError:
        pass  # the next run compiles again
    return code
