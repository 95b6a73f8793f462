"""PLINK 2 filesets: what pgenlib writes is read again, and what is wrong with one is said by name."""

import gzip
from itertools import product

import numpy as np
import pytest
from command import gpualign_here
from goldens import FAMILY
from sites import panels_of, write_fileset, write_pgen
from zstandard_codec import zstd

from gpualign.core.common.errors import InputError, RunError
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.readers import plink_pgen as pgen
from gpualign.core.distance.readers.plink_pgen import read_pgen_filesets

pytest.importorskip("pgenlib")


def read(*paths, **options):
    return panels_of(read_pgen_filesets(paths, False), **options)[0]


def calls(rng, samples, sites, highest=2):
    codes = rng.integers(0, highest + 1, (samples, sites), dtype=np.uint8)
    codes[rng.random(codes.shape) < 0.1] = MISSING
    return codes


@pytest.mark.parametrize(("samples", "sites"), [*product([1, 5, 130], [1, 64, 1500]), (1300, 1700)])
def test_calls_are_those_that_were_written(tmp_path, rng, samples, sites):
    codes = calls(rng, samples, sites)
    write_pgen(tmp_path / "x.pgen", codes)
    np.testing.assert_array_equal(read(tmp_path / "x.pgen"), codes)
    np.testing.assert_array_equal(read(tmp_path / "x.pgen", panel_bytes=512 * samples), codes)


def test_sites_of_several_alleles(tmp_path, rng):
    alleles = rng.choice([2, 2, 3, 5, 22], 90).tolist()
    codes = np.stack([calls(rng, 40, 1, count * (count + 1) // 2 - 1)[:, 0] for count in alleles], axis=1)
    write_pgen(tmp_path / "x.pgen", codes, alleles)
    np.testing.assert_array_equal(read(tmp_path / "x.pgen"), codes)


def test_alleles_the_other_way_round_in_the_second_fileset(tmp_path, rng):
    codes = calls(rng, 9, 60)
    write_pgen(tmp_path / "x.pgen", codes)
    write_pgen(tmp_path / "y.pgen", codes, swap=(3, 4, 40))
    np.testing.assert_array_equal(read(tmp_path / "x.pgen", tmp_path / "y.pgen"), np.concatenate([codes, codes]))


def test_tables_without_headers_and_packed(tmp_path, rng):
    """As PLINK 2 reads them: a .fam and a .bim with the last allele as the reference; zstd by another name."""
    codes = calls(rng, 4, 7)
    write_pgen(tmp_path / "x.pgen", codes)
    (tmp_path / "x.psam").write_text("".join(f"f{k}\tsame\t0\t0\t0\t-9\n" for k in range(4)))
    (tmp_path / "x.pvar").write_text("".join(f"1\trs{k}\t0\t{k + 1}\tC\tA\n" for k in range(7)))
    found = read_pgen_filesets([tmp_path / "x.pgen"], False)
    assert found.samples.ids == [f"f{k}_same" for k in range(4)]
    np.testing.assert_array_equal(panels_of(found)[0], codes)
    text = (tmp_path / "x.pvar").read_bytes()
    (tmp_path / "x.pvar").unlink()
    (tmp_path / "x.pvar.zst").write_bytes(zstd.compress(text))
    write_pgen(tmp_path / "y.pgen", codes)
    assert read(tmp_path / "x.pgen", tmp_path / "y.pgen").shape == (8, 7)  # the same sites, however they are told


def test_a_vcf_a_bed_and_a_pgen_of_the_same_calls(tmp_path, rng):
    """By every name that a fileset goes by."""
    codes = calls(rng, 6, 40)
    write_pgen(tmp_path / "x.pgen", codes)
    write_fileset(tmp_path / "y.bed", codes)
    run = ["dist", "-q", "--device", "cpu", "--metric", "king"]
    expected = gpualign_here(*run, tmp_path / "y.bed")[0]
    for name in ("x.pgen", "x", "x.pvar", "x.psam"):
        assert gpualign_here(*run, tmp_path / name)[0] == expected
    (tmp_path / "x.pvar").rename(tmp_path / "x.pvar.zst")  # the content decides
    assert gpualign_here(*run, tmp_path / "x.pvar.zst")[0] == expected


def test_sites_are_chosen_as_those_of_a_bed(tmp_path, rng):
    codes = calls(rng, 9, 80)
    write_pgen(tmp_path / "x.pgen", codes)
    write_fileset(tmp_path / "y.bed", codes)
    run = ["dist", "--device", "cpu", "--metric", "allele", "--regions", "1:5-70", "--core", "0.9", "--maf", "0.3"]
    (found, notes), (expected, others) = (gpualign_here(*run, tmp_path / name) for name in ("x.pgen", "y.bed"))
    assert found == expected
    assert notes.splitlines()[0] == others.splitlines()[0]
    pvar = tmp_path / "x.pvar"
    pvar.write_text(pvar.read_text().replace("\t7\trs6\t", "\tseven\trs6\t"))
    with pytest.raises(InputError, match=r"x\.pvar: variant 7: expected a position, by which sites are selected, found 'seven'"):
        gpualign_here(*run, tmp_path / "x.pgen")


def test_a_family_as_vcf(tmp_path):
    """Genotypes of several alleles through two libraries."""
    pytest.importorskip("cyvcf2")
    lines = [line.split("\t") for line in FAMILY.read_text().splitlines() if not line.startswith("##")]
    ids, records = lines[0][9:], lines[1:]
    pairs = [[[-1 if a == "." else int(a) for a in cell.split("/")] for cell in record[9:]] for record in records]
    codes = np.array([[MISSING if min(p) < 0 else max(p) * (max(p) + 1) // 2 + min(p) for p in row] for row in pairs], np.uint8).T
    write_pgen(tmp_path / "x.pgen", codes, [2 + record[4].count(",") for record in records])
    (tmp_path / "x.psam").write_text("#IID\n" + "".join(f"{name}\n" for name in ids))
    run = ["dist", "-q", "--device", "cpu", "--metric", "allele"]
    assert gpualign_here(*run, tmp_path / "x.pgen")[0] == gpualign_here(*run, FAMILY)[0]


def damage(folder, name, change):
    path = folder / name
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("x.pvar", None, r"x\.pvar: no such file; it belongs to .*x\.pgen"),
        ("x.psam", None, r"x\.psam: no such file; it belongs to .*x\.pgen"),
        ("x.psam", lambda text: text + b"more\tNA\n", r"x\.pgen: 40 samples, but .*x\.psam has 41; files of one fileset belong together"),
        ("x.pvar", lambda text: text + b"1\t9\trs\tA\tC\n", r"x\.pgen: 300 variants, but .*x\.pvar has 301"),
        ("x.pvar", lambda text: text + b"1\t9\n", r"x\.pvar: line 303: expected at least 5 columns, found 2"),
        ("x.pvar", lambda text: text.replace(b"REF", b"RFE"), r"x\.pvar: line 2 has no column REF; the columns are CHROM, POS, ID, RFE"),
        ("x.psam", lambda text: b"p1\n" * 40, r"x\.psam: line 1: expected at least 2 columns, found 1"),
        ("x.psam", lambda text: b"#FID\tIID\tSEX\n" + b"\tp1\t1\n" * 40, r"x\.psam: line 2: column 1 is empty"),
        ("x.psam", lambda text: b"#FID\tIID\tSEX\n" + b"f\t\t1\n" * 40, r"x\.psam: line 2: column 2 is empty"),
        ("x.psam", lambda text: b"f\tp\t0\t0\t0\t-9\n" * 39 + b"f\t\t0\t0\t0\t-9\n", r"x\.psam: line 40: column 2 is empty"),
        ("x.pvar", lambda text: b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\n" + b"1\t5\t\tA\tC\t.\n" * 50, r"x\.pvar: line 2: column 3 is empty"),
        (
            "x.pvar",
            lambda text: text.replace(b"\tC\t", b"\t" + b",".join([b"C"] * 22) + b"\t", 1),
            r"variant 1 \(1:1\) has 23 alleles; up to",
        ),
        ("x.pgen", lambda data: data[:8], r"x\.pgen: a truncated \.pgen file of 8 bytes"),
        ("x.pgen", lambda data: data[:-150], r"x\.pgen: variant \d+ \(1:\d+\) cannot be read .*a damaged file"),
        ("x.pgen", lambda data: data[:2] + b"\x77" + data[3:], r"x\.pgen: cannot be read as \.pgen"),
        ("x.pgen", lambda data: gzip.compress(data), r"x\.pgen: a compressed \.pgen; unpack it first"),
    ],
)
def test_bad_filesets(tmp_path, rng, name, change, message):
    write_pgen(tmp_path / "x.pgen", calls(rng, 40, 300))
    if change is None:
        (tmp_path / name).unlink()
    else:
        damage(tmp_path, name, change)
    with pytest.raises(InputError, match=message):
        gpualign_here("dist", "-q", "--device", "cpu", tmp_path / "x.pgen")


def test_sites_that_differ_and_kinds_that_do_not_go_together(tmp_path, rng):
    codes = calls(rng, 5, 6)
    write_pgen(tmp_path / "x.pgen", codes)
    write_pgen(tmp_path / "y.pgen", codes[:, :5])
    write_fileset(tmp_path / "z.bed", codes)
    with pytest.raises(InputError, match=r"y\.pgen: 5 sites, .*x\.pgen has 6"):
        read(tmp_path / "x.pgen", tmp_path / "y.pgen")
    damage(tmp_path, "y.pvar", lambda text: text.replace(b"1\t3\t", b"2\t3\t") + b"1\t6\trs5\tA\tC\n")
    write_pgen(tmp_path / "w.pgen", codes)
    (tmp_path / "w.pvar").write_bytes((tmp_path / "y.pvar").read_bytes())
    with pytest.raises(InputError, match=r"w\.pgen: site 3 is 2 3 A C, in .*x\.pgen it is 1 3 A C"):
        read(tmp_path / "x.pgen", tmp_path / "w.pgen")
    with pytest.raises(InputError, match=r"z\.bed is a PLINK fileset, .*x\.pgen is a PLINK 2 fileset; two inputs must be of one kind"):
        gpualign_here("dist", tmp_path / "x.pgen", tmp_path / "z.bed")


def test_without_the_library(tmp_path, rng, monkeypatch):
    write_pgen(tmp_path / "x.pgen", calls(rng, 5, 6))
    monkeypatch.setattr(pgen, "find_spec", lambda name: None)
    with pytest.raises(RunError, match=r"reading \.pgen needs Pgenlib: pip install 'gpualign\[pgen\]'"):
        read(tmp_path / "x.pgen")
