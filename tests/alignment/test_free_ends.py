"""Where alignments end, of which the ends are free: the engines against the sentence of docs/scoring.md."""

from functools import cache

import numpy as np
import pytest
from command import gpualign
from oracle import align, count, global_score
from path_cases import SCHEMES, repeats
from path_files import rows_of
from work import records, run_paths, sequence_set

from gpualign.core.alignment.task import EndGaps
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets

pytestmark = pytest.mark.slow

FREE = [EndGaps.FREE, EndGaps.QUERY, EndGaps.TARGET]
SETS = [s.name for s in instruction_sets() if s.is_supported]


def end_of_the_sentence(query, target, score, end_gaps):
    """(score, row, column) of the end, by trying every start and every end that is free. query, target: bytes; score(query, target): of a
    global alignment of two parts."""
    m, n = len(query), len(target)
    starts, ends = {(0, 0)}, {(m, n)}
    if end_gaps.target_gaps_are_free:
        starts |= {(i, 0) for i in range(m + 1)}
        ends |= {(i, n) for i in range(m + 1)}
    if end_gaps.query_gaps_are_free:
        starts |= {(0, j) for j in range(n + 1)}
        ends |= {(m, j) for j in range(n + 1)}
    scores = {(i, j): max(score(query[a:i], target[b:j]) for a, b in starts if a <= i and b <= j) for i, j in ends}
    best = max(scores.values())
    tied = [end for end in ends if scores[end] == best]
    most = max(map(min, tied))
    tied = [end for end in tied if min(end) == most]
    tied = [end for end in tied if end[1] == n] or tied
    return best, *max(tied)


@pytest.mark.parametrize("end_gaps", FREE)
@pytest.mark.parametrize("scheme", ["default", "linear", "edit", "protein"])
def test_the_sentence(rng, scheme, end_gaps):
    scheme = SCHEMES[scheme]

    @cache
    def score(query, target):
        codes = np.frombuffer(query, dtype=np.uint8), np.frombuffer(target, dtype=np.uint8)
        return global_score(*codes, scheme.substitution, scheme.gap_open, scheme.gap_extend)

    queries, targets = repeats(rng, 45, 6, 2), repeats(rng, 45, 6, 2)
    found = run_paths(queries, targets, scheme, end_gaps)
    assert len(found.paths) == 45 * 45
    for (i, j), path in found.paths.items():
        query, target = records(queries)[i], records(targets)[j]
        best, row, column = end_of_the_sentence(query.tobytes(), target.tobytes(), score, end_gaps)
        assert found.scores[i, j] == (-best if scheme.edit else best)
        assert found.statistics[i, j][6::2] == (row, column)
        expected = align(query, target, scheme, end_gaps.query_gaps_are_free, end_gaps.target_gaps_are_free)
        assert (found.scores[i, j], path, found.statistics[i, j][5:]) == expected


@pytest.mark.parametrize("end_gaps", FREE)
@pytest.mark.parametrize("scheme", ["default", "linear", "edit", "protein"])
def test_every_way_of_the_cpu(rng, scheme, end_gaps, request):
    """Blocks of lanes and single pairs, of every instruction set."""
    scheme = SCHEMES[scheme]
    queries, targets = repeats(rng, 45, 14, 3), repeats(rng, 45, 14, 3)
    expected = {
        (i, j): align(query, target, scheme, end_gaps.query_gaps_are_free, end_gaps.target_gaps_are_free)
        for i, query in enumerate(records(queries))
        for j, target in enumerate(records(targets))
    }

    def check():
        for name in SETS:
            found = run_paths(queries, targets, scheme, end_gaps, engine=CpuEngine(1, name))
            assert found.paths.keys() == expected.keys()
            for pair, (score, path, ends) in expected.items():
                assert (found.scores[pair], found.paths[pair]) == (score, path), (name, pair)
                assert found.statistics[pair] == (*count(path), *ends), (name, pair)

    check()
    request.getfixturevalue("single_pairs")
    check()


@pytest.mark.parametrize("scheme", ["16 bits", "32 bits"])
@pytest.mark.parametrize("single", [False, True])
def test_wide_elements(rng, scheme, single, request):
    if single:
        request.getfixturevalue("single_pairs")
    queries, targets = repeats(rng, 10, 14, 3), repeats(rng, 70, 14, 3)
    found = run_paths(queries, targets, SCHEMES[scheme], EndGaps.FREE)
    for (i, j), path in found.paths.items():
        expected = align(records(queries)[i], records(targets)[j], SCHEMES[scheme], True, True)
        assert (found.scores[i, j], path, found.statistics[i, j][5:]) == expected


def longest_overlap(query, target):
    """Letters of the longest end of one that is a beginning of the other; of all, where one holds the other. Of two bytes objects."""
    held = [len(a) for a, b in ((query, target), (target, query)) if a in b]
    ends = [k for k in range(min(len(query), len(target)) + 1) if query.endswith(target[:k]) or target.endswith(query[:k])]
    return max(held + ends)


@pytest.mark.parametrize("single", [False, True])
def test_an_edit_distance_with_free_ends_is_0_of_the_longest_overlap(rng, single, request):
    if single:
        request.getfixturevalue("single_pairs")
    shared = [1, 1, 2, 1, 2]
    queries = sequence_set([*records(repeats(rng, 45, 12, 3)), np.array([0, 0, 0, 0, *shared])])
    targets = sequence_set([*records(repeats(rng, 45, 12, 3)), np.array([*shared, 0, 0, 0, 0])])
    found = run_paths(queries, targets, SCHEMES["edit"], EndGaps.FREE)
    assert not found.scores.any()
    lengths = set()
    for (i, j), path in found.paths.items():
        assert path == "=" * longest_overlap(records(queries)[i].tobytes(), records(targets)[j].tobytes())
        lengths.add(len(path))
    assert {0, 1, 5} <= lengths


@pytest.mark.parametrize(
    ("query", "target", "row"),
    [
        ("GATTA", "TTAG", ["0", "3=", "3", "5", "1", "3"]),
        ("TTAG", "GATTA", ["0", "3=", "1", "3", "3", "5"]),
        ("ACGT", "GGTCCA", ["0", "1=", "1", "1", "6", "6"]),
        ("TTTT", "ACACAC", ["0", "*", "1", "0", "7", "6"]),
    ],
)
def test_the_examples_of_the_documentation(query, target, row):
    fields = "score,cigar,qstart,qend,tstart,tend"
    text = f">q\n{query}\n>t\n{target}\n".encode()
    done = gpualign("nw", "-q", "--edit", "--end-gaps", "free", "--fields", fields, "-", stdin=text)
    assert list(rows_of(done.stdout)[0].values()) == row
