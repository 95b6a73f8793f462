"""Reads the gene calls of immune receptors, as programs write them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpualign.core.sequences.receptor_titles import is_missing

CALL_SUFFIXES = ("_call", "_gene")
"""Ends of the titles of columns with gene calls: v_call, d_call, j_call and c_call in the AIRR Rearrangement Schema, v_gene and others
elsewhere."""

_LOCUS_LETTERS = 3

_SEPARATOR = re.compile(r"[,;|:=]|\bor\b")
_ENCLOSING_SIGNS = "[]()'\""
_RECEPTOR_GENE = re.compile(r"(IG|TC?R)[A-Z]")
"""Pattern of what genes of receptors begin with. Adaptive writes TCR for TR."""

_ALLELE = re.compile(r"\*.*")
_SCORE = re.compile(r"\(\d[\d.]*\)?$")
"""Pattern of the score that MiXCR writes after each hit."""

_WHOLE_GENE = re.compile(r"(IG[HKL]|TC?R[ABDG])([VDJ]\S*\d\S*|[ACDEGM]\d*P?(\*\d+)?)")
"""Pattern of the genes of receptors that no other word looks like."""


def gene_names(call: str, alleles: bool = False) -> frozenset[str]:
    """Return the genes that a call names, several if it is ambiguous and none if it is empty.

    alleles: whether to return alleles, such as TRBV7-2*01, instead of genes, such as TRBV7-2

    Calls are separated by commas, other signs or `or`. IMGT writes the species before a gene, and its functionality after it. Words for
    missing calls, such as None, name no gene.

    >>> sorted(gene_names("TRBV6-2*01,TRBV6-3*01")), sorted(gene_names("Homsap TRBV7-2*01 F", alleles=True))
    (['TRBV6-2', 'TRBV6-3'], ['TRBV7-2*01'])
    """
    names = set()
    for part in _SEPARATOR.split(call):
        words = part.strip().strip(_ENCLOSING_SIGNS).split()
        if words and not is_missing(words[0]):
            name = _SCORE.sub("", next((word for word in words if _RECEPTOR_GENE.match(word)), words[0]))
            names.add(name if alleles else _ALLELE.sub("", name))
    return frozenset(names)


def are_gene_calls(title: str, cells: Iterable[str]) -> bool:
    """Return whether a column has gene calls: by its title, or because most cells that are not missing name genes of receptors."""
    if title.endswith(CALL_SUFFIXES):
        return True
    names = [gene_names(cell, alleles=True) for cell in cells if not is_missing(cell)]
    return 2 * sum(bool(some) and all(map(_WHOLE_GENE.fullmatch, some)) for some in names) > len(names)


def locus_of(call: str) -> str:
    """Return the locus of a gene call: the first three letters of its gene, with TR for TCR; "" if no receptor's gene is named. A call of
    several genes has the locus of the first in alphabetical order.

    >>> locus_of("Homsap TRBV7-2*01 F"), locus_of("IGHV1-2*02 or IGHV1-3*01"), locus_of("TCRBV07-02"), locus_of("")
    ('TRB', 'IGH', 'TRB', '')
    """
    genes = sorted(name for name in gene_names(call) if _RECEPTOR_GENE.match(name))
    return genes[0].replace("TCR", "TR", 1)[:_LOCUS_LETTERS] if genes else ""
