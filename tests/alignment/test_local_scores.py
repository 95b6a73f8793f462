"""Local scores of the CPU engine: against the plain recurrence, parasail and Biopython, where scores leave the range of an element."""

import numpy as np
import pytest
from Bio.Align import PairwiseAligner, substitution_matrices
from hypothesis import given
from hypothesis import strategies as st
from oracle import local_matrix, local_score
from relatives import related_sets, relatives
from work import records, run_scores, scoring, sequence_set, two_valued

from gpualign.core.alignment.task import Mode
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.core.sequences.loading import RawRecords, encode, encode_all, read_raw_records
from gpualign.core.sequences.string_column import StringColumn
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets
from gpualign.cpu.alignment.local_recipe import make_local_recipe

pytestmark = pytest.mark.slow

SETS = [s.name for s in instruction_sets() if s.is_supported]


def local(queries, targets, scheme, name=None, **more):
    return run_scores(queries, targets, scheme, engine=CpuEngine(1, name), mode=Mode.LOCAL, **more)


def check(queries, targets, scheme, name=None, **more):
    found = local(queries, targets, scheme, name, **more)
    for i, query in enumerate(records(queries)):
        for j, target in enumerate(records(targets)):
            assert found[i, j] == local_score(query, target, scheme.substitution, scheme.gap_open, scheme.gap_extend), (i, j)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("linear", [False, True], ids=["affine", "linear"])
@pytest.mark.parametrize("scale", [1, 40, 3000, 10**7], ids=lambda s: f"x{s}")
def test_every_width(rng, name, linear, scale):
    """The weights decide where scores leave 8, 16 and 32 bits."""
    table = rng.integers(-6, 8, (22, 22))
    scheme = scoring((table + table.T) // 2 * scale, 11 * scale, (11 if linear else 2) * scale)
    check(*related_sets(rng, [3, 12], 160, 22), scheme, name)


@pytest.mark.parametrize(
    ("letters", "scheme", "gaps"),
    [
        (4, (5, -4), (10, 1)),
        (4, (60, -50), (90, 1)),
        (4, (2, -3), (5, 5)),
        (4, (1, -1), (1, 1)),
        (4, (4, -9), (0, 0)),
        (20, (7, -2), (12, 2)),
    ],
    ids=str,
)
def test_few_long_targets(rng, letters, scheme, gaps):
    """One by one in the lanes of a query: more rows than a strip has, gaps longer than the rows of a lane, and scores beyond 16 bits."""
    query = rng.integers(0, letters, 2300)
    alike = np.concatenate((query[:700], rng.integers(0, letters, 150), query[1000:1800], query[1850:], rng.integers(0, letters, 100)))
    alike = np.where(rng.random(len(alike)) < 0.05, rng.integers(0, letters, len(alike)), alike)
    targets = [alike, rng.integers(0, letters, 2050)]
    scheme = two_valued(letters, *scheme, *gaps)
    expected = [local_score(query, target, scheme.substitution, *gaps) for target in targets]
    for name in SETS:
        assert local(sequence_set([query]), sequence_set(targets), scheme, name).tolist() == [expected]


LETTERS = st.lists(st.integers(0, 3), max_size=12)


@given(LETTERS, LETTERS, st.integers(0, 60), st.integers(-60, 0), st.integers(0, 90), st.integers(0, 90))
def test_rows_of_the_definition_are_its_cells(query, target, match, mismatch, one, other):
    table = np.where(np.eye(4, dtype=bool), match, mismatch)
    gaps = max(one, other), min(one, other)
    assert local_score(query, target, table, *gaps) == local_matrix(query, target, table, *gaps).max()


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=40), min_size=1, max_size=4),
    st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=40), min_size=1, max_size=40),
    st.integers(0, 60),
    st.integers(-60, 0),
    st.integers(0, 90),
    st.integers(0, 90),
)
def test_any_weights(queries, targets, match, mismatch, one, other):
    check(sequence_set(queries), sequence_set(targets), two_valued(4, match, mismatch, max(one, other), min(one, other)))


def test_scores_at_the_ends_of_the_ranges():
    """Exactly 254, 255, 256 and 65,534 .. 65,536: what an element can hold, cannot tell from more, and cannot hold."""
    wide = ((62, (1056, 1057, 1058)), (85, (770, 771, 772)), (64, (1023, 1024, 1025)))
    assert [match * lengths[1] for match, lengths in wide] == [65_534, 65_535, 65_536]
    for match, lengths in ((1, (253, 254, 255, 256)), (127, (1, 2, 3)), *wide):
        sequences = sequence_set([np.zeros(n, dtype=np.uint8) for n in lengths])
        scores = local(sequences, sequences, two_valued(2, match, -1, 5, 1))
        assert scores.tolist() == [[match * min(a, b) for b in lengths] for a in lengths]


def test_scores_beyond_32_bits():
    sequences = sequence_set([np.arange(3000) % 4])
    assert local(sequences, sequences, two_valued(4, 10**6, -(10**6), 10**6, 10**5)).tolist() == [[3 * 10**9]]


@pytest.mark.parametrize("cells", [500, 20_000, None])
def test_either_side_in_the_lanes(rng, cells):
    """Many queries against few targets are computed the other way round; matrices need not be symmetric."""
    many, few = relatives(rng, 90, 50, 4), relatives(rng, 2, 70, 4)
    scheme = scoring([[5, -4, -1, -9], [2, 5, -4, -4], [-4, 0, 6, -4], [-4, -4, 3, 7]], 8, 3)
    check(many, few, scheme, tile_cells=cells)
    check(few, many, scheme, tile_cells=cells)


def real_proteins(folder, count):
    path = folder / "proteins_db.fasta.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not among the real data")
    with path.open("rb") as stream:
        raw = read_raw_records(stream, path.name)
    chosen = np.linspace(0, len(raw.ids) - 1, count).astype(int).tolist()
    letters = [raw.letters[i].upper() for i in chosen]
    _, (sequences,) = encode_all(
        [RawRecords("real", StringColumn.from_strings([raw.ids[i] for i in chosen]), StringColumn.from_strings(letters), [])], "protein"
    )
    return sequences, letters


@pytest.mark.parametrize(("gap_open", "gap_extend"), [(11, 1), (12, 1), (6, 6)])
def test_parasail_on_real_proteins(real_data, gap_open, gap_extend):
    parasail = pytest.importorskip("parasail")
    sequences, texts = real_proteins(real_data, 60)
    scheme = make_scoring(PROTEIN, ScoringOptions(gap_open=gap_open, gap_extend=gap_extend), [sequences])
    scores = local(sequences, sequences, scheme)
    # With linear gaps parasail's striped kernels return scores that are too low; its scan kernels are right.
    align = parasail.sw_scan_profile_sat if gap_open == gap_extend else parasail.sw_striped_profile_sat
    for i, query in enumerate(texts):
        profile = parasail.profile_create_sat(query, parasail.blosum62)
        for j, target in enumerate(texts):
            assert scores[i, j] == align(profile, target, gap_open, gap_extend).score


def test_biopython_on_random_proteins(rng):
    letters = "ARNDCQEGHILKMFPSTWYVBZX"
    texts = ["".join(rng.choice(list(letters), rng.integers(1, 120))) for _ in range(25)]
    sequences = encode("random", [f"s{i}" for i in range(25)], StringColumn.from_strings(texts), PROTEIN)
    aligner = PairwiseAligner(mode="local", open_gap_score=-11, extend_gap_score=-1)
    aligner.substitution_matrix = substitution_matrices.load("BLOSUM62")
    scores = local(sequences, sequences, make_scoring(PROTEIN, ScoringOptions(), [sequences]))
    assert scores.tolist() == [[int(max(0, aligner.score(a, b))) for b in texts] for a in texts]


def test_biopython_on_real_genes(small_16s):
    with small_16s.open("rb") as stream:
        raw = read_raw_records(stream, "16s")
    texts = [text.upper().replace("U", "T") for text in raw.letters[:8]]
    _, (sequences,) = encode_all([RawRecords("16s", raw.ids[:8], raw.letters[:8], [])], "dna")
    aligner = PairwiseAligner(mode="local", open_gap_score=-16, extend_gap_score=-6)
    aligner.substitution_matrix = substitution_matrices.load("NUC.4.4")
    scores = local(sequences, sequences, make_scoring(DNA, ScoringOptions(), [sequences], local=True))
    assert scores.tolist() == [[int(aligner.score(a, b)) for b in texts] for a in texts]


@pytest.mark.slow
def test_a_very_long_protein_among_short_ones(rng):
    """40,000 residues, as titin has; the score of its own fragment is known."""
    titin = rng.integers(0, 20, 40_000)
    targets = sequence_set([titin, *(rng.integers(0, 20, rng.integers(1, 300)) for _ in range(40))])
    queries = sequence_set([titin[20_000:20_400], titin[:9000]])
    scheme = make_scoring(PROTEIN, ScoringOptions())
    scores = local(queries, targets, scheme)
    own = [int(scheme.substitution[r, r].sum()) for r in records(queries)]
    assert scores[:, 0].tolist() == own
    for j in range(1, 41):
        target = records(targets)[j]
        assert scores[0, j] == local_score(records(queries)[0], target, scheme.substitution, 11, 1)


def test_widths_follow_the_weights():
    for options, narrowest in (
        (ScoringOptions(), 1),
        (ScoringOptions(match=200, mismatch=-4), 2),
        (ScoringOptions(match=5, gap=40_000), 4),
    ):
        assert make_local_recipe(make_scoring(DNA, options), 4, 100, 100).narrowest == narrowest
    assert make_local_recipe(make_scoring(DNA, ScoringOptions(match=10**6)), 4, 100, 100).widest == 4
    assert make_local_recipe(make_scoring(DNA, ScoringOptions(match=10**6)), 4, 3000, 3000).widest == 8
