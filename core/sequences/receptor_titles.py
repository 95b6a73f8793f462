"""Titles of columns in tables of immune receptors, and what their cells mean. Pure."""

from __future__ import annotations

ID_TITLE = "sequence_id"
"""Title of the column with ids in tables of receptors."""

SEQUENCE_TITLES = ("junction_aa", "cdr3_aa", "junction", "cdr3")
"""Titles of columns that may have the sequences of receptors, the preferred one first."""

CELL_TITLES = ("cell_id", "barcode")
"""Titles of columns that may have the cells of receptors: in the AIRR Rearrangement Schema, and in the contigs of Cell Ranger."""

V_TITLES = ("v_call", "v_gene")
"""Titles of columns that may have the calls of V genes: in the AIRR Rearrangement Schema, and elsewhere."""

CELL, LOCUS, V_CALL = "\tcell", "\tlocus", "\tv call"
"""Names of the annotations with the cell, the locus and the V gene of each record; no column has such a title."""

ABUNDANCE_TITLE = "duplicate_count"
"""Title of the column with the abundances of receptors."""

MISSING_TEXTS = frozenset({"", "None", "NA", "NaN", "nan", "null"})
"""Texts that stand for a missing sequence or number."""
