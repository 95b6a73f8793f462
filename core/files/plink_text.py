"""Recognises PLINK's text filesets, .ped and .tped, whose lines have two alleles for each genotype and no header. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_MAX_LINES = 20
_MAX_CELLS = 2000
_PED_COLUMNS, _TPED_COLUMNS = 6, 4
"""Number of columns before the alleles: family, individual, father, mother, sex, phenotype; chromosome, site, centimorgans, position."""

_ALLELES = frozenset(b"ACGTacgt1234IDid0-N")
_BASES = b"ACGTacgt"
"""Letters of the alleles of insertions and deletions, which may have several."""

_MISSING_ALLELES = (b"0", b"-", b"N")
_SEXES = (b"0", b"1", b"2")
_UNKNOWN_PARENT = b"0"
_MIN_GENOTYPES = 4


def is_ped(start: bytes) -> bool:
    """Return whether a file may be a .ped, recognised from its first bytes: individuals are not called 0, parents are two other individuals
    of the file or unknown, and the two alleles of each genotype are both known or both missing."""
    rows = _rows(start)
    if not _have_genotypes(rows, _PED_COLUMNS):
        return False
    individuals = {row[1] for row in rows}
    for _, individual, father, mother, sex, *_ in rows:
        parents = [parent for parent in (father, mother) if parent != _UNKNOWN_PARENT]
        family = {individual, *parents}
        if individual == _UNKNOWN_PARENT or len(family) <= len(parents) or not family <= individuals or sex not in _SEXES:
            return False
    return True


def is_tped(start: bytes) -> bool:
    """Return whether a file may be a .tped, recognised from its first bytes: positions are whole numbers, names of sites are not, and
    the two alleles of each genotype are both known or both missing."""
    rows = _rows(start)
    return _have_genotypes(rows, _TPED_COLUMNS) and all(_is_number(row[2]) and row[3].isdigit() and not _is_number(row[1]) for row in rows)


def _rows(start: bytes) -> list[list[bytes]]:
    """Return the cells of the first lines, without those that may be truncated."""
    *lines, last = start.split(b"\n", _MAX_LINES)
    if not lines:  # one long line
        return [last.split(None, _MAX_CELLS)[: _MAX_CELLS // 2]]
    return [line.split(None, _MAX_CELLS)[:_MAX_CELLS] for line in lines if line.strip()]


def _have_genotypes(rows: Sequence[Sequence[bytes]], first: int) -> bool:
    """Return whether pairs of alleles begin in column number `first`, counted from 0, of all rows."""
    if len({len(row) for row in rows}) != 1 or len(rows[0]) < first + 2 or (len(rows[0]) - first) % 2:
        return False
    alleles = [allele for row in rows for allele in row[first:]]
    pairs = list(zip(alleles[::2], alleles[1::2], strict=True))
    return (
        len(pairs) >= _MIN_GENOTYPES
        and all((one[0] in _ALLELES) if len(one) == 1 else not one.strip(_BASES) for one in alleles)
        and all((one in _MISSING_ALLELES) == (other in _MISSING_ALLELES) for one, other in pairs)
    )


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
