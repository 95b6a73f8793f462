"""The least score with which a hit may pass: against every score that there is."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.core.scoring.evalues import EvalueParameters, SearchSpace, _published_rows, published_parameters
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.search.score_cutoffs import EvalueScoreCutoffs, score_cutoffs
from gpualign.core.sequences.alphabet import DNA, PROTEIN

BLOSUM = make_scoring(PROTEIN, ScoringOptions(), local=True)
SIMULATED = EvalueParameters(0.3, 0.1, 1.5, -20.0, 1, "simulated")


def spaces(lengths, records):
    letters = int(lengths.sum())
    return [
        SearchSpace(published_parameters(BLOSUM), letters, records),
        SearchSpace(SIMULATED, letters, records, 2),
        SearchSpace(
            published_parameters(make_scoring(DNA, ScoringOptions(match=2, mismatch=-3, gap_open=7, gap_extend=2))), letters, records
        ),
    ]


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=8),
    st.integers(1, 500),
    st.sampled_from([0.0, 1e-300, 1e-40, 1e-5, 1e-3, 0.1, 10, 1e4, 1e9, float("inf")]),
    st.integers(0, 5),
    st.integers(-5, 200),
)
def test_no_score_below_the_floor_passes(targets, query, most, best, least):
    """Against every score that any of the targets can have; and a score that is below nothing that passes is no floor."""
    targets = np.array(targets)
    for space in spaces(targets, len(targets)):
        floor = int(score_cutoffs(np.array([query]), least, EvalueScoreCutoffs(space, most, targets, best))[0])
        lengths = np.unique(targets)
        # As many as a target's own letters allow, so that the floor is not lower than the least that passes.
        scores = np.concatenate([np.arange(1, best * length + 1) for length in lengths])
        evalues = space.evalues(scores, np.full(len(scores), query), np.repeat(lengths, best * lengths))
        passing = scores[(evalues <= most) & (scores >= least)]
        assert not (passing < floor).any()
        reachable = best * min(query, int(lengths[-1]))
        if most > 1e-200 and (passing <= reachable).any():
            assert floor == max(1, least, passing.min())


def test_a_larger_score_never_has_a_larger_evalue():
    """Every scoring of BLAST's table: the floors rest on it (core/search/score_cutoffs.py proves it for scores above 100)."""
    scores = np.arange(1, 301)
    seen = 0
    for name, existence, extension in _published_rows():
        if existence == "-":
            continue
        options = SimpleNamespace(matrix=name, match=None, gap_open=int(existence) + int(extension), gap_extend=int(extension))
        options.gap_cost = lambda n, o=options: o.gap_open + (n - 1) * o.gap_extend
        parameters = published_parameters(options)
        for query in (1, 10, 40, 300, 5000):
            for target in (1, 5, 30, 100, 400, 9000):
                lengths = np.full(len(scores), query), np.full(len(scores), target)
                found = SearchSpace(parameters, 10**7, 20_000).evalues(scores, *lengths)
                assert (found[1:] <= found[:-1] * (1 + 1e-12)).all(), (name, existence, extension, query, target)
        size = parameters.finite_size
        if size is not None:
            assert size.mean_b / size.mean_a - 2 * size.variance_b / size.variance_a < 100
        seen += 1
    assert seen > 80


def test_the_same_evalues_by_either_way(rng):
    lengths = np.unique(rng.integers(1, 2000, 50))
    scores = np.minimum(70, 11 * lengths)
    for space in spaces(lengths, 20):
        directly = space.evalues(scores, np.full(len(lengths), 333), lengths)
        np.testing.assert_allclose(space.evalues_by_query_length(scores, lengths)(333), directly, rtol=1e-12)
