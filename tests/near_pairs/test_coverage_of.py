"""Coverage of one sequence of a pair: the rows of every pair, with the others dropped; pieces pass or fail by it."""

import numpy as np
import pytest
from cluster_command import clusters, rows
from command import gpualign, gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st
from relatives import as_text, edited

import gpualign as package
from gpualign.core.common.errors import InputError

COVERED = {
    "both": lambda paired, query, target: paired / max(query, target),
    "query": lambda paired, query, target: paired / query,
    "target": lambda paired, query, target: paired / target,
    "shorter": lambda paired, query, target: paired / min(query, target),
}
FIELDS = "query,target,score,identity,matches,mismatches,qlen,tlen"


def with_pieces(rng, count, length):
    """Relatives of three records, and pieces of 25 to 60 letters, some with strange ends; copies before and after their relatives."""
    founders = [rng.integers(0, 4, length).tolist() for _ in range(3)]
    out = []
    for k in range(count):
        at, size = int(rng.integers(0, length - 24)), int(rng.integers(25, 61))
        part = founders[k % 3][at : at + size] if k % 4 else founders[k % 3]
        strange = rng.integers(0, 4, (2, int(rng.choice([0, 0, 3, 8])))).tolist()
        out.append(as_text([*strange[0], *edited(rng, part, int(rng.choice([0, 0, 1, 2])), 4), *strange[1]]))
    return [out[k] for k in rng.permutation([*range(count), *range(0, count, 4)])]


def write(path, records, name):
    path.write_text("".join(f">{name}{number}\n{letters}\n" for number, letters in enumerate(records)))
    return path


def rows_of(*words):
    header, *lines = gpualign_here("nw", *words, "--fields", FIELDS)[0].decode().splitlines()
    return [dict(zip(header.split("\t"), line.split("\t"), strict=True)) | {"line": line} for line in lines]


def passes(row, of, coverage, identity):
    paired = int(row["matches"]) + int(row["mismatches"])
    return float(row["identity"]) >= identity and COVERED[of](paired, int(row["qlen"]), int(row["tlen"])) >= coverage


@pytest.mark.parametrize("ends", ["penalised", "free"])
@pytest.mark.parametrize("inputs", ["one", "self", "two", "added"])
def test_rows_are_those_of_every_pair(rng, tmp_path, inputs, ends):
    records = with_pieces(rng, 90, 240)
    one, two = write(tmp_path / "one.fa", records[:70], "r"), write(tmp_path / "two.fa", records[70:], "t")
    words = {"one": [one], "self": ["--self", one], "two": [one, two], "added": [one, "--add", two]}[inputs]
    words += ["--end-gaps", ends]
    every, found = rows_of(*words), {}
    for of in COVERED:
        expected = [row["line"] for row in every if passes(row, of, 0.9, 0.9)]
        thresholds = ["--min-identity", "0.9", "--min-coverage", "0.9", "--coverage-of", of]
        lines, messages = gpualign_here("nw", "-v", *words, *thresholds, "--fields", FIELDS)
        found[of] = lines.decode().splitlines()[1:]
        assert found[of] == expected
        assert "of these, pairs left by each step" in messages
    assert len(found["both"]) < min(len(found["query"]), len(found["target"]))
    assert set(found["shorter"]) == set(found["query"]) | set(found["target"])
    assert set(found["both"]) == set(found["query"]) & set(found["target"])
    assert len(found["shorter"]) > max(len(found["query"]), len(found["target"]))


@pytest.mark.parametrize("of", COVERED)
def test_each_engine_has_the_same_rows(rng, tmp_path, engine, of):
    file = write(tmp_path / "x.fa", with_pieces(rng, 36, 150), "r")
    expected = [row["line"] for row in rows_of(file) if passes(row, of, 0.8, 0.95)]
    assert expected
    words = [file, "--min-identity", "0.95", "--min-coverage", "0.8", "--coverage-of", of, "--fields", FIELDS]
    lines, messages = gpualign_here("nw", *words, *engine.words)
    assert lines.decode().splitlines()[1:] == expected
    assert engine.told in messages


def test_short_queries_of_long_targets(rng, tmp_path):
    """Sets whose mean lengths are far apart: sketches exclude pairs by the queries alone."""
    targets = [rng.integers(0, 4, 2000).tolist() for _ in range(60)]
    queries = [edited(rng, targets[k % 50][17 * k :][:60], k % 4, 4) for k in range(100)]
    one, two = (write(tmp_path / f"{name}.fa", list(map(as_text, some)), name) for name, some in (("q", queries), ("t", targets)))
    words = [one, two, "--min-identity", "0.97", "--min-coverage", "0.9"]
    lines, messages = gpualign_here("nw", "-v", *words, "--coverage-of", "query", "--end-gaps", "query", "--fields", FIELDS)
    every = rows_of(one, two, "--end-gaps", "query")
    assert lines.decode().splitlines()[1:] == [row["line"] for row in every if passes(row, "query", 0.9, 0.97)]
    assert "of these, pairs left by each step" in messages
    assert lines.count(b"\n") > 40
    assert gpualign_here("nw", *words)[0].count(b"\n") == 1


def test_the_query_of_nearest_records_is_the_one_that_they_are_listed_for(rng, tmp_path):
    records = with_pieces(rng, 50, 150)
    file = write(tmp_path / "x.fa", records, "r")
    thresholds = ["--min-identity", "0.9", "--min-coverage", "0.9", "--coverage-of", "query", "--nearest", "2"]
    expected, every = [], rows_of(file, file)
    for query in range(len(records)):
        mine = [row for row in every if row["query"] == f"r{query}" != row["target"] and passes(row, "query", 0.9, 0.9)]
        best = sorted(mine, key=lambda row: (-float(row["identity"]), int(row["target"][1:])))[:2]
        expected += [row["line"] for row in sorted(best, key=lambda row: int(row["target"][1:]))]
    lines = gpualign_here("nw", file, *thresholds, "--fields", FIELDS)[0].decode().splitlines()[1:]
    assert lines == expected
    assert len(lines) > 40


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text("ACG", min_size=12, max_size=40), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(1, 40), st.text("ACG", max_size=3)), min_size=2, max_size=14),
    st.sampled_from([0.6, 0.8, 0.9, 1.0]),
    st.sampled_from([0.5, 0.75, 0.9, 1.0]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from(["penalised", "free", "query"]),
)
def test_pieces_of_any_strings(founders, pieces, identity, coverage, definition, ends):
    records = [founders[k % len(founders)][at : at + size] + end for k, at, size, end in pieces]
    records = [record for record in records if record] or ["A"]
    how = {"identity_def": definition, "end_gaps": ends, "device": "cpu", "threads": 1}
    rows = [row for table in package.iter_pairs(records, fields=FIELDS.split(","), **how) for row in table]
    for of in COVERED:
        given = {"min_identity": identity, "min_coverage": coverage, "coverage_of": of}
        near = [row for table in package.iter_pairs(records, fields=FIELDS.split(","), **given, **how) for row in table]
        assert near == [row for row in rows if passes(row, of, coverage, identity)]


@pytest.mark.parametrize("of", COVERED)
def test_the_coverage_that_is_tested_is_shown(rng, tmp_path, of):
    file = write(tmp_path / "x.fa", with_pieces(rng, 30, 100), "r")
    name = "coverage" if of == "both" else f"coverage_{of}"
    lines = gpualign_here("nw", file, "--min-coverage", "0.7", "--coverage-of", of)[0].decode().splitlines()
    assert lines[0] == f"query\ttarget\tscore\t{name}"
    expected = []
    for row in rows_of(file):
        value = COVERED[of](int(row["matches"]) + int(row["mismatches"]), int(row["qlen"]), int(row["tlen"]))
        if value >= 0.7:
            expected.append(f"{row['query']}\t{row['target']}\t{row['score']}\t{value:.6f}")
    assert lines[1:] == expected


def test_a_piece_of_fifty_letters(rng, tmp_path):
    """It is covered, and the record that it is a piece of is not."""
    piece, *others = (as_text(rng.integers(0, 4, size).tolist()) for size in (48, 50, 198, 248))
    gene = f"T{others[1]}G{piece}A{others[2]}C"  # its ends are not those of the piece, which is therefore aligned in one part
    file = write(tmp_path / "x.fa", [gene, f"G{piece}A", others[0]], "r")
    thresholds = ["--min-identity", "0.97", "--min-coverage", "0.9"]
    found = {of: gpualign_here("nw", file, *thresholds, "--coverage-of", of, "--fields", "query,target")[0] for of in COVERED}
    assert found["shorter"] == found["target"] == b"query\ttarget\nr0\tr1\n"
    assert found["both"] == found["query"] == b"query\ttarget\n"
    assert list(package.pairs(file, min_identity=0.97, min_coverage=0.9, coverage_of="shorter")) == [("r0", "r1", 1.0)]
    assert package.cluster(file, min_identity=0.97, coverage_of="shorter", method="greedy").sizes.tolist() == [2, 1]
    assert package.cluster(file, min_identity=0.97, method="greedy").sizes.tolist() == [1, 1, 1]


def test_clusters_of_pieces(rng, tmp_path):
    """As connected by the pairs of nw; an identity has a coverage of 0.8 by default."""
    pytest.importorskip("scipy")
    records = with_pieces(rng, 40, 150)
    file = write(tmp_path / "x.fa", records, "r")
    words = ["--min-identity", "0.9", "--coverage-of", "shorter"]
    gpualign_here("nw", file, *words, "--min-coverage", "0.8", "--fields", "query,target,identity", "-o", tmp_path / "near.tsv")
    near = {frozenset(line.split("\t")[:2]) for line in (tmp_path / "near.tsv").read_text().splitlines()[1:]}
    (tmp_path / "ids.txt").write_text("".join(f"r{k}\n" for k in range(len(records))))
    found, messages = gpualign_here("cluster", file, *words)
    listed = gpualign_here("cluster", "--edges", tmp_path / "near.tsv", "--ids", tmp_path / "ids.txt", *words[:2])[0]
    assert clusters(found) == clusters(listed)  # sums of the list's rounded identities may choose other representatives
    assert "in near pairs at least 0.8 of the shorter sequence is aligned with the longer; --min-coverage 0 takes any" in messages
    assert max(clusters(found).values()) < max(clusters(gpualign_here("cluster", file, *words[:2])[0]).values())
    centroids = rows(gpualign_here("cluster", file, *words, "--method", "greedy")[0])
    assert all(len(pair) == 1 or pair in near for pair in ({row["id"], row["representative"]} for row in centroids))
    assert len({row["representative"] for row in centroids}) < len(set(records))


def test_pieces_aligned_with_free_ends_are_clustered_from_a_list(rng, tmp_path):
    """The last letter of the piece is also that of the gene: with costly end gaps it is aligned there, and the identity is low."""
    piece, *others = (as_text(rng.integers(0, 4, size).tolist()) for size in (49, 198, 248))
    file = write(tmp_path / "x.fa", [f"T{others[0]}G{piece[:-1]}A{others[1]}A", f"G{piece[:-1]}A"], "r")
    identity, covered = ["--min-identity", "0.97"], ["--min-coverage", "0.9", "--coverage-of", "shorter"]
    listed = gpualign("nw", file, *identity, *covered, "--end-gaps", "free").stdout
    words = ["--method", "greedy", *identity]
    assert set(clusters(gpualign("cluster", "--edges", "-", file, *words, stdin=listed).stdout).values()) == {1}
    assert set(clusters(gpualign_here("cluster", file, *words, *covered)[0]).values()) == {1, 2}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nw", "--coverage-of", "shorter"], "--coverage-of says to which sequence --min-coverage applies; give also --min-coverage"),
        (["cluster", "--edit", "--max-distance", "3", "--coverage-of", "shorter"], "give also --min-coverage"),
        (
            ["cluster", "--min-identity", "0.9", "--coverage-of", "query"],
            "is not one of both, shorter: near pairs of a cluster have no query",
        ),
        (["nw", "--min-coverage", "0.9", "--coverage-of", "longer"], "'longer' is not one of both, query, target, shorter"),
    ],
)
def test_what_is_refused(tmp_path, words, said):
    command, *options = words
    done = gpualign(command, write(tmp_path / "x.fa", ["ACGT", "ACGA"], "r"), *options, "-o", tmp_path / "out.tsv", check=False)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert not (tmp_path / "out.tsv").exists()


def test_precomputed_distances_have_no_coverage(tmp_path):
    (tmp_path / "x.tsv").write_text("query\ttarget\tidentity\na\tb\t0.95\n")
    with pytest.raises(InputError, match="--coverage-of is about alignments; it cannot be combined with precomputed distances"):
        gpualign_here("cluster", "--edges", tmp_path / "x.tsv", "--min-identity", "0.9", "--coverage-of", "shorter", "--method", "greedy")
    with pytest.raises(InputError, match="coverage_of='query': near pairs of a cluster have no query"):
        package.cluster(["ACGT", "ACGA"], min_identity=0.9, coverage_of="query", method="greedy")
    with pytest.raises(InputError, match="coverage_of 'longer': expected one of both, query, target, shorter"):
        package.pairs(["ACGT", "ACGA"], min_identity=0.9, min_coverage=0.9, coverage_of="longer")
    found = package.cluster(["ACGT", "ACGA"], min_identity=0.5, min_coverage=0, coverage_of="shorter", method="greedy")
    assert np.array_equal(found.labels, [0, 0])
