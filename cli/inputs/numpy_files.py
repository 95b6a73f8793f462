"""Arrays in .npy and .npz files, read so that a damaged or forged file is an error and never an allocation."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.errors import InputError

Array = npt.NDArray[Any]

NPY_MAGIC = b"\x93NUMPY"
NPZ_MAGIC = b"PK"


def parse_npy(raw: bytes, source: str) -> Array:
    """The read-only array that an .npy file holds. Raises `InputError` for anything that is no whole .npy file.

    The bytes are those of the file, and the array is a view of them: what a header asks for is compared with what is there.
    """
    try:
        return _view(raw)
    # Headers are Python source that numpy evaluates: damaged ones raise whatever a parser can raise, MemoryError and RecursionError too.
    except Exception as error:
        raise InputError(f"{source}: damaged .npy file ({_reason(error)}); write or copy it again") from None


def parse_npz(raw: bytes, source: str) -> dict[str, Array]:
    """The arrays of an .npz file by their names, in its order. Raises `InputError` for anything that is no whole .npz file."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return {member.filename.removesuffix(".npy"): _view(_unpacked(archive, member)) for member in archive.infolist()}
    # Damaged archives raise errors of zipfile, zlib and struct, NotImplementedError, RuntimeError ("encrypted") and others.
    except Exception as error:
        raise InputError(f"{source}: damaged .npz file ({_reason(error)}); write or copy it again") from None


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """All bytes of a member, its checksum verified. Grows with what is there, not with the size that the archive names."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{member.filename!r} is packed by method {member.compress_type}; stored or deflated members are read")
    if not member.filename.endswith(".npy"):
        raise ValueError(f"{member.filename!r} is no array")
    with archive.open(member) as stream:
        raw = stream.read()
    if len(raw) != member.file_size:
        raise ValueError(f"{member.filename!r} has {len(raw):,} of {member.file_size:,} bytes")
    return raw


def _view(raw: bytes) -> Array:
    stream = io.BytesIO(raw)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):  # later ones differ only in names of fields, which no matrix has
        raise ValueError(f"version {version[0]}.{version[1]}")
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python's parser, on what stands in a damaged header
        shape, fortran_order, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, not numbers")
    start = stream.tell()
    wanted, found = math.prod(shape) * dtype.itemsize, len(raw) - start
    if any(side < 0 for side in shape) or wanted != found:
        raise ValueError(f"{found:,} bytes of values; its header, of {' x '.join(map(str, shape))} {dtype}, asks for {wanted:,}")
    if not wanted:
        return np.zeros(shape, dtype)
    return np.frombuffer(raw, dtype, offset=start).reshape(shape, order="F" if fortran_order else "C")


def _reason(error: Exception) -> str:
    """One printable line of bounded length: messages quote what was found in the file."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= 160 else text[:159] + "…"
