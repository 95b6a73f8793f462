"""Distances of alignment scores, beside a plain loop over their definition, parasail and scirpy."""

import itertools
import warnings

import numpy as np
import pytest
from command import gpualign, gpualign_here
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import global_score, global_scores

import gpualign as python
from gpualign.core.scoring.alignment_distance import column_filter, diagonal_scores
from gpualign.core.scoring.matrices import SubstitutionMatrix, matrix_by_name
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment.engine import instruction_sets
from gpualign.cpu.near_pairs import _near

VARIANTS = [one.name for one in instruction_sets() if one.is_supported]
LETTERS = "ACDEFGHIKLMNPQRSTVWYBZXUOJ*"
TEXTS = st.lists(st.text("CASX", min_size=1, max_size=9) | st.text(LETTERS, min_size=1, max_size=14), min_size=2, max_size=9)


def encoded(text):
    return PROTEIN.encoding[np.frombuffer(text.encode(), np.uint8)]


def sequence_set(texts):
    codes = np.concatenate([encoded(text) for text in texts])
    return SequenceSet("x", [str(k) for k in range(len(texts))], codes, np.cumsum([0, *map(len, texts)]))


def distances(queries, targets, table, gap_open, gap_extend):
    """Rows (i, j, distance) by a plain loop; targets None: the pairs i < j of one set."""
    sets = [[encoded(text) for text in texts] for texts in (queries, queries if targets is None else targets)]
    own = [[global_score(one, one, table, gap_open, gap_extend) for one in texts] for texts in sets]
    rows = []
    for i, query in enumerate(sets[0]):
        scores = global_scores(query, sets[1], table, gap_open, gap_extend).tolist()
        first = i + 1 if targets is None else 0
        rows += [(i, j, min(own[0][i], own[1][j]) - scores[j]) for j in range(first, len(sets[1]))]
    return rows


def blosum62(gap_open=11, gap_extend=1):
    return make_scoring(PROTEIN, ScoringOptions(gap_open=gap_open, gap_extend=gap_extend))


def within(queries, targets, limit, scoring):
    rows = distances(queries, targets, scoring.substitution, scoring.gap_open, scoring.gap_extend)
    return [f"r{i}\tr{j}\t{distance}" for i, j, distance in rows if distance <= limit]


def fasta(path, texts):
    path.write_text("".join(f">r{number}\n{text}\n" for number, text in enumerate(texts)))
    return path


def found(folder, queries, targets, limit, *words):
    files = [fasta(folder / "q.fa", queries), *([] if targets is None else [fasta(folder / "t.fa", targets)])]
    command = ("nw", "-q", "--device", "cpu", "--alphabet", "protein", "--align-distance", "--max-distance", str(limit), *words, *files)
    header, *rows = gpualign_here(*command)[0].decode().splitlines()
    assert header == "query\ttarget\tdistance"
    return rows


@settings(deadline=None, max_examples=120)
@given(TEXTS, st.none() | TEXTS, st.integers(0, 45), st.sampled_from([(11, 11), (11, 1), (4, 4), (12, 0), (0, 0)]))
@example(["CAXF", "CAAAF"], None, 10, (11, 11))
@example(["CAXXXF", "CAAAF", "CAAF"], None, 20, (11, 11))
def test_near_pairs_are_those_of_a_plain_loop(tmp_path_factory, queries, targets, limit, gaps):
    """By columns and by all scores, with letters that score higher with others than with themselves."""
    words = ("--gap-open", str(gaps[0]), "--gap-extend", str(gaps[1]))
    folder = tmp_path_factory.mktemp("distance")
    assert found(folder, queries, targets, limit, *words) == within(queries, targets, limit, blosum62(*gaps))


@st.composite
def symmetric_matrices(draw):
    """Scores of any sign, of which those with other letters may exceed those of the letters with themselves."""
    letters = "ACDX"
    values = np.array(draw(st.lists(st.lists(st.integers(-6, 9), min_size=4, max_size=4), min_size=4, max_size=4)), dtype=np.int64)
    return SubstitutionMatrix("made up", letters, np.tril(values) + np.tril(values, -1).T)


def matrix_file(path, matrix):
    rows = (" ".join([letter, *map(str, row)]) for letter, row in zip(matrix.letters, matrix.values.tolist(), strict=True))
    path.write_text("\n".join([" ".join(matrix.letters), *rows]) + "\n")
    return path


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.text("ACDX", min_size=1, max_size=8), min_size=2, max_size=8),
    symmetric_matrices(),
    st.integers(0, 40),
    st.sampled_from([(15, 15), (12, 6), (3, 1), (0, 0)]),
)
def test_matrices_whose_best_alignment_of_a_sequence_with_itself_may_have_gaps(tmp_path_factory, texts, matrix, limit, gaps):
    folder = tmp_path_factory.mktemp("distance")
    words = ("--gap-open", str(gaps[0]), "--gap-extend", str(gaps[1]), "--matrix", str(matrix_file(folder / "m", matrix)))
    scoring = make_scoring(PROTEIN, ScoringOptions(matrix=matrix, gap_open=gaps[0], gap_extend=gaps[1]))
    assert found(folder, texts, None, limit, *words) == within(texts, None, limit, scoring)


def column_cost(one, other, costs, gap_open, gap_extend):
    """Cost of two code arrays by the definition of `ColumnFilter`."""
    shorter, longer = sorted((one, other), key=len)
    more = len(longer) - len(shorter)
    gap = gap_open + (more - 1) * gap_extend if more else 0
    return gap + sum(min(int(costs[a, longer[k]]), int(costs[a, longer[k + more]])) for k, a in enumerate(shorter))


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.text("ACDX", min_size=1, max_size=9), min_size=2, max_size=8),
    st.none() | symmetric_matrices(),
    st.integers(0, 40),
    st.sampled_from([(30, 30), (15, 15), (20, 6), (12, 2)]),
)
@example(["CAXF", "CAAAF"], None, 10, (11, 11))
def test_columns_keep_every_near_pair(texts, matrix, limit, gaps):
    scoring = make_scoring(PROTEIN, ScoringOptions(matrix=matrix, gap_open=gaps[0], gap_extend=gaps[1]))
    records = sequence_set(texts)
    if (columns := column_filter(limit, scoring, records, records)) is None:
        return
    costs = columns.costs, columns.gap_open, columns.gap_extend
    for i, j, distance in distances(texts, None, scoring.substitution, *gaps):
        assert distance > limit or column_cost(encoded(texts[i]), encoded(texts[j]), *costs) <= columns.limit


def test_the_columns_of_receptors():
    """With the scores of proteins, columns are compared up to 21, and their limit is the distance unless a letter is unknown."""
    plain, unknown = sequence_set(["CASSLGQAYEQYF", "CASSLGQSYEQYF"]), sequence_set(["CASSLGQAYEQYF", "CASXLGQSYEQYF"])
    assert column_filter(21, blosum62(), plain, plain).limit == 21
    assert column_filter(22, blosum62(), plain, plain) is None
    assert column_filter(10, blosum62(), unknown, unknown).limit == 12
    long = sequence_set(["A" * 1025, "A"])
    assert column_filter(10, blosum62(), long, plain) is None
    assert diagonal_scores(plain, blosum62()).tolist() == [70, 70]


@settings(deadline=None, max_examples=80)
@given(TEXTS, TEXTS, st.integers(0, 120), st.integers(0, 20), st.integers(0, 5), st.sampled_from(VARIANTS))
def test_the_kernel_with_a_free_gap(queries, targets, limit, gap_open, gap_extend, variant):
    targets = sorted(targets, key=len)
    generator = np.random.default_rng(len(queries) + limit)
    costs = np.zeros((32, 32), np.uint8)
    costs[:27, :27] = generator.integers(0, 65, (27, 27))
    costs = np.maximum(costs, costs.T)
    sets = [sequence_set(texts) for texts in (queries, targets)]
    numbers = [np.arange(len(one)) for one in sets]
    laid_out = _near.ColumnTargets(sets[1].codes, sets[1].offsets, numbers[1], None)
    for panel in range(laid_out.panel_count):
        laid_out.fill(panel)
    result = _near.column_tile(
        variant,
        sets[0].codes,
        sets[0].offsets,
        numbers[0],
        np.zeros_like(numbers[0]),
        laid_out,
        costs,
        1,
        gap_open,
        gap_extend,
        0,
        0,
        True,
        None,
        limit,
        1 << 40,
        _near.Cancel(),
    )

    rectangle = itertools.product(*(list(enumerate(map(encoded, texts))) for texts in (queries, targets)))
    every = {(i, j): column_cost(one, other, costs, gap_open, gap_extend) for (i, one), (j, other) in rectangle}
    rows = zip(result.queries.tolist(), result.targets.tolist(), result.distances.tolist(), strict=True)
    assert {(i, j): total for i, j, total in rows} == {pair: total for pair, total in every.items() if total <= limit}


def receptors(rng, count):
    """CDR3s of a few founders with substitutions, deletions and insertions, some of them equal or with unknown letters."""
    founders = ["CASS" + "".join(rng.choice(list(LETTERS[:20]), n)) + "EQYF" for n in (4, 5, 5, 6)]
    texts = []
    for _ in range(count):
        letters = list(founders[int(rng.integers(4))])
        for place in rng.integers(3, len(letters) - 2, rng.integers(0, 4)).tolist():
            letters[place] = str(rng.choice(list(LETTERS[:20])))
        if rng.random() < 0.2:
            del letters[int(rng.integers(4, 8))]
        texts.append("".join(letters))
    return [*texts, *texts[: count // 10], "CASSXEQYF"]


@pytest.mark.parametrize("limit", [10, 30])
def test_every_engine(tmp_path, rng, engine, limit):
    """10 by the columns of pairs, on the CPU whatever was asked for, and 30 by all scores."""
    texts = receptors(rng, 100)
    rows, told = gpualign_here("nw", "--align-distance", "--max-distance", str(limit), fasta(tmp_path / "r.fa", texts), *engine.words)
    assert rows.decode().splitlines()[1:] == within(texts, None, limit, blosum62())
    if limit == 30:
        assert engine.told in told
        assert (
            "scores of all pairs"
            in gpualign_here("nw", "-v", "--align-distance", "--max-distance", "30", tmp_path / "r.fa", *engine.words)[1]
        )
    elif "cpu" not in engine.words:
        assert "--align-distance up to this distance has a kernel for CPUs alone; the CPU of this machine computes it" in told


@pytest.mark.parametrize(("limit", "gap"), [(10, 11), (14, 11), (30, 6)])
def test_parasail(rng, limit, gap):
    parasail = pytest.importorskip("parasail")
    texts = receptors(rng, 60)
    score = [[parasail.nw_scan_16(one, other, gap, gap, parasail.blosum62).score for other in texts] for one in texts]
    wanted = [
        (str(i), str(j), distance)
        for i, j in itertools.combinations(range(len(texts)), 2)
        if (distance := min(score[i][i], score[j][j]) - score[i][j]) <= limit
    ]
    assert list(python.pairs(texts, scoring=python.Scoring(align_distance=True, gap=gap), max_distance=limit)) == wanted


@pytest.mark.parametrize("cutoff", [10, 14, 24])
def test_scirpy(rng, cutoff):
    metrics = pytest.importorskip("scirpy.ir_dist.metrics", reason="scirpy is not installed")
    texts = sorted(set(receptors(rng, 80)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the calculator is called outdated, since there is a heuristic
        matrix = metrics.AlignmentDistanceCalculator(cutoff, n_jobs=1).calc_dist_mat(texts).tocoo()  # holds distance + 1
    wanted = {(int(i), int(j)): int(value) - 1 for i, j, value in zip(matrix.row, matrix.col, matrix.data, strict=True) if i < j}
    near = python.pairs(texts, scoring=python.Scoring(align_distance=True, gap=11), max_distance=cutoff)
    assert {(int(i), int(j)): distance for i, j, distance in near} == wanted


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("CASSLGQAYEQYF", "CASSLGQSYEQYF", 3),  # A with S scores 1, S with itself 4
        ("CASSIRSSYEQYF", "CASSLRSSYEQYF", 2),  # scirpy's example: L with I scores 2, L with itself 4
        ("CASSW", "CASSP", 11),  # P with itself scores 7, with W -4
        ("CASSLGQAYEQYF", "CASSLGQAEQYF", 11),
        ("CAXF", "CAAF", -1),  # X scores 0 with A, -1 with itself
    ],
)
def test_known_distances(one, other, distance):
    assert list(python.pairs([one, other], scoring=python.ALIGN_DISTANCE, max_distance=30)) == [("0", "1", distance)]


def test_formats_and_clusters(tmp_path, rng):
    """A distance below 0 is written as it is, and is stored in a sparse matrix like every other."""
    texts = [*receptors(rng, 60), "CAXF", "CAAF"]
    path, wanted = fasta(tmp_path / "r.fa", texts), within(texts, None, 10, blosum62())
    assert any(row.endswith("\t-1") for row in wanted)
    words = ("--align-distance", "--max-distance", "10", path)
    gpualign_here("nw", "-q", *words, "--format", "csr", "-o", tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as arrays:
        matrix = {key: arrays[key] for key in ("indices", "indptr", "data")}
    rows = np.repeat(np.arange(len(texts)), np.diff(matrix["indptr"]))
    stored = {(int(i), int(j)): int(value) - 1 for i, j, value in zip(rows, matrix["indices"], matrix["data"], strict=True) if i < j}
    assert stored == {(int(i[1:]), int(j[1:])): int(d) for i, j, d in map(str.split, wanted)}
    distinct = list(dict.fromkeys(texts[:-2]))  # in greedy clusters, copies follow the first of them
    few, near = fasta(tmp_path / "few.fa", distinct), within(distinct, None, 10, blosum62())
    (tmp_path / "near.tsv").write_text("\n".join(["query\ttarget\tdistance", *near]) + "\n")
    for method in ("single", "complete", "greedy"):
        cluster = ("cluster", "-q", "--max-distance", "10", "--method", method)
        order = ("--order", "length") if method == "greedy" else ()
        clusters = gpualign_here(*cluster, "--align-distance", few)[0]
        assert clusters == gpualign_here(*cluster, *order, "--edges", tmp_path / "near.tsv", few)[0]
    gpualign_here("cluster", "-q", *words, "--method", "greedy", "-o", tmp_path / "x.uc")
    assert (tmp_path / "x.uc").read_text().count("\nH\t") > 0


def test_dry_run(tmp_path, rng):
    path = fasta(tmp_path / "r.fa", receptors(rng, 300))
    for limit, steps in ((10, "column costs, a target in each byte of a vector"), (30, "scores of all pairs")):
        plan = gpualign_here("nw", "--align-distance", "--max-distance", str(limit), path, "--device", "cpu", "--dry-run")[0].decode()
        assert steps in plan
        assert f"at most {limit}" in plan


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "--align-distance finds the pairs within a distance; give --max-distance too, say 10"),
        (["--max-distance", "0.5"], "--max-distance: expected a whole number"),
        (["--max-distance", "10", "--hamming"], "--align-distance and --hamming are two distances; give one of them"),
        (["--max-distance", "10", "--tcrdist"], "--align-distance and --tcrdist are two distances; give one of them"),
        (["--max-distance", "10", "--fields", "query,cigar"], "lists distances without alignments; identities, coverages and CIGARs need"),
        (["--max-distance", "10", "--end-gaps", "free"], "it cannot be combined with --end-gaps free"),
    ],
)
def test_refusals(tmp_path, words, reason):
    done = gpualign("nw", "--align-distance", *words, fasta(tmp_path / "r.fa", ["CASSF", "CASSL"]), check=False)
    assert done.returncode == 2
    assert reason in done.stderr.decode()


def test_a_matrix_that_is_not_symmetric_is_refused(tmp_path):
    matrix = matrix_by_name("BLOSUM62")
    values = matrix.values.copy()
    values[matrix.letters.index("A"), matrix.letters.index("C")] = 3
    path = matrix_file(tmp_path / "m.txt", SubstitutionMatrix("m.txt", matrix.letters, values))
    words = ("nw", "--align-distance", "--max-distance", "10", "--matrix", path, fasta(tmp_path / "r.fa", ["CASSF", "CASSL"]))
    done = gpualign(*words, check=False)
    assert done.returncode == 2
    assert "--align-distance needs a symmetric matrix" in done.stderr.decode()
    assert "A with C scores 3, C with A 0" in done.stderr.decode()


def test_average_linkage_is_refused(tmp_path):
    words = ("--align-distance", "--max-distance", "10", "--method", "average", fasta(tmp_path / "r.fa", ["CASSF", "CASSL"]))
    done = gpualign("cluster", *words, check=False)
    assert done.returncode == 2
    assert b"only near pairs have one here" in done.stderr
