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
_FIRST_ALLELE = 2
"""Place of the reference allele in a site; the alternative ones follow."""
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

    try:
        reader = cyvcf2.VCF(path)
        ids = list(reader.samples)
    except Exception as error:
        raise InputError(f"cannot be read as VCF or BCF ({error})") from None
    sender.send(IDS, json.dumps(ids).encode())
    if not ids:
        raise InputError("no samples; expected genotypes")
    block, sent, without_base, records = _Block(len(ids)), 0, 0, iter(reader)
    while True:
        try:
            complete = block.fill(records, sent)
        except InputError:
            block.encode(sent)  # a record before this one may have a defect
            raise
        if block.sites:
            without_base += block.send(sender, sent)
            sent += len(block.sites)
        if complete:
            return without_base
        block.sites = []


class _Block:
    """Records that are encoded and sent together, since NumPy's calls for each record would take longer than htslib.

    sites: (chromosome, position, alleles ...) of each record
    """

    def __init__(self, samples: int) -> None:
        self.sites: list[tuple[Any, ...]] = []
        records = min(MAX_RECORDS_PER_BLOCK, max(1, _BLOCK_BYTES // samples))
        self._first = np.empty((records, samples), dtype=np.int16)
        self._second = np.empty((records, samples), dtype=np.int16)

    def fill(self, records: Iterator[Any], sent: int) -> bool:
        """Read records until the block is full, and return whether there are no more. Raises `InputError` for a record that cannot be read,
        which is not in the block then.

        sent: number of records that have been sent
        """
        sites = self.sites
        for first, second in zip(self._first, self._second, strict=True):
            try:
                record = next(records, None)
                if record is None:
                    return True
                site = (record.CHROM, record.POS, record.REF, *record.ALT)
            except Exception as error:
                raise InputError(f"record {sent + len(sites) + 1} cannot be read ({error})") from None
            try:
                alleles = record.genotype.array()  # the last column is the phase
            except Exception as error:
                found = (
                    "genotypes of another type (GT must be declared as Type=String)"
                    if "GT" in record.FORMAT
                    else f"no genotypes (GT) ({error})"
                )
                raise InputError(f"{_name(site, sent + len(sites))} has {found}") from None
            if (ploidy := alleles.shape[1] - 1) > 2:
                raise InputError(f"{_name(site, sent + len(sites))} has calls of {ploidy} alleles; expected genotypes of one or two")
            first[:] = alleles[:, 0]
            second[:] = alleles[:, ploidy - 1]
            sites.append(site)
        return False

    def encode(self, sent: int) -> tuple[Codes, int]:
        """Return the genotype codes of all calls, uint8[records][samples], and the number of calls of alleles without a base, which are
        missing calls. Raises `InputError` for the first record with calls of an allele that it does not have."""
        first, second = self._first[: len(self.sites)], self._second[: len(self.sites)]
        np.copyto(second, first, where=second == _HAPLOID_PADDING)
        lower, upper = np.minimum(first, second), np.maximum(first, second)
        highest = upper.max(axis=1, initial=0)
        allele_counts = np.array([len(site) - _FIRST_ALLELE for site in self.sites], dtype=np.int64)
        if (wrong := (highest >= MAX_ALLELES) | (highest >= allele_counts)).any():
            record = int(wrong.argmax())
            called = f"{_name(self.sites[record], sent + record)} has calls of allele {highest[record]}"
            if highest[record] >= MAX_ALLELES:
                raise InputError(f"{called}; up to {MAX_ALLELES} alleles are distinguished")
            alternatives = int(allele_counts[record]) - 1
            raise InputError(f"{called}, but {alternatives} alternative allele{'' if alternatives == 1 else 's'}")
        codes: Codes = np.where(lower < 0, MISSING, upper * (upper + 1) // 2 + lower).astype(np.uint8)
        without_base = 0
        for record, site in enumerate(self.sites):
            if not _ALLELES_WITHOUT_BASE.isdisjoint(site[_FIRST_ALLELE + 1 :]):
                numbers = [number for number, text in enumerate(site[_FIRST_ALLELE:]) if number and text in _ALLELES_WITHOUT_BASE]
                missing = (lower[record] >= 0) & (np.isin(lower[record], numbers) | np.isin(upper[record], numbers))
                codes[record, missing] = MISSING
                without_base += int(np.count_nonzero(missing))
        return codes, without_base

    def send(self, sender: _Sender, sent: int) -> int:
        """Send the records, and return the number of calls of alleles without a base. Raises the errors of `encode`."""
        codes, without_base = self.encode(sent)
        text = json.dumps(self.sites).encode()
        sender.send(BLOCK, encode_size(len(text)), text, codes.reshape(-1).data)
        return without_base


def _name(site: tuple[Any, ...], number: int) -> str:
    """Return the name of a record for messages. number: number of records before it."""
    return f"record {number + 1} ({site[0]}:{site[1]})"
