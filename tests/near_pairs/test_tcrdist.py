"""TCRdist of CDR3s, beside a plain loop over its definition and values of other programs."""

import itertools

import numpy as np
import pytest
from command import gpualign, gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st
from tcrdist_reference import LETTERS, repertoire, tcrdist

import gpualign as python
from gpualign.core.alignment.task import Task
from gpualign.core.execution.runner import plan_task
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.edit_bounds import distance_bound
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets
from gpualign.cpu.near_pairs import _near

VARIANTS = [one.name for one in instruction_sets() if one.is_supported]


def sequence_set(texts):
    codes = np.concatenate([PROTEIN.encoding[np.frombuffer(text.encode(), np.uint8)] for text in texts])
    return SequenceSet("x", [str(k) for k in range(len(texts))], codes, np.cumsum([0, *map(len, texts)]))


def found_by(variant, queries, targets, limit, gap, memory=1 << 30):
    first = sequence_set(queries)
    task = Task(first, first if targets is None else sequence_set(targets), make_scoring(PROTEIN, ScoringOptions(tcrdist=True, gap=gap)))
    task = task.__class__(task.queries, task.targets, task.scoring, alphabet=PROTEIN, edit_bound=distance_bound(limit))
    prepared = CpuEngine(2, variant).prepare(task, Budget.from_total(memory))
    plan = plan_task(prepared, Pairing.ALL if targets is not None else Pairing.ABOVE)
    tiles = list(prepared.run(plan.tiles()))
    rows = []
    for tile in tiles:
        columns = (tile.pairs.queries.tolist(), tile.pairs.targets.tolist(), tile.pairs.distances.tolist())
        rows.append(list(zip(*columns, strict=True)))
        assert rows[-1] == sorted(set(rows[-1]))
    return sorted(itertools.chain(*rows))


def wanted(queries, targets, limit, gap):
    pairs = itertools.combinations(enumerate(queries), 2) if targets is None else itertools.product(enumerate(queries), enumerate(targets))
    every = ((i, j, tcrdist(one, other, gap)) for (i, one), (j, other) in pairs)
    return [row for row in every if row[2] <= limit]


TEXTS = st.lists(st.text("CASW", min_size=1, max_size=16) | st.text(LETTERS, min_size=1, max_size=30), min_size=1, max_size=20)


@settings(deadline=None, max_examples=80)
@given(TEXTS, st.none() | TEXTS, st.integers(0, 60) | st.just(600), st.sampled_from((12, 4, 0)), st.sampled_from(VARIANTS))
def test_pairs_are_those_of_a_plain_loop(queries, targets, limit, gap, variant):
    assert found_by(variant, queries, targets, limit, gap) == wanted(queries, targets, limit, gap)


@pytest.mark.parametrize("variant", VARIANTS)
def test_many_pairs_of_one_length(rng, variant):
    """More targets than a panel has, several bands, and so little memory for results that queries are halved."""
    texts = repertoire(rng, 5000)
    found = found_by(variant, texts, None, 9, 12)
    few = rng.choice(5000, 25, replace=False).tolist()
    by_query = {k: [(j, d) for i, j, d in found if i == k] for k in few}
    for k in few:
        assert by_query[k] == [(j, d) for j in range(k + 1, 5000) if (d := tcrdist(texts[k], texts[j])) <= 9]
    assert found_by(variant, texts, None, 9, 12, memory=12 << 20) == found


def test_sums_do_not_wrap_around():
    """Long sequences, whose costs add up to many times what a byte holds."""
    texts = ["C" * 300, "W" * 300, "C" * 299 + "W", "C" * 200 + "W" * 100, "A" * 311]
    for limit in (0, 3, 599, 600):
        assert found_by(VARIANTS[0], texts, None, limit, 12) == wanted(texts, None, limit, 12)


def fasta(path, texts):
    path.write_text("".join(f">r{number}\n{text}\n" for number, text in enumerate(texts)))
    return path


def test_commands(tmp_path, rng):
    """Equal CDR3s, both gap costs, a distance below that of one substitution, and clusters of the same pairs."""
    texts = repertoire(rng, 150)
    path = fasta(tmp_path / "r.fa", texts)
    for words, gap, limit in ((), 12, 15), (("--gap", "4"), 4, 20), ((), 12, 2):
        command = ("nw", "-q", "--tcrdist", *words, "--max-distance", str(limit), path)
        rows = gpualign_here(*command)[0].decode().splitlines()
        assert rows == ["query\ttarget\tdistance", *(f"r{i}\tr{j}\t{d}" for i, j, d in wanted(texts, None, limit, gap))]
    (tmp_path / "near.tsv").write_text(
        "\n".join(["query\ttarget\tdistance", *(f"r{i}\tr{j}\t{d}" for i, j, d in wanted(texts, None, 15, 12))])
    )
    words = ("cluster", "-q", "--max-distance", "15", "--method", "complete")
    assert gpualign_here(*words, "--tcrdist", path)[0] == gpualign_here(*words, "--edges", tmp_path / "near.tsv", path)[0]
    found = [(int(i), int(j), d) for i, j, d in python.pairs(texts, scoring=python.TCRDIST, max_distance=15)]
    assert found == wanted(texts, None, 15, 12)


def test_a_device_that_has_no_kernel(tmp_path, rng):
    path = fasta(tmp_path / "r.fa", repertoire(rng, 20))
    words = ("nw", "--tcrdist", "--max-distance", "15", path)
    rows, told = gpualign_here(*words, "--device", "cuda")
    assert rows == gpualign_here(*words, "--device", "cpu")[0]
    assert "--tcrdist has a kernel for CPUs alone; the CPU of this machine computes it" in told


@pytest.mark.parametrize(
    ("one", "other", "pwseqdist", "published"),
    [
        ("CASSLGQAYEQYF", "CASSLGQSYEQYF", 9, 9),
        ("CASSLGQAYEQYF", "CASSLGQAYEQYF", 0, 0),
        ("CASSLGQAYEQYF", "CASSLGQAEQYF", 28, 36),
        ("CASSPGTEAFF", "CASSPGTGAFF", 12, 12),
        ("CASSIRSSYEQYF", "CASSVRSSYEQYF", 3, 3),
    ],
)
def test_values_of_pwseqdist(one, other, pwseqdist, published):
    """nb_tcrdist(one, other) with its default gap_penalty of 4, and 3 nb_tcrdist(one, other, dist_weight=1), as tcrdist3 weights CDR3s."""
    (pair,) = python.pairs([one, other], scoring=python.Scoring(tcrdist=True, gap=4), max_distance=600)
    assert pair[2] == pwseqdist
    (pair,) = python.pairs([one, other], scoring=python.TCRDIST, max_distance=600)
    assert pair[2] == published


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "--tcrdist finds the pairs within a distance; give --max-distance too, say 15"),
        (["--max-distance", "601"], "--tcrdist: expected --max-distance of at most 600; found 601"),
        (["--max-distance", "15", "--matrix", "BLOSUM80"], "--tcrdist has its own costs; it cannot be combined with --matrix"),
        (["--max-distance", "15", "--hamming"], "--tcrdist and --hamming are two distances; give one of them"),
        (["--max-distance", "15", "--edit"], "--edit and --tcrdist are two distances; give one of them"),
        (["--max-distance", "15", "--fields", "query,cigar"], "identities, coverages and CIGARs need --edit"),
    ],
)
def test_refusals(tmp_path, words, reason):
    done = gpualign("nw", "--tcrdist", *words, fasta(tmp_path / "r.fa", ["CASSF", "CASSL"]), check=False)
    assert done.returncode == 2
    assert reason in done.stderr.decode()


def test_clusters_have_one_distance(tmp_path):
    done = gpualign("cluster", "--edit", "--hamming", "--max-distance", "1", fasta(tmp_path / "r.fa", ["CASSF", "CASSL"]), check=False)
    assert done.returncode == 2
    assert "--edit and --hamming are two distances; give one of them" in done.stderr.decode()


def test_nucleotides_are_refused():
    with pytest.raises(python.InputError, match=r"Scoring\(tcrdist=True\) compares amino acids; these are nucleotides"):
        python.pairs(["ACGT", "ACGA"], scoring=python.TCRDIST, max_distance=15)


def test_arguments_of_the_kernel_are_checked():
    codes, offsets, ids = np.array([1, 2, 3], np.uint8), np.array([0, 1, 3]), np.array([0, 1])
    costs, names, table = np.ones((32, 32), np.uint8), np.array([0, 1], np.int32), np.zeros((2, 2), np.int32)

    def call(codes=codes, offsets=offsets, ids=ids, firsts=ids, costs=costs, limit=9, weight=3, gap=12, is_free=False, **labelled):
        targets = _near.ColumnTargets(codes, offsets, ids, labelled.get("labels"))
        for panel in range(targets.panel_count if labelled.get("filled", True) else 0):
            targets.fill(panel)
        sets = codes, offsets, ids, firsts, targets
        own = labelled.get("own")
        return _near.column_tile(VARIANTS[0], *sets, costs, weight, gap, 12, 3, 2, is_free, own, limit, 9, _near.Cancel())

    assert len(call().queries) == 2
    assert len(call(labels=names, own=(names, table)).queries) == 2
    for wrong in (
        {"codes": codes + 31},
        {"offsets": offsets + 1},
        {"ids": ids + 1},
        {"ids": ids[::-1]},
        {"firsts": ids[:1]},
        {"labels": names - 1},
        {"labels": names[:1]},
    ):
        with pytest.raises((ValueError, IndexError)):
            call(**{name: np.ascontiguousarray(value) for name, value in wrong.items()})
    for own in (None, (names + 1, table), (names - 1, table), (names[:1], table), (names, table - 1), (names, table[:1])):
        with pytest.raises(ValueError, match=r"label"):
            call(labels=names, own=own)
    with pytest.raises(ValueError, match="label"):
        call(labels=None, own=(names, table))
    with pytest.raises(ValueError, match="not filled"):
        call(filled=False)
    for wrong in ({"costs": costs * 65}, {"limit": 10_000}, {"limit": -1}, {"weight": 0}, {"gap": -1}, {"is_free": True}):
        with pytest.raises(ValueError, match="out of range"):
            call(**wrong)
