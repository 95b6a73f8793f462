"""Global alignment scores on one core: gpualign's CPU engine beside parasail, StringZilla, pyopal and edlib.

python benchmarks/nw_cpu.py 16s.fasta.gz [--instruction-set avx2] [--runs 3] [--output benchmarks/results/nw_cpu.md]

--instruction-set also limits StringZilla; parasail, pyopal and edlib have AVX2 at most. The file needs 3,000 records.
"""

from __future__ import annotations

import itertools
from importlib.metadata import version

import edlib
import numpy as np
import parasail
import pyopal
import stringzillas
from common import BUDGET, all_pairs, engine_rate, finish, head, load, machine, make_parser, medians, rate, stringzilla_costs, table

from gpualign.core.alignment.task import Task
from gpualign.core.execution.runner import plan_task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.scoring import Scoring, ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets

SMALL = 64  # records that every peer aligns: 2,016 pairs
LARGE = 500

LETTERS = DNA.letters


def parasail_matrix(scoring: Scoring) -> parasail.Matrix:
    matrix = parasail.matrix_create(LETTERS, 1, 0)
    for i, j in itertools.product(range(len(LETTERS)), repeat=2):
        matrix[i, j] = int(scoring.substitution[i, j])
    return matrix


def run_parasail(function, texts, scoring):  # noqa: ANN001, ANN201
    matrix = parasail_matrix(scoring)
    return lambda: [function(a, b, scoring.gap_open, scoring.gap_extend, matrix).score for a, b in itertools.combinations(texts, 2)]


STRINGZILLA_SETS = {"avx2": ("serial", "haswell"), "sse41": ("serial", "westmere"), "baseline": ("serial",)}
"""What StringZilla may use beside our instruction sets; beside others all that the processor has."""


def run_stringzilla(texts, scoring, capabilities):  # noqa: ANN001, ANN201
    """All ordered pairs: its cross product is what it is made for."""
    scope = stringzillas.DeviceScope(cpu_cores=1)
    gaps = {"open": -scoring.gap_open, "extend": -scoring.gap_extend}
    engine = stringzillas.NeedlemanWunschScores(*stringzilla_costs(scoring, LETTERS), **gaps, capabilities=capabilities)
    strings = stringzillas.to_device(stringzilla_strings(texts))
    return lambda: engine(strings, strings, scope)


def stringzilla_strings(texts):  # noqa: ANN001, ANN201
    from stringzilla import Strs

    return Strs(texts)


def run_stringzilla_edit(texts, capabilities):  # noqa: ANN001, ANN201
    scope = stringzillas.DeviceScope(cpu_cores=1)
    engine = stringzillas.LevenshteinDistances(capabilities=capabilities)
    strings = stringzillas.to_device(stringzilla_strings(texts))
    return lambda: engine(strings, strings, scope)


def run_pyopal(texts, scoring):  # noqa: ANN001, ANN201
    from scoring_matrices import ScoringMatrix

    matrix = ScoringMatrix(scoring.substitution.astype(float).tolist(), LETTERS, name="dna")
    database = pyopal.Database(texts, alphabet=pyopal.Alphabet(LETTERS))
    aligner = pyopal.Aligner(matrix, scoring.gap_open, scoring.gap_extend)

    def run():  # noqa: ANN202
        out = []
        for i in range(len(texts) - 1):
            out += [r.score for r in aligner.align(texts[i], database, mode="score", algorithm="nw", overflow="simple", start=i + 1)]
        return out

    return run


def run_edlib(texts):  # noqa: ANN001, ANN201
    return lambda: [edlib.align(a, b, mode="NW", task="distance")["editDistance"] for a, b in itertools.combinations(texts, 2)]


def compare(name, scoring, sequences, engine, peers, runs):  # noqa: ANN001, ANN201
    """Rows: gpualign on SMALL and LARGE records, each peer on SMALL; ratios of gpualign on LARGE, and on SMALL, to the peer."""
    small, large = head(sequences, SMALL), head(sequences, LARGE)
    matrix, _, _ = all_pairs(small, scoring, engine)
    expected = [int(matrix[i, j]) for i, j in itertools.combinations(range(SMALL), 2)]
    ordered = int(small.lengths.sum()) ** 2
    unordered = (ordered - int((small.lengths**2).sum())) // 2  # without the diagonal, which gpualign computes too
    actions, wrong = {}, {}
    for peer, (run, ordered_pairs) in peers.items():
        found = run()
        if isinstance(found, np.ndarray):
            found = [int(found[i, j]) for i, j in itertools.combinations(range(SMALL), 2)]
        wrong[peer] = sum(a != b for a, b in zip(found, expected, strict=True))
        actions[peer] = lambda run=run, ordered_pairs=ordered_pairs: rate(ordered if ordered_pairs else unordered, run)

    def ours(part: SequenceSet):  # noqa: ANN202
        def run() -> float:
            _, done, seconds = all_pairs(part, scoring, engine)
            return done / seconds / 1e9

        return run

    actions[f"gpualign, {SMALL} records"] = ours(small)
    actions[f"gpualign, {LARGE} records"] = ours(large)
    found = medians(actions, runs)
    rows = []
    for who, gcups in found.items():
        if who.startswith("gpualign"):
            rows.append([name, who, f"{gcups:.1f}", "", "", ""])
            continue
        ratios = [f"{found[f'gpualign, {count} records'] / gcups:.1f}" for count in (LARGE, SMALL)]
        scores = "all equal" if not wrong[who] else f"{wrong[who]} of {len(expected)} differ"
        rows.append([name, who, f"{gcups:.1f}", *ratios, scores])
    return rows


def long_pair(engine: CpuEngine, runs: int) -> list[list[str]]:
    """Edit distance of single pairs of 100 kb, from alike to unrelated."""
    rows = []
    rng = np.random.default_rng(1)
    scoring = make_scoring(DNA, ScoringOptions(edit=True))
    query = rng.integers(0, 4, 100_000).astype(np.uint8)
    for changed in (0.01, 0.1, 0.3, 1.0):
        target = query.copy()
        where = rng.random(len(target)) < changed
        target[where] = rng.integers(0, 4, int(where.sum()))
        target = target[rng.random(len(target)) > changed / 10]
        one, other = (SequenceSet(name, [name], codes, np.array([0, len(codes)])) for name, codes in (("q", query), ("t", target)))
        task = Task(one, other, scoring)
        a, b = ("".join("ACGT"[c] for c in s) for s in (query, target))
        cells = len(query) * len(target)
        prepared = engine.prepare(task, BUDGET)
        (found_here,) = prepared.run(plan_task(prepared, Pairing.ALL).tiles())
        assert found_here.scores == edlib.align(a, b, task="distance")["editDistance"]
        found = medians(
            {
                "edlib": lambda a=a, b=b, cells=cells: rate(cells, lambda: edlib.align(a, b, task="distance")),
                "gpualign": lambda task=task: engine_rate(task, engine, Pairing.ALL),
            },
            runs,
        )
        ms = {who: cells / gcups / 1e6 for who, gcups in found.items()}
        ratio = found["gpualign"] / found["edlib"]
        rows.append([f"{changed:.0%} of letters redrawn", f"{ms['edlib']:.1f} ms", f"{ms['gpualign']:.1f} ms", f"{ratio:.1f}"])
    return rows


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("fasta")
    parser.add_argument("--instruction-set", default=None)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    sequences, texts = load(arguments.fasta)
    texts = texts[:SMALL]
    engine = CpuEngine(1, arguments.instruction_set)
    capabilities = STRINGZILLA_SETS.get(engine.instruction_set.name, stringzillas.DeviceScope(cpu_cores=1))

    def scheme(**options) -> Scoring:  # noqa: ANN003
        return make_scoring(DNA, ScoringOptions(**options))

    any_weights, small_weights, affine, edit = (
        scheme(match=5, mismatch=-4, gap=6),
        scheme(match=2, mismatch=-1, gap=1),
        scheme(),
        scheme(edit=True),
    )
    rows = []
    for name, scoring in (("linear 5/-4/6", any_weights), ("linear 2/-1/1", small_weights)):
        peers = {
            "parasail nw_striped_16": (run_parasail(parasail.nw_striped_16, texts, scoring), False),
            "parasail nw_scan_16": (run_parasail(parasail.nw_scan_16, texts, scoring), False),
            "StringZilla": (run_stringzilla(texts, scoring, capabilities), True),
        }
        rows += compare(name, scoring, sequences, engine, peers, arguments.runs)
    peers = {
        "parasail nw_scan_16": (run_parasail(parasail.nw_scan_16, texts, affine), False),
        "pyopal": (run_pyopal(texts, affine), False),
        "StringZilla": (run_stringzilla(texts, affine, capabilities), True),
    }
    rows += compare("affine NUC.4.4 10/1", affine, sequences, engine, peers, arguments.runs)
    peers = {"edlib": (run_edlib(texts), False), "StringZilla": (run_stringzilla_edit(texts, capabilities), True)}
    rows += compare("edit distance", edit, sequences, engine, peers, arguments.runs)

    every = []
    for one in instruction_sets():
        if one.is_supported:
            rates = [
                np.divide(*all_pairs(head(sequences, 1000 if one.vector_bytes > 16 else 300), s, CpuEngine(1, one.name))[1:]) / 1e9
                for s in (any_weights, small_weights, affine, edit)
            ]
            every.append([one.name, *(f"{r:.0f}" for r in rates)])

    threads = []
    for name, scoring, count in (("affine", affine, 1000), ("edit distance", edit, 3000)):
        found = medians(
            {
                str(t): lambda t=t, s=scoring, c=count: np.divide(
                    *all_pairs(head(sequences, c), s, CpuEngine(t, arguments.instruction_set))[1:]
                )
                for t in (1, 2)
            },
            arguments.runs,
        )
        threads.append(
            [f"{name}, {count:,} records", f"{found['1'] / 1e9:.1f}", f"{found['2'] / 1e9:.1f}", f"{found['2'] / found['1']:.2f}"]
        )

    versions = ", ".join(f"{p} {version(p)}" for p in ("parasail", "stringzilla", "pyopal", "edlib"))
    setting = f"{machine()}; kernels {engine.instruction_set.name}; {versions}. Input: the first {SMALL} and {LARGE} records."
    text = f"# nw on the CPU\n\n{setting}\n\n"
    text += table(
        "Scores and edit distances of all pairs, one core",
        [
            "scoring",
            f"program ({SMALL} records unless stated)",
            "GCUPS",
            f"rate of gpualign with {LARGE} records divided by this one",
            f"rate of gpualign with the same {SMALL} divided by this one",
            "scores compared with gpualign's",
        ],
        rows,
        [
            "StringZilla computes each pair in both orders, and its GCUPS count both; the other programs compute each pair once. Scores",
            "are compared with gpualign's, which the tests (tests/alignment/test_cpu_peers.py) compare with parasail's scan kernel,",
            "Biopython and edlib.",
        ],
    )
    text += table(
        "Edit distance of one pair of 100 kb, one core",
        ["pair", "edlib", "gpualign", "times as fast"],
        long_pair(engine, arguments.runs),
        ["The given share is redrawn at random (a quarter of it stays the same), and a tenth as many letters are deleted."],
    )
    notes = ["One run each: 1,000 records with AVX-512 and AVX2, 300 with the others."]
    text += table(
        "Instruction sets, one core, GCUPS", ["set", "linear 5/-4/6", "linear 2/-1/1", "affine NUC.4.4 10/1", "edit distance"], every, notes
    )
    text += table("Two threads", ["work", "1 thread, GCUPS", "2 threads, GCUPS", "ratio"], threads, [])
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
