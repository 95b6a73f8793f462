"""Reads arrays from .npy and .npz files. A damaged or forged file raises an error and never causes a large allocation."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.errors import InputError, quoted

Array = npt.NDArray[Any]

NPY_MAGIC = b"\x93NUMPY"
NPZ_MAGIC = b"PK"


class _PythonObjectsError(ValueError):
    """Error of an array that NumPy can only load by running code of its writer."""


def parse_npy(raw: bytes, source: str) -> Array:
    """Return the read-only array in an .npy file. Raises `InputError` for anything but a complete .npy file.

    raw: file content. The array is a view of `raw`; the size stated in the header is compared with the actual size.
    """
    try:
        return _as_array(raw)
    except _PythonObjectsError:
        raise InputError(f"{source}: holds Python objects; save numbers, as by .astype(float)") from None
    # Headers are Python source that numpy evaluates. Damaged ones raise any error of a parser, MemoryError and RecursionError too.
    except Exception as error:
        raise InputError(f"{source}: damaged .npy file ({_printable_reason(error)}); write or copy it again") from None


def parse_npz(raw: bytes, source: str) -> dict[str, Array]:
    """Return the arrays in an .npz file by name, in file order. Raises `InputError` for anything but a complete .npz file."""
    arrays: dict[str, Array] = {}
    name = ""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                arrays[name] = _as_array(_unpack_member(archive, member))
        return arrays
    except _PythonObjectsError:
        raise InputError(
            f"{source}: the array {quoted(name)} holds Python objects; save ids by numpy.array(ids, dtype=str), numbers by .astype(float)"
        ) from None
    # Damaged archives raise errors of zipfile, zlib and struct, NotImplementedError, RuntimeError ("encrypted") and others.
    except Exception as error:
        raise InputError(f"{source}: damaged .npz file ({_printable_reason(error)}); write or copy it again") from None


def _unpack_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return the content of a member, verifying the checksum. Memory grows with the data, not with the size stated in the archive."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{member.filename!r} is compressed by method {member.compress_type}; expected stored or deflated members")
    if not member.filename.endswith(".npy"):
        raise ValueError(f"{member.filename!r} is not an array")
    with archive.open(member) as stream:
        raw = stream.read()
    if len(raw) != member.file_size:
        raise ValueError(f"{member.filename!r} has {len(raw):,} of {member.file_size:,} bytes")
    return raw


def _as_array(raw: bytes) -> Array:
    stream = io.BytesIO(raw)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):  # later ones differ only in names of fields, and matrices have none
        raise ValueError(f"version {version[0]}.{version[1]}")
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python's parser about a damaged header
        shape, fortran_order, dtype = read_header(stream)
    if dtype.hasobject:
        raise _PythonObjectsError
    start = stream.tell()
    expected, stored = math.prod(shape) * dtype.itemsize, len(raw) - start
    if any(side < 0 for side in shape) or expected != stored:
        raise ValueError(f"{stored:,} bytes of values; its header ({' x '.join(map(str, shape))} {dtype}) states {expected:,}")
    if not expected:
        return np.zeros(shape, dtype)
    return np.frombuffer(raw, dtype, offset=start).reshape(shape, order="F" if fortran_order else "C")


def _printable_reason(error: Exception) -> str:
    """Return an error message as one printable line of bounded length, because the message may quote bytes from the file."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= 160 else text[:159] + "…"
