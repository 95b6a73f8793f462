"""Process that reads the records of a VCF or BCF file and sends them to the process that started it. A damaged file can therefore crash
only this process.

A message consists of its kind (1 byte), the size of its content (8 bytes), and the content:
    IDS      JSON: sample ids
    BLOCK    JSON: [chromosome, position, alleles ...] for each record; then the calls for each record, one byte per sample
    REFUSED  JSON: the defect in the file
    END      JSON: number of calls of alleles without a base; all records have been sent
The content of a BLOCK starts with the size of its JSON (8 bytes).
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from gpualign.core.common.arrays import Codes
from gpualign.core.common.errors import InputError
from gpualign.core.distance.calls import MAX_ALLELES, MISSING

IDS, BLOCK, REFUSED, END = b"i", b"b", b"r", b"e"
SIZE_FIELD_BYTES = 8

_BLOCK_BYTES = 1 << 20
MAX_RECORDS_PER_BLOCK = 4096
"""Maximum number of records in a block; limited because their sites also take memory."""
_HAPLOID_PADDING = -2
"""Value that htslib stores as the second allele of a haploid call."""
_ALLELES_WITHOUT_BASE = frozenset({"*", "<*>", "<NON_REF>"})
"""Alternative alleles that say nothing about the base: the site is deleted or, as snp-sites writes it, unknown (*), or any other allele."""


def encode_size(size: int) -> bytes:
    """Return a size as messages encode it."""
    return size.to_bytes(SIZE_FIELD_BYTES, "little")


def main(path: str) -> None:
    """Read a file and send its records to standard output. Standard input is a pipe that closes when the receiver exits."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # without a receiver the process ends silently
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the receiver decides; a batch system may send it to both
    threading.Thread(target=_exit_with_receiver, daemon=True).start()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # text that a library prints must not mix with messages
    sender = _Sender(out)
    try:
        without_base = _send_records(path, sender)
    except InputError as error:
        sender.send(REFUSED, json.dumps(error.message).encode())
    else:
        sender.send(END, json.dumps(without_base).encode())


def _exit_with_receiver() -> None:
    """Exit this process when the receiver exits."""
    os.read(0, 1)  # not through sys.stdin, whose lock Python takes when it ends
    os._exit(1)


class _Sender:
    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def send(self, kind: bytes, *parts: bytes | memoryview) -> None:
        """Send a message of this kind, whose content consists of `parts`."""
        self._out.write(kind + encode_size(sum(len(part) for part in parts)))
        for part in parts:
            self._out.write(part)
        self._out.flush()


def _send_records(path: str, sender: _Sender) -> int:
    """Send the sample ids, and the records in blocks, and return the number of calls of alleles without a base. Raises `InputError` for a
    defect in the file."""
    import cyvcf2

    with _reporting_errors("cannot be read as VCF or BCF"):
        reader = cyvcf2.VCF(path)
        ids = list(reader.samples)
    sender.send(IDS, json.dumps(ids).encode())
    if not ids:
        raise InputError("no samples; expected genotypes")
    buffer: Codes = np.empty((min(MAX_RECORDS_PER_BLOCK, max(1, _BLOCK_BYTES // len(ids))), len(ids)), dtype=np.uint8)
    sites: list[tuple[Any, ...]] = []
    sent = without_base = 0

    def flush() -> None:
        text = json.dumps(sites).encode()
        sender.send(BLOCK, encode_size(len(text)), text, buffer[: len(sites)].reshape(-1).data)

    records = iter(reader)
    while True:
        with _reporting_errors(f"record {sent + len(sites) + 1} cannot be read"):
            record = next(records, None)
            if record is None:
                break
            sites.append((record.CHROM, record.POS, record.REF, *record.ALT))
        without_base += _write_codes(record, f"record {sent + len(sites)} ({record.CHROM}:{record.POS})", buffer[len(sites) - 1])
        if len(sites) == len(buffer):
            flush()
            sent += len(sites)
            sites.clear()
    if sites:
        flush()
    return without_base


@contextmanager
def _reporting_errors(what: str) -> Iterator[None]:
    """Turn any exception of cyvcf2 into an `InputError` whose message begins with `what`."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what} ({error})") from None


def _write_codes(record: Any, name: str, out: Codes) -> int:
    """Write the genotype codes of a record's calls into `out`, uint8[samples], and return the number of calls of alleles without a base,
    which are missing calls."""
    try:
        genotype = record.genotype
    except Exception as error:
        found = (
            "genotypes of another type (GT must be declared as Type=String)" if "GT" in record.FORMAT else f"no genotypes (GT) ({error})"
        )
        raise InputError(f"{name} has {found}") from None
    alleles = genotype.array()[:, :-1]  # the last column is the phase
    if alleles.shape[1] > 2:
        raise InputError(f"{name} has calls of {alleles.shape[1]} alleles; expected genotypes of one or two")
    first = alleles[:, 0].astype(np.int64)
    second = alleles[:, -1].astype(np.int64)
    second = np.where(second == _HAPLOID_PADDING, first, second)
    upper = np.maximum(first, second)
    if upper.max(initial=0) >= MAX_ALLELES:
        raise InputError(f"{name} has calls of allele {upper.max()}; up to {MAX_ALLELES} alleles are distinguished")
    if upper.max(initial=0) > len(record.ALT):
        raise InputError(f"{name} has calls of allele {upper.max()}, but {len(record.ALT)} alternative alleles")
    lower = np.minimum(first, second)
    out[:] = np.where(lower < 0, MISSING, upper * (upper + 1) // 2 + lower)
    if _ALLELES_WITHOUT_BASE.isdisjoint(record.ALT):
        return 0
    numbers = [number for number, text in enumerate(record.ALT, 1) if text in _ALLELES_WITHOUT_BASE]
    without_base = (lower >= 0) & (np.isin(lower, numbers) | np.isin(upper, numbers))
    out[without_base] = MISSING
    return int(np.count_nonzero(without_base))
