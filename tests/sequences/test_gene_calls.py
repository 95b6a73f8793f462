"""Genes and alleles that programs for immune receptors call."""

import pytest

from gpualign.core.sequences.gene_calls import gene_names


@pytest.mark.parametrize(
    ("call", "genes", "alleles"),
    [
        ("", [], []),
        (" , ", [], []),
        ("TRBV7-2*01", ["TRBV7-2"], ["TRBV7-2*01"]),  # 10x, MiXCR, IgBLAST
        ("TRBV7-2", ["TRBV7-2"], ["TRBV7-2"]),
        ("TRBV6-2*01,TRBV6-3*01", ["TRBV6-2", "TRBV6-3"], ["TRBV6-2*01", "TRBV6-3*01"]),
        ("IGHV1-69*01,IGHV1-69*12", ["IGHV1-69"], ["IGHV1-69*01", "IGHV1-69*12"]),
        ("IGHV1-69*01 or IGHV1-69D*01", ["IGHV1-69", "IGHV1-69D"], ["IGHV1-69*01", "IGHV1-69D*01"]),
        ("Homsap TRBV7-2*01 F, or Homsap TRBV7-3*01 (F)", ["TRBV7-2", "TRBV7-3"], ["TRBV7-2*01", "TRBV7-3*01"]),  # IMGT
        ("Musmus IGKV1-117*01 F", ["IGKV1-117"], ["IGKV1-117*01"]),
        ("TRAV29/DV5*01", ["TRAV29/DV5"], ["TRAV29/DV5*01"]),
        ("IGHV1/OR15-1*01", ["IGHV1/OR15-1"], ["IGHV1/OR15-1*01"]),  # an orphon is no second gene
        ("IGHV(III)-2-1*01", ["IGHV(III)-2-1"], ["IGHV(III)-2-1*01"]),
        ("VH1-2*02", ["VH1-2"], ["VH1-2*02"]),
        ("TRBV6-2*01;TRBV6-3*01", ["TRBV6-2", "TRBV6-3"], ["TRBV6-2*01", "TRBV6-3*01"]),
        ("TRBV6-2*01|TRBV6-3*01", ["TRBV6-2", "TRBV6-3"], ["TRBV6-2*01", "TRBV6-3*01"]),
        ("TRBV6-2*01:TRBV6-3*01", ["TRBV6-2", "TRBV6-3"], ["TRBV6-2*01", "TRBV6-3*01"]),  # partis
        ("TRBV6-2*01=TRBV6-3*01", ["TRBV6-2", "TRBV6-3"], ["TRBV6-2*01", "TRBV6-3*01"]),
        ("['TRBV7-2*01']", ["TRBV7-2"], ["TRBV7-2*01"]),  # a list of Python in a cell
        ("TRBV7-2*01,None", ["TRBV7-2"], ["TRBV7-2*01"]),
        *((word, [], []) for word in ("None", "NA", "nan", "NaN", "null", "N/A", "<NA>", "-", ".", "unresolved", "unknown")),
    ],
)
def test_calls(call, genes, alleles):
    assert sorted(gene_names(call)) == genes
    assert sorted(gene_names(call, alleles=True)) == alleles
