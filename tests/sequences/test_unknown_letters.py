"""Letters of no alphabet, and records without letters: refused with what reads them, and read as that says."""

import numpy as np
import pytest
from command import gpualign, gpualign_here

import gpualign as python
from gpualign.core.common.errors import InputError
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.core.sequences.loading import UnknownLetters
from gpualign.core.sequences.string_column import StringColumn


def masked(rng, letter, records=6, length=120, share=0.04):
    """DNA in which every record has some of one letter, as where vectors are masked by X."""
    out = []
    for _ in range(records):
        letters = rng.choice(list("ACGT"), length)
        letters[rng.choice(length, max(1, int(share * length)), replace=False)] = letter
        out.append("".join(letters))
    return out


def fasta(records):
    return "".join(f">r{k}\n{letters}\n" for k, letters in enumerate(records))


@pytest.mark.parametrize("letter", "XIEFLPQZJOxe")
@pytest.mark.parametrize("command", ["nw", "cluster --max-distance 0.1", "index -o x.gpa"])
def test_dna_with_a_letter_of_proteins_is_not_taken_for_proteins(tmp_path, monkeypatch, rng, letter, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fa").write_text(fasta(masked(rng, letter)))
    name, *words = command.split()
    share = "100 % of all letters but X" if letter in "xX" else "97 % of all letters"
    with pytest.raises(InputError, match=rf"{share} are A, C, G, T, U or N: .*--alphabet dna --unknown n, or .*--alphabet protein"):
        gpualign_here(name, "x.fa", *words)
    gpualign_here(name, "x.fa", *words, "--alphabet", "protein")
    _, messages = gpualign_here(name, "x.fa", *words, "--alphabet", "dna", "--unknown", "n")
    assert "x.fa: read 24 letters in 6 records as N" in messages


@pytest.mark.parametrize("letter", "X.?e")
def test_unknown_letters_are_n(tmp_path, rng, letter):
    records = masked(rng, letter)
    (tmp_path / "x.fa").write_text(fasta(records))
    (tmp_path / "n.fa").write_text(fasta([one.replace(letter, "N") for one in records]))
    for words in (("nw",), ("nw", "--fields", "query,target,cigar"), ("cluster", "--max-distance", "0.7"), ("sw",)):
        second = ("{}",) if words[0] == "sw" else ()
        found, expected = (
            gpualign_here(words[0], path, *(path for _ in second), *words[1:], *more)[0]
            for path, more in ((tmp_path / "x.fa", ("--unknown", "n")), (tmp_path / "n.fa", ()))
        )
        assert found == expected


@pytest.mark.parametrize("share", [0.12, 0.5])
@pytest.mark.parametrize("command", ["nw", "cluster --max-distance 0.1", "index -o x.gpa"])
def test_dna_that_is_masked_by_x(tmp_path, monkeypatch, rng, share, command):
    """As RepeatMasker and cross_match mask it: more than a tenth of the letters."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fa").write_text(fasta(masked(rng, "X", length=600, share=share)))
    name, *words = command.split()
    with pytest.raises(InputError, match=r"100 % of all letters but X are A, C, G, T, U or N: .*--alphabet dna --unknown n, or"):
        gpualign_here(name, "x.fa", *words)
    _, messages = gpualign_here(name, "x.fa", *words, "--alphabet", "dna", "--unknown", "n")
    assert f"x.fa: read {6 * int(600 * share):,} letters in 6 records as N" in messages
    (tmp_path / "y.fa").write_text(">clear\n" + "ACGTTGCA" * 10 + "\n" + (tmp_path / "x.fa").read_text())
    with pytest.raises(InputError, match=r"mixed alphabets: .*; --unknown n reads letters X, which mask DNA, as N"):
        gpualign_here(name, "y.fa", *words)


def test_proteins_that_are_masked_by_x(tmp_path, rng):
    proteins = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 60)) + "X" * 900, "X" * 400, "ACGTNU" * 5 + "E"]
    (tmp_path / "p.fa").write_text(fasta(proteins))
    assert "protein (by its letters)" in gpualign_here("nw", tmp_path / "p.fa")[1]


def test_dots_of_reads(tmp_path):
    (tmp_path / "x.fq").write_text("@a\nACG.ACGT\n+\nIIIIIIII\n@b\nACGTACGT\n+\nIIIIIIII\n")
    with pytest.raises(InputError, match=r"'\.' at position 4 is a gap.*or an unknown letter: --unknown n reads it as one"):
        gpualign_here("nw", tmp_path / "x.fq")
    out, _ = gpualign_here("nw", tmp_path / "x.fq", "--unknown", "n", "--fields", "cigar")
    assert out == b"cigar\n3=1X4=\n"


def test_proteins_are_not_read_as_n(tmp_path):
    (tmp_path / "p.fa").write_text(fasta(["MKVWLLPQEERRT" * 5, "MKVWLLPQEERRS" * 5]))
    with pytest.raises(InputError, match=r"p\.fa: .* % of all letters are not nucleotides, too many to be read as N"):
        gpualign_here("nw", tmp_path / "p.fa", "--unknown", "n")
    assert b"too many" in gpualign("index", tmp_path / "p.fa", "-o", tmp_path / "p.gpa", "--unknown", "n", check=False).stderr
    assert not (tmp_path / "p.gpa").exists()


@pytest.mark.parametrize(("letter", "other"), [("n", "protein"), ("x", "dna")])
def test_a_letter_of_the_other_alphabet(tmp_path, letter, other):
    (tmp_path / "x.fa").write_text(fasta(["ACGT", "ACGA"]))
    with pytest.raises(InputError, match=f"--unknown {letter} is a letter of .*; it cannot be combined with --alphabet {other}"):
        gpualign_here("nw", tmp_path / "x.fa", "--alphabet", other, "--unknown", letter)


def test_translated_searches_replace_nucleotides_alone(tmp_path):
    (tmp_path / "q.fa").write_text(">q\n" + "ATGAAAGTTTGGCTGTTACCA" * 3 + "XX" + "\n")
    (tmp_path / "n.fa").write_text(">q\n" + "ATGAAAGTTTGGCTGTTACCA" * 3 + "NN" + "\n")
    (tmp_path / "t.fa").write_text(">t\n" + "MKVWLLP" * 3 + "\n")
    words = (tmp_path / "t.fa", "--translate", "query", "--min-score", "1")
    assert gpualign_here("sw", tmp_path / "q.fa", *words, "--unknown", "n")[0] == gpualign_here("sw", tmp_path / "n.fa", *words)[0]


@pytest.mark.parametrize(("alphabet", "text", "expected", "count"), [(DNA, "ACXn.?-e", "ACNnNN-N", 4), (PROTEIN, "MKV.?-j", "MKVXX-j", 2)])
def test_what_is_replaced(alphabet, text, expected, count):
    unknown = UnknownLetters(alphabet)
    raw = np.frombuffer(text.encode(), np.uint8)
    assert unknown.replace(StringColumn(raw, np.array([0, len(raw)]))).text.tobytes().decode() == expected
    assert (unknown.letter_count, unknown.total_letter_count, unknown.record_count) == (count, len(raw), 1)


# ---- records without letters, and lines before the first record
EMPTY = ">a\nACGTACGT\n>b\n>c\nACGTACGA\n>d\n\n"


@pytest.mark.parametrize("command", ["nw {}", "cluster {} --max-distance 0.5", "sw {} {}"])
def test_records_without_letters_are_left_out_where_that_is_said(tmp_path, command):
    (tmp_path / "x.fa").write_text(EMPTY)
    (tmp_path / "y.fa").write_text(EMPTY.replace(">b\n", "").replace(">d\n\n", ""))
    words, whole = (command.format(*2 * [tmp_path / name]).split() for name in ("x.fa", "y.fa"))
    with pytest.raises(InputError, match=r"record 'b' \(number 2\) has no letters; --drop-empty leaves such records out"):
        gpualign_here(*words)
    out, messages = gpualign_here(*words, "--drop-empty")
    assert out == gpualign_here(*whole)[0]
    assert "left out 2 records without letters, 'b' the first" in messages
    (tmp_path / "x.fa").write_text(">a\n>b\n")
    with pytest.raises(InputError, match="no records with letters"):
        gpualign_here(*words, "--drop-empty")


def test_unknown_letters_in_python(tmp_path, rng):
    (tmp_path / "x.fa").write_text(fasta(masked(rng, "X")))
    with pytest.raises(python.InputError, match="with alphabet='dna' unknown='n', or as proteins with alphabet='protein'"):
        python.read(tmp_path / "x.fa")
    found = python.read(tmp_path / "x.fa", alphabet="dna", unknown="n")
    assert (found.alphabet, "".join(found).count("N")) == ("dna", 24)
    with pytest.raises(python.InputError, match="unknown 'z': expected one of n, x"):
        python.read(tmp_path / "x.fa", unknown="z")


def test_records_without_letters_in_python(tmp_path):
    (tmp_path / "x.fa").write_text(EMPTY)
    assert python.read(tmp_path / "x.fa", drop_empty=True).ids == ["a", "c"]
    with pytest.raises(python.InputError, match="drop_empty leaves such records out"):
        python.read(tmp_path / "x.fa")


@pytest.mark.parametrize("before", ["#9\t1\n", "# made by x\n#\n\n", "\n#A3M#\r\n"])
def test_lines_before_the_first_record(tmp_path, before):
    text = ">a\nMKVLATWWQ\n>b\nMKVLATWQ\n"
    (tmp_path / "x.a3m").write_bytes((before + text).encode())
    (tmp_path / "x.fa").write_text(text)
    assert gpualign_here("nw", tmp_path / "x.a3m")[0] == gpualign_here("nw", tmp_path / "x.fa")[0]
