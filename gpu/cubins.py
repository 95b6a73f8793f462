"""Compiles kernels with nvcc and keeps the machine code on disk, so that a second run needs no compiler."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from importlib.resources import as_file, files
from pathlib import Path

from gpualign.core.errors import RunError
from gpualign.gpu.arguments import CONTRACT
from gpualign.gpu.kernels import Kernel

OPTIONS = ("-cubin", "-O3", "-std=c++17")


def cache_folder() -> Path:
    """GPUALIGN_CACHE, or gpualign/ in the user's cache folder."""
    if own := os.environ.get("GPUALIGN_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpualign"


def find_nvcc() -> str | None:
    """The CUDA compiler: of CUDA_HOME, on the PATH, or in its usual place."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    for folder in [str(Path(home, "bin"))] if home else [None, "/usr/local/cuda/bin"]:
        if found := shutil.which("nvcc", path=folder):
            return found
    return None


def architecture(compute_capability: tuple[int, int]) -> str:
    """nvcc's name: sm_90a for Hopper, sm_XY else."""
    major, minor = compute_capability
    return f"sm_{major}{minor}" + ("a" if (major, minor) == (9, 0) else "")


def _sources() -> Iterable[tuple[str, bytes]]:
    for entry in sorted(files("gpualign.cuda_src").iterdir(), key=lambda e: e.name):
        if entry.name.endswith((".cu", ".cuh")):
            yield entry.name, entry.read_bytes()


def _key(kernel: Kernel, arch: str) -> str:
    """Of everything that the machine code depends on: sources, macros, options, architecture."""
    digest = hashlib.sha256()
    for name, content in _sources():
        if name == kernel.file or name.endswith(".cuh"):
            digest.update(f"{name} {len(content)}\n".encode() + content)
    digest.update(repr((kernel.file, kernel.macros, CONTRACT, OPTIONS, arch)).encode())
    return digest.hexdigest()[:32]


def compile_kernel(kernel: Kernel, arch: str, output: Path) -> None:
    """Compile into `output`. Raises `RunError` without a compiler, and with its message where it fails."""
    nvcc = find_nvcc()
    if nvcc is None:
        raise RunError(
            "the CUDA compiler nvcc was not found, and this kernel is not in the cache yet; install the CUDA toolkit, or set CUDA_HOME"
        )
    with as_file(files("gpualign.cuda_src")) as folder:
        macros = [f"-D{name}={value}" for name, value in (*kernel.macros, *CONTRACT)]
        command = [nvcc, *OPTIONS, f"-arch={arch}", *macros, "-o", str(output), str(folder / kernel.file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr or done.stdout).strip()[-1500:]
        raise RunError(f"nvcc could not compile {kernel.file} for {arch}:\n{reason}")


def cubin(kernel: Kernel, arch: str) -> bytes:
    """The machine code of a kernel, from the cache or compiled now.

    A cache that cannot be written is not used. Raises `RunError` as `compile_kernel` does.
    """
    place = cache_folder() / f"{Path(kernel.file).stem}-{arch}-{_key(kernel, arch)}.cubin"
    if place.is_file():
        return place.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "kernel.cubin")
        compile_kernel(kernel, arch, made)
        code = made.read_bytes()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        # Written aside and renamed, so that a run beside this one never reads half a file.
        with tempfile.NamedTemporaryFile(dir=place.parent, suffix=".part", delete=False) as part:
            part.write(code)
        os.replace(part.name, place)
    except OSError:
        pass  # the next run compiles again
    return code
