"""Greedy clusters from the pairs of centroids alone: the same as from all near pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.core.clustering.clusters import clustering_from_centroids
from gpualign.core.clustering.greedy import centroid_pair_count, first_copies, greedy_centroids
from gpualign.core.common.errors import TooLittleMemory
from gpualign.core.execution.totals import NullProgress
from gpualign.core.files.scratch import ScratchFiles
from gpualign.core.scoring.scoring import ScoringOptions
from gpualign.core.sequences.record_tables import TableColumns
from gpualign.jobs import centroid_pairs, cluster, every_pair_subset, near_pair_subset
from gpualign.jobs.cluster import ClusterOptions
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.every_pair import EveryPairJob
from gpualign.jobs.every_pair_subset import EveryPairSource
from gpualign.jobs.near_pair_subset import NearPairSubset
from gpualign.jobs.nw import NwOptions
from gpualign.jobs.options import PairThresholds
from gpualign.jobs.sequence_loading import ReadOptions, read_inputs

COMPLEMENTS = str.maketrans("ACGTN", "TGCAN")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of a few records, so that small sets are divided into batches of batches."""
    monkeypatch.setattr(near_pair_subset, "_SAMPLE_SIZES", (4, 8))
    monkeypatch.setattr(near_pair_subset, "_MIN_SAMPLE_PAIRS", 2)
    monkeypatch.setattr(near_pair_subset, "_BATCH_PAIRS", 1)
    monkeypatch.setattr(near_pair_subset, "_BATCH_PAIRS_PER_RECORD_ON_CPU", 0.01)
    monkeypatch.setattr(near_pair_subset, "_MIN_BATCHES", 2)
    monkeypatch.setattr(every_pair_subset, "_MIN_SECONDS", 0)
    monkeypatch.setattr(every_pair_subset, "_MIN_BATCH", 3)
    monkeypatch.setattr(every_pair_subset, "_MAX_SAMPLE_FRACTION", 2)
    monkeypatch.setattr(every_pair_subset, "_QUERY_PARTS", 2)


def families(rng, sizes, length=40, edits=4, letters="ACGT"):
    """Records of families in which all differ from an ancestor by a few edits, in random order; some are equal."""
    records = []
    for size in sizes:
        ancestor = "".join(rng.choice(list("ACGT"), length))
        for _ in range(size):
            record = list(ancestor)
            for _ in range(rng.integers(0, edits + 1)):
                place = rng.integers(len(record))
                record[place : place + 1] = rng.choice(["", *letters, *(a + b for a in "ACGT" for b in "ACGT")])
            records.append("".join(record))
    return rng.permutation(records).tolist()


def prepare(path, records, options):
    path.write_text("".join(f">r{k}\n{record}\n" for k, record in enumerate(records)))
    return cluster.prepare(read_inputs([[str(path)]], options.alignment_options.read_options), options)[0]


def options_of(*, method="greedy", order=None, memory=None, **alignment):
    thresholds = alignment.pop("thresholds", PairThresholds(min_identity=0.9))
    given = NwOptions(thresholds=thresholds, resources=Resources("cpu", 1, memory), **alignment)
    return ClusterOptions(given, method, order)


def check(job):
    """Compare a greedy clustering with the one from all near pairs, which is returned."""
    with ScratchFiles() as files:
        near = job.find_near_pairs(NullProgress(), files.new_scratch)
        found, count = job.run(NullProgress(), files.new_scratch)
        group_of = job.distances.duplicates.group_of
        order, leaders = first_copies(job.record_order, group_of)
        centroids = greedy_centroids(near.edges, order)
        expected = clustering_from_centroids(centroids, near.edges).expand_copies(group_of, leaders)
        assert found.labels.tolist() == expected.labels.tolist()
        assert found.representatives.tolist() == expected.representatives.tolist()
        assert found.distances.tolist() == expected.distances.tolist()
        assert count == centroid_pair_count(near.edges, order, centroids, near.copies)
    return expected


SCORED = {
    "identity": {},
    "coverage of the shorter": {"thresholds": PairThresholds(min_identity=0.9, min_coverage=0.8, coverage_of="shorter")},
    "identity of all columns": {"thresholds": PairThresholds(min_identity=0.85), "identity_def": 1},
    "edits": {"scoring": ScoringOptions(edit=True), "thresholds": PairThresholds(max_distance=5)},
    "edits of either strand": {"scoring": ScoringOptions(edit=True), "thresholds": PairThresholds(max_distance=5), "strand": "both"},
    "identity on either strand": {"strand": "both"},
    "Hamming": {"scoring": ScoringOptions(hamming=True), "thresholds": PairThresholds(max_distance=4)},
    "ambiguity letters left out": {"ambiguous": "skip"},
}


@pytest.mark.parametrize("order", ["length", "input"])
@pytest.mark.parametrize("scored", SCORED)
def test_clusters_are_those_of_all_near_pairs(rng, tmp_path, monkeypatch, scored, order):
    records = families(rng, [60, 25, 10, 5, *[1] * 12], letters="ACGTN" if "ambiguity" in scored else "ACGT")
    if "either" in scored:
        records = [record.translate(COMPLEMENTS)[::-1] if rng.integers(2) else record for record in records]
    compared = []
    run = NearPairSubset.run
    monkeypatch.setattr(NearPairSubset, "run", lambda self, progress: compared.append(self.plan.cells) or run(self, progress))
    expected = check(prepare(tmp_path / "x.fa", records, options_of(order=order, **SCORED[scored])))
    assert len(set(expected.labels.tolist())) > 10
    assert len(compared) > 8
    strands = 2 if "either" in scored else 1
    assert sum(compared) < strands * len(records) * (len(records) - 1) // 2


UNBOUNDED = {
    "identity without coverage": {"thresholds": PairThresholds(min_identity=0.7, min_coverage=0)},
    "identity on either strand": {"thresholds": PairThresholds(min_identity=0.75, min_coverage=0), "strand": "both"},
    "gaps as one difference": {"thresholds": PairThresholds(min_identity=0.8, min_coverage=0), "identity_def": 3},
    "coverage of the shorter": {"thresholds": PairThresholds(min_identity=0.6, min_coverage=0.3, coverage_of="shorter")},
    "distance": {"thresholds": PairThresholds(max_distance=0.3, min_coverage=0)},
    "edits": {"scoring": ScoringOptions(edit=True), "thresholds": PairThresholds(max_distance=21)},
    "edits of either strand": {"scoring": ScoringOptions(edit=True), "thresholds": PairThresholds(max_distance=21), "strand": "both"},
    "ambiguity letters left out": {"thresholds": PairThresholds(min_identity=0.7, min_coverage=0), "ambiguous": "skip"},
}


@pytest.fixture
def aligned_shapes(monkeypatch):
    """Numbers of queries and targets of the jobs in which pairs of centroids are aligned; targets None: the pairs of the queries."""
    shapes = []
    make_job = EveryPairSource._job

    def record_and_make(self, rows, columns):
        shapes.append((len(rows), None if columns is None else len(columns)))
        return make_job(self, rows, columns)

    monkeypatch.setattr(EveryPairSource, "_job", record_and_make)
    return shapes


@pytest.mark.parametrize("order", ["length", "input"])
@pytest.mark.parametrize("scored", UNBOUNDED)
def test_clusters_are_those_of_all_pairs(rng, tmp_path, monkeypatch, aligned_shapes, scored, order):
    monkeypatch.setattr(EveryPairSource, "_has_few_near_pairs", lambda *_: False)
    records = families(rng, [60, 25, 10, 5, *[1] * 12], letters="ACGTN" if "ambiguity" in scored else "ACGT")
    if "either" in scored:
        records = [record.translate(COMPLEMENTS)[::-1] if rng.integers(2) else record for record in records]
    job = prepare(tmp_path / "x.fa", records, options_of(order=order, **UNBOUNDED[scored]))
    assert isinstance(job.distances.job, EveryPairJob)
    expected = check(job)
    assert len(set(expected.labels.tolist())) > 2
    assert len(aligned_shapes) > 4


@settings(max_examples=60, deadline=None)
@given(data=st.data(), edits=st.integers(0, 3), order=st.sampled_from(["length", "input"]))
def test_short_records_with_many_ties(tmp_path_factory, data, edits, order):
    records = data.draw(st.lists(st.text("AC", min_size=1, max_size=6), min_size=1, max_size=60))
    options = options_of(order=order, scoring=ScoringOptions(edit=True), thresholds=PairThresholds(max_distance=edits))
    check(prepare(tmp_path_factory.mktemp("ties") / "x.fa", records, options))


@pytest.mark.parametrize("counts", [(1, 500), (9, 40), (200, 150), (70, 1)])
def test_each_pair_of_a_centroid_is_found_once(rng, tmp_path, counts):
    """With fewer centroids than the CPU aligns together, as many, and more."""
    job = prepare(tmp_path / "x.fa", families(rng, [1] * 600, length=9), options_of(thresholds=PairThresholds(min_identity=0.1)))
    distances, chosen = job.distances, rng.permutation(len(job.distances.duplicates))[: sum(counts)]
    centroids, others = np.sort(chosen[: counts[0]]), np.sort(chosen[counts[0] :])
    source = EveryPairSource(distances.job, distances._near_chunks)
    found = [pair for i, j, distance in source.near_chunks(centroids, others, NullProgress()) for pair in zip(i, j, distance, strict=True)]
    with ScratchFiles() as files:
        edges = job.find_near_pairs(NullProgress(), files.new_scratch).edges
    is_centroid, is_other = (np.isin(np.arange(edges.record_count), records) for records in (centroids, others))
    expected = [
        pair
        for i, j, distance in edges.chunks()
        for pair in zip(i, j, distance, strict=True)
        if (is_centroid[pair[0]] and is_other[pair[1]]) or (is_centroid[pair[1]] and is_other[pair[0]])
    ]
    assert sorted(found) == sorted(expected)
    assert found


def test_few_near_records_are_aligned_together(rng, tmp_path, monkeypatch, aligned_shapes):
    monkeypatch.setattr(every_pair_subset, "_MAX_SAMPLE_FRACTION", 4)
    options = options_of(thresholds=PairThresholds(min_identity=0.9, min_coverage=0))
    check(prepare(tmp_path / "x.fa", families(rng, [1] * 100), options))
    assert aligned_shapes == [(25, None)]  # the sample
    check(prepare(tmp_path / "y.fa", families(rng, [6, *[1] * 100], edits=2), options))
    assert len(aligned_shapes) == 2
    check(prepare(tmp_path / "z.fa", families(rng, [25] * 4, edits=2), options))
    assert any(columns is not None for _, columns in aligned_shapes)


def test_records_of_other_lengths_are_not_aligned(rng, tmp_path, aligned_shapes):
    """Batches are then worthwhile even if no records are near."""
    records = ["".join(rng.choice(list("ACGT"), length)) for length in range(20, 120)]
    check(prepare(tmp_path / "x.fa", records, options_of(thresholds=PairThresholds(min_identity=0.3, min_coverage=0.8))))
    assert not [rows for rows, columns in aligned_shapes if columns is not None and rows + columns > 60]
    assert len(aligned_shapes) > 8


def test_a_length_ratio_that_is_the_coverage_is_enough(rng, tmp_path, aligned_shapes):
    longest = "".join(rng.choice(list("ACGT"), 126))
    records = [longest[:length] for length in (20, 63, 64, 80, 100, 125, 126)]
    job = prepare(tmp_path / "x.fa", records, options_of(thresholds=PairThresholds(min_identity=0.3, min_coverage=0.8)))
    source = job.distances._pair_source()
    found = [
        pair
        for i, j, _ in source.near_chunks(np.array([3, 4]), np.array([0, 1, 2, 5, 6]), NullProgress())
        for pair in zip(i, j, strict=True)
    ]
    assert sorted(found) == [(2, 3), (4, 5)]
    assert aligned_shapes == [(1, 1), (1, 1), (1, 2)]


@settings(max_examples=60, deadline=None)
@given(data=st.data(), identity=st.sampled_from([0.3, 0.5, 0.7, 1.0]), order=st.sampled_from(["length", "input"]), both=st.booleans())
def test_short_records_with_many_equally_good_alignments(tmp_path_factory, data, identity, order, both):
    """Swapping query and target can change which of the best alignments is reported, and with it the identity."""
    records = data.draw(st.lists(st.text("ACG", min_size=1, max_size=8), min_size=1, max_size=50))
    scoring = ScoringOptions(match=1, mismatch=-1, gap_open=1, gap_extend=1)
    thresholds = PairThresholds(min_identity=identity, min_coverage=0)
    options = options_of(order=order, scoring=scoring, thresholds=thresholds, strand="both" if both else None)
    check(prepare(tmp_path_factory.mktemp("ties") / "x.fa", records, options))


def test_a_centroid_that_comes_later_may_be_nearer(tmp_path):
    """c is near a, but nearer b, which belongs to a later batch."""
    ancestor = "CAACCAACGCAGTGGTGGCCGGCGTCTTTATGTGTTATACCCAGTCAATAATGTCCGACG"
    changed = [ancestor[:k] + ("A" if ancestor[k] != "A" else "C") + ancestor[k + 1 :] for k in range(40)]
    far = "".join("GTAC"["ACGT".index(letter)] if place in (50, 53, 56, 59) else letter for place, letter in enumerate(changed[3]))
    records = [ancestor, *changed[:20], far, changed[3]]
    options = options_of(order="input", scoring=ScoringOptions(edit=True), thresholds=PairThresholds(max_distance=4))
    found = check(prepare(tmp_path / "x.fa", records, options))
    assert found.representatives[found.labels].tolist() == [0] * 21 + [21] + [0]
    longest_first = prepare(tmp_path / "y.fa", [*records, far[:-1]], options)
    assert check(longest_first).representatives.tolist() == [0, 21]


@pytest.mark.parametrize("count", [9, 20, 33, 65, 129])
def test_samples_take_little_of_the_work(rng, tmp_path, monkeypatch, count):
    """Records of which few are near are all compared with each other, after the samples."""
    monkeypatch.setattr(near_pair_subset, "_SAMPLE_SIZES", (8, 16, 32))
    monkeypatch.setattr(near_pair_subset, "_MIN_BATCHES", 4)
    monkeypatch.setattr(near_pair_subset, "_BATCH_PAIRS", 100)
    compared = []
    run = NearPairSubset.run
    monkeypatch.setattr(NearPairSubset, "run", lambda self, progress: compared.append(self.plan.cells) or run(self, progress))
    check(prepare(tmp_path / "x.fa", families(rng, [1] * count), options_of()))
    assert sum(compared) < 0.15 * count * (count - 1) / 2


def test_no_records_are_compared_twice(rng, tmp_path, monkeypatch):
    compared = []
    run = NearPairSubset.run

    def record_and_run(self, progress):
        compared.append((self.records.tobytes(), self.others is not None and self.others.tobytes()))
        return run(self, progress)

    monkeypatch.setattr(NearPairSubset, "run", record_and_run)
    check(prepare(tmp_path / "x.fa", families(rng, [60, 25, 10, *[1] * 12]), options_of()))
    assert len(compared) > 8
    assert len(set(compared)) == len(compared)


class Recorder:
    """Progress listener that keeps the (work done, work expected) of each moment."""

    def __init__(self):
        self.done, self.expected, self.moments = 0, 0, []

    def expect(self, work):
        self.expected += work
        self.moments.append((self.done, self.expected))

    def advance(self, work):
        self.done += work
        self.moments.append((self.done, self.expected))


@pytest.mark.parametrize("strand", ["plus", "both"])
@pytest.mark.parametrize("bounded", [True, False])
def test_progress_goes_forward(rng, tmp_path, monkeypatch, strand, bounded):
    monkeypatch.setattr(near_pair_subset, "_SAMPLE_SIZES", (4,))
    monkeypatch.setattr(EveryPairSource, "_has_few_near_pairs", lambda *_: False)
    options = options_of(strand=strand, thresholds=PairThresholds(min_identity=0.9, min_coverage=0.8 if bounded else 0))
    progress, job = Recorder(), prepare(tmp_path / "x.fa", families(rng, [60, 25, 10, *[1] * 12], edits=2), options)
    with ScratchFiles() as files:
        job.run(progress, files.new_scratch)
    assert len(progress.moments) > 20
    assert progress.moments[-1] == (progress.expected, progress.expected)
    fractions = [done / expected for done, expected in progress.moments]
    assert fractions[0] == 0
    assert fractions[1] < 0.05
    assert min(np.diff(fractions)) > -0.01  # samples are not expected


def test_pairs_that_do_not_fit_the_memory(rng, tmp_path, monkeypatch):
    from gpualign.core.clustering.stored_edges import EdgeWriter
    from gpualign.jobs import cluster_distances

    job = prepare(tmp_path / "x.fa", families(rng, [60, 25, 10, *[1] * 12]), options_of())
    written = []
    write = EdgeWriter.write
    monkeypatch.setattr(EdgeWriter, "write", lambda self, *pairs: write(self, *pairs) or written.append(len(pairs[0])))
    monkeypatch.setattr(cluster_distances, "near_pair_memory", lambda *_: 200)
    check(job)
    assert len(written) > 4


def test_records_that_differ_in_a_column_are_not_near(rng, tmp_path):
    records = families(rng, [60, 20], length=15)
    (tmp_path / "x.tsv").write_text(
        "sequence_id\tjunction\tv_call\n" + "".join(f"r{k}\t{one}\tTRBV{1 + k % 2}*01\n" for k, one in enumerate(records))
    )
    read = ReadOptions(columns=TableColumns(same=("v_call",)))
    edits = {"scoring": ScoringOptions(edit=True), "thresholds": PairThresholds(max_distance=3)}
    job, _ = cluster.prepare(read_inputs([[str(tmp_path / "x.tsv")]], read), options_of(read_options=read, **edits))
    labels = check(job).labels
    assert not set(labels[::2].tolist()) & set(labels[1::2].tolist())


def test_memory_without_room_for_copies_is_used_as_before(rng, tmp_path):
    records = families(rng, [5] * 20, length=9000, edits=9)
    edits = {"scoring": ScoringOptions(edit=True), "thresholds": PairThresholds(max_distance=20)}
    tight = prepare(tmp_path / "x.fa", records, options_of(memory=int(2.25 * sum(map(len, records))), **edits))
    assert tight.distances.batch_bytes == 0
    check(tight)
    assert prepare(tmp_path / "x.fa", records, options_of()).distances.batch_bytes > 0


def test_memory_that_is_enough_without_copies_is_enough(rng, tmp_path):
    records = families(rng, [4] * 500, length=250)
    for memory in range(1_000_000, 3_000_000, 40_000):
        try:
            job = prepare(tmp_path / "x.fa", records, options_of(method="single", memory=memory))
        except TooLittleMemory:
            continue
        assert job.distances.batch_bytes == 0
        break
    assert prepare(tmp_path / "x.fa", records, options_of(memory=memory)).distances.batch_bytes == 0


def test_the_time_of_all_pairs_is_a_bound_if_only_centroids_are_compared_with_all(rng, tmp_path, monkeypatch):
    records, options = families(rng, [2] * 20), options_of(thresholds=PairThresholds(min_identity=0.3))
    assert dict(prepare(tmp_path / "x.fa", records, options).describe())["estimate"].startswith("at most ")
    monkeypatch.setattr(every_pair_subset, "_MIN_SECONDS", 100)
    assert not dict(prepare(tmp_path / "x.fa", records, options).describe())["estimate"].startswith("at most ")


def test_counted_pairs_are_those_of_centroids_with_later_records():
    from gpualign.core.clustering.edges import Edges

    edges = Edges(4, np.array([0, 0, 1, 2]), np.array([1, 2, 2, 3]), np.ones(4))
    order, copies = np.array([2, 0, 1, 3]), np.array([1, 5, 3, 2])
    centroids = greedy_centroids(edges, order)
    assert centroids.tolist() == [2, 2, 2, 2]
    # two copies of record 2, and all copies of the records 0, 1 and 3
    assert centroid_pair_count(edges, order, centroids, copies) == 2 + 1 + 5 + 2


def test_the_estimate_is_measured_on_clusters_of_a_sample(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(centroid_pairs, "_MEASURED_SECONDS", 1e-9)
    monkeypatch.setattr(centroid_pairs, "_MIN_MEASURED_RECORDS", 8)
    dense = prepare(tmp_path / "x.fa", families(rng, [60, 25, 10, *[1] * 12]), options_of())
    distinct = len(dense.distances.duplicates)
    sample = len(range(0, distinct, -(-distinct // 8)))
    assert dict(dense.describe())["estimate"].endswith(f" s, measured on {sample} of {distinct} records")
    monkeypatch.setattr(centroid_pairs, "_MEASURED_SECONDS", float("inf"))
    assert dict(dense.describe())["estimate"].endswith(f" s, measured on {distinct} of {distinct} records")
    sparse = prepare(tmp_path / "y.fa", families(rng, [1] * 50), options_of())
    assert dict(sparse.describe())["estimate"].split()[1:] == dict(sparse.distances.job.describe())["estimate"].split()[1:]
