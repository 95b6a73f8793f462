"""Titles of metadata are told from names of loci and sites."""

import pytest
from fuzz.tables import LOCI, TITLES

from gpualign.core.distance.tables.titles import (
    annotation_column_count,
    is_metadata_title,
    is_numbered_header,
    metadata_columns_beside,
    serial_stems,
    split_numbered_header,
)


@pytest.mark.parametrize("title", TITLES)
def test_metadata(title):
    for spelled in (title, title.upper(), title.replace(" ", "_"), title.replace(" ", ".")):
        assert is_metadata_title(spelled), spelled


ADDED = [
    "ST.1",
    "ST_x",
    "ST.y",
    "year.x",
    "Year.1",
    "cluster_y",
    "X.contigs",
    "X..missing",
    "X.1",
    "...4",
    "PHENO1",
    "trait2",
    "cgST_x",
    "n_loci",
    "nb_contigs",
    "Predicted ST",
    "HierCC HC10",
    "PubMLST id",
    "id_pubmlst",
    "Matching loci",
    "% good targets",
    "LIN code",
]
IN_BRACKETS = [
    "cgST (N. gonorrhoeae cgMLST v1.0)",
    "SL (scgMLST629)",
    "# contigs (>= 0 bp)",
    "Contigs >= 500",
    "Novel ST",
    "Largest contig",
]


NAMED = (
    *(
        "DST",
        "SBT",
        "Oxf ST",
        "ST_Pas",
        "MLST-7",
        "MLST_7",
        "MST_7",
        "MST-7x1.0",
        "MST-150x1.0",
        "single-4x1.0",
        "SIT",
        "MLVA",
        "SNPaddress",
    ),
    *("annee", "Année", "ANNÉE", "año", "ano", "anno", "год", "年份", "edad", "Numero", "N°", "Nº", "Lfd. Nr."),
    *("NMISS", "N_MISS", "Missing Values", "NrConsensus", "NrBasesACTG", "NrAFMultiple", "Block", "Plot", "Tray", "plot_id"),
    *("Total", "sum", "MEAN", "Average", "Row total", "Grand Total", "Distance", "closest distance", "Identity", "Best match", "Ct value"),
    *("Insert Size", "District", "Post Code", "Secondary Sample ID", "Date Entered", "Alternative ST", "date_entered", "datestamp"),
    *("Approximated Genome Size (Mbases)", "Estimated genome size", "Top Species Match Identity", "Import Date", "Nearest Neighbor"),
    *("Kleborate ST", "virulence_score", "resistance_score", "num_resistance_genes", "ambiguous_bases"),
    *("yr", "PMID", "NCBI taxid", "tax_id", "Days", "isoweek", "ISO week", "Visit", "Timepoint", "Time point", "count"),
)


@pytest.mark.parametrize("title", [*ADDED, *IN_BRACKETS, *NAMED])
def test_what_programs_add_to_titles_of_metadata(title):
    assert is_metadata_title(title)


@pytest.mark.parametrize(
    "title",
    ["sit", "sitA", "sbt", "DOB", "rep", "MT", "het", "t250", "PC1", "block1", "MST", "MLST7_a", "pas", "tax", "miss", "af"],
)
def test_words_that_are_also_genes(title):
    assert not is_metadata_title(title)


@pytest.mark.parametrize(
    "title", ["abcZ.1", "abcZ_x", "X", "X.abcZ", "abcZ (NEIS1015)", "niph", "group_x.1a", "gene.1", "trait", "x.5b", "pat", "dam_y"]
)
def test_what_programs_add_to_names_of_loci(title):
    assert is_metadata_title(title) == (title == "trait")


def test_titles_that_are_metadata_beside_others():
    assert metadata_columns_beside(["#IID", "PAT", "MAT", "SEX", "rs1"]) == [1, 2]
    assert metadata_columns_beside(["FID", "IID", "father", "Mother", "rs1"]) == [2, 3]
    assert metadata_columns_beside(["id", "pat", "mat", "dam"]) == []
    assert metadata_columns_beside(["FILE", "abcZ", "X", "X.1"]) == [2]
    assert metadata_columns_beside(["FILE", "EXC", "abcZ", "INF", "LNF"]) == [1, 3, 4]
    assert metadata_columns_beside(["A", "INF-3", "LNF", "PLOT3"]) == []
    assert metadata_columns_beside(["FILE", "abcZ", "X", "Y"]) == []
    assert metadata_columns_beside(["id", "t250", "t100", "t5", "L1"]) == [1, 2, 3]
    assert metadata_columns_beside(["id", "t250", "t251", "t5"]) == []
    assert metadata_columns_beside(["id", "t250", "L1"]) == []
    assert metadata_columns_beside(["id", "PC1", "PC2", "L1", "PC4"]) == [1, 2]
    assert metadata_columns_beside(["id", "PC1", "L1"]) == []
    assert metadata_columns_beside(["id", "Rep", "Block", "L1"]) == [1]
    assert metadata_columns_beside(["id", "Rep", "L1"]) == []


@pytest.mark.parametrize(
    "title", [*LOCI, "", "lin", "lin-28", "hiercc_1a", "rs123", "chr1:1000", "1_55_A_G", "SPA_1", "cat", "sta", "stA", "host1", "locus7"]
)
def test_loci_and_sites(title):
    assert not is_metadata_title(title)


@pytest.mark.parametrize(
    ("titles", "sites"),
    [
        ("L48 L49 L50 L51", {"L#"}),
        ("N50 L50 s1", set()),
        ("HC0 HC5 HC10 l1", set()),
        (" ".join(f"gene_cluster_{k}" for k in range(1, 11)), {"gene_cluster_#"}),
        (" ".join(f"gene_cluster_{k}" for k in range(1, 10)), set()),
        ("cluster_5 cluster_10 cluster_25", set()),
        ("N90 N100", {"N#"}),
    ],
)
def test_numbers_of_sites(titles, sites):
    words = titles.split()
    assert serial_stems(filter(is_metadata_title, words), words) == sites


@pytest.mark.parametrize(
    ("header", "width"),
    [
        ("id s1 s2", 1),
        ("rs# alleles chrom pos strand assembly# center protLSID assayLSID panelLSID QCcode NA1 NA2", 11),
        ("#CHROM POS ID REF ALT s1 s2", 5),
        ("CHR POS REF s1 s2", 2),
        ("snp ref alt s1 s2", 3),
        ("SNP Chromosome Position", 3),
        ("snp A1 A2 A3", 1),
        ("id chrom pos A1 A2 B1", 3),
        ("id chrom pos A1 A2 s1", 5),
        ("id chrom pos allele1 allele2 call_rate s1", 6),
        ("snp ref s1 alt", 1),
        ("snp reference s1 pos", 1),
        ("snp marker1 marker2", 1),
        ("snp s1 chrom pos", 1),
        ("pos Reference alt_strain s1", 1),
        ("pos REF ALT s1", 3),
    ],
)
def test_annotation_before_samples(header, width):
    assert annotation_column_count(header.split()) == width


@pytest.mark.parametrize(
    ("header", "titles", "annotation"),
    [
        ("#[1]CHROM\t[2]POS\t[3]A:GT\t[4]B:GT", "CHROM POS A B", [1]),
        ("# [1]CHROM\t[2]POS\t[3]A:GT", "CHROM POS A", [1]),
        ("#[1]ID\t[2]REF\t[3]A:TGT", "ID REF A", [1]),
        ("#[1]CHROM:[2]POS\t[3]run:1:GT\t[4]AC", "CHROM:POS run:1 AC", [2]),
        ("#[1]CHROM\t[2]POS\t[3]REF\t[4]ALT\t[5]A", "CHROM POS REF ALT A", [1, 2, 3]),
    ],
)
def test_titles_that_bcftools_numbers(header, titles, annotation):
    header = header.split("\t")
    assert is_numbered_header(header)
    found, describing = split_numbered_header(header)
    assert [title.lstrip("# ") for title in found] == titles.split()
    assert describing == annotation


@pytest.mark.parametrize("header", ["id [1]a [2]b", "#[1]CHROM A B", "#[1]ID", "#CHROM POS A:GT"])
def test_titles_that_bcftools_did_not_number(header):
    assert not is_numbered_header(header.split())
