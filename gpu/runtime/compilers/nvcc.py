"""nvcc, the compiler program of the CUDA toolkit, which needs a C++ compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import cached_property
from pathlib import Path

from gpualign.gpu.runtime.compilers.base import CPP_STANDARD, Source, compile_error

_NVCC_OPTIONS = ("-cubin", "-O3", f"-std={CPP_STANDARD}")


def find_nvcc() -> str | None:
    """Return the path of nvcc, or None if it is not found.

    If CUDA_HOME or CUDA_PATH is set, only this folder is searched. Otherwise, the PATH, the default folder and the folders known to
    cuda-pathfinder are searched.
    """
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    for folder in [str(Path(home, "bin"))] if home else [None, "/usr/local/cuda/bin"]:
        if path := shutil.which("nvcc", path=folder):
            return path
    if home:
        return None
    try:
        from cuda.pathfinder import find_nvidia_binary_utility
    except ImportError:
        return None
    utility = find_nvidia_binary_utility("nvcc")
    return str(utility) if utility else None


class Nvcc:
    """The compiler program nvcc that is installed at `path`."""

    def __init__(self, path: str) -> None:
        self.path = path

    @cached_property
    def version(self) -> tuple[int, int] | None:
        match = re.search(r"release (\d+)\.(\d+)", self._query("--version"))
        return (int(match[1]), int(match[2])) if match else None

    @property
    def title(self) -> str:
        return f"nvcc {self.version[0]}.{self.version[1]}" if self.version else "nvcc"

    def supports(self, arch: str) -> bool:
        known = self._query("--list-gpu-code").split()
        return not known or arch.rstrip("af") in known

    def compile(self, source: Source, arch: str) -> bytes:
        """Return the machine code, after writing the source to a temporary folder and compiling it there."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for header, text in source.headers.items():
                Path(folder, header).write_bytes(text)
            Path(folder, source.kernel.file).write_bytes(source.text)
            cubin = folder / "kernel.cubin"
            macros = [f"-D{macro}={value}" for macro, value in source.macros]
            command = [self.path, *_NVCC_OPTIONS, f"-arch={arch}", *macros, "-o", str(cubin), str(folder / source.kernel.file)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise compile_error(self, source, arch, done.stderr or done.stdout)
            return cubin.read_bytes()

    def _query(self, option: str) -> str:
        """Return nvcc's output for an option, or "" if nvcc fails."""
        try:
            return subprocess.run([self.path, option], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return ""
