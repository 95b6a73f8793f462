"""PLINK filesets and VCF as other programs leave them: alleles that no sample has, empty lines, the telomere, joined files."""

import gzip

import numpy as np
import pytest
from command import gpualign, gpualign_here
from fuzz import variants
from fuzz.tables import distances
from sites import panels_of, vcf_text, write_fileset, write_pgen

from gpualign.core.common.errors import InputError
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.readers.plink_bed import read_bed_filesets


def calls_of_two(rng, sites, most=7):
    """Calls of two sets of samples; in each, at many sites, no sample has one of the alleles."""
    sets = [rng.choice(np.array([0, 1, 2, MISSING], np.uint8), (int(rng.integers(1, most)), sites)) for _ in range(2)]
    for codes in sets:
        for site in np.flatnonzero(rng.random(sites) < 0.6):
            codes[:, site] = np.where(codes[:, site] == MISSING, MISSING, rng.choice([0, 2, MISSING]))
    return sets


def with_unknown_alleles(path, codes, unknown):
    """Name alleles that no sample has `unknown` in a .bim."""
    rows = [line.split("\t") for line in path.with_suffix(".bim").read_text().splitlines()]
    for row, column in zip(rows, codes.T, strict=True):
        known = column[column != MISSING]
        if not (known > 0).any():
            row[4] = unknown
        if not (known < 2).any():
            row[5] = unknown
    path.with_suffix(".bim").write_text("".join("\t".join(row) + "\n" for row in rows))


def allele_distances(one, other):
    """Of each sample of a fileset and each of another one. Which allele is counted does not matter."""
    codes, _ = panels_of(read_bed_filesets([one, other], False))
    first, second = (part.astype(int) for part in np.split(codes, [one.with_suffix(".fam").read_text().count("\n")]))
    both = (first[:, None] != MISSING) & (second[None] != MISSING)
    return np.where(both, abs(first[:, None] - second[None]), 0).sum(axis=2)


@pytest.mark.parametrize("unknown", ["0", "."])
@pytest.mark.parametrize("turned", ["as written", "rare first"])
def test_alleles_that_no_sample_has(tmp_path, rng, unknown, turned):
    """The same as with names, however many samples there are."""
    for _ in range(40):
        one, other = calls_of_two(rng, 30)
        write_fileset(tmp_path / "one.bed", one)
        turn = np.flatnonzero(rng.random(30) < 0.5).tolist()
        if turned == "rare first":
            turn = np.flatnonzero([np.sum(column[column != MISSING] == 2) > np.sum(column == 0) for column in other.T]).tolist()
        write_fileset(tmp_path / "other.bed", other, swap=turn)
        expected = allele_distances(tmp_path / "one.bed", tmp_path / "other.bed")
        written = other.copy()
        written[:, turn] = np.where(other[:, turn] == MISSING, MISSING, 2 - other[:, turn])
        with_unknown_alleles(tmp_path / "one.bed", one, unknown)
        with_unknown_alleles(tmp_path / "other.bed", written, unknown)
        np.testing.assert_array_equal(allele_distances(tmp_path / "one.bed", tmp_path / "other.bed"), expected)


@pytest.mark.parametrize(
    ("one", "other", "fits"),
    [
        ("0 G", "A G", True),
        ("0 G", "G A", True),
        ("0 G", "0 A", True),
        ("0 G", "A 0", True),
        ("0 G", "G 0", True),
        ("0 0", "A G", True),
        ("A G", "0 0", True),
        ("0 G", "A C", False),
        ("A 0", "C G", False),
        ("A G", "A C", False),
        ("A G", "C 0", False),
        ("a g", "A G", False),
    ],
)
def test_two_alleles_at_most(tmp_path, one, other, fits):
    for name, alleles in (("one", one), ("other", other)):
        write_fileset(tmp_path / f"{name}.bed", np.zeros((2, 1), np.uint8))
        (tmp_path / f"{name}.bim").write_text(f"1 rs0 0 1 {alleles}\n")
    paths = [tmp_path / "one.bed", tmp_path / "other.bed"]
    if fits:
        read_bed_filesets(paths, False)
    else:
        with pytest.raises(InputError, match=rf"site 1 is 1 1 {other}, in .* it is 1 1 {one}; sites and alleles must be the same"):
            read_bed_filesets(paths, False)


@pytest.mark.parametrize("blank", ["\n", " \n", "\r\n", "\n\n\t\n"])
def test_empty_lines_of_filesets(tmp_path, rng, blank):
    codes = rng.choice(np.array([0, 1, 2, MISSING], np.uint8), (5, 12))
    write_fileset(tmp_path / "x.bed", codes)
    for table in ("x.fam", "x.bim"):
        (tmp_path / table).write_text((tmp_path / table).read_text() + blank)
    np.testing.assert_array_equal(panels_of(read_bed_filesets([tmp_path / "x.bed"], False))[0], codes)
    (tmp_path / "x.fam").write_text((tmp_path / "x.fam").read_text() + "f p 0 0 0 -9\n" * 4)
    with pytest.raises(InputError, match=r"9 samples and 12 sites take 39: it is truncated, or its \.bim or \.fam has too many lines"):
        read_bed_filesets([tmp_path / "x.bed"], False)


@pytest.mark.parametrize("blank", ["\n", " \n", "\r\n"])
def test_empty_lines_of_filesets_of_plink_2(tmp_path, rng, blank):
    pytest.importorskip("pgenlib")
    from gpualign.core.distance.readers.plink_pgen import read_pgen_filesets

    codes = rng.integers(0, 3, (5, 12), dtype=np.uint8)
    codes[:, 3] = 0
    write_pgen(tmp_path / "x.pgen", codes)
    for table in ("x.psam", "x.pvar"):
        (tmp_path / table).write_text((tmp_path / table).read_text() + blank)
    np.testing.assert_array_equal(panels_of(read_pgen_filesets([tmp_path / "x.pgen"], False))[0], codes)
    (tmp_path / "x.pvar").write_text((tmp_path / "x.pvar").read_text().replace("rs3\tA\tC", "rs3\tA\t."))
    codes[0, 3] = 1
    write_pgen(tmp_path / "y.pgen", codes)
    both, _ = panels_of(read_pgen_filesets([tmp_path / "x.pgen", tmp_path / "y.pgen"], False))
    assert both.shape == (10, 12)


@pytest.mark.parametrize(
    ("fam", "message"),
    [
        ("FID IID PAT MAT SEX PHENO\nF A 0 0 0 -9\nF B 0 0 0 -9\n", "line 1 begins with 'FID'"),
        ("#FID IID\nF A 0 0 0 -9\nF B 0 0 0 -9\n", "line 1 begins with '#FID'"),
        ("F A 0 0 0 -9\n# comment\nF B 0 0 0 -9\n", "line 2 begins with '#'"),
        ("F A 0 0 0 -9\nF\t\t0\t0\t0\t-9\n", "line 2 has 5 columns; expected 6"),
        ("F A 0 0 9 -9 1\nF B 0 0 0 -9\n", "line 1 has 7 columns; expected 6"),
        ("F A b 0 0 0 -9\nF B 0 0 0 -9\n", "line 1 has 7 columns; expected 6"),
        ("F A b dad mum 1 -9\nF B 0 0 0 -9\n", "line 1 has 7 columns; expected 6"),
        ("F A 0 0 0 -9\n", "calls after those of the last of 1 samples"),
    ],
)
def test_people_that_are_not_those_of_the_calls(tmp_path, fam, message):
    write_fileset(tmp_path / "x.bed", np.array([[0, 1, 2], [1, 2, 0]], np.uint8))
    (tmp_path / "x.fam").write_text(fam)
    with pytest.raises(InputError, match=message):
        panels_of(read_bed_filesets([tmp_path / "x.bed"], False))


@pytest.mark.parametrize("line", ["F A 0 0 1", "F\tA\t0\t0\t1\t", "F A 0 0 1 1.5 2 3", "F A dad mum 1", "F\tA\tdad\tmum\t2\t0.2\tNA\t1"])
def test_people_without_a_phenotype_or_with_several(tmp_path, line):
    write_fileset(tmp_path / "x.bed", np.array([[0, 1, 2], [1, 2, 0]], np.uint8))
    expected = gpualign_here("dist", tmp_path / "x.bed")[0].replace(b"p0", b"A").replace(b"p1", b"B")
    (tmp_path / "x.fam").write_text(f"{line}\n{line.replace('A', 'B')}\n")
    assert gpualign_here("dist", tmp_path / "x.bed")[0] == expected


@pytest.mark.parametrize("line", ["1 rs0 0 0 1", "1 rs0 0 0 1 2 2"])
def test_a_line_of_a_bim_is_no_person(tmp_path, line):
    write_fileset(tmp_path / "x.bed", np.array([[0], [1]], np.uint8))
    (tmp_path / "x.bim").write_text(line + "\n")
    with pytest.raises(InputError, match=rf"x\.bim: line 1 has {len(line.split())} columns; expected 6"):
        read_bed_filesets([tmp_path / "x.bed"], False)


def test_a_byte_order_mark_is_no_chromosome(tmp_path):
    write_fileset(tmp_path / "x.bed", np.array([[0, 1, 2], [1, 2, 0]], np.uint8))
    (tmp_path / "x.bim").write_text("\ufeff" + (tmp_path / "x.bim").read_text())
    assert gpualign_here("dist", tmp_path / "x.bed", "--regions", "1")[0] == gpualign_here("dist", tmp_path / "x.bed")[0]


def test_a_folder_of_the_name_of_a_prefix(tmp_path):
    write_fileset(tmp_path / "x.bed", np.array([[0, 1, 2], [1, 2, 0]], np.uint8))
    (tmp_path / "x").mkdir()
    assert gpualign_here("dist", tmp_path / "x")[0] == gpualign_here("dist", tmp_path / "x.bed")[0]


# ---- VCF

CALLS = [(["A", "C"], ["0/0", "0/1"]), (["G", "T"], ["1/1", "0/1"]), (["C", "T"], ["0/0", "1/1"])]


@pytest.fixture
def text():
    pytest.importorskip("cyvcf2")
    return vcf_text("ab", CALLS)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("records", "other"), [(1, "ab"), (3, "ab"), (3, "cd"), (3, "c"), (3, "cde"), (3000, "ab")])
def test_joined_files_are_named(tmp_path, text, packed, records, other):
    one = vcf_text("ab", (CALLS * 1000)[:records]).encode()
    two = vcf_text(other, [(alleles, ["0/1"] * len(other)) for alleles, _ in CALLS]).encode()
    joined = gzip.compress(one) + gzip.compress(two) if packed else one + two
    name = "x.vcf.gz" if packed else "x.vcf"
    (tmp_path / name).write_bytes(joined)
    line = one.count(b"\n") + 1
    reason = f"{name}: line {line} begins a second header, after {records:,} record{'s'[: records != 1]}: several files were joined"
    done = gpualign("dist", name, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert reason in done.stderr.decode()
    done = gpualign("dist", "-", stdin=joined, check=False)
    assert done.returncode == 2
    assert reason.partition(": ")[2] in done.stderr.decode()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("#chr1\t5\t.\tA\tC\t.\t.\t.\tGT\t0/1\t0/0", "begins with #, below the line of titles; delete it"),
        ("##late", "begins a second header"),
    ],
)
def test_comments_below_the_titles_are_no_records(tmp_path, text, line, reason):
    lines = text.splitlines()
    start = next(k for k, one in enumerate(lines) if not one.startswith("#"))
    (tmp_path / "x.vcf").write_text("\n".join([*lines[:start], line, *lines[start:]]) + "\n")
    with pytest.raises(InputError, match=f"x.vcf: line {start + 1} {reason}"):
        gpualign_here("dist", tmp_path / "x.vcf")


@pytest.mark.parametrize(
    ("row", "counts"),
    [(["0/1"] * 3, "3 genotypes"), (["0/1"], "1 genotype"), (["0/1"] * 9, "9 genotypes"), ([], "0 genotypes")],
)
def test_rows_with_more_or_fewer_genotypes_than_samples(tmp_path, text, row, counts):
    lines = text.splitlines()
    lines[-2] = "\t".join([*lines[-2].split("\t")[:9], *row])
    (tmp_path / "x.vcf").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=rf"line {len(lines) - 1} \(record 2\) has {counts}, the header names 2 samples"):
        gpualign_here("dist", tmp_path / "x.vcf")


def test_what_does_not_matter_in_a_vcf(tmp_path, text):
    expected, _ = gpualign_here("dist", "-o", "-", _written(tmp_path, text))
    lines = text.splitlines()
    for other in (
        text.replace("\n", "\r\n"),
        text.rstrip("\n"),
        "\n".join([*lines[:-2], lines[-2] + "\t", lines[-1]]) + "\n",
    ):
        assert gpualign_here("dist", "-o", "-", _written(tmp_path, other))[0] == expected


@pytest.mark.parametrize("records", [0, 1, 3])
def test_empty_lines_are_named(tmp_path, text, records):
    lines = text.splitlines()
    at = len(lines) - 3 + records
    (tmp_path / "x.vcf").write_text("\n".join([*lines[:at], "", *lines[at:]]) + "\n")
    with pytest.raises(InputError, match=rf"x\.vcf: line {at + 1} is empty; leave it out"):
        gpualign_here("dist", tmp_path / "x.vcf")


def _written(folder, text):
    (folder / "x.vcf").write_bytes(text.encode())
    return folder / "x.vcf"


def test_records_without_an_alternative_allele(tmp_path, text):
    (tmp_path / "x.vcf").write_text(text)
    alone = [([alleles[0]], ["0/0"]) if k == 1 else (alleles, ["0/1"]) for k, (alleles, _) in enumerate(CALLS)]
    (tmp_path / "y.vcf").write_text(vcf_text("c", alone))
    out, _ = gpualign_here("dist", tmp_path / "x.vcf", tmp_path / "y.vcf", "--metric", "allele")
    assert out.decode().split("\n")[1:3] == ["a\t4", "b\t2"]
    alone[1] = (["C"], ["0/0"])
    (tmp_path / "y.vcf").write_text(vcf_text("c", alone))
    with pytest.raises(InputError, match=r"record 2 is 1:2 C, in .* it is 1:2 G/T"):
        gpualign_here("dist", tmp_path / "x.vcf", tmp_path / "y.vcf")


@pytest.mark.parametrize(
    ("regions", "sites"), [("1", 3), ("1:0", 1), ("1:0-", 3), ("1:0-1", 2), ("1:1-", 2), ("1:1", 1), ("2", 1), ("1,2", 4), ("2:5-9", 1)]
)
def test_regions_and_position_0(tmp_path, text, regions, sites):
    places = [("1", 0), ("1", 1), ("1", 7), ("2", 5)]
    (tmp_path / "x.vcf").write_text(vcf_text("ab", [*CALLS, CALLS[0]], places))
    _, messages = gpualign_here("dist", tmp_path / "x.vcf", "--regions", regions)
    assert f"used: {sites}\n" in messages
    write_fileset(tmp_path / "x.bed", np.zeros((2, 4), np.uint8))
    (tmp_path / "x.bim").write_text("".join(f"{name} rs{k} 0 {place} A C\n" for k, (name, place) in enumerate(places)))
    _, messages = gpualign_here("dist", tmp_path / "x.bed", "--regions", regions)
    assert f"used: {sites}\n" in messages


def test_every_spelling_of_vcf(tmp_path, rng):
    pytest.importorskip("cyvcf2")
    for _ in range(3):
        for one in variants.spellings(rng):
            (tmp_path / "x.vcf").write_text(one.text)
            words = ("dist", tmp_path / "x.vcf", *one.words)
            if one.calls is None:
                with pytest.raises(InputError, match=r"x\.vcf"):
                    gpualign_here(*words)
                continue
            header, *rows = (line.split("\t") for line in gpualign_here(*words)[0].decode().splitlines())
            assert header[1:] == one.ids
            np.testing.assert_array_equal(np.array([row[1:] for row in rows], dtype=float), distances(one.calls), err_msg=one.name)
