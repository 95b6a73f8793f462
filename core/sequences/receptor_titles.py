"""Titles of columns in tables of immune receptors, and what their cells mean. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

ID_TITLE = "sequence_id"
"""Title of the column with ids in tables of receptors."""

SEQUENCE_TITLES = ("junction_aa", "cdr3_aa", "junction", "cdr3")
"""Titles of columns that may have the sequences of receptors, the preferred one first."""

PRODUCTIVE_TITLES = ("productive", "FUNCTIONAL", "V-DOMAIN Functionality", "sequenceStatus", "frame_type")
"""Titles of columns that say whether receptors are productive: in the AIRR Rearrangement Schema, in the older tables of Change-O, and in
those of IMGT and Adaptive."""

CELL_TITLES = ("cell_id", "barcode")
"""Titles of columns that may have the cells of receptors: in the AIRR Rearrangement Schema, and in the contigs of Cell Ranger."""

_V_TITLES = (
    *("v_call", "v_gene", "V_CALL", "bestVGene", "bestVHit", "allVHitsWithScore", "allVHits", "V-GENE and allele"),
    *("v_resolved", "vMaxResolved", "vGeneName", "v.segm", "V.name", "V", "v"),
)
"""Titles of columns that may have the calls of V genes, the preferred one first: in the AIRR Rearrangement Schema, and in the tables of
Cell Ranger, Change-O, MiXCR, IMGT, Adaptive, VDJdb, immunarch, TRUST4 and VDJtools."""

_TITLE_OF_CHAIN = re.compile(r"cdr3_([abgd])_(aa|nucseq)")
"""Pattern of the titles of sequences in the tables of tcrdist3, which have both chains of a cell in a row."""

CELL, LOCUS, V_CALL = "\tcell", "\tlocus", "\tv call"
"""Names of the annotations with the cell, the locus and the V gene of each record; no column has such a title."""

ABUNDANCE_TITLE = "duplicate_count"
"""Title of the column with the abundances of receptors."""

_MISSING_WORDS = frozenset({"", "none", "na", "nan", "null", "n/a", "<na>", "-", ".", "unresolved", "unknown"})
_UNUSABLE_SEQUENCE_WORDS = frozenset({"partial", "out_of_frame", "out-of-frame", "unproductive"})
_FALSE_ELSEWHERE = frozenset({"falsch", "faux", "falso", "onwaar", "fałsz"})  # as spreadsheets in other languages write FALSE
_UNPRODUCTIVE_WORDS = _FALSE_ELSEWHERE | {
    *("f", "false", "0", "0.0", "n", "no", "none", "out", "outofframe", "stop", "stopcodon", "nonproductive", "nonfunctional"),
}
_BETWEEN_WORDS = re.compile(r"[ _-]")
_UNPRODUCTIVE_START = "unproductive"

MISSING_SEQUENCE_WORDS = tuple(sorted((_MISSING_WORDS | _UNUSABLE_SEQUENCE_WORDS) - {""}))
"""Words that stand for a missing sequence, in lower case: those of `is_missing`, and what TRUST4 writes for incomplete ones."""


_AMINO_ACID_TITLE = re.compile(r".*[_. (-]aa\)?|.*cdr3aa|aaseq.*|.*amino[ _.]?acid.*", re.IGNORECASE)


def has_amino_acids(title: str) -> bool:
    """Return whether the sequences of a column with this title are amino acids, as AIRR, MiXCR (aaSeqCDR3), Adaptive (aminoAcid), immunarch
    (CDR3.aa), VDJtools (cdr3aa) and IMGT (JUNCTION (AA)) call it."""
    return _AMINO_ACID_TITLE.fullmatch(title) is not None


def find_v_titles(titles: Collection[str], sequence_title: str) -> list[str]:
    """Return the titles of a table's columns of V genes, the preferred one first. sequence_title: title of the column of sequences"""
    of_chain = _TITLE_OF_CHAIN.fullmatch(sequence_title)
    known = [f"v_{of_chain[1]}_gene"] if of_chain else _V_TITLES
    return [title for title in known if title in titles]


def is_missing(text: str) -> bool:
    """Return whether the text of a cell stands for a missing call or number, as Cell Ranger, R, pandas, SQL and Adaptive write it."""
    return text.strip().lower() in _MISSING_WORDS


def is_unproductive(text: str) -> bool:
    """Return whether a cell of a column such as `productive` says no, as AIRR, Cell Ranger, IMGT and Adaptive write it."""
    word = _BETWEEN_WORDS.sub("", text.strip().lower())
    return word in _UNPRODUCTIVE_WORDS or word.startswith(_UNPRODUCTIVE_START)
