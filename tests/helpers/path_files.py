"""Readers of what `gpualign nw` writes about alignments, independent of gpualign's code."""

import re

from Bio import SeqIO

CIGAR_FIELDS = "cigar,tstart"


def rows_of(table):
    """The rows of a TSV as dictionaries."""
    header, *lines = table.decode().splitlines()
    return [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]


def parse_cigar(text):
    """The operations of a CIGAR, one character per column of the alignment."""
    if text == "*":
        return ""
    runs = re.findall(r"(\d+)([=XIDM])", text)
    assert "".join(map("".join, runs)) == text
    return "".join(op * int(length) for length, op in runs)


def sequences_of(path):
    """Upper-case letters by id, U as T."""
    with open(path) as stream:
        return {r.id: str(r.seq).upper().replace("U", "T") for r in SeqIO.parse(stream, "fasta")}
