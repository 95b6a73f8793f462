import gzip
import io
import re

import numpy as np
import pytest
from Bio.Align import substitution_matrices
from oracle import global_score
from work import sequence_set

from gpualign.core.alignment.task import EndGaps, Mode
from gpualign.core.common.errors import InputError
from gpualign.core.scoring import biopython_matrices as collection
from gpualign.core.scoring import matrices
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.cpu.alignment.single_pair import SinglePairAligner


def code(alphabet, letters):
    return alphabet.encoding[np.frombuffer(letters.encode(), dtype=np.uint8)]


def test_dna_defaults_are_ednafull():
    scoring = make_scoring(DNA, ScoringOptions())
    reference = substitution_matrices.load("NUC.4.4")
    for a in DNA.letters:
        for b in DNA.letters:
            assert scoring.substitution[code(DNA, a), code(DNA, b)] == reference[a, b]
    assert (scoring.gap_open, scoring.gap_extend, scoring.has_linear_gaps) == (10, 1, False)


def test_protein_defaults_are_blosum62_with_stand_ins():
    scoring = make_scoring(PROTEIN, ScoringOptions())
    reference = substitution_matrices.load("BLOSUM62")
    stand_in = {"U": "C", "O": "X", "J": "X"}
    for a in PROTEIN.letters:
        for b in PROTEIN.letters:
            assert scoring.substitution[code(PROTEIN, a), code(PROTEIN, b)] == reference[stand_in.get(a, a), stand_in.get(b, b)]
    assert (scoring.gap_open, scoring.gap_extend) == (11, 1)


def test_local_gaps_are_those_blast_has_parameters_for():
    gaps = {a.name: make_scoring(a, ScoringOptions(), local=True) for a in (DNA, PROTEIN)}
    assert {name: (s.gap_open, s.gap_extend) for name, s in gaps.items()} == {"dna": (16, 6), "protein": (12, 1)}
    assert make_scoring(PROTEIN, ScoringOptions(gap_open=11), local=True).gap_open == 11


def test_mismatches_that_are_rewarded_are_told():
    assert "mismatch 4 (a reward: penalties are negative)" in make_scoring(DNA, ScoringOptions(match=5, mismatch=4)).name
    assert "reward" not in make_scoring(DNA, ScoringOptions(match=5, mismatch=0)).name


def test_match_and_mismatch_treat_every_letter_alike():
    scoring = make_scoring(DNA, ScoringOptions(match=2, mismatch=-3))
    assert (np.diag(scoring.substitution) == 2).all()
    assert (scoring.substitution[~np.eye(15, dtype=bool)] == -3).all()


def test_gap_cost_counts_the_opening_once():
    assert make_scoring(DNA, ScoringOptions()).gap_cost(3) == 12
    assert make_scoring(DNA, ScoringOptions(gap=4)).gap_cost(3) == 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ScoringOptions(edit=True, match=1), r"Scoring\(edit=True\) .* combined with match"),
        (ScoringOptions(edit=True, gap_open=1), r"Scoring\(edit=True\) .* combined with gap_open"),
        (ScoringOptions(gap=1, gap_extend=1), "gap is the linear form of gap_open and gap_extend"),
        (ScoringOptions(gap=-1), "positive numbers"),
        (ScoringOptions(gap_open=1, gap_extend=2), "open must be at least extend"),
        (ScoringOptions(match=1, matrix=matrices.matrix_by_name("blosum62")), "matrix and match/mismatch"),
        (ScoringOptions(match=2**31), "do not fit 32 bits"),
        (ScoringOptions(match=2**31 - 40), "add up to 2,147,483,648, more than 2,147,483,647; divide all"),
        (ScoringOptions(mismatch=40 - 2**31), "add up to 2,147,483,648"),
        (ScoringOptions(gap=2**30), "do not fit 32 bits"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(InputError, match=message):
        make_scoring(DNA, options)


def test_the_largest_weights():
    """Whole scores take 64 bits where a pair needs them (tests/alignment/test_cpu_scores.py)."""
    for options in (ScoringOptions(match=2**31 - 41), ScoringOptions(match=0, mismatch=41 - 2**31)):
        make_scoring(DNA, options)


def test_unknown_matrix_name_suggests():
    with pytest.raises(InputError, match="BLOSUM45"):
        matrices.matrix_by_name("blosum63")


NCBI = """# made up
   A  C  G  T
A  1 -2 -1 -2
C -2  1 -2 -1
G -1 -2  1 -2
T -2 -1 -2  1
"""


def test_matrix_file():
    matrix = matrices.read_matrix(io.StringIO(NCBI), "m.txt")
    scoring = make_scoring(DNA, ScoringOptions(matrix=matrix), [sequence_set([[0, 1, 2, 3]])])
    assert scoring.substitution[0, 2] == -1
    assert scoring.substitution[3, 0] == -2


def test_matrix_row_is_the_query():
    matrix = matrices.read_matrix(io.StringIO("  A C\nA 1 2\nC 3 4\n"), "m.txt")
    scoring = make_scoring(DNA, ScoringOptions(matrix=matrix, gap=9))
    assert global_score([0], [1], scoring.substitution, 9, 9) == 2


def test_matrix_without_a_letter_of_the_data_names_the_record():
    matrix = matrices.read_matrix(io.StringIO(NCBI), "m.txt")
    with pytest.raises(InputError, match=r"m.txt has no row for the letter 'N', which record 's1' of test holds"):
        make_scoring(DNA, ScoringOptions(matrix=matrix), [sequence_set([[0], [1, 14]])])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m.txt: not a substitution matrix in NCBI's format"),
        ("hello\n", "m.txt: not a substitution matrix in NCBI's format"),
        ("hello\nworld\n", "m.txt, line 1: expected different letters, one for each column; found 'hello'"),
        ("# made up\n A a\nA 1 2\na 3 4\n", "m.txt, line 2: expected different letters, one for each column; found 'A a'"),
        ("   A  C\nA  1  2\n", "m.txt: expected a row for each of 2 columns; found 1 rows"),
        ("   A  C\nA  1\nC  2  3\n", "m.txt, line 2: expected the letter A, as in the order of the columns, and 2 scores; found 'A 1'"),
        (
            "   A  C\nC  1  2\nA  2  3\n",
            "m.txt, line 2: expected the letter A, as in the order of the columns, and 2 scores; found 'C 1 2'",
        ),
        ("   A  C\nA  1  x\nC  2  3\n", "m.txt, line 2: expected a score; found 'x'"),
        ("   A  C\nA  1.5  0\nC  0  1\n", "m.txt, line 2: 1.5 is not a whole number"),
        ("   A  C\n\nA  1  0\nC  0  inf\n", "m.txt, line 4: inf is not a whole number"),
        ("   A  C\nA  1  0\nC  0  nan\n", "m.txt, line 3: nan is not a whole number"),
        ("   A  C\nA  1  0\nC  0  1e300\n", "m.txt, line 3: 1e300 is not a whole number, or beyond 2^53"),
    ],
)
def test_bad_matrix_files(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        matrices.read_matrix(io.StringIO(text), "m.txt")


def test_files_of_matrices(tmp_path):
    (tmp_path / "m.txt").write_text("# of Notepad\n" + NCBI, encoding="utf-8-sig")
    found, expected = matrices.load_matrix(str(tmp_path / "m.txt")), matrices.read_matrix(io.StringIO(NCBI), "m.txt")
    assert found.letters == expected.letters
    np.testing.assert_array_equal(found.values, expected.values)
    for other in (NCBI.encode("utf-16"), gzip.compress(NCBI.encode())):
        (tmp_path / "m.txt").write_bytes(other)
        with pytest.raises(InputError, match=r"m\.txt: not a matrix in UTF-8; unpack it if it is compressed, or convert it"):
            matrices.load_matrix(str(tmp_path / "m.txt"))


@pytest.mark.parametrize("elsewhere", [False, True])
def test_named_matrices_are_biopythons(monkeypatch, elsewhere):
    """All of them, whether their files are found or Biopython has to be asked; those of fractions and of codons are refused."""
    if elsewhere:
        monkeypatch.setattr(collection, "find_spec", lambda name: None)  # as for a Biopython within a zip archive
    assert collection.matrix_names() == substitution_matrices.load()
    refused = set()
    for name in substitution_matrices.load():
        expected = substitution_matrices.load(name)
        if any(len(letter) > 1 for letter in expected.alphabet) or (np.array(expected) % 1).any():
            refused.add(name)
            with pytest.raises(InputError, match=f"matrix {name}, line [0-9]+: "):
                matrices.matrix_by_name(name)
        else:
            matrix = matrices.matrix_by_name(name.lower())
            assert (matrix.name, matrix.letters) == (name, "".join(expected.alphabet).upper())
            np.testing.assert_array_equal(matrix.values, np.array(expected))
    assert "SCHNEIDER" in refused  # codons
    assert {"BLOSUM62", "PAM250", "NUC.4.4", "HOXD70"}.isdisjoint(refused)


def test_score_type_grows_with_lengths():
    scoring = make_scoring(DNA, ScoringOptions(match=10**6, mismatch=-(10**6), gap=10**6))
    assert scoring.dtype(100, 100) == np.int32
    assert scoring.dtype(10_000, 10_000) == np.int64


@pytest.mark.parametrize(
    ("alphabet", "options", "whole"),
    [
        (DNA, ScoringOptions(), True),
        (PROTEIN, ScoringOptions(), True),
        (DNA, ScoringOptions(edit=True), True),
        (DNA, ScoringOptions(match=1, mismatch=-1, gap=0), True),
        (DNA, ScoringOptions(match=1, mismatch=2), False),
        (DNA, ScoringOptions(match=-3, mismatch=-4, gap=1), False),
        (PROTEIN, ScoringOptions(gap=0), False),  # X with X costs more than two gaps
    ],
)
def test_what_keeps_equal_sequences_whole(rng, alphabet, options, whole):
    """Then the alignment of a sequence with itself, whatever its letters, is the one without gaps."""
    scoring = make_scoring(alphabet, options)
    letters = np.arange(len(alphabet.letters), dtype=np.uint8)
    assert scoring.self_alignment_is_gapless(letters) is whole
    aligner = SinglePairAligner(scoring, alphabet, Mode.GLOBAL, EndGaps.PENALISED, 1 << 24)
    for length in (1, 2, 30) if whole else ():
        text = rng.choice(letters, length)
        found = aligner.align(text, text)
        assert found.statistics["matches"].tolist() == [[length]]
