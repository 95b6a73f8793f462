"""What every kind of file is read as, and what is refused: file, place and reason."""

import csv
import gzip
import io
import tempfile
from itertools import pairwise

import numpy as np
import pytest
from distance_oracle import compute
from hypothesis import given
from hypothesis import strategies as st
from sites import panels_of, stream, write_fileset

from gpualign.core.common.errors import InputError
from gpualign.core.distance.calls import MISSING, CallKind, ComparedLetters, aligned_row_code_table
from gpualign.core.distance.count_recipe import NeededSites
from gpualign.core.distance.readers.alignment import AlignmentText, read_alignments
from gpualign.core.distance.readers.base import RowStore
from gpualign.core.distance.readers.plink_bed import read_bed_filesets
from gpualign.core.distance.readers.table import read_tables
from gpualign.core.distance.tables.options import CallOptions, TableType
from gpualign.cpu.distance.engine import CpuDistanceEngine

M = MISSING


def alignment(texts, scratch, all_letters=False, allow=False, memory=1 << 20, gaps_missing=False):
    options = CallOptions(all_letters=all_letters, allow_duplicates=allow, gaps_missing=gaps_missing)
    return read_alignments([AlignmentText(stream(t), f"{k}.fa") for k, t in enumerate(texts)], options, memory, scratch)


def table(texts, scratch, transpose=False, all_letters=False, allow=False, memory=1 << 20, header=True, type=TableType.AUTO):
    inputs = [(stream(t), f"{k}.tsv") for k, t in enumerate(texts)]
    return read_tables(inputs, CallOptions(transpose, not header, all_letters, allow, type), memory, scratch, lambda _: None)


# ---- alignments


def test_letters_of_an_alignment(scratch):
    source = alignment([">a first\nACGT\nuNry\n>b\r\nacgt\r\nT-.*\r\n\r\n>c\nAC\nGTT\nCGA\n"], scratch)
    codes, omitted = panels_of(source)
    assert source.samples.queries.ids == ["a", "b", "c"]
    assert source.kind is CallKind.NUCLEOTIDE
    assert source.site_count == 8
    assert omitted.sites_by_code == {0: 1, 1: 1, 2: 1, 3: 2}  # A, C, G, T, and T with U
    np.testing.assert_array_equal(codes, [[M, M, M], [M, M, M], [1, 2, 0]])


def test_all_letters(scratch):
    codes, _ = panels_of(alignment([">a\nAN-e\n>b\nARnE\n"], scratch, all_letters=True))
    np.testing.assert_array_equal(codes, [[*b"N-"], [*b"RN"]])


def test_gaps_of_proteins(scratch):
    """Amino acids are calls, or all letters; gaps are missing in both."""

    def columns(**options):
        source = alignment([">a\nMKVLFQX-*BUil\n>b\nMKVLFQA.?ZOLi\n"], scratch, gaps_missing=True, **options)
        assert source.kind is CallKind.LETTER
        codes, omitted = panels_of(source)
        assert {chr(code): count for code, count in omitted.sites_by_code.items()} == dict.fromkeys("MKVLFQ", 1)
        return sorted("".join("?" if code == M else chr(code) for code in column) for column in codes.T.tolist())

    assert columns() == sorted(["?A", "??", "??", "??", "UO", "IL", "LI"])
    assert columns(all_letters=True) == sorted(["XA", "??", "*?", "BZ", "UO", "IL", "LI"])
    assert alignment([">a\nACGTN-\n>b\nACGTA-\n"], scratch, gaps_missing=True).kind is CallKind.NUCLEOTIDE


@given(
    st.integers(1, 6),
    st.integers(1, 300),
    st.sampled_from([0.0, 0.01, 0.5]),
    st.sampled_from([0.0, 0.05, 0.9]),
    st.integers(1, 90),
    st.integers(1, 40),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_alignments_of_any_likeness(rows, sites, differing, missing, line, piece, spill, seed):
    """Sparse and dense rows, in memory and in the scratch file, fed in any pieces: the same calls."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(rng.integers(0, 4, (1, sites), dtype=np.uint8), rows, axis=0)
    changed = rng.random(codes.shape) < differing
    codes[changed] = rng.integers(0, 4, int(changed.sum()), dtype=np.uint8)
    starts = rng.random(codes.shape) < missing / 10
    for shift in range(min(10, sites)):
        codes[:, shift:][starts[:, : sites - shift]] = MISSING
    letters = np.array([*b"ACGT"] + [0] * 251 + [*b"N"], np.uint8)[codes]
    text = b""
    for k, row in enumerate(letters):
        body = row.tobytes()
        text += b">s%d\n" % k + b"\n".join(body[i : i + line] for i in range(0, sites, line)) + b"\n"

    class Slow:
        at = 0

        def read(self, _):
            self.at += piece
            return text[self.at - piece : self.at]

    with tempfile.TemporaryFile() as file:
        source = read_alignments([AlignmentText(Slow(), "x")], CallOptions(), 0 if spill else 1 << 20, lambda: file)
        everything, omitted = panels_of(source, panel_bytes=1)
        agree = np.array([len(set(codes[:, k])) == 1 and codes[0, k] != MISSING for k in range(sites)])
        np.testing.assert_array_equal(everything, codes[:, ~agree])
        assert omitted.site_count == agree.sum()
        assert omitted.sites_by_code == {c: int((codes[0, agree] == c).sum()) for c in set(codes[0, agree].tolist())}
        varies = np.array([len(set(codes[:, k].tolist()) - {MISSING}) > 1 for k in range(sites)])
        np.testing.assert_array_equal(panels_of(source, NeededSites.DIFFERENCES)[0], codes[:, varies])
        compared = panels_of(source, NeededSites.COMPARED)[0]
        rest = ~varies & (codes == MISSING).any(axis=0)
        expected = np.concatenate([codes[:, varies], np.where(codes[:, rest] == MISSING, MISSING, 0)], axis=1)
        np.testing.assert_array_equal(compared, expected)
        complete, left = panels_of(source, NeededSites.COMPARED, complete=True)
        np.testing.assert_array_equal(complete, codes[:, varies & ~(codes == MISSING).any(axis=0)])
        assert complete.shape[1] + left.site_count == (~(codes == MISSING).any(axis=0)).sum()


def test_alignments_give_the_distances_of_their_calls(rng, scratch):
    """What is left out of panels is counted all the same, for every metric and rule."""
    codes = np.repeat(rng.integers(0, 4, (1, 3000), dtype=np.uint8), 8, axis=0)
    changed = rng.random(codes.shape) < 0.02
    codes[changed] = rng.integers(0, 4, int(changed.sum()), dtype=np.uint8)
    codes[rng.random(codes.shape) < 0.01] = MISSING
    letters = np.array([*b"ACGT"] + [0] * 251 + [*b"-"], np.uint8)[codes]
    from distance_oracle import dense_source

    source = alignment([b"".join(b">s%d\n%s\n" % (k, row.tobytes()) for k, row in enumerate(letters))], scratch)
    for metric in ("hamming", "fraction", "jc69", "tn93"):
        for rule in ("pairwise", "complete", "as-difference"):
            if (metric, rule) == ("tn93", "as-difference"):
                continue
            found = compute(source, CpuDistanceEngine(2), metric, rule)
            expected = compute(dense_source(codes, CallKind.NUCLEOTIDE), CpuDistanceEngine(2), metric, rule)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a\nACGT\n>b\nACG\n>c\nACGT\n", r"0.fa: record 'b' \(number 2\) has 3 sites, the first record has 4"),
        (">a\nACGT\n>a\nACGT\n", "samples 1 and 2 have the same id 'a'"),
        (">a\nAC1T\n", r"record 'a' \(number 1\): '1' at site 3 is no letter of an alignment"),
        (">a\nAC\xffT\n".encode("latin-1"), "byte 0xff at site 3"),
        (">\nACGT\n", "record 1 has no id"),
        (">a\n>b\nACGT\n", "record 'a' .* has no letters"),
        (">a\nACGT\n>b", "record 2 has no letters"),
        (">a\nMKVLEFQILPRRE\n>b\nMKVLEFQILPRRE\n", "look like proteins.*all_letters"),
        (gzip.compress(b">a\nACGT\n", mtime=0)[:-9], "truncated gzip file"),
    ],
)
def test_bad_alignments(scratch, text, message):
    from gpualign.core.files.decompression import open_decompressed

    def read():
        _, unpacked = open_decompressed(stream(text), "0.fa")
        read_alignments([AlignmentText(unpacked, "0.fa")], CallOptions(), 1 << 20, scratch)

    with pytest.raises(InputError, match=message):
        read()


def test_two_alignments_are_a_rectangle_of_the_same_sites(scratch):
    source = alignment([">a\nACGT\n>b\nACCT\n", ">a\nTCGT\n"], scratch)
    assert source.samples.queries.ids == ["a", "b"]
    assert source.samples.targets.ids == ["a"]
    assert source.samples.first_target == 2
    np.testing.assert_array_equal(compute(source, CpuDistanceEngine(1), "hamming")[0], [[1], [2]])
    with pytest.raises(InputError, match=r"1\.fa: record 'a' .* has 3 sites, the records of 0\.fa have 4"):
        alignment([">a\nACGT\n", ">a\nACG\n"], scratch)


def test_repeated_ids_can_be_numbered(scratch):
    assert alignment([">a\nAC\n>a\nAC\n>a_2\nAC\n"], scratch, allow=True).samples.queries.ids == ["a", "a_3", "a_2"]


# ---- tables


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", ["\t", ",", ";"])
def test_tables_of_genotypes(scratch, end, separator):
    rows = [["id", "r1", "r2", "r3", "r4"], ["a", "0", "1", "2", ""], ["b", ".", "-", "N", "NA"], ["c", "-1", "-9", "2.0", "0.0"]]
    text = end.join(separator.join(row) for row in rows)
    for ending in ("", end, end + end):
        source = table([text + ending], scratch)
        assert source.kind is CallKind.GENOTYPE
        codes, _ = panels_of(source)
        np.testing.assert_array_equal(codes, [[0, 1, 2, M], [M, M, M, M], [M, M, 2, 0]])
    turned = end.join(separator.join(row) for row in zip(*rows, strict=True))
    source = table([turned], scratch, transpose=True)
    assert source.samples.queries.ids == ["a", "b", "c"]
    np.testing.assert_array_equal(panels_of(source)[0], codes)


def test_tables_of_letters(scratch):
    text = "\tr1\tr2\tr3\tr4\na\tA\tc\tN\tT\nb\tG\tu\tR\t-\n"
    codes, _ = panels_of(table([text], scratch))
    np.testing.assert_array_equal(codes, [[0, 1, M, 3], [2, 3, M, M]])
    codes, _ = panels_of(table([text], scratch, all_letters=True))
    np.testing.assert_array_equal(codes, [[*b"AC", M, ord("T")], [*b"GUR", M]])


@pytest.mark.parametrize("cell", ["5", "CT", "INF-5"])
def test_every_letter_of_a_table_is_no_number(scratch, cell):
    text = f"id\tr1\tr2\na\tA\t{cell}\n"
    with pytest.raises(InputError, match=rf"line 2 \('a'\), column 3 \('r2'\): '{cell}' in a table of letters; expected a letter, or"):
        table([text], scratch, all_letters=True)


def test_tables_as_other_programs_write_them(scratch):
    r_table = '"r1"\t"r2"\n"a"\t0\t1\n"b"\t2\tNA\n'  # R's write.table: no title over the names of rows
    np.testing.assert_array_equal(panels_of(table([r_table], scratch))[0], [[0, 1], [2, M]])
    excel = b"\xef\xbb\xbfid,r1,r2\r\na,0,1\r\n"
    np.testing.assert_array_equal(panels_of(table([excel], scratch))[0], [[0, 1]])
    for line in ("sep=;\r\n", "sep=;;;\r\n", '"sep=,";;\r\n', '"SEP=;"\r\n', "\ufeffsep=;\r\n\r\n"):
        source = table([line + "id;r1,A;r2\r\na,b;0;1\r\n"], scratch)  # who writes semicolons need not quote commas
        assert (source.samples.queries.ids, source.site_count) == (["a,b"], 2)
    source = table(["sep=;\nid,x;r1,y;r2,z\na,b,c;0;1\n"], scratch)
    assert (source.samples.queries.ids, source.site_count) == (["a,b,c"], 2)
    assert table(["id;r1,A;r2,C\na;0;1\n"], scratch).site_count == 2
    assert table(["id,r1;x,r2;y\na;size=3;,0,1\n"], scratch).samples.queries.ids == ["a;size=3;"]
    r_table = "r1,A;r2,C;r3,A\na;0;1;2\n"
    assert table([r_table], scratch).site_count == 3
    with pytest.raises(InputError, match=r"line 4 \('b'\), column 3"):
        table(["sep=\t\nid\tr1\tr2\na\t0\t1\nb\t0\tx\n"], scratch)
    pandas = "id,r1,r2\na,0.0,\nb,1.0,2.0\n"
    np.testing.assert_array_equal(panels_of(table([pandas], scratch))[0], [[0, M], [1, 2]])


@pytest.mark.parametrize("separator", [",", ";"])
def test_separators_and_quotes_in_quotes(scratch, separator):
    rows = [["id", "r,1;", 'r"2"', "r3"], ["ward,1;2", "0", "1", "2"], ['a "b", c;', "1", "", "0"], ['"', "NA", "2", "1"]]
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\r\n").writerows(rows)
    source = table([text.getvalue()], scratch)
    assert source.samples.queries.ids == ["ward,1;2", 'a "b", c;', '"']
    codes = [[0, 1, 2], [1, M, 0], [M, 2, 1]]
    np.testing.assert_array_equal(panels_of(source)[0], codes)
    text = io.StringIO()
    csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(zip(*rows, strict=True))
    source = table([text.getvalue()], scratch, transpose=True)
    assert source.samples.queries.ids == ["ward,1;2", 'a "b", c;', '"']
    np.testing.assert_array_equal(panels_of(source)[0], codes)
    tabs = 'id\tr1\tr2\n"a""1"\t0\t1\n5" long\t1\t1\n"x\t0\t0\n'
    assert table([tabs], scratch).samples.queries.ids == ['a"1', '5" long', '"x']
    tabs = 'id"\trs1\trs2"\na\t0\t1\n'
    assert table([tabs], scratch).site_count == 2


def test_what_hides_separators_is_in_no_cell(scratch):
    with pytest.raises(InputError, match=r"0\.tsv: line 3 has quotes and the control character '\\x1e'"):
        table(['id,"r,1",r2\na,0,1\n"a\x1e1",0,1\n'], scratch)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('id,"locus\n1",L2\nA,1,2\nB,1,3\n', 1),
        ('id,L1,L2\nA,"1\r\n",2\nB,1,3\n', 2),
        ('id;L1;L2\nA;1;2\nB;"1\n2";3\n', 3),
        ('id,L1,L2\n"A ""x"" \nb",1,2\nB,1,3\n', 2),
        ('id,L1,"L2\n"\nA,1,2\n', 1),
    ],
)
def test_a_line_break_in_quotes_is_named(scratch, text, line):
    with pytest.raises(InputError, match=f"line {line} ends within quotes"):
        table([text], scratch)


def test_alleles_of_isolates_in_quotes(scratch):
    source = table(['FILE,L1,L2\n"iso,7",3,4\n"iso2,7",3,5\n'], scratch)
    assert source.kind is CallKind.ALLELE
    assert (source.samples.queries.ids, source.site_count) == (["iso,7", "iso2,7"], 2)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("several", ["5;7", "5|7"])
def test_several_alleles_in_quotes_are_a_missing_call(scratch, separator, several):
    rows = [["id", "l1", "l2"], ["a", f'"{several}"', "INF-2"], ["b", "5", "2"]]
    source = table(["\n".join(separator.join(row) for row in rows)], scratch, type=TableType.ALLELES)
    np.testing.assert_array_equal(compute(source, CpuDistanceEngine(1), "hamming")[0], [[0, 0], [0, 0]])
    np.testing.assert_array_equal(compute(source, CpuDistanceEngine(1), "hamming")[1], [[1, 1], [1, 2]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0.tsv: empty file"),
        ("id\tr1\tr2\n", "no samples: the table ends after its header"),
        ("\n\nid,", "no samples: the table ends after its header"),
        ("\n\n\nid,r1\na,0\nb,y!\n", r"line 6 \('b'\), column 2"),
        ("id\tr1\tr2\nA\t0\t1\t\nB\t1\t2\t\n", r"the first row has one cell more than the header, .* or a '\\t' at its end"),
        ("id\na\nb\n", "no sites"),
        ("id\tr1\tr2\na\t0\t1\nb\t0\n", r"line 3 \('b'\) has 2 cells, the header has 3"),
        ("id\tr1\tr2\na\t0\t1\nb\t0\t1\t2\n", r"line 3 \('b'\) has 4 cells, the header has 3"),
        ("id\tr1\tr2\na\t0\tA\n", r"line 2 \('a'\), column 3 \('r2'\): 'A' in a table of genotypes; expected 0, 1, 2"),
        ("id\tr1\tr2\na\tA\t1\n", "'1' in a table of letters; expected A, C, G, T"),
        ("id\tr1\tr2\na\tA\tCT\n", "'CT' in a table of letters"),
        ("a\t0\t1\nb\t1\t1\n", "the first line may be a row of calls.*use no_header"),
        ("a\t0\t1\n", "the first line may be a row of calls"),
        ("a\t0\tNA\nb\t\t\n", "the first line may be a row of calls"),
        ("a\tA\tC\nb\tA\tR\n", "the first line may be a row of calls"),
        ("a\tA\tn\nb\t\t\nc\tA\tC\n", "the first line may be a row of calls"),
        ("a,1.0,0.0\nb,1.0,\n", "the first line may be a row of calls"),
        ("id\t0\t1\t1\nb\t1\t1\t2\n", "the first line may be a row of calls"),
        ("id\tr1\n\t0\n", "sample 1 has an empty id"),
        ("id,r1\na\tb,0\n", r"sample 1 has a control character, '\\t', in the id 'a\\tb'"),
        ("a\t0\t1\t1\nb\t1\t1\t2\n", "the first line may be a row of calls, or a header of site ids; use no_header"),
        ("id\tr1\na\t0\na\t1\n", "samples 1 and 2 have the same id 'a'"),
    ],
)
def test_bad_tables(scratch, text, message):
    with pytest.raises(InputError, match=message):
        table([text], scratch)


@pytest.mark.parametrize(
    "header",
    [
        "x\trs1\trs2",
        "x\t1045\t2310",
        "x\t2\t3",
        "x\tA\tC",  # letters in a table of numbers
        "\t1\t2",  # pandas
        "id\t1\t2",
        "Sample_ID\t0\t1",
        "#iid\t0\t1",
        "1\t2",  # R: no title over the names of rows
        "x\t10\t20",
    ],
)
def test_headers_that_are_no_data(scratch, header):
    source = table([header + "\na\t0\t1\nb\t1\t1\n"], scratch)
    assert source.samples.queries.ids == ["a", "b"]
    np.testing.assert_array_equal(panels_of(source)[0], [[0, 1], [1, 1]])


def test_headers_of_letters_that_are_no_data(scratch):
    for header in ("x\t0\t1", "x\tA\tE", "id\tA\tC"):
        source = table([header + "\na\tA\tC\nb\tC\tC\n"], scratch)
        assert source.samples.queries.ids == ["a", "b"]
    with pytest.raises(InputError, match="the first line may be a row of calls"):
        table(["x\tA\tE\na\tA\tC\n"], scratch, all_letters=True)


def test_tables_without_a_header(scratch):
    text = "a\t0\t1\nb\t1\t1\n"
    source = table([text], scratch, header=False)
    assert source.samples.queries.ids == ["a", "b"]
    np.testing.assert_array_equal(panels_of(source)[0], [[0, 1], [1, 1]])
    source = table([text], scratch, header=False, transpose=True)
    assert source.samples.queries.ids == ["1", "2"]
    np.testing.assert_array_equal(panels_of(source)[0], [[0, 1], [1, 1]])
    source = table([text, "c\t2\t2\n"], scratch, header=False)
    np.testing.assert_array_equal(compute(source, CpuDistanceEngine(1), "allele")[0], [[3], [2]])
    for bad, message in (
        ("id\tr1\tr2\na\t0\t1\n", r"line 1 \('id'\), column 2 .*'r1' in a table.*leave out no_header"),
        ("a\t0\t1\nb\t0\n", r"line 2 \('b'\) has 2 cells"),
        ("a\nb\n", "no sites"),
    ):
        with pytest.raises(InputError, match=message):
            table([bad], scratch, header=False)
    with pytest.raises(InputError, match=r"1\.tsv: site 3 is nothing, in 0\.tsv it is '3'"):
        table(["a\t0\t1\t2\n", text], scratch, header=False)


def test_two_tables_have_the_same_sites(scratch):
    one, other = "id\tr1\tr2\na\t0\t1\n", "id\tr1\tr2\nb\t2\t1\nc\t0\t1\n"
    np.testing.assert_array_equal(compute(table([one, other], scratch), CpuDistanceEngine(1), "allele")[0], [[2, 0]])
    with pytest.raises(InputError, match=r"1.tsv: site 2 is 'r3', in 0.tsv it is 'r2'"):
        table([one, other.replace("r2", "r3")], scratch)
    with pytest.raises(InputError, match=r"1.tsv: site 2 is nothing, in 0.tsv it is 'r2'"):
        table([one, "id\tr1\nb\t0\n"], scratch)
    with pytest.raises(InputError, match=r"holds letters, 0.tsv genotypes"):
        table([one, "id\tr1\tr2\nb\tA\tC\n"], scratch)


@pytest.mark.parametrize("added", [1, 40])
@pytest.mark.parametrize("limit", [0, 3 << 20, 1 << 30])
def test_rows_beyond_memory_go_to_a_file(scratch, rng, limit, added):
    chunk = 1 << 20
    rows = rng.integers(0, 255, (97, 70_000), dtype=np.uint8)
    store = RowStore(70_000, limit, scratch)
    for start in range(0, 97, added):
        store.add_rows(rows[start : start + added])
    store.finish()
    np.testing.assert_array_equal(store.columns(0, 70_000), rows)
    np.testing.assert_array_equal(store.columns(13, 50_000), rows[:, 13:50_000])
    for start, stop in pairwise([0, 1, 40, 97]):
        np.testing.assert_array_equal(store.rows(start, stop), rows[start:stop])
    assert store.nbytes <= max(limit, chunk) + chunk or limit == 0


# ---- PLINK


@pytest.mark.parametrize("samples", [1, 3, 4, 5, 130])
@pytest.mark.parametrize("sites", [1, 7, 8, 65, 200])
def test_filesets_as_bed_reader_reads_them(tmp_path, rng, samples, sites):
    bed_reader = pytest.importorskip("bed_reader")
    codes = rng.choice(np.array([0, 1, 2, M], np.uint8), (samples, sites))
    write_fileset(tmp_path / "x.bed", codes)
    found, _ = panels_of(read_bed_filesets([tmp_path / "x.bed"], False))
    np.testing.assert_array_equal(found, codes)
    theirs = bed_reader.open_bed(tmp_path / "x.bed").read(dtype="int8")
    np.testing.assert_array_equal(np.where(theirs == -127, M, theirs.astype(int)), codes)


def test_two_filesets_with_alleles_the_other_way_round(tmp_path, rng):
    codes = rng.choice(np.array([0, 1, 2, M], np.uint8), (9, 60))
    write_fileset(tmp_path / "x.bed", codes)
    write_fileset(tmp_path / "y.bed", codes, swap=(3, 4, 40))
    found, _ = compute(read_bed_filesets([tmp_path / "x.bed", tmp_path / "y.bed"], False), CpuDistanceEngine(1), "hamming")
    expected, _ = compute(read_bed_filesets([tmp_path / "x.bed"], False), CpuDistanceEngine(1), "hamming")
    np.testing.assert_array_equal(found, expected)


def test_bad_filesets(tmp_path, rng):
    write_fileset(tmp_path / "x.bed", np.zeros((5, 6), np.uint8))
    write_fileset(tmp_path / "y.bed", np.zeros((5, 7), np.uint8))
    with pytest.raises(InputError, match=r"7 sites, .* has 6"):
        read_bed_filesets([tmp_path / "x.bed", tmp_path / "y.bed"], False)
    with (tmp_path / "x.bed").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(InputError, match=r"16 bytes; 5 samples and 6 sites take 15: its \.bim or \.fam has too few lines"):
        read_bed_filesets([tmp_path / "x.bed"], False)
    (tmp_path / "y.bed").write_bytes(b"\x6c\x1b\x00" + bytes(14))
    with pytest.raises(InputError, match="not in site-major order"):
        read_bed_filesets([tmp_path / "y.bed"], False)
    (tmp_path / "y.fam").unlink()
    with pytest.raises(InputError, match=r"y\.fam: no such file; it belongs to .*y\.bed"):
        read_bed_filesets([tmp_path / "y.bed"], False)


def test_the_table_of_letters_knows_every_byte():
    for compared in ComparedLetters:
        known = aligned_row_code_table(compared)
        assert known.shape == (256,)
        assert all(known[a] == known[a + 32] for a in range(ord("A"), ord("Z") + 1))
