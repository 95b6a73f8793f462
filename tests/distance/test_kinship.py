"""`--metric king` and `grm`: plink2's numbers, lists of relatives, and what a kinship does not go with."""

import gzip
import math
import shutil
import subprocess

import numpy as np
import pytest
from command import gpualign_here
from distance_oracle import compute, dense_source, near_pairs, plain_distances, related
from goldens import CORE, FAMILY, FAMILY_BY_PLINK2, GRM_BY_PLINK2, SNPS

from gpualign.core.common.errors import InputError
from gpualign.core.distance.calls import MISSING
from gpualign.cpu.distance.engine import CpuDistanceEngine, instruction_sets


def king(*arguments, metric="king"):
    return gpualign_here("dist", "-q", "--device", "cpu", "--metric", metric, *arguments)


def rows_of(text):
    return [line.split("\t") for line in text.splitlines()]


def printed(value):
    """As plink2 prints a number: six digits."""
    return f"{value:.6g}"


def test_plink2s_table_of_a_family():
    """What `plink2 --vcf family.vcf --make-king-table counts` printed: with missing calls, and sites of three and four alleles. A pair
    without a heterozygous site of one sample is -inf there, and has no kinship here."""
    pytest.importorskip("cyvcf2")
    header, *theirs = rows_of(FAMILY_BY_PLINK2.read_text())
    assert header == ["#IID1", "IID2", "NSNP", "HETHET", "IBS0", "KINSHIP"]
    ours = {(a, b): (float(kinship), int(n)) for a, b, kinship, n in rows_of(king(FAMILY, "--format", "molten", "--compared")[0].decode())}
    assert len(ours) == 100
    for a, b, sites, _, _, kinship in theirs:
        found, compared = ours[a, b]
        assert ours[a, b] == ours[b, a] or math.isnan(found)
        assert compared == int(sites)
        assert printed(found) == kinship if kinship != "-inf" else math.isnan(found)


@pytest.mark.parametrize("name", ["EUR_test", pytest.param("mouse_hs1940", marks=pytest.mark.slow)])
def test_plink2(tmp_path, real_data, name):
    plink = shutil.which("plink2")
    if plink is None:
        pytest.skip("plink2 is not installed")
    for suffix in ("bed", "bim", "fam"):
        (tmp_path / f"{name}.{suffix}").write_bytes(gzip.decompress((real_data / f"{name}.{suffix}.gz").read_bytes()))
    # plink2 takes autosomes alone, and leaves out sites at places below 0.
    keep = ["--autosome-num", "95", "--autosome", "--make-bed"]
    measures = [["--make-king", "square", "bin"], ["--make-rel", "square", "bin"]]
    for step in (["--bfile", name, *keep], *(["--bfile", "kept", *measure] for measure in measures[: 1 + (name == "EUR_test")])):
        subprocess.run([plink, "--threads", "1", *step, "--out", "kept"], cwd=tmp_path, check=True, capture_output=True)
    king(tmp_path / "kept.bed", "-o", tmp_path / "king.npy")
    found = np.load(tmp_path / "king.npy")
    np.testing.assert_allclose(found, np.fromfile(tmp_path / "kept.king.bin").reshape(found.shape), rtol=0, atol=1e-15)
    if name == "EUR_test":
        king(tmp_path / "kept.bed", "-o", tmp_path / "grm.npy", metric="grm")
        theirs = np.fromfile(tmp_path / "kept.rel.bin").reshape(found.shape)
        np.testing.assert_allclose(np.load(tmp_path / "grm.npy"), theirs, rtol=0, atol=1e-12)


def test_the_worked_example_of_the_docs():
    codes = np.array([[0, 1, 1, 2, 1, MISSING], [0, 1, 0, 0, 1, 1]], np.uint8)
    values, compared = compute(dense_source(codes), CpuDistanceEngine(1), "king")
    assert values.tolist() == [[0.5, -0.125], [-0.125, 0.5]]
    assert compared[0, 1] == 5


def test_plink2s_relationships_of_people():
    """What `plink2 --make-grm-list` wrote of the calls in data/snps.tsv: numbers of two samples, sites, the relationship."""
    _, *rows = rows_of(king(SNPS, metric="grm")[0].decode())
    values = np.array([row[1:] for row in rows], dtype=float)
    theirs = np.loadtxt(GRM_BY_PLINK2)
    assert len(theirs) == 16 * 17 // 2
    for a, b, _, relationship in theirs:
        assert values[int(a) - 1, int(b) - 1] == pytest.approx(relationship, rel=6e-6, abs=1e-9)  # half a unit of the sixth digit


def test_the_worked_example_of_relationships():
    """docs/metrics.md: frequencies of 1/2, 1/4 and 0."""
    codes = np.array([[0, 0, 0], [2, 1, 0]], np.uint8)
    values, compared = compute(dense_source(codes), CpuDistanceEngine(1), "grm")
    np.testing.assert_allclose(values, [[(2 + 2 / 3) / 3, (-2 - 2 / 3) / 3], [(-2 - 2 / 3) / 3, (2 + 2 / 3) / 3]], rtol=1e-12)
    assert compared.tolist() == [[3, 3], [3, 3]]


def test_relationships_do_not_depend_on_how_the_work_is_cut(rng):
    """To the last bit: threads, instruction sets, bands, panels, order of samples; rare alleles, none, and sites without calls."""
    codes = related(rng, 150, 900, 2, 0.05)
    codes[:, 5], codes[:, 6], codes[1:, 7] = MISSING, 0, 0
    codes[0, 7] = 1
    expected, common = compute(dense_source(codes), CpuDistanceEngine(1), "grm")
    assert (expected == expected.T).all()
    order = rng.permutation(150)
    np.testing.assert_array_equal(compute(dense_source(codes[order]), CpuDistanceEngine(2), "grm")[0], expected[np.ix_(order, order)])
    np.testing.assert_array_equal(compute(dense_source(codes), CpuDistanceEngine(3), "grm", memory=1 << 18)[0], expected)
    np.testing.assert_array_equal(compute(dense_source(codes, queries=40), CpuDistanceEngine(1), "grm")[0], expected[:40, 40:])
    for name, supported in instruction_sets():
        if supported:
            found, compared = compute(dense_source(codes), CpuDistanceEngine(1, name), "grm")
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(compared, common)


def test_one_heterozygous_site_decides_whether_there_is_a_kinship():
    codes = np.array([[0, 2, 0, 2], [0, 2, 0, 2], [1, 1, 1, 1], [1, 2, 0, MISSING]], np.uint8)
    values, _ = compute(dense_source(codes), CpuDistanceEngine(1), "king")
    assert np.isnan(values[:2]).all()
    assert values[2:, 2:].tolist() == [[0.5, 0.0], [0.0, 0.5]]


@pytest.mark.parametrize("missing", [0.02, 0.4])
def test_relatives_are_those_of_the_whole_matrix(rng, missing):
    """Thresholds that people use, and those that every pair passes; calls that do and do not tell which pairs have too few sites."""
    codes = related(rng, 30, 150, 2, missing)
    kinships, common = plain_distances(codes, 30, "king", "pairwise")
    for enough in (1, 75):
        expected = np.where(common < enough, np.nan, kinships)
        for least in (-99.0, -1.0, -0.3, 0.0, 0.0884, 0.5):
            found, totals = near_pairs(dense_source(codes), CpuDistanceEngine(2), "king", least, least=enough)
            assert found.pairs == [(i, j, expected[i, j], common[i, j]) for i, j in np.argwhere(np.triu(expected >= least, 1)).tolist()]
            assert totals.near_count == len(found.pairs)
            assert found.pairs or least == 0.5  # by chance none may be as near as a sample to itself


def test_lists_of_relatives_in_every_format(tmp_path):
    pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet
    from scipy import sparse

    header, *rows = rows_of(king(SNPS, "--min-kinship", "0")[0].decode())
    assert header == ["query", "target", "kinship"]
    assert rows
    values = [float(row[2]) for row in rows]
    for suffix, read in ((".parquet", parquet.read_table), (".arrow", feather.read_table)):
        king(SNPS, "--min-kinship", "0", "-o", tmp_path / f"x{suffix}")
        table = read(tmp_path / f"x{suffix}")
        assert table.column_names == header
        np.testing.assert_allclose(table["kinship"].to_pylist(), values, atol=5e-10)
    king(SNPS, "--min-kinship", "0", "--format", "csr", "-o", tmp_path / "x.npz")
    np.testing.assert_allclose(sparse.load_npz(tmp_path / "x.npz").data - 1, values, atol=5e-10)
    king(SNPS, "-o", tmp_path / "all.npz", "--compared")
    with np.load(tmp_path / "all.npz") as arrays:
        assert sorted(arrays) == ["compared", "ids", "kinship"]
        assert np.count_nonzero(np.triu(arrays["kinship"] >= 0, 1)) == len(rows)


@pytest.mark.parametrize("metric", ["king", "grm"])
def test_two_files_and_added_samples_have_the_kinships_of_one_file(tmp_path, metric):
    """Frequencies are those of all samples."""
    lines = SNPS.read_text().splitlines(keepends=True)
    new, old = tmp_path / "new.tsv", tmp_path / "old.tsv"
    new.write_text("".join(lines[:6]))
    old.write_text("".join([lines[0], *lines[6:]]))
    whole = {(a, b): kinship for a, b, kinship in rows_of(king(SNPS, "--format", "molten", metric=metric)[0].decode())}
    across = rows_of(king(new, old, "--format", "molten", metric=metric)[0].decode())
    added = rows_of(king(new, "--add", old, "--format", "molten", metric=metric)[0].decode())
    near = rows_of(king(new, "--add", old, "--min-kinship", "0.02", metric=metric)[0].decode())[1:]
    assert (len(across), len(added)) == (5 * 11, 5 * 11 + 10)
    assert all(whole[a, b] == kinship for a, b, kinship in [*across, *added])
    assert near == [row for row in added if float(row[2]) >= 0.02] != []


@pytest.mark.parametrize("metric", ["king", "grm"])
def test_shares_are_merged_to_the_same_bytes(tmp_path, metric):
    for options in (["-o", "x.npz"], ["-o", "x.tsv"], ["--min-kinship", "-0.1", "-o", "x.tsv"]):
        name = tmp_path / options[-1]
        words = [*options[:-1], name]
        king(SNPS, *words, metric=metric)
        expected = name.read_bytes()
        name.unlink()
        for share in (1, 2):
            king(SNPS, *words, "--shard", f"{share}/2", metric=metric)
        gpualign_here("merge", "-q", *sorted(tmp_path.glob("*.part")), "-o", name)
        assert name.read_bytes() == expected
        for part in tmp_path.glob("*.part"):
            part.unlink()


def test_heat_maps_of_kinships(tmp_path):
    pytest.importorskip("matplotlib")
    king(SNPS, "--plot", tmp_path / "one.svg", "-o", tmp_path / "x.npz")
    gpualign_here("plot", "-q", tmp_path / "x.npz", "-o", tmp_path / "two.svg", "--label", "king kinship")
    one = (tmp_path / "one.svg").read_text()
    assert "king kinship" in one
    assert "mean self-kinship −" in one
    assert (tmp_path / "two.svg").read_text() == one


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([SNPS, "--max-distance", "0.1"], "--max-distance is for distances, and --metric king is a kinship; give --min-kinship"),
        (
            [SNPS, "--metric", "ibs", "--min-kinship", "0.1"],
            "--min-kinship is for --metric king or grm, and ibs is a distance; give --max-distance",
        ),
        ([SNPS, "--metric", "grm", "--max-distance", "1"], "--max-distance is for distances, and --metric grm is a relationship"),
        ([SNPS, "--metric", "grm", "--device", "cuda:0"], "--metric grm is computed by the CPU of this machine, not by --device cuda:0"),
        ([SNPS, "--metric", "grm", "--missing", "as-difference"], "grm needs the genotypes of both samples"),
        ([SNPS, "--metric", "grm", "--format", "mega"], "mega needs distances, and --metric grm is a relationship"),
        ([SNPS, "--min-kinship", "0.6"], "--min-kinship: king is 0.5 at most; found 0.6"),
        (
            [SNPS, "--missing", "as-difference"],
            "king needs the genotypes of both samples; it cannot be combined with --missing as-difference",
        ),
        ([CORE], "--metric king is for genotypes; these are nucleotides"),
        ([SNPS, "--format", "phylip"], "phylip needs distances, and --metric king is a kinship; write tsv, csv, molten, npy or npz"),
        ([SNPS, "--format", "mega"], "mega needs distances, and --metric king is a kinship"),
        ([SNPS, "--min-kinship", "0.1", "--format", "matrix"], "--min-kinship writes a table of pairs, as tsv, csv"),
        ([SNPS, "--min-kinship", "0.1", "--plot", "x.png"], "it cannot be combined with --min-kinship"),
        ([SNPS, "--kernel", "naive"], "--kernel naive counts differing calls"),
    ],
)
def test_what_does_not_go_together(arguments, message):
    with pytest.raises(InputError, match=message):
        king(*arguments)


@pytest.mark.parametrize(
    ("command", "written", "message"),
    [
        (["cluster", "--max-distance", "0.1", "--distances"], ["-o", "x.npz"], "holds kinships, which are not distances; write distances"),
        (
            ["cluster", "--max-distance", "0.1", "--edges"],
            ["--min-kinship", "0", "-o", "x.tsv"],
            "kinships are not distances: write distances",
        ),
        (["tree"], ["-o", "x.npz"], "holds kinships, which are not distances"),
        (["tree", "--method", "mst", "--edges"], ["--min-kinship", "0", "-o", "x.csv"], "the columns are query, target, kinship; kinships"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_wants_distances_refuses_kinships(tmp_path, command, written, message):
    name = tmp_path / written[-1]
    king(SNPS, *written[:-1], name)
    with pytest.raises(InputError, match=message):
        gpualign_here(*command, name)


@pytest.mark.parametrize("name", ["x.npy", "x.csv"])
@pytest.mark.parametrize("command", [["tree"], ["cluster", "--max-distance", "0.3", "--distances"]], ids=" ".join)
def test_kinships_of_siblings_without_a_name_are_no_identities(rng, tmp_path, command, name):
    """None is below 0, and each is smaller than that of a sample with itself: 0.5."""
    shared, own = rng.integers(0, 3, 400), rng.integers(0, 3, (4, 400))
    codes = np.where(rng.random((4, 400)) < 0.95, shared, own)
    rows = ["\t".join([f"s{k}", *map(str, row)]) for k, row in enumerate(codes.tolist())]
    (tmp_path / "t.tsv").write_text("\n".join(["\t".join(["id", *map(str, range(400))]), *rows]) + "\n")
    king(tmp_path / "t.tsv", "-o", tmp_path / "t.npy")
    assert np.load(tmp_path / "t.npy").min() > 0
    king(tmp_path / "t.tsv", "-o", tmp_path / name)
    with pytest.raises(InputError, match="holds scores, kinships or percent identities, which are not distances"):
        gpualign_here(*command, tmp_path / name)
