"""Tables that can be read in two ways: each is refused, with what decides."""

import pytest
from command import gpualign_here

from gpualign.core.common.errors import InputError

HEADLESS = [
    ("S1,NA,NA\nS2,0,1\nS3,1,2\n", ""),
    ("S1,-9,-9\nS2,0,1\nS3,1,2\n", ""),
    ("S0 NA NA\nS1 0 NA\nS2 1 1\n", ""),
    ("S1\tA\tX\tC\nS2\tG\tC\tC\nS3\tA\tC\tT\n", ""),
    ("S1,A,0,C\nS2,A,C,T\nS3,C,C,T\n", "--missing-code 0"),
    ("S1,XX,XX,0\nS2,0,1,2\nS3,1,1,2\n", "--missing-code XX"),
    ("S1,ND,ND,12\nS2,10,1,2\nS3,1,11,2\n", "--missing-code ND"),
    ("S1,missing,0,1\nS2,0,1,2\nS3,1,1,2\n", "--missing-code missing"),
    ("A\t12\t5\t33\nB\t1\t5\t3\nC\t2\t4\t3\n", ""),
    ("sample\t1\t2\t3\n1\t7\t4\t12\n2\t7\t5\t12\n3\t3\t3\t9\n", ""),
]
LONGER_ROWS = [
    ("marker\tS1\tS2\tS3\nm1\t0\t1\t2\t\nm2\t1\t2\t0\t\n", "--transpose"),
    ("sample,a,b\nL1,0,1,\nL2,1,1,\n", ""),
    ("line,a,b,c\nL1,0,1,2,\nL2,1,2,2,\n", ""),
    ("id\ta\tb\nS1\t0\t1\t2\nS2\t1\t1\t0\n", ""),
    ("id a b\nAnn 1 0 1\nBob 2 1 1\n", ""),
]
MATRICES = [
    '"","101","102","103"\n"101",NA,1,2\n"102",1,NA,2\n"103",2,2,NA\n',
    '"","S.1","S.2","S.3"\n"S-1",0,1,2\n"S-2",1,0,2\n"S-3",2,2,0\n',
    '"","X1A","X2A","X3A"\n"1A",0,1,2\n"2A",1,0,2\n"3A",2,2,0\n',
    "id\ta.fa\tB.fasta.gz\nA\t0\t1\nb\t1\t0\n",
    "id,1001,1002,1003\n1001,100,98,97\n1002,98,100,96\n1003,97,96,100\n",
    "\tA\tB\tC\nA\t0\t1\t2\nB\t1\t0\t1\n",  # some rows of one
    "id,year,S1,S2,S3\nS2,2001,1,0,2\nS1,2002,0,1,2\nS3,2003,2,2,0\n",  # beside metadata, which are left out
    "id;A;B;C\nA;0;0,25;0,5\nB;0,25;0;0,1\nC;0,5;0,1;0\n",
    "id\tA\tB\tC\nmean\t5\t5\t5\nA\t0\t12\t15\nB\t12\t0\t9\nC\t15\t9\t0\n",
]
LIKE_MATRICES = [
    "S0 S1 S2 S3\n0 5 18 20\n5 0 10 21\n18 10 0 8\n20 21 8 0\n",
    "id,p,q,r,s\na,0,1,2,1\nb,1,0,1,2\nc,2,1,0,2\nd,1,2,2,0\n",
]
CROSSES = [
    ("id,m1,m2,m3\nP1,A,B,H\nP2,B,A,H\nP3,A,A,U\n", "--type abh with --missing-code U;"),
    ("id,m1,m2,m3\nP1,A,B,X\nP2,B,A,X\nP3,A,A,B\n", "--type abh with --missing-code X;"),
    ("id,m1,m2,m3,m4\nP1,A,B,H,G\nP2,B,A,H,A\nP3,A,A,B,B\n", "--type abh with --missing-code G;"),
    ("id\tB1\tB2\nr1\tB\tD\nr2\tB\tB\nr3\tD\tB\n", "the letters B, D may be .*--all-letters"),
]
ALLELES = [
    ("id,height,m1,m2,m3\nP1,163,0,1,2\nP2,158,2,0,0\nP3,163,1,0,2\n", "a genotype, as columns other than 'height' .*--ignore-columns"),
    ("id,m1,m2,m3\nP1,0,1,88\nP2,2,88,0\nP3,1,0,0\n", r"88 may be a missing call \(--missing-code 88\) or an allele"),
    ("id,m1,m2,m3\nP1,0,1,88\nP2,2,99,0\nP3,1,0,0\n", r"missing calls \(--missing-code 88,99\) or alleles"),
    ("id,m1,m2,m3\nP1,0,1,9\nP2,2,99,0\nP3,1,0,0\n", r"missing calls \(--missing-code 9,99\) or alleles"),
    ("id,m1,m2\nP1,0,4\nP2,3,99\nP3,0,2\n", r"dosages .* with 99 as a missing call \(--ploidy 4 and --missing-code 99\)"),
    ("id,a,b\nA,0,X\nB,1,4\nC,2,3\n", r"numbers from 0 to 4 may be alleles .* or dosages"),
    ("id\tST\ta\tb\nA\t1\t-1\t0\nB\t2\t1\t0\n", "--type calls, or --type centred for -1, 0 and 1"),
]
DIGIT_PAIRS = [
    "id\tL1\tL2\tL3\nA\t00\t01\t10\nB\t01\t10\t11\nC\t11\t01\t10\n",
    'id,L1,L2,L3\nA,"00",NA,12\nB,11,22,01\n',
]
DOSAGES = [
    "id\ta\tb\tc\nP1\t0\t2\t10\nP2\t3\t1\t6\n",
    "id\ta\tb\tc\nP1\t0\t2\t12\nP2\t3\t1\t8\n",
]
UNKNOWN_CELLS = [
    ("id\ta\tb\nA\tND\t0\nB\t1\t2\n", "", "'ND' in a table of genotypes.*; --missing-code ND if it is a missing call"),
    ("id\ta\tb\nA\tn d\t0\nB\t1\t2\n", "", "; --missing-code 'n d' if it is a missing call"),
    (
        "id,a,b\nA,10,1.23E+15\nB,11,40\n",
        "",
        r"'1.23E\+15' in a table of alleles: a spreadsheet has rounded a long number; export the table",
    ),
    ("id,a,b\nA,0,1\nB,ND,40\n", "", "'ND' in a table of alleles.*; --missing-code ND if it is a missing call"),
    ("id,a,b\nA,A,C\nB,0,T\n", "", "'0' in a table of letters.*; --missing-code 0 if it is a missing call"),
    ("id\ta\tb\nA\t0\t9\nB\t1\t2\n", "--type calls", "'9' in a table of genotypes.*; --missing-code 9 if it is a missing call"),
    ("\ta" * 200 + "\nA\t123456789012345678" + "\t0" * 199, "", "expected 0, 1, 2; --ignore-columns leaves out columns that are not sites"),
    ("id\ta\tb\nA\tAA\tAG\nB\tGG\tAG\n", "", "write genotypes as the number of alleles that are not the reference"),
    ("id\ta\tb\nA\tA/G\tA/A\nB\tG/G\tA/G\n", "", "write genotypes as the number of alleles that are not the reference"),
]
RARE_ALLELES = [(f"id\ta\tb\nA\t1\t2\nB\t{cell}\t1\n", "", "alleles are read with --type alleles") for cell in ("2?", "~1", "1;2", "X")]
DECIMAL_COMMAS = [
    ("id\ta\tb\nA\t11\t0,0\nB\t12\t5\nC\t13\t6\n", "--type alleles"),
    ("id\ta\tb\nA\t11\t7,0\nB\t12\t5\nC\t13\t6\n", "--type alleles"),
    ("id\ta\tb\nA\t1\t0,0\nB\t2\t1\nC\t0\t2\n", "--type calls"),
    ("id\tA\tB\tC\na\t11\t12\t13\nb\t0,0\t5\t6\n", "--type alleles --transpose"),
]
SITES_AS_ROWS = [
    ("marker,chrom,pos,L1,L2\nm1,1,1200,0,1\nm2,1,5000,1,1\n", "columns 'chrom', 'pos' are annotation of sites .*--transpose"),
    ("rs# alleles chrom pos S1 S2\nr1 A/G 1 5 A G\n", "'alleles', 'chrom', 'pos' are annotation of sites .*--ignore-columns"),
    (",FID,IID,PAT,MAT,SEX,PHENOTYPE,rs1_A\n1,F1,I1,0,0,1,-9,0\n2,F2,I2,0,0,2,-9,2\n", "PLINK's .raw, but the first one is ''"),
    ("#[1]CHROM\t[2]POS\t[3]A:GT\nc1\t9\t1\n", r"rows are sites, by the titles .* \('\[2\]POS'\); read it with --transpose"),
    ("#[1]ID\t[2]A:GT\t[3]B:GT\nr1\t0\t1\n", "rows are sites, by the titles .*--transpose"),
    ("id,a\rS1,1\rS2,2\r", "carriage returns alone"),
]
JOINED = [
    ("FILE\t101\t102\nx\t1\t12\nFILE\t101\t102\ny\t1\t13\n", "", "line 3 repeats the header, so several tables were joined"),
    ('"id","A","C"\n"x","A","C"\n"id","A","C"\n"y","A","G"\n', "", "line 3 repeats the header"),
    (",A,C\nx,A,C\n,A,C\ny,A,G\n", "", "line 3 repeats the header"),
    ("strain rs1 rs2\nx A C\n\nstrain rs1 rs2\ny A G\n", "", "line 4 repeats the header"),
    ("FID IID A C\n1 x A C\nFID IID A C\n1 y A G\n", "", "line 3 repeats the header"),
    ("locus\tA\tC\nx\tA\tC\nlocus\tA\tC\ny\tA\tG\n", "--transpose", "line 3 repeats the header"),
    ("id\tA\tC\nx\tA\tC\nid\tC\tA\ny\tA\tG\n", "", "line 3 begins with 'id' like the header"),
    ("id\tA\tC\nx\tA\tC\nid\tC\tA\ny\tA\tG\n", "--transpose", "line 3 begins with 'id' like the header"),
]
ABOVE_THE_HEADER = [
    "# nrow 2\n# ncol 3\nid,m1,m2,m3\nA,1,0,2\n",
    "# nrow 2,,,\n# ncol 3,,,\nid,m1,m2,m3\nA,1,0,2\n",
    "# nrow 2,,,\nid,m1,m2,m3\nA,1,0,2\n",
    "Table 1. Alleles,,,\nid,m1,m2,m3\nA,1,0,2\n",
    "# chewBBACA 3.3\n# 2024\nFILE\ta\tb\nA\t1\t12\n",
    "# one\nFILE,a,b\nA,1,12\nB,1,13\n",
    "## x, y\nFILE,a,b\nA,1,12\n",
    "# x, y, z\nid,m1\nA,1\nB,1\n",
    '"## x"\nid,m1\nA,1\nB,1\n',
    "# a b c\nid m1\nA 1\nB 1\n",
]
PAIRS = [
    "s1\ts2\t3\ns1\ts3\t4\ns2\ts3\t5\n",
    "a\tb\tdist\ns1\ts2\t3\ns1\ts3\t4\ns2\ts3\t5\n",
    "Var1;Var2;value\ns1;s2;0,25\ns2;s3;0,5\n",
]
CASES = [
    *((text, "", "first line (is a comment|has a single cell).*; delete what is above the header") for text in ABOVE_THE_HEADER),
    *((text, "", "is a list of pairs.*--edges") for text in PAIRS),
    (",id,a,b\n,A,1,12\n,B,1,13\n", "", "the first column is empty and the ids seem to be below 'id'; delete the first column"),
    *JOINED,
    *((text, "", message) for text, message in SITES_AS_ROWS),
    *((text, "", message) for text, message in ALLELES),
    *((text, "", "numbers of two digits such as 01 may be genotypes, or .*--type alleles") for text in DIGIT_PAIRS),
    *((text, "--transpose", "numbers of two digits such as 01 may be genotypes, or .*--type alleles") for text in DIGIT_PAIRS),
    *((text, "", r"\(--type alleles\), or dosages of a polyploid, which are read up to --ploidy 8$") for text in DOSAGES),
    *UNKNOWN_CELLS,
    *RARE_ALLELES,
    *((text, options, "has numbers with commas beside whole numbers in it") for text, options in DECIMAL_COMMAS),
    *((text, "", message) for text, message in CROSSES),
    *((text, options, "use --no-header if it is a row") for text, options in HEADLESS),
    *((text, options, "the first row has one cell more than the header") for text, options in LONGER_ROWS),
    *((text, "", r"this is a matrix \(its rows and columns have the same ids\)") for text in MATRICES),
    ("".join(f"s{row}\n" for row in ("1,0,1,2,1", "2,1,0,1,2", "3,2,1,0,1", "4,1,2,1,0")), "--no-header", "may be a matrix of distances"),
    ("0,1,2,1\n1,0,1,2\n2,1,0,1\n1,2,1,0\n", "--no-header", "may be a matrix of distances"),
    *((text, "", r"may be a matrix of distances .*--type calls, or --type alleles") for text in LIKE_MATRICES),
]


@pytest.mark.parametrize(("text", "options", "message"), CASES)
def test_what_can_be_read_in_two_ways(tmp_path, text, options, message):
    (tmp_path / "x").write_text(text)
    with pytest.raises(InputError, match=message):
        gpualign_here("dist", tmp_path / "x", *options.split())


@pytest.mark.parametrize(
    "text",
    [
        "id\tadk\tfumC\nA\t5;7\t4\nB\t7\t5\nC\t7\t4\n",
        "id\tadk\tfumC\nA\t7?\t4\nB\t7\t5\nC\t7\t4\n",
        "id\tadk\tfumC\nA\t~7\t4\nB\t7\t5\nC\t7\t4\n",
        "id\tadk\tfumC\nA\tX\t4\nB\t7\t5\nC\t7\t4\n",
        "id\tadk\tfumC\nA\tNone\t4\nB\t7\t5\nC\t7\t4\n",
        "Name\tST\tadk\tfumC\nA\t5\t-7\t4\nB\t7\t7\t5\nC\t7\t7\t4\n",
    ],
)
def test_small_schemes_with_missing_alleles(tmp_path, text):
    (tmp_path / "x").write_text(text)
    out, messages = gpualign_here("dist", tmp_path / "x")
    assert out == b"\tA\tB\tC\nA\t0\t1\t0\nB\t1\t0\t1\nC\t0\t1\t0\n"
    assert "read as alleles, 0 meaning" in messages


def test_words_for_missing_genotypes(tmp_path):
    (tmp_path / "x").write_text("id\ta\tb\tc\td\nA\t0\tNone\t1\t2\nB\tN/A\t0\t2\t<NA>\nC\t1\t1\tNULL\t#N/A\n")
    assert gpualign_here("dist", tmp_path / "x")[0] == b"\tA\tB\tC\nA\t0\t1\t1\nB\t1\t0\t1\nC\t1\t1\t0\n"


@pytest.mark.parametrize(("cells", "is_told"), [("0 2 10 3 1 12", True), ("0 2 10 3 1 31", False), ("1 2 10 3 1 12", False)])
def test_dosages_beyond_the_largest_ploidy_are_told(tmp_path, cells, is_told):
    (tmp_path / "x").write_text("id {} {} {}\nP1 {} {} {}\nP2 {} {} {}\n".format("r1", "r2", "r3", *cells.split()))
    messages = gpualign_here("dist", tmp_path / "x")[1]
    assert ("; dosages are read up to --ploidy 8" in messages) is is_told


@pytest.mark.parametrize("text", ["id,a,b\nA,01,02\nB,11,31\n", "FILE,a,b\nA,01,02\nB,11,12\n", "id,a,b\nA,10,12\nB,11,12\n"])
def test_alleles_of_two_digits(tmp_path, text):
    (tmp_path / "x").write_text(text)
    assert "read as alleles, 0 meaning" in gpualign_here("dist", tmp_path / "x")[1]


def test_a_title_that_says_that_rows_are_sites(tmp_path):
    (tmp_path / "x").write_text("Gene\tS1\tS2\tS3\ng1\t0\t1\t1\ng2\t1\t1\t0\n")
    _, messages = gpualign_here("dist", tmp_path / "x")
    assert "rows are read as samples, although the first cell is 'Gene'; --transpose reads columns as samples" in messages
    assert "Gene" not in gpualign_here("dist", tmp_path / "x", "--transpose")[1]


def test_codes_of_letters_are_of_either_case(tmp_path):
    (tmp_path / "x").write_text("id,a,b\nP1,A,u\nP2,H,B\n")
    for code in "uU":
        out, _ = gpualign_here("dist", tmp_path / "x", "--missing-code", code)
        assert out == b"\tP1\tP2\nP1\t0\t1\nP2\t1\t0\n"


def test_letters_for_two_nucleotides_are_named(tmp_path):
    (tmp_path / "x").write_text("id,a,b,c\nP1,A,R,C\nP2,G,A,C\nP3,G,y,T\n")
    _, messages = gpualign_here("dist", tmp_path / "x")
    assert "R, Y are read as missing calls, because each stands for two nucleotides; --all-letters compares every letter" in messages
    assert "two nucleotides" not in gpualign_here("dist", tmp_path / "x", "--type", "calls")[1]


READ = [
    ("# id\ta\tb\n#1\t1\t12\n#2\t1\t13\n", "", [[0, 1], [1, 0]]),
    ("marker\tA\tC\nid\tA\tC\nx\tA\tC\n", "--transpose", [[0, 1], [1, 0]]),
    ("FILE\tA\tC\nx\tA\tC\nFILE\tA\tC\n", "--transpose", [[0, 1], [1, 0]]),
    ("A\tB\nB\tA\tC\nA\tA\tT\n", "", [[0, 1], [1, 0]]),
    ("1,0,1,2,1\n2,1,0,1,2\n3,2,1,0,1\n4,1,2,1,0\n", "--no-header --type calls", [[0, 4, 2, 4], [4, 0, 4, 2], [2, 4, 0, 4], [4, 2, 4, 0]]),
    ("Sample,1000,1037,1074\nP1,0,3,4\nP2,2,1,0\n", "--ploidy 4", [[0, 3], [3, 0]]),
    ("Taxa,1000,1037,1074\nP1,0,1,9\nP2,2,1,0\n", "--type calls --missing-code 9", [[0, 1], [1, 0]]),
    ("marker\t101\t102\nm1\t0\t3\nm2\t2\t1\n", "--transpose --ploidy 4", [[0, 2], [2, 0]]),
    ("locus\t43435\t57678\nadk\t12\t12\nfumC\t7\t9\n", "--transpose", [[0, 1], [1, 0]]),
    ("SNP,A,C\nr1,A,G\nr2,C,C\n", "--transpose", [[0, 1], [1, 0]]),
    (",0,1\n0,0,1\n1,0,0\n", "", [[0, 1], [1, 0]]),
    ("\t20231234\t7\nadk\t5\t6\nfumC\t11\t11\n", "--transpose", [[0, 1], [1, 0]]),
    ("a,b,c\nS1,0,1,\nS2,1,1,0\n", "", [[0, 1], [1, 0]]),
]


@pytest.mark.parametrize(("text", "options", "expected"), READ)
def test_what_has_one_reading_is_read(tmp_path, text, options, expected):
    (tmp_path / "x").write_text(text)
    out, _ = gpualign_here("dist", tmp_path / "x", *options.split())
    assert [list(map(int, line.split("\t")[1:])) for line in out.decode().splitlines()[1:]] == expected


def test_one_sample_in_a_column_is_no_matrix_of_phylip(tmp_path):
    (tmp_path / "n").write_text("\t20231234\nadk\t5\nfumC\t11\n")
    (tmp_path / "o").write_text("\t7\t8\nadk\t5\t6\nfumC\t12\t11\n")
    out, _ = gpualign_here("dist", tmp_path / "n", tmp_path / "o", "--transpose")
    assert out == b"\t7\t8\n20231234\t1\t1\n"


def test_slips_are_told_with_what_they_may_be(tmp_path, rng):
    cells = rng.integers(0, 3, (6, 120)).astype(str).astype(object)
    cells[1, 3] = cells[2, 9] = "5"
    text = [",".join(["id", *(f"r{k}" for k in range(120))]), *(",".join([f"s{k}", *row]) for k, row in enumerate(cells.tolist()))]
    (tmp_path / "x").write_text("\n".join(text) + "\n")
    with pytest.raises(InputError, match=r"'5' in a table of genotypes; .*--missing-code 5 if it is a missing call"):
        gpualign_here("dist", tmp_path / "x")
    (tmp_path / "x").write_text("\n".join(text).replace("5", "177") + "\n")
    with pytest.raises(InputError, match=r"--missing-code 177 if it is a missing call; --ignore-columns leaves out columns"):
        gpualign_here("dist", tmp_path / "x")


def test_alleles_that_are_nearly_all_1_and_2(tmp_path, rng):
    cells = rng.integers(1, 3, (6, 120)).astype(str).astype(object)
    cells[1, 3] = "3"
    text = [",".join(["Isolate", *(f"r{k}" for k in range(120))]), *(",".join([f"s{k}", *row]) for k, row in enumerate(cells.tolist()))]
    (tmp_path / "x").write_text("\n".join(text) + "\n")
    assert "read as alleles, 0 meaning" in gpualign_here("dist", tmp_path / "x")[1]
