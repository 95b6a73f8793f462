"""`gpualign dist --regions`, `--mask`, `--core` and `--maf`: the same as of files that have these sites alone."""

import gzip
import json
import shutil
import subprocess

import numpy as np
import pytest
from command import gpualign, gpualign_here
from dist_command import dist, refused, write_alignment
from goldens import CORE, OLD, SNPS
from sites import vcf_text, write_fileset

from gpualign.core.common.errors import InputError


@pytest.fixture
def rows(rng, tmp_path, monkeypatch):
    """Letters of 12 samples at 200 sites; full.aln has them all, and new.aln and old.aln share the samples."""
    monkeypatch.chdir(tmp_path)
    rows = np.repeat(rng.choice(np.array([*b"ACGT"], np.uint8), (1, 200)), 12, axis=0)
    changed = rng.random(rows.shape) < rng.choice([0, 0.1, 0.3], 200)
    rows[changed] = rng.choice(np.array([*b"ACGT"], np.uint8), rows.shape)[changed]
    rows[rng.random(rows.shape) < rng.choice([0, 0.1, 0.4], 200)] = ord("N")
    write_alignment(tmp_path / "full.aln", rows)
    write_alignment(tmp_path / "new.aln", rows[:5], "n")
    write_alignment(tmp_path / "old.aln", rows[5:], "o")
    (tmp_path / "m.bed").write_text("track name=repeats\nNC_1\t10\t30\trepeat\r\nNC_1\t20\t40\nNC_1\t199\t200\n")
    return rows


OPTIONS = ["--regions", "NC_1:6-150,NC_1:180-", "--mask", "m.bed", "--core", "0.75", "--maf", "0.2"]


def passing(rows):
    """Columns that pass OPTIONS, and how many fall to each, in plain loops."""
    keep, fallen = [], dict.fromkeys(["regions", "mask", "core", "maf"], 0)
    for column, letters in enumerate(rows.T, 1):
        calls = [letter for letter in letters.tolist() if letter in b"ACGT"]
        counts = sorted(calls.count(base) for base in b"ACGT")
        if not (6 <= column <= 150 or column >= 180):
            fallen["regions"] += 1
        elif 11 <= column <= 40 or column == 200:
            fallen["mask"] += 1
        elif len(calls) < 9:  # of 12
            fallen["core"] += 1
        elif 5 * counts[-2] < len(calls):
            fallen["maf"] += 1
        else:
            keep.append(column - 1)
    return keep, fallen


def test_an_alignment_of_the_sites_that_are_left(rows, tmp_path):
    keep, fallen = passing(rows)
    assert min(len(keep), *fallen.values()) > 0
    write_alignment(tmp_path / "left.aln", rows[:, keep])
    for more in ([], ["--metric", "tn93"], ["--missing", "complete"], ["--missing", "as-difference"], ["--min-compared", "0.9"]):
        expected, _ = dist("left.aln", *more)
        found, note = dist("full.aln", *OPTIONS, *more)
        assert found == expected
    assert note == (
        f"sites: 200; outside regions: {fallen['regions']}; masked: {fallen['mask']}; called in fewer than 75 % of samples:"
        f" {fallen['core']}; minor allele rarer than 0.2: {fallen['maf']}; used: {len(keep)}"
    )
    assert dist("full.aln", *OPTIONS, "--max-distance", 9)[0] == dist("left.aln", "--max-distance", 9)[0]


def test_sites_are_chosen_by_the_samples_of_both_files(rows, tmp_path):
    keep, _ = passing(rows)
    write_alignment(tmp_path / "new_left.aln", rows[:5][:, keep], "n")
    write_alignment(tmp_path / "old_left.aln", rows[5:][:, keep], "o")
    assert dist("new.aln", "old.aln", *OPTIONS)[0] == dist("new_left.aln", "old_left.aln")[0]
    added = ["--max-distance", 20, "--compared"]
    assert dist("new.aln", "--add", "old.aln", *OPTIONS, *added)[0] == dist("new_left.aln", "--add", "old_left.aln", *added)[0]


def test_shares_of_a_job_use_the_same_sites(rows, tmp_path):
    expected = dist("full.aln", *OPTIONS)[0]
    for k in (1, 2, 3):
        dist("full.aln", *OPTIONS, "--shard", f"{k}/3", "-o", "x.tsv")
    parts = [f"x.tsv.{k}-of-3.part" for k in (1, 2, 3)]
    gpualign_here("merge", *parts, "-o", "x.tsv")
    assert (tmp_path / "x.tsv").read_text() == expected
    for k in (1, 2, 3):
        dist("full.aln", *OPTIONS, "--shard", f"{k}/3", "-o", "x.tsv")
    for change, message in (([*OPTIONS, "--core", "0.7"], "started with --core 0.7"), (OPTIONS, "started with other input")):
        if change is OPTIONS:
            (tmp_path / "m.bed").write_text("NC_1\t10\t30\n")
        dist("full.aln", *change, "--shard", "2/3", "-o", "x.tsv")
        with pytest.raises(InputError, match=message):
            gpualign_here("merge", *parts, "-o", "y.tsv")


@pytest.mark.slow
def test_other_machines_count_the_same_sites(rows):
    pytest.importorskip("distributed")
    assert gpualign("dist", "full.aln", *OPTIONS, "--cluster", "dask:1", "--threads", 1).stdout.decode() == dist("full.aln", *OPTIONS)[0]


def test_the_summary_has_what_fell_away(rows, tmp_path):
    keep, fallen = passing(rows)
    dist("full.aln", *OPTIONS, "-o", "x.tsv", "--summary", "s.json")
    found = json.loads((tmp_path / "s.json").read_text())
    results = found["results"]
    assert (results["sites_read"], results["sites_left_out"], results["sites"]) == (200, fallen, len(keep))
    assert found["options"]["core"] == "0.75"
    assert [one["path"] for one in found["inputs"]] == ["full.aln", "m.bed"]
    assert len(found["inputs"][1]["sha256"]) == 64
    dist("full.aln", "-o", "x.tsv", "--summary", "s.json", "--core", "0.75")
    assert list(json.loads((tmp_path / "s.json").read_text())["results"]["sites_left_out"]) == ["core"]
    dist("full.aln", "-o", "x.tsv", "--summary", "s.json")
    assert "sites_read" not in json.loads((tmp_path / "s.json").read_text())["results"]


def test_all_inputs_of_the_same_genotypes(rng, tmp_path, monkeypatch):
    """VCF, a fileset and, without positions, a table."""
    monkeypatch.chdir(tmp_path)
    codes = rng.choice(np.array([0, 1, 2, 255], np.uint8), (10, 90), p=[0.5, 0.2, 0.1, 0.2])
    calls = np.array(["0/0", "0|1", "1/1"] + ["./."] * 253)[codes.T]
    ids = [f"p{k}" for k in range(10)]
    (tmp_path / "x.vcf").write_text(vcf_text(ids, [(["C", "A"], row.tolist()) for row in calls]))
    write_fileset(tmp_path / "x.bed", codes)
    cells = np.array(["0", "1", "2"] + ["NA"] * 253)[codes]
    table = [["id", *(f"rs{k}" for k in range(90))], *([name, *row] for name, row in zip(ids, cells.tolist(), strict=True))]
    (tmp_path / "x.tsv").write_text("".join("\t".join(row) + "\n" for row in table))
    (tmp_path / "m.bed.gz").write_bytes(gzip.compress(b"# masked\n1\t3\t20\nX\t0\t9\n"))
    calls_alone = ["--core", "0.8", "--maf", ".2", "--metric", "ibs"]
    assert len({dist(name, *calls_alone) for name in ("x.vcf", "x.bed", "x.tsv", "x")}) == 1
    for by_place in (["--mask", "m.bed.gz"], ["--regions", "1:5-40,1:80-"], ["--regions", "m.bed.gz"]):
        assert len({dist(name, *calls_alone, *by_place) for name in ("x.vcf", "x.bed")}) == 1
        assert refused("x.tsv", *by_place).startswith(
            f"{by_place[0]} needs the positions of sites, but sites of tables and arrays have none"
        )
    assert dist("x.bed", "--mask", "m.bed.gz")[1] == "sites: 90; masked: 17; used: 73"
    notes = gpualign_here("dist", "x.bed", "--mask", "m.bed.gz")[1]
    assert "gpualign dist: m.bed.gz: one of its chromosomes has no site in the input: X\n" in notes
    assert refused("x.vcf", "--regions", "chr1").startswith("--regions: 'chr1': no site of x.vcf is on 'chr1'; its chromosomes are '1'")


def test_variants_lie_where_they_begin(tmp_path, monkeypatch):
    """As `bcftools view -T` has it: a deletion that reaches into an interval is not in it."""
    monkeypatch.chdir(tmp_path)
    records = [(["A", "C"], ["0/0", "1/1"]), (["ACGT", "A"], ["0/0", "0/1"]), (["A", "C", "G"], ["0/2", "2/2"])]
    (tmp_path / "x.vcf").write_text(vcf_text("ab", records))
    found = {region: dist("x.vcf", "--metric", "allele", "--regions", region)[0].split()[4] for region in ("1:1", "1:2", "1:3-9", "1")}
    assert found == {"1:1": "2", "1:2": "1", "1:3-9": "1", "1": "4"}


def test_places_that_are_no_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_fileset(tmp_path / "x.bed", np.zeros((3, 4), np.uint8))
    bim = (tmp_path / "x.bim").read_text()
    (tmp_path / "x.bim").write_text(bim.replace("\t3\t", "\tthree\t"))
    assert (
        refused("x.bed", "--regions", "1:2") == "x.bim: line 3, column 4: expected a position, by which sites are selected, found 'three'"
    )
    dist("x.bed", "--maf", "0")  # does not look at them


@pytest.mark.slow
@pytest.mark.parametrize("name", ["EUR_test", "mouse_hs1940"])
def test_plink_chooses_the_same(tmp_path, monkeypatch, real_data, name):
    """--geno is 1 - --core, --maf the same, and --exclude range has both ends."""
    plink = shutil.which("plink1.9") or shutil.which("plink")
    if plink is None:
        pytest.skip("plink 1.9 is not installed")
    monkeypatch.chdir(tmp_path)
    for suffix in ("bed", "bim", "fam"):
        (tmp_path / f"x.{suffix}").write_bytes(gzip.decompress((real_data / f"{name}.{suffix}.gz").read_bytes()))
    places = [line.split() for line in (tmp_path / "x.bim").read_text().splitlines()]
    chromosome = places[len(places) // 3][0]
    positions = sorted(int(place[3]) for place in places if place[0] == chromosome)
    first, last = positions[len(positions) // 4], positions[len(positions) // 2]
    (tmp_path / "range.txt").write_text(f"{chromosome} {first} {last} masked\n")
    (tmp_path / "m.bed").write_text(f"{chromosome}\t{first - 1}\t{last}\n")
    made = [plink, "--bfile", "x", "--make-bed", "--geno", "0.01", "--maf", "0.1", "--exclude", "range", "range.txt", "--out", "left"]
    # plink leaves out sites at places below 0.
    subprocess.run([plink, "--bfile", "x", "--make-bed", "--out", "x"], check=True, capture_output=True)
    has_founders = any(line.split()[2:4] == ["0", "0"] for line in (tmp_path / "x.fam").read_text().splitlines())
    for counted in [[], ["--nonfounders"]][not has_founders :]:  # frequencies of no founders are refused
        subprocess.run([*made, *counted], check=True, capture_output=True)
        left = len((tmp_path / "left.bim").read_text().splitlines())
        found, note = dist(
            "x.bed", "--core", "0.99", "--maf", "0.1", "--mask", "m.bed", *counted, "--metric", "allele", "--format", "molten"
        )
        assert note.endswith(f"used: {left:,}")
        assert 100 < left < len(places) - len(positions) // 4
        assert found == dist("left.bed", "--metric", "allele", "--format", "molten")[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--core", "95"], "--core is a fraction from 0 to 1; found 95 (95 % is 0.95)"),
        (["--core", "95%"], "--core is a fraction from 0 to 1; found '95%' (95 % is 0.95)"),
        (["--core", "nan"], "--core is a fraction from 0 to 1; found 'nan'"),
        (["--core", "-0.1"], "--core is a fraction from 0 to 1; found '-0.1'"),
        (["--maf", "0.6"], "--maf is a fraction from 0 to 0.5; found 0.6"),
        (["--maf", "5"], "--maf is a fraction from 0 to 0.5; found 5 (5 % is 0.05)"),
        (["--mask", "none.bed"], "none.bed: no such file"),
        (
            ["--regions", "none.bed"],
            "--regions: 'none.bed': there is no file of this name, and as a region it would be all of four.aln, an alignment",
        ),
        (
            ["--regions", "2-3"],
            "--regions: '2-3': there is no file of this name, and as a region it would be all of four.aln, an alignment",
        ),
        (["--regions", "x:5-"], "--regions: 'x:5-': the interval begins at 5, four.aln has 4 columns"),
        (["--regions", "x:2", "--mask", "all.bed"], "no site is left; sites: 4; outside regions: 3; masked: 1; used: 0"),
        (["--mask", "empty.bed", "--maf", "0.5"], "no site is left; sites: 4; masked: 0; minor allele rarer than 0.5: 4; used: 0"),
        (
            ["--regions", "empty.bed", "--core", "1"],
            "no site is left; sites: 4; outside regions: 4; called in fewer than 100 % of samples: 0;",
        ),
    ],
)
def test_what_cannot_be_had(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "four.aln").write_text(">a\nACGT\n>b\nACGT\n>c\nACGA\n")
    (tmp_path / "all.bed").write_text("x\t0\t4\n")
    (tmp_path / "empty.bed").write_text("")
    before = sorted(tmp_path.iterdir())
    assert refused("four.aln", *words, "-o", "out.tsv").startswith(message)
    assert sorted(tmp_path.iterdir()) == before


def test_the_executable_refuses_with_two(tmp_path):
    """And a mask on standard input, which a run that goes on cannot read again."""
    done = gpualign("dist", CORE, "--mask", "-", stdin=b"x\t5\t3\n", check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"gpualign: error: standard input: line 1, columns 2 and 3: the start 5 is after the end 3. ")
    done = gpualign("dist", CORE, "--mask", "-", "--shard", "1/2", "-o", tmp_path / "x.tsv", stdin=b"x\t5\t6\n", check=False)
    assert b"--shard: input from a pipe cannot be read again; name files" in done.stderr
    assert b"only one input can be standard input" in gpualign("dist", "-", "--mask", "-", stdin=b"", check=False).stderr


def test_tables_choose_by_calls(tmp_path):
    _, note = dist(SNPS, "--maf", "0.25")
    assert note.startswith("sites: 80; minor allele rarer than 0.25: ")
    _, note = dist(CORE, OLD, "--core", "1")
    assert note.startswith("sites: 20; called in fewer than 100 % of samples: ")
