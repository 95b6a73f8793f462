"""`--metric king`: plink2's numbers to the digits that it prints, lists of relatives, and what a kinship does not go with."""

import gzip
import math
import shutil
import subprocess

import numpy as np
import pytest
from command import gpualign_here
from distance_oracle import compute, dense_source, near_pairs, plain_distances, related
from goldens import CORE, FAMILY, FAMILY_BY_PLINK2, SNPS

from gpualign.core.distance.calls import MISSING
from gpualign.core.errors import InputError
from gpualign.cpu.distance import CpuDistanceEngine


def king(*arguments):
    return gpualign_here("dist", "-q", "--device", "cpu", "--metric", "king", *arguments)


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


@pytest.mark.parametrize("name", ["EUR_test", "mouse_hs1940"])
def test_plink2(tmp_path, real_data, name):
    plink = shutil.which("plink2")
    if plink is None:
        pytest.skip("plink2 is not installed")
    for suffix in ("bed", "bim", "fam"):
        (tmp_path / f"{name}.{suffix}").write_bytes(gzip.decompress((real_data / f"{name}.{suffix}.gz").read_bytes()))
    # plink2 takes autosomes alone, and leaves out sites at places below 0.
    for step in (
        ["--bfile", name, "--autosome-num", "95", "--autosome", "--make-bed"],
        ["--bfile", "kept", "--make-king", "square", "bin"],
    ):
        subprocess.run([plink, "--threads", "1", *step, "--out", "kept"], cwd=tmp_path, check=True, capture_output=True)
    king(tmp_path / "kept.bed", "-o", tmp_path / "king.npy")
    found = np.load(tmp_path / "king.npy")
    np.testing.assert_allclose(found, np.fromfile(tmp_path / "kept.king.bin").reshape(found.shape), rtol=0, atol=1e-15)


def test_the_worked_example_of_the_docs():
    codes = np.array([[0, 1, 1, 2, 1, MISSING], [0, 1, 0, 0, 1, 1]], np.uint8)
    values, compared = compute(dense_source(codes), CpuDistanceEngine(1), "king")
    assert values.tolist() == [[0.5, -0.125], [-0.125, 0.5]]
    assert compared[0, 1] == 5


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
            assert totals.near == len(found.pairs) > 0


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


def test_two_files_and_added_samples_have_the_kinships_of_one_file(tmp_path):
    lines = SNPS.read_text().splitlines(keepends=True)
    new, old = tmp_path / "new.tsv", tmp_path / "old.tsv"
    new.write_text("".join(lines[:6]))
    old.write_text("".join([lines[0], *lines[6:]]))
    whole = {(a, b): kinship for a, b, kinship in rows_of(king(SNPS, "--format", "molten")[0].decode())}
    across = rows_of(king(new, old, "--format", "molten")[0].decode())
    added = rows_of(king(new, "--add", old, "--format", "molten")[0].decode())
    near = rows_of(king(new, "--add", old, "--min-kinship", "0.02")[0].decode())[1:]
    assert (len(across), len(added)) == (5 * 11, 5 * 11 + 10)
    assert all(whole[a, b] == kinship for a, b, kinship in [*across, *added])
    assert near == [row for row in added if float(row[2]) >= 0.02] != []


def test_shares_are_merged_to_the_same_bytes(tmp_path):
    for options in (["-o", "x.npz"], ["-o", "x.tsv"], ["--min-kinship", "-0.1", "-o", "x.tsv"]):
        name = tmp_path / options[-1]
        words = [*options[:-1], name]
        king(SNPS, *words)
        expected = name.read_bytes()
        name.unlink()
        for share in (1, 2):
            king(SNPS, *words, "--shard", f"{share}/2")
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
        ([SNPS, "--max-distance", "0.1"], "--max-distance is of distances, and --metric king is a kinship; give --min-kinship"),
        (
            [SNPS, "--metric", "ibs", "--min-kinship", "0.1"],
            "--min-kinship is of --metric king, and ibs is a distance; give --max-distance",
        ),
        ([SNPS, "--min-kinship", "0.6"], "--min-kinship: king is 0.5 at most; found 0.6"),
        ([SNPS, "--missing", "as-difference"], "king is of the genotypes of both samples; --missing as-difference does not go with it"),
        ([CORE], "--metric king is for genotypes; these are nucleotides"),
        ([SNPS, "--format", "phylip"], "phylip is of distances, and --metric king is a kinship; write tsv, csv, molten, npy or npz"),
        ([SNPS, "--format", "mega"], "mega is of distances, and --metric king is a kinship"),
        ([SNPS, "--min-kinship", "0.1", "--format", "matrix"], "--min-kinship writes a table of pairs, as tsv, csv"),
        ([SNPS, "--min-kinship", "0.1", "--plot", "x.png"], "it does not go with --min-kinship"),
        ([SNPS, "--kernel", "naive"], "--kernel naive counts differing calls"),
    ],
)
def test_what_does_not_go_together(arguments, message):
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        king(*arguments)


@pytest.mark.parametrize(
    ("command", "written", "message"),
    [
        (["cluster", "--max-distance", "0.1", "--distances"], ["-o", "x.npz"], "holds kinships, which are no distances; write distances"),
        (
            ["cluster", "--max-distance", "0.1", "--edges"],
            ["--min-kinship", "0", "-o", "x.tsv"],
            "kinships are no distances: write distances",
        ),
        (["tree"], ["-o", "x.npz"], "holds kinships, which are no distances"),
        (["tree", "--method", "mst", "--edges"], ["--min-kinship", "0", "-o", "x.csv"], "the columns are query, target, kinship; kinships"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_wants_distances_refuses_kinships(tmp_path, command, written, message):
    name = tmp_path / written[-1]
    king(SNPS, *written[:-1], name)
    with pytest.raises(InputError, match=message):
        gpualign_here(*command, name)
