"""Scorings and sequences on which every engine's paths are tested."""

import numpy as np
from oracle import align_all, count, rescore
from work import edit, records, run_paths, scoring, sequence_set, two_valued

from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.matrices import matrix_by_name
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.cpu.alignment.engine import instruction_sets

SETS = [s.name for s in instruction_sets() if s.is_supported]
NAMES = ["matches", "mismatches", "gaps", "gap_opens", "end_gaps", "query_start", "query_end", "target_start", "target_end"]

SCHEMES = {
    "default": scoring(matrix_by_name("NUC.4.4").table(DNA)[0], 10, 1),
    "linear": two_valued(15, 5, -4, 6, 6),
    "2/-1/1": two_valued(15, 2, -1, 1, 1),
    "edit": edit(15),
    "protein": scoring(matrix_by_name("BLOSUM62").table(PROTEIN)[0], 11, 1),
    "loose": two_valued(15, 1, -1, 20, 1),
    "dear mismatch": two_valued(15, 3, -50, 2, 1),
    "dear mismatch, linear": two_valued(15, 3, -50, 2, 2),
    "free extension": two_valued(15, 3, -2, 4, 0),
    "free gaps": two_valued(15, 3, -2, 0, 0),
    "16 bits": two_valued(15, 50, -40, 100, 10),  # of CPUs; GPUs take 32
    "largest of 16 bits": two_valued(15, 43, -84, 70, 10),  # of GPUs: no bytes hold more
    "32 bits": two_valued(15, 500_000, -400_000, 1_000_000, 10_000),
    "64 bits": two_valued(15, 5 * 10**8, -4 * 10**8, 10**8, 10**7),
    "dear gaps": two_valued(15, 1, -1, 60, 55),
}


def repeats(rng, count, longest, letters):
    """Sequences of random lengths, half of which repeat a short word, so that many alignments have equal scores."""
    out = []
    for _ in range(count):
        length = rng.integers(1, longest + 1)
        word = rng.integers(0, letters, rng.integers(1, 4) if rng.random() < 0.5 else length)
        out.append(np.resize(word, length))
    return sequence_set(out)


def check(queries, targets, scheme, end_gaps, engine, pairing=Pairing.ALL, **more):
    """Align by an engine, check paths, scores and statistics against the definition, and return a `CollectPaths`."""
    found = run_paths(queries, targets, scheme, end_gaps, pairing, engine, **more)
    all_queries, all_targets = records(queries), records(targets)
    free = end_gaps.query_gaps_are_free, end_gaps.target_gaps_are_free
    definition = {}
    for i, query in enumerate(all_queries):
        selected = [j for j in range(len(all_targets)) if (i, j) in found.paths]
        aligned = align_all(query, [all_targets[j] for j in selected], scheme, *free)
        definition |= {(i, j): pair for j, pair in zip(selected, aligned, strict=True)}
    for (i, j), path in found.paths.items():
        query, target = all_queries[i], all_targets[j]
        score, expected, (a, b, c, d) = definition[i, j]
        assert found.scores[i, j] == score
        assert path == expected
        assert rescore(path, query[a:b], target[c:d], scheme) == score
        assert found.statistics[i, j] == (*count(path), a, b, c, d), NAMES
    return found
