"""Genes and alleles that programs for immune receptors call."""

import pytest

from gpualign.core.sequences.gene_calls import are_gene_calls, gene_names


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
        ("TRBV7-2*00(1200.3),TRBV7-3*00(1199)", ["TRBV7-2", "TRBV7-3"], ["TRBV7-2*00", "TRBV7-3*00"]),  # hits of MiXCR with scores
        ("TRBV7-2(1200.3)", ["TRBV7-2"], ["TRBV7-2"]),
        ("TCRBV07-02*01", ["TCRBV07-02"], ["TCRBV07-02*01"]),  # Adaptive
        ("TRBV7-2*01,None", ["TRBV7-2"], ["TRBV7-2*01"]),
        *((word, [], []) for word in ("None", "NA", "nan", "NaN", "null", "N/A", "<NA>", "-", ".", "unresolved", "unknown")),
    ],
)
def test_calls(call, genes, alleles):
    assert sorted(gene_names(call)) == genes
    assert sorted(gene_names(call, alleles=True)) == alleles


@pytest.mark.parametrize(
    ("title", "cells", "are_calls"),
    [
        ("v_call", [""], True),
        ("v_call_genotyped", ["IGHV1-2*02", "", "IGHV1-2*04,IGHV1-3*01"], True),  # Immcantation
        ("V_CALL", ["Homsap IGHV1-2*02 F, or Homsap IGHV1-3*01 F", "NA"], True),
        ("allVHitsWithScore", ["TRBV7-2*00(1200.3),TRBV7-3*00(1199)", "TRAV29/DV5*00(900)"], True),
        ("vMaxResolved", ["TCRBV07-02*01", "TCRBV12", "unresolved"], True),
        ("bestCHit", ["TRBC2*00(12)", "IGHM", "IGHG1*01", "TRAC"], True),
        ("bestVHit", ["TRBV7-2*00", "TRBV7-3*00", "no hit"], True),
        ("locus", ["TRB", "TRA"], False),
        ("donor", ["d1", "TRBV7-2"], False),
        ("donor", ["", "NA"], False),
        ("arm", ["TREATED", "TRIAL2"], False),
        ("donor", ["IGOR1", "TRAD1"], False),
    ],
)
def test_columns_of_calls(title, cells, are_calls):
    assert are_gene_calls(title, cells) == are_calls
