"""Scores of real and long sequences against Biopython, parasail and edlib."""

import gzip

import numpy as np
import pytest
from Bio.Align import PairwiseAligner, substitution_matrices
from relatives import mutated
from work import run_scores, sequence_set

from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring import matrices
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.core.sequences.loading import encode_all, read_raw_records
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets

pytestmark = pytest.mark.slow

edlib = pytest.importorskip("edlib")
parasail = pytest.importorskip("parasail")


def parasail_score(query, target, options, alphabet):
    scoring = make_scoring(alphabet, options)
    letters = alphabet.letters.replace("*", "")  # parasail keeps * for letters it does not know
    matrix = parasail.matrix_create(letters, 1, 0)
    for i, a in enumerate(letters):
        for j, b in enumerate(letters):
            matrix[i, j] = int(scoring.substitution[alphabet.letters.index(a), alphabet.letters.index(b)])
    # Not nw_striped_32: with linear gaps parasail 1.3.4's striped kernels return scores below its own scalar nw.
    return parasail.nw_scan_32(query, target, scoring.gap_open, scoring.gap_extend, matrix).score


def biopython_score(query, target, options, alphabet):
    scoring = make_scoring(alphabet, options)
    aligner = PairwiseAligner(mode="global")
    aligner.substitution_matrix = substitution_matrices.Array(alphabet.letters, 2, scoring.substitution.astype(float))
    aligner.open_gap_score = -scoring.gap_open
    aligner.extend_gap_score = -scoring.gap_extend
    return aligner.score(query, target)


def as_text(codes, alphabet):
    return "".join(alphabet.letters[c] for c in codes)


SCHEMES = [
    (DNA, ScoringOptions()),
    (DNA, ScoringOptions(gap=6)),
    (DNA, ScoringOptions(match=2, mismatch=-1, gap=1)),
    (DNA, ScoringOptions(match=1, mismatch=-3, gap_open=5, gap_extend=2)),
    (DNA, ScoringOptions(match=200, mismatch=-150, gap_open=400, gap_extend=30)),
    (PROTEIN, ScoringOptions()),
    (PROTEIN, ScoringOptions(matrix=matrices.matrix_by_name("PAM250"), gap_open=14, gap_extend=2)),
    (PROTEIN, ScoringOptions(gap=8)),
]


@pytest.mark.parametrize(("alphabet", "options"), SCHEMES)
def test_random_sequences(rng, alphabet, options):
    usable = len(alphabet.letters.replace("*", ""))
    arrays = [rng.integers(0, usable, rng.integers(1, 301)) for _ in range(12)]
    sequences = sequence_set(arrays)
    found = run_scores(sequences, sequences, make_scoring(alphabet, options))
    for i, a in enumerate(arrays):
        for j, b in enumerate(arrays):
            assert found[i, j] == parasail_score(as_text(a, alphabet), as_text(b, alphabet), options, alphabet)
            if i < 4:
                assert found[i, j] == biopython_score(as_text(a, alphabet), as_text(b, alphabet), options, alphabet)


def small_set(path):
    with open(path, "rb") as stream:
        _, (sequences,) = encode_all([read_raw_records(stream, "small")], "dna")
    return sequences


@pytest.mark.parametrize("instruction_set", [s.name for s in instruction_sets() if s.is_supported])
@pytest.mark.parametrize("options", [o for a, o in SCHEMES if a is DNA])
def test_real_16s(small_16s, instruction_set, options):
    sequences = small_set(small_16s)
    found = run_scores(sequences, sequences, make_scoring(DNA, options), Pairing.ABOVE, CpuEngine(2, instruction_set))
    for i in range(0, 60, 9):
        for j in range(i + 1, 60, 7):
            a, b = (as_text(sequences.codes[sequences.offsets[k] : sequences.offsets[k + 1]], DNA) for k in (i, j))
            assert found[i, j] == parasail_score(a, b, options, DNA)


@pytest.mark.parametrize("instruction_set", [s.name for s in instruction_sets() if s.is_supported])
def test_real_16s_edit_distance(small_16s, instruction_set):
    sequences = small_set(small_16s)
    found = run_scores(sequences, sequences, make_scoring(DNA, ScoringOptions(edit=True)), Pairing.ABOVE, CpuEngine(2, instruction_set))
    texts = [as_text(sequences.codes[a:b], DNA) for a, b in zip(sequences.offsets[:-1], sequences.offsets[1:], strict=True)]
    for i in range(60):
        for j in range(i + 1, 60):
            assert found[i, j] == edlib.align(texts[i], texts[j], task="distance")["editDistance"]


def test_real_16s_with_ambiguity_letters(real_data):
    with gzip.open(real_data / "16s_gold.fasta.gz", "rb") as stream:
        _, (everything,) = encode_all([read_raw_records(stream, "gold")], "auto")
    arrays = [everything.codes[a:b] for a, b in zip(everything.offsets[:-1], everything.offsets[1:], strict=True)]
    ambiguous = [a for a in arrays if a.max() > 3][:40] + arrays[:10]
    sequences = sequence_set(ambiguous)
    for options in (ScoringOptions(), ScoringOptions(match=2, mismatch=-1, gap=1)):
        found = run_scores(sequences, sequences, make_scoring(DNA, options), Pairing.ABOVE)
        for i in range(0, 49, 6):
            for j in range(i + 1, 50, 5):
                assert found[i, j] == parasail_score(as_text(ambiguous[i], DNA), as_text(ambiguous[j], DNA), options, DNA)
    found = run_scores(sequences, sequences, make_scoring(DNA, ScoringOptions(edit=True)), Pairing.ABOVE)
    for i in range(0, 49, 3):
        for j in range(i + 1, 50):
            assert found[i, j] == edlib.align(as_text(ambiguous[i], DNA), as_text(ambiguous[j], DNA), task="distance")["editDistance"]


def test_real_proteins(real_data):
    with gzip.open(real_data / "proteins_query.fasta.gz", "rb") as stream:
        alphabet, (everything,) = encode_all([read_raw_records(stream, "proteins")], "auto")
    assert alphabet is PROTEIN
    arrays = [everything.codes[a:b] for a, b in zip(everything.offsets[:-1], everything.offsets[1:], strict=True)][:80]
    sequences = sequence_set(arrays)
    found = run_scores(sequences, sequences, make_scoring(PROTEIN, ScoringOptions()), Pairing.ABOVE)
    for i in range(0, 79, 8):
        for j in range(i + 1, 80, 3):
            assert found[i, j] == parasail_score(as_text(arrays[i], PROTEIN), as_text(arrays[j], PROTEIN), ScoringOptions(), PROTEIN)


@pytest.mark.parametrize("rate", [0.001, 0.05, 0.3, 1.0])
def test_long_pairs_by_edit_distance(rng, rate):
    query = rng.integers(0, 4, 60_000)
    target = mutated(rng, query, rate, 4, rate / 10)
    found = run_scores(sequence_set([query]), sequence_set([target]), make_scoring(DNA, ScoringOptions(edit=True)))
    assert found[0, 0] == edlib.align(as_text(query, DNA), as_text(target, DNA), task="distance")["editDistance"]


@pytest.mark.parametrize("options", [ScoringOptions(), ScoringOptions(gap=6), ScoringOptions(match=2, mismatch=-1, gap=1)])
def test_long_pairs_by_score(rng, options):
    query = rng.integers(0, 4, 20_000)
    target = np.concatenate([mutated(rng, query, 0.05, 4, 0.005), rng.integers(0, 4, 3000)])
    found = run_scores(sequence_set([query]), sequence_set([target]), make_scoring(DNA, options))
    assert found[0, 0] == parasail_score(as_text(query, DNA), as_text(target, DNA), options, DNA)


def test_a_million_letters_by_score(rng):
    """Affine scores of a million letters against a gene cut out of them, both ways round."""
    genome = rng.integers(0, 4, 1_000_000)
    gene = mutated(rng, genome[400_000:401_500], 0.1, 4, 0.01)
    scheme = make_scoring(DNA, ScoringOptions())
    expected = parasail_score(as_text(genome, DNA), as_text(gene, DNA), ScoringOptions(), DNA)
    for a, b in ((genome, gene), (gene, genome)):
        assert run_scores(sequence_set([a]), sequence_set([b]), scheme, memory=1 << 30)[0, 0] == expected


def test_a_million_letters(rng):
    """Memory stays linear in length, the result exact: a million letters with 1,000 known changes, by edit distance."""
    query = rng.integers(0, 4, 1_000_000)
    target = query.copy()
    where = np.arange(500, 1_000_000, 1000)
    target[where] = (target[where] + 1) % 4
    found = run_scores(sequence_set([query]), sequence_set([target]), make_scoring(DNA, ScoringOptions(edit=True)), memory=200 << 20)
    assert found[0, 0] == edlib.align(as_text(query, DNA), as_text(target, DNA), k=1000)["editDistance"]
