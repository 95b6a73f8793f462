"""Titles of metadata are told from names of loci and sites."""

import pytest
from fuzz.tables import LOCI, TITLES

from gpualign.core.distance.tables.titles import is_metadata, is_of_sites


@pytest.mark.parametrize("title", TITLES)
def test_metadata(title):
    for spelled in (title, title.upper(), title.replace(" ", "_"), title.replace(" ", ".")):
        assert is_metadata(spelled), spelled


@pytest.mark.parametrize("title", [*LOCI, "", "rs123", "chr1:1000", "1_55_A_G", "SPA_1", "cat", "sta", "stA", "host1", "locus7"])
def test_loci_and_sites(title):
    assert not is_metadata(title)


@pytest.mark.parametrize(
    "title", ["chrom", "CHROM", "#CHROM", "pos", "POS", "ref", "alt", "rs#", "SNP", "alleles", "cM", "qual_filter", "strand"]
)
def test_columns_beside_samples(title):
    assert is_of_sites(title)


@pytest.mark.parametrize("title", ["NA12878", "sample1", "ref7x", "Altamira", "s1", "", "posada"])
def test_samples(title):
    assert not is_of_sites(title)
