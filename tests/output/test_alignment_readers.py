"""Alignments as the installed executable writes them, against readers that are not ours."""

import io
import os
import re

import numpy as np
import pytest
from Bio import Align, SeqIO
from command import GPUALIGN, gpualign, gpualign_here, shell
from goldens import END_GAPS, EVERY_FIELD, ONE, TWO
from oracle import count
from path_files import CIGAR_FIELDS, parse_cigar, rows_of, sequences_of
from processes import on_terminal

from gpualign.core.alignment.identity import DEFINITIONS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def genes_24(small_16s, tmp_path_factory):
    """The first 24 real genes: 276 pairs, of which each is checked, letter by letter."""
    path = tmp_path_factory.mktemp("genes") / "genes.fasta"
    path.write_text(">".join(small_16s.read_text().split(">")[:25]))
    return path


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_identity_by_its_formula(genes_24, definition):
    done = gpualign("nw", "-q", "--fields", f"identity,qlen,tlen,{CIGAR_FIELDS}", "--identity-def", definition, genes_24)
    rows = rows_of(done.stdout)
    assert len(rows) == 276
    for row in rows:
        matches, mismatches, gaps, opens, ends = count(parse_cigar(row["cigar"]))
        length, short, long = matches + mismatches + gaps, *sorted((int(row["qlen"]), int(row["tlen"])))
        expected = {
            0: matches / short,
            1: matches / length,
            2: matches / (length - ends),
            3: max(0.0, 1 - (mismatches + opens) / long),
            4: matches / length,
        }[definition]
        assert abs(float(row["identity"]) - expected) <= 5.1e-7


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_nothing_aligned_is_nothing_alike(tmp_path, monkeypatch, definition):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.fa").write_text(">a\nAAAAAAAA\n>c\nCCCCCC\n>ac\nAAAACCCC\n")

    def run(*arguments):
        return gpualign_here("nw", "-q", "--end-gaps", "free", "--identity-def", definition, *arguments, "in.fa")[0]

    empty, *others = rows_of(run("--fields", "query,target,length,identity"))
    assert list(empty.values()) == ["a", "c", "0", "0.000000"]
    assert all(float(row["identity"]) >= 0.5 for row in others)
    for least in ("--min-identity=0.9", "--max-distance=0.1", "--min-identity=0.000001"):
        assert "c" not in [row["target"] for row in rows_of(run(least, "--fields", "query,target,identity"))]
    for value, expected in (("identity", 0), ("distance", 1)):
        run("--value", value, "-o", "x.npy")
        matrix = np.load(tmp_path / "x.npy")
        assert matrix[0, 1] == matrix[1, 0] == expected
        assert matrix[0, 0] == 1 - expected
    assert "identity 0.00 % (0 of " in run("--format", "aln").decode()
    assert float(run("--format", "m8").split(b"\t")[2]) == 0


@pytest.mark.parametrize("ends", END_GAPS)
def test_columns_agree_with_the_cigar(genes_24, ends):
    letters = sequences_of(genes_24)
    for row in rows_of(gpualign("nw", "-q", "--fields", EVERY_FIELD, "--end-gaps", ends, genes_24).stdout):
        path = parse_cigar(row["cigar"])
        query = letters[row["query"]][int(row["qstart"]) - 1 : int(row["qend"])]
        target = letters[row["target"]][int(row["tstart"]) - 1 : int(row["tend"])]
        assert len(query) == sum(op in "=XI" for op in path)
        assert len(target) == sum(op in "=XD" for op in path)
        assert row["qaln"].replace("-", "") == query
        assert row["taln"].replace("-", "") == target
        ops = "".join(
            "D" if a == "-" else "I" if b == "-" else "=" if a == b else "X" for a, b in zip(row["qaln"], row["taln"], strict=True)
        )
        assert ops == path
        assert parse_cigar(row["cigar_m"]) == path.replace("=", "M").replace("X", "M")
        matches, mismatches, gaps, opens, _ = count(path)
        assert [int(row[n]) for n in ("matches", "mismatches", "gaps", "gap_opens", "length")] == [
            matches,
            mismatches,
            gaps,
            opens,
            len(path),
        ]
        if ends == "penalised":
            assert (len(query), len(target)) == (int(row["qlen"]), int(row["tlen"]))
        if ends == "query":
            assert len(query) == int(row["qlen"])
        if ends == "target":
            assert len(target) == int(row["tlen"])


@pytest.mark.parametrize("ends", END_GAPS)
def test_sam_is_read_by_pysam(tmp_path, genes_24, ends):
    pysam = pytest.importorskip("pysam")
    path = tmp_path / "x.sam"
    gpualign("nw", "-q", "--end-gaps", ends, genes_24, "-o", path)
    table = rows_of(gpualign("nw", "-q", "--end-gaps", ends, "--fields", f"query,target,score,{CIGAR_FIELDS}", genes_24).stdout)
    letters = sequences_of(genes_24)
    best = {}
    for row in table:
        if row["query"] not in best or int(row["score"]) > int(best[row["query"]]["score"]):
            best[row["query"]] = row
    with pysam.AlignmentFile(str(path), check_sq=True) as sam:
        assert sam.references == tuple(letters)
        assert sam.lengths == tuple(map(len, letters.values()))
        read = list(sam)
    assert len(read) == len(table) == 276
    for row, found in zip(table, read, strict=True):
        assert (found.query_name, found.reference_name, found.get_tag("AS")) == (row["query"], row["target"], int(row["score"]))
        assert found.query_sequence == letters[row["query"]]
        assert found.is_secondary == (best[row["query"]] is not row)
        # MD and CIGAR together give the target back, and NM its differences.
        assert found.get_reference_sequence().upper() == letters[row["target"]][found.reference_start : found.reference_end]
        pairs = found.get_aligned_pairs(with_seq=True)
        clipped = {k for k in range(len(letters[row["query"]])) if not found.query_alignment_start <= k < found.query_alignment_end}
        different = sum(1 for q, _, r in pairs if q not in clipped and (q is None or r is None or letters[row["query"]][q] != r.upper()))
        assert found.get_tag("NM") == different
        inner = row["cigar"].lstrip("0123456789")[:1] != "D"
        if inner:
            assert found.reference_start == int(row["tstart"]) - 1


def test_paf_is_read_by_readpaf(small_16s):
    readpaf = pytest.importorskip("readpaf")
    text = gpualign("nw", "-q", "--format", "paf", small_16s).stdout.decode()
    table = rows_of(gpualign("nw", "-q", "--fields", EVERY_FIELD, small_16s).stdout)
    records = list(readpaf.parse_paf(io.StringIO(text)))
    assert len(records) == len(table)
    for row, found in zip(table, records, strict=True):
        assert (found.query_name, found.target_name, found.strand) == (row["query"], row["target"], "+")
        assert (found.query_length, found.target_length) == (int(row["qlen"]), int(row["tlen"]))
        assert (found.query_start, found.query_end) == (int(row["qstart"]) - 1, int(row["qend"]))
        assert (found.target_start, found.target_end) == (int(row["tstart"]) - 1, int(row["tend"]))
        assert (found.residue_matches, found.alignment_block_length) == (int(row["matches"]), int(row["length"]))
        assert found.tags["cg"].value == row["cigar"]
        assert found.tags["AS"].value == int(row["score"])
        assert found.tags["NM"].value == int(row["mismatches"]) + int(row["gaps"])


@pytest.fixture
def one_in_nothing(tmp_path):
    """TTTT overlaps with nothing; ACAC ends where CGG begins, and the other way round."""
    path = tmp_path / "few.fa"
    path.write_text(">a\nACAC\n>t\nTTTT\n>c\nCGG\n")
    return ["nw", "-q", "--edit", "--end-gaps", "free", path]


@pytest.mark.parametrize("command", [["nw"], ["sw", "--evalue", "none", "--min-score", "1"]], ids=["nw", "sw"])
def test_names_that_sam_does_not_specify_are_told_and_written(tmp_path, command):
    """Those that the specification's patterns allow are not; every printable character, and one that is none, in each place."""
    odd = {"queries": [], "targets": []}
    patterns = {"queries": "[!-?A-~]{1,254}", "targets": "[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*"}
    for side, records in odd.items():
        names = [f"a{chr(code)}" for code in [*range(ord("!"), 127), 0xE9]]
        records += [name for name in names if not re.fullmatch(patterns[side], name)]
        (tmp_path / side).write_text("".join(f">{name}\nACGTACGT\n" for name in names))
    done = gpualign(*command, "queries", "targets", "-o", "x.sam", cwd=tmp_path)
    said = [line for line in done.stderr.decode().splitlines() if "SAM" in line]
    assert [len(odd[side]) for side in odd] == [2, 14]
    assert said == [
        f"gpualign {command[0]}: 2 query ids, such as 'a@', have characters that SAM does not allow in names of reads (allowed: "
        "printable ASCII without @); written unchanged, but some programs refuse the file: rename these records, or write paf",
        f"gpualign {command[0]}: 14 target ids, such as {odd['targets'][0]!r}, have characters that SAM does not allow in names of "
        "references (allowed: printable ASCII without \\ , \" ` ' and brackets); written unchanged, but some programs refuse the file: "
        "rename these records, or write paf",
    ]
    rows = [line.split("\t") for line in (tmp_path / "x.sam").read_text().splitlines() if line[0] != "@"]
    for column, side in ((0, "queries"), (2, "targets")):
        assert set(odd[side]) <= {row[column] for row in rows}
    (tmp_path / "one").write_text(">b@c\nACGTACGT\n")
    (tmp_path / "good").write_text(">a*=@\nACGTACGT\n")
    said = gpualign(*command, "one", "good", "--format", "sam", cwd=tmp_path).stderr.decode()
    assert "query id 'b@c' has characters that SAM does not allow" in said
    assert "rename the record, or" in said
    assert "target id" not in said
    (tmp_path / "long").write_text(f">{'b' * 254}\nACGTACGT\n")
    assert b"SAM does not allow" not in gpualign(*command, "long", "good", "--format", "sam", cwd=tmp_path).stderr


def test_sam_of_an_empty_alignment_is_an_unmapped_read(tmp_path, one_in_nothing, capfd):
    pysam = pytest.importorskip("pysam")
    gpualign(*one_in_nothing, "-o", tmp_path / "x.sam")
    with pysam.AlignmentFile(str(tmp_path / "x.sam")) as sam:
        rows = [(r.query_name, r.reference_name, r.flag, r.reference_start, r.cigarstring, r.query_sequence) for r in sam]
    assert rows == [
        ("a", "t", 4, 0, None, "ACAC"),
        ("a", "c", 256, 0, "3S1=", "ACAC"),
        ("t", "c", 4, 0, None, "TTTT"),
    ]
    assert capfd.readouterr().err == ""  # where htslib mends a row it says so


def test_sam_of_a_read_in_one_gap_is_unmapped(tmp_path, capfd):
    """All of the target against a gap, which is dear, behind or before all of the query, which is free."""
    pysam = pytest.importorskip("pysam")
    options = ["--match", 1, "--mismatch", -9, "--gap", 1, "--end-gaps", "target", "-"]
    gpualign("nw", "-q", *options, "-o", tmp_path / "x.sam", stdin=b">a\nAA\n>t\nTTT\n")
    with pysam.AlignmentFile(str(tmp_path / "x.sam")) as sam:
        assert [(r.flag, r.reference_start, r.cigarstring, r.get_tag("AS")) for r in sam] == [(4, 0, None, -3)]
    assert capfd.readouterr().err == ""


def test_other_formats_of_an_empty_alignment(one_in_nothing):
    def lines(format):
        return gpualign(*one_in_nothing, "--format", format).stdout.decode()

    table = rows_of(gpualign(*one_in_nothing, "--fields", EVERY_FIELD).stdout)
    assert [row["cigar"] for row in table] == ["*", "1=", "*"]
    fields = ("matches", "length", "gaps", "cigar_m", "qstart", "qend", "tstart", "tend", "qaln", "taln")
    assert [table[0][f] for f in fields] == ["0", "0", "0", "*", "1", "0", "5", "4", "", ""]
    readpaf = pytest.importorskip("readpaf")
    found = next(iter(readpaf.parse_paf(io.StringIO(lines("paf")))))
    assert (found.query_start, found.query_end, found.target_start, found.target_end) == (0, 0, 4, 4)
    assert (found.residue_matches, found.alignment_block_length, found.tags["cg"].value) == (0, 0, "*")
    assert lines("m8").splitlines()[0].split("\t")[3:] == ["0", "0", "0", "1", "0", "5", "4", "-1", "0"]
    assert [str(r.seq) for r in SeqIO.parse(io.StringIO(lines("fasta")), "fasta")] == ["", "", "C", "C", "", ""]
    assert lines("aln").count("no letters are aligned") == 2


def test_m8_is_read_as_blast_tables_are(small_16s):
    """Biopython's reader wants the comment lines of -outfmt 7 around the same twelve columns."""
    text = gpualign("nw", "-q", "--format", "m8", small_16s).stdout.decode()
    table = rows_of(gpualign("nw", "-q", "--fields", EVERY_FIELD, small_16s).stdout)
    for row, line in zip(table, text.splitlines(), strict=True):
        columns = line.split("\t")
        assert len(columns) == 12
        assert columns[:2] == [row["query"], row["target"]]
        assert abs(float(columns[2]) / 100 - float(row["identity"])) < 1e-5
        names = ("length", "mismatches", "gap_opens", "qstart", "qend", "tstart", "tend")
        assert columns[3:10] == [row[n] for n in names]
        assert columns[10:] == ["-1", "0"]


def test_aligned_fasta_is_read_by_biopython(small_16s):
    text = gpualign("nw", "-q", "--format", "fasta", small_16s).stdout.decode()
    table = rows_of(gpualign("nw", "-q", "--fields", "query,target,qaln,taln", small_16s).stdout)
    records = list(SeqIO.parse(io.StringIO(text), "fasta"))
    assert [(r.id, str(r.seq)) for r in records] == [
        pair for row in table for pair in ((row["query"], row["qaln"]), (row["target"], row["taln"]))
    ]
    first = next(Align.parse(io.StringIO("".join(f">{r.id}\n{r.seq}\n" for r in records[:2])), "fasta"))
    assert first.length == len(table[0]["qaln"])


def test_blocks_hold_the_alignment(small_16s):
    text = gpualign("nw", "-q", "--format", "aln", small_16s).stdout.decode()
    row = rows_of(gpualign("nw", "-q", "--fields", "query,target,qaln,taln", small_16s).stdout)[0]
    first = text.split("query    ")[1].split("\n\n", 1)[1]
    assert max(map(len, text.splitlines())) <= 80
    lines = first.split("\n")
    assert "".join(line.split()[2] for line in lines[0::4] if line) == row["qaln"]
    assert "".join(line.split()[2] for line in lines[2::4] if line) == row["taln"]


def test_blocks_fit_the_terminal():
    def widest(columns):
        words = [GPUALIGN, "nw", "-q", "--format", "aln", ONE]
        shown = on_terminal(words, columns, "stdout", env={**os.environ, "COLUMNS": ""})
        return max(len(line) for line in shown.decode().splitlines() if "ACGT" in line)

    assert widest(200) == len("gamma    1 ACGTNCGTTAGCAA 14")
    assert widest(24) <= 24


@pytest.mark.parametrize("suffix", ["m8", "paf", "sam", "aln", "fasta", "fa", "phy"])
def test_suffixes_tell_the_format(tmp_path, suffix):
    import gzip

    format = {"fa": "fasta", "phy": "phylip"}.get(suffix, suffix)
    expected = gpualign("nw", "-q", "--format", format, ONE).stdout
    gpualign("nw", "-q", ONE, "-o", tmp_path / f"x.{suffix}")
    assert (tmp_path / f"x.{suffix}").read_bytes() == expected
    gpualign("nw", "-q", ONE, "-o", tmp_path / f"x.{suffix}.gz")
    assert gzip.decompress((tmp_path / f"x.{suffix}.gz").read_bytes()) == expected


@pytest.mark.parametrize("value", ["score", "identity", "distance"])
def test_matrices_of_values(tmp_path, genes_24, value):
    squareform = pytest.importorskip("scipy.spatial.distance").squareform
    gpualign("nw", "-q", "--value", value, genes_24, "-o", tmp_path / "square.npy")
    gpualign("nw", "-q", "--value", value, "--condensed", genes_24, "-o", tmp_path / "condensed.npy")
    gpualign("nw", "-q", "--value", value, "--condensed", "--memory", "80M", "--threads", "1", genes_24, "-o", tmp_path / "x.npz")
    square, condensed = np.load(tmp_path / "square.npy"), np.load(tmp_path / "condensed.npy")
    assert square.dtype == (np.int32 if value == "score" else np.float64)
    assert (square == square.T).all()
    np.testing.assert_array_equal(square[np.triu_indices(24, 1)], condensed)
    if value == "distance":
        np.testing.assert_array_equal(squareform(condensed), square)
    with np.load(tmp_path / "x.npz") as packed:
        np.testing.assert_array_equal(packed["scores" if value == "score" else value], condensed)
        assert len(packed["ids"]) == 24
    rows = rows_of(gpualign("nw", "-q", "--fields", "score,identity", genes_24).stdout)
    column = np.array([float(row["score" if value == "score" else "identity"]) for row in rows])
    np.testing.assert_allclose(1 - column if value == "distance" else column, condensed, atol=5e-7)


def test_rectangles_of_identities(tmp_path):
    gpualign("nw", "-q", "--value", "identity", ONE, TWO, "-o", tmp_path / "x.npy")
    rows = rows_of(gpualign("nw", "-q", "--fields", "identity", ONE, TWO).stdout)
    np.testing.assert_allclose(np.load(tmp_path / "x.npy").reshape(-1), [float(r["identity"]) for r in rows], atol=5e-7)


def test_one_record_has_no_condensed_pairs(tmp_path):
    gpualign("nw", "-q", "--condensed", "-", "-o", tmp_path / "x.npy", stdin=b">only\nACGT\n")
    assert np.load(tmp_path / "x.npy").shape == (0,)


@pytest.mark.parametrize("arguments", [[], ["--edit"], ["--gap", "6"], ["--end-gaps", "free"]])
def test_threads_memory_and_instruction_sets_write_the_same_bytes(tmp_path, small_16s, arguments):
    command = ["nw", "-q", "--fields", EVERY_FIELD, *arguments]
    expected = gpualign(*command, small_16s, "--threads", "1").stdout
    assert gpualign(*command, small_16s, "--threads", "2").stdout == expected
    assert gpualign(*command, small_16s, "--memory", "9M", "--threads", "1").stdout == expected  # single pairs, bands of parts of a row
    few = tmp_path / "few.fasta"  # more than the baseline has lanes, which takes twenty times as long as the others
    few.write_text(">".join(small_16s.read_text().split(">")[:19]))
    for name, genes in (("avx2", small_16s), ("sse41", small_16s), ("baseline", few)):
        done = gpualign(*command, genes, env={"GPUALIGN_INSTRUCTION_SET": name}, check=False)
        wanted = expected if genes == small_16s else gpualign(*command, genes).stdout
        assert done.stdout == wanted or b"no kernels for the instruction set" in done.stderr


def test_head_of_alignments_ends_quietly(small_16s):
    for format in ("aln", "sam", "fasta"):
        done = shell(f"{GPUALIGN} nw -q --format {format} {small_16s} | head -n 3")
        assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 3)


def test_similar_residues(tmp_path):
    """Between residues of a positive score in Biopython's matrix stands +; edit distances have no such scores, and DNA has none."""
    from Bio.Align import substitution_matrices
    from command import gpualign_here

    matrix = substitution_matrices.load("BLOSUM62")
    every = [a + b for a in matrix.alphabet[:20] for b in matrix.alphabet[:20]]
    first, second = ("".join(pair[k] for pair in every) for k in range(2))
    (tmp_path / "x.fa").write_text(f">a\n{first}\n>b\n{second}\n")
    (tmp_path / "dna.fa").write_text(">a\nACGTACGTNN\n>b\nACGAACGTRY\n")

    def middle(*words):
        lines = gpualign_here("nw", "-q", "--format", "aln", *words)[0].decode().splitlines()
        shown = [(lines[at - 1], line, lines[at + 1]) for at, line in enumerate(lines) if line and not set(line) - set(" |.+")]
        return [(a, sign, b) for upper, signs, lower in shown for a, sign, b in zip(upper, signs.ljust(len(upper)), lower, strict=False)]

    columns = [(a, sign, b) for a, sign, b in middle("--gap", "1000", tmp_path / "x.fa") if sign != " "]
    assert len(columns) == 400
    for a, sign, b in columns:
        assert sign == ("|" if a == b else "+" if matrix[a][b] > 0 else "."), (a, b)
    for words in (["--edit", tmp_path / "x.fa"], [tmp_path / "dna.fa"]):
        assert {sign for _, sign, _ in middle(*words)} <= set("|. ")
