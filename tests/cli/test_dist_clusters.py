"""`gpualign dist --clusters`: the file that `gpualign cluster` makes of the list, in the same run."""

import io
import json

import numpy as np
import pytest
from command import gpualign_here
from dist_command import refused, write_alignment
from distance_oracle import related
from hypothesis import example, given
from hypothesis import strategies as st

from gpualign.core.clustering import streamed
from gpualign.core.clustering.clusters import clustering_from_labels
from gpualign.core.clustering.edges import Edges
from gpualign.core.clustering.linkage import single_linkage

pytest.importorskip("scipy")


@given(st.integers(1, 30), st.floats(0, 0.3), st.integers(1, 40), st.integers(0, 2**32 - 1))
@example(1600, 1.0, 300_000, 1)  # more pairs than are read together
def test_pairs_in_parts_are_clusters_of_all_of_them(count, share, step, seed):
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(count, 1)
    keep = rng.random(len(i)) < share
    edges = Edges(count, i[keep], j[keep], rng.integers(0, 4, int(keep.sum())) / 2)
    expected = clustering_from_labels(single_linkage(edges), edges)
    clusters = streamed.StreamedClusters(count, io.BytesIO)
    for start in range(0, len(edges), step):
        some = slice(start, start + step)
        clusters.add(edges.i[some], edges.j[some], edges.distance[some])
    found = clusters.finish()
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.representatives, expected.representatives)
    np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.fixture
def core(rng, tmp_path, monkeypatch):
    """Forty relatives; one has few calls, and some are near no other."""
    monkeypatch.chdir(tmp_path)
    codes = related(rng, 40, 300, 3, 0)
    rows = np.array([*b"ACGT"], np.uint8)[codes]
    rows[5, :280] = ord("N")
    write_alignment(tmp_path / "core.aln", rows)
    (tmp_path / "ids.txt").write_text("".join(f"s{k}\n" for k in range(40)))


def dist(*words):
    return gpualign_here("dist", "core.aln", *words, "--device", "cpu")


@pytest.mark.parametrize("suffix", ["tsv", "csv", "uc", "parquet", "tsv.gz"])
@pytest.mark.parametrize("options", [["--max-distance", 20], ["--metric", "fraction", "--max-distance", "0.05"], ["--max-distance", 0]])
def test_the_file_is_that_of_cluster(core, tmp_path, options, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    alone = dist(*options)[0]
    listed = dist(*options, "--clusters", f"c.{suffix}", "--summary", "s.json")[0]
    assert listed == alone
    (tmp_path / "near.tsv").write_bytes(listed)
    most = options[options.index("--max-distance") + 1]
    gpualign_here("cluster", "--edges", "near.tsv", "--ids", "ids.txt", "--max-distance", most, "-o", f"d.{suffix}", "--summary", "t.json")
    assert (tmp_path / f"c.{suffix}").read_bytes() == (tmp_path / f"d.{suffix}").read_bytes()
    found, expected = (json.loads((tmp_path / name).read_text())["results"] for name in ("s.json", "t.json"))
    for name in ("clusters", "singletons", "largest_cluster"):
        assert found[name] == expected[name]
    assert found["clusters"] > 1


def test_refusals(core, tmp_path):
    options = ["core.aln", "--max-distance", 9, "--clusters", "c.tsv"]
    assert refused("core.aln", "--clusters", "c.tsv") == "--clusters needs near pairs; give --max-distance"
    assert "make clusters of its list with `gpualign cluster --edges`" in refused(*options, "--add", "core.aln")
    assert "and --shard finds a part of them" in refused(*options, "--shard", "1/2", "-o", "x.tsv")
    assert "--clusters needs all near pairs in one run" in refused(*options, "--resume", "-o", "x.tsv")
    assert "name the same file" in refused(*options, "-o", "c.tsv")
    assert "--clusters: name a file" in refused(*options[:-1], "-")
    assert refused(*options[:-1], "c.xyz") == (
        "--clusters c.xyz: the name does not determine the format; end it in .tsv, .csv, .parquet, .arrow, .feather, .uc (text also .gz)"
    )
    assert refused(*options[:-1], "c.fa").startswith("--clusters c.fa: fasta needs sequences, and there are none")
    (tmp_path / "in.tsv").write_bytes((tmp_path / "core.aln").read_bytes())
    assert "in.tsv" in refused("in.tsv", *options[1:-1], "in.tsv")
    (tmp_path / "in.tsv").unlink()
    assert {path.name for path in tmp_path.iterdir()} == {"core.aln", "ids.txt"}


def test_nothing_is_left_of_a_run_that_fails(core, tmp_path):
    (tmp_path / "c.tsv").mkdir()
    with pytest.raises(Exception, match=r"c\.tsv"):
        dist("--max-distance", 9, "-o", "x.tsv", "--clusters", "c.tsv")
    assert not (tmp_path / "x.tsv").exists()


def test_excluded_samples_are_in_no_cluster(core, tmp_path):
    dist("--max-distance", 20, "--exclude", "s3", "--min-called", 0.5, "-o", "x.tsv", "--clusters", "c.tsv")
    ids = [line.split("\t")[0] for line in (tmp_path / "c.tsv").read_text().splitlines()[1:]]
    assert ids == [f"s{k}" for k in range(40) if k not in (3, 5)]
