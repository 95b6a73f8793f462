"""Where sites lie: BED files, regions of the command line, and which sites they cover, by plain loops."""

import gzip
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sites import stream

from gpualign.core.common.errors import InputError
from gpualign.core.distance.intervals import parse_regions, read_bed
from gpualign.core.distance.positions import AlignmentColumns, VariantPositions


def bed(text):
    return read_bed(stream(text), "m.bed")


@given(
    st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 60), st.integers(0, 20)), max_size=8),
    st.lists(st.tuples(st.sampled_from("xyzw"), st.integers(-1, 70)), min_size=1, max_size=40),
)
def test_intervals_cover_what_lies_in_one_of_them(intervals, sites):
    """BED counts from 0 and ends before its end, positions count from 1."""
    found = bed("".join(f"{name}\t{start}\t{start + size}\n" for name, start, size in intervals))
    variants = VariantPositions.of("x.vcf", sites)
    inside = [any(name == chrom and start < pos <= start + size for name, start, size in intervals) for chrom, pos in sites]
    known = {chrom for chrom, _ in sites}
    named = list(dict.fromkeys(name for name, _, _ in intervals))
    assert variants.absent_chromosomes(found) == [name for name in named if name not in known]
    if named and not known & set(named):
        with pytest.raises(InputError, match=r"m\.bed: line 1: no site of x\.vcf is on "):
            variants.covered_mask(found)
    else:
        assert variants.covered_mask(found).tolist() == inside


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 10)), min_size=1, max_size=5))
def test_regions_of_columns(regions):
    """The same names stand for the same stretches, in whatever form."""
    columns = AlignmentColumns("x.aln", 50)
    expected = [any(first <= column <= first + more for first, more in regions) for column in range(1, 51)]
    assert columns.covered_mask(parse_regions(",".join(f"r:{first}-{first + more}" for first, more in regions))).tolist() == expected
    assert columns.covered_mask(bed("".join(f"r {first - 1} {first + more}\n" for first, more in regions))).tolist() == expected


def test_forms_of_regions():
    columns = AlignmentColumns("x.aln", 9)

    def found(text):
        return "".join(str(k) for k in np.flatnonzero(columns.covered_mask(parse_regions(text))) + 1)

    with pytest.raises(InputError, match=r"'chr': there is no file of this name, and as a region it would be all of x\.aln"):
        found("chr")
    assert found("chr:3") == "3"
    assert found("chr:3-5") == "345"
    assert found("chr:7-") == "789"
    assert found("chr:7-, chr:2 ,chr:2-3") == "23789"
    assert found("HLA-A*01:01:3-4") == "34"


def test_what_bed_files_hold():
    columns = AlignmentColumns("x.aln", 9)
    lines = [
        "\ufefftrack name=x description='a b'",
        "browser position x:1-5",
        "# a comment",
        "",
        "x\t1\t3\tname\t0\t+",
        "  x 5 5 ",
        "x\t8\t9",
    ]
    for end in ("\n", "\r\n"):
        text = end.join(lines).encode()
        for content in (text, text + end.encode(), gzip.compress(text)):
            assert (np.flatnonzero(columns.covered_mask(bed(content))) + 1).tolist() == [2, 3, 9]
    assert not columns.covered_mask(bed("# nothing\n")).any()
    assert columns.covered_mask(bed("a name with blanks\t0\t9\n")).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\t1\t3\nx\t5\n", "m.bed: line 2: expected at least 3 columns, found 2. BED has a line for each interval"),
        ("x\n", "m.bed: line 1: expected at least 3 columns, found 1"),
        ("#\nx\tone\t3\n", "m.bed: line 2, column 2: expected a position, found 'one'"),
        ("x\t1\t-3\r\n", "m.bed: line 1, column 3: expected a position, found '-3'"),
        ("x\t1\t3.5\n", "m.bed: line 1, column 3: expected a position, found '3.5'"),
        ("x\t1\t" + "9" * 5000, "m.bed: line 1, column 3: expected a position, found '999"),
        ("x\t7\t3\n", "m.bed: line 1, columns 2 and 3: the start 7 is after the end 3"),
        ("chrom\tstart\tend\nx\t1\t2\n", "m.bed: line 1, column 2: expected a position, found 'start'"),
        (b"\x6c\x1b\x01\x00\x00", "m.bed: a PLINK fileset of genotypes, not BED text"),
        (b"x\t1\0", "m.bed: a binary file, not BED text"),
        (gzip.compress(b"x\t1\t2\n" * 999)[:-9], "m.bed: truncated gzip file"),
    ],
)
def test_bed_that_is_refused(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        bed(text)


@given(
    st.lists(st.sampled_from(["x", "chr1", "track", "#", "1", "20", "-3", "+4", "\t", " ", "\n", "\r\n", "é"]), max_size=30).map("".join)
)
def test_any_text_is_bed_or_refused(text):
    """As lines of three columns or more, or with a message that names the line."""
    lines = [line for line in text.split("\n") if line.split() and line.split()[0] != "track" and not line.strip().startswith("#")]
    try:
        found = bed(text)
    except InputError as error:
        message = str(error)
    else:
        assert sum(len(some.starts) for some in found.chromosome_intervals.values()) == len(lines)
        return
    number, column = re.match(
        r"m\.bed: line ([0-9]+)(?:, columns? ([23])(?: and 3)?: (?:expected a position|.* is after)|: expected at least 3 columns)", message
    ).groups()
    if column:
        assert text.split("\n")[int(number) - 1] in lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a region, found ''"),
        ("x:1-2,", "expected a region, found ''"),
        ("1,,2", "expected a region, found ''"),
        ("x:7-5", "'x:7-5': the region ends before it begins"),
        ("x:1,000-2", "'x:1,000-2': the region ends before it begins"),
        ("1:5,100", "'1:5,100' may be one region or several; write 1:5100, or 1:5,{100}"),
        ("2,1:1-2,100,200,X", "'1:1-2,100,200' may be one region or several; write 1:1-2100200, or 1:1-2,{100},{200}"),
    ],
)
def test_regions_that_are_refused(text, message):
    with pytest.raises(InputError, match=r"^regions: .*" + re.escape(message)):
        parse_regions(text)


@pytest.mark.parametrize(
    ("intervals", "message"),
    [
        (bed("x\t1\t3\ny\t1\t3\n"), "m.bed: line 2: a second chromosome, 'y' after 'x'; x.aln is an alignment"),
        (bed("x\t1\t3\nx\t8\t11\n"), "m.bed: line 2: the interval reaches to 11, x.aln has 10 columns"),
        (parse_regions("x:0-5"), "regions: 'x:0-5': columns of an alignment count from 1"),
        (parse_regions("x"), "regions: 'x': there is no file of this name, and as a region it would be all of x.aln"),
        (parse_regions("x:11-"), "regions: 'x:11-': the interval begins at 11, x.aln has 10 columns"),
    ],
)
def test_intervals_that_are_of_no_alignment(intervals, message):
    with pytest.raises(InputError, match=re.escape(message)):
        AlignmentColumns("x.aln", 10).covered_mask(intervals)
    assert AlignmentColumns("x.aln", 11).covered_mask(parse_regions("x:11-")).any()


@pytest.mark.parametrize("text", ["x:a-b", "x:-5", "x:5-7-9", ":5", "x:" + "9" * 30])
def test_texts_that_are_neither_regions_nor_chromosomes(text):
    with pytest.raises(
        InputError, match=f"regions: '{text}': no site of x.vcf is on '{text}'; its chromosomes are 'x'; write CHR, CHR:POS, "
    ):
        VariantPositions.of("x.vcf", [("x", 5)]).covered_mask(parse_regions(text))
    with pytest.raises(InputError, match=f"regions: '{text}': there is no file of this name, .*: write columns as NAME:FROM-TO"):
        AlignmentColumns("x.aln", 9).covered_mask(parse_regions(text))


LONG, SHORT = "HLA-A*01:01:01:01", "HLA-A*01:01:01"


@pytest.mark.parametrize(
    ("chromosomes", "text", "expected"),
    [
        ([LONG, "1"], LONG, [(LONG, 1), (LONG, 2)]),
        ([SHORT, "1"], LONG, [(SHORT, 1)]),
        ([SHORT, LONG], f"{{{LONG}}}", [(LONG, 1), (LONG, 2)]),
        ([SHORT, LONG], f"{{{SHORT}}}:01", [(SHORT, 1)]),
        ([SHORT, LONG], f"1:2,{LONG}:2-3", [("1", 2), (LONG, 2)]),
        (["HLA-B*44:02N"], "HLA-B*44:02N,1:1", [("HLA-B*44:02N", 1), ("HLA-B*44:02N", 2), ("1", 1)]),
    ],
)
def test_chromosomes_whose_names_have_colons(chromosomes, text, expected):
    sites = [(name, k) for name in dict.fromkeys([*chromosomes, "1"]) for k in (1, 2)]
    positions = VariantPositions.of("x.vcf", sites)
    found = positions.covered_mask(parse_regions(text))
    assert sorted(site for site, covered in zip(sites, found, strict=True) if covered) == sorted(expected)
    assert not positions.absent_chromosomes(parse_regions(text))


def test_region_that_is_both_a_chromosome_and_a_position():
    message = f"regions: '{LONG}' is a chromosome of x.vcf, but may also be a position on its chromosome '{SHORT}'; write {{{LONG}}} or"
    with pytest.raises(InputError, match=re.escape(f"{message} {{{SHORT}}}:01")):
        VariantPositions.of("x.vcf", [(SHORT, 1), (LONG, 1)]).covered_mask(parse_regions(LONG))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1:1,000-2,000", "1:1000-2000"),
        ("2, 1:1-1,000,000 ,3", "2,1:1-1000000,3"),
        ("1:12,345-123,456,789,2:5", "1:12345-123456789,2:5"),
        ("1:2,050", "1:2050"),
        ("1:1,500-", "1:1500-"),
        ("1:900-1,100,X", "1:900-1100,X"),
        ("1:1000,200", "1:1000,{200}"),
    ],
)
def test_commas_between_thousands(text, plain):
    def found(text):
        return {name: (some.starts.tolist(), some.stops.tolist()) for name, some in parse_regions(text).chromosome_intervals.items()}

    assert found(text) == found(plain)


def test_chromosomes_that_are_not_there():
    variants = VariantPositions.of("x.vcf", [(f"chr{k}", 5) for k in range(1, 9)])
    with pytest.raises(InputError, match=r"regions: '1:5': no site of x.vcf is on '1'; its chromosomes are 'chr1', .*'chr5' and 3 more"):
        variants.covered_mask(parse_regions("chr1,1:5"))  # who writes a name wants it
    assert variants.covered_mask(bed("chr1\t0\t9\nchrM\t0\t9\n")).sum() == 1  # a file may be for more than this input
    assert not variants.covered_mask(bed("")).any()
    with pytest.raises(InputError, match=r"m.bed: line 1: no site of x.vcf is on '1'"):
        variants.covered_mask(bed("1\t0\t9\n2\t0\t9\n"))
