"""PLINK's text filesets are recognised, and tables of genotypes are not taken for them."""

import pytest
from command import gpualign

from gpualign.core.files.kinds import FileKind, kind_of

ALLELES = {"letters": "ACGT", "numbers": "1234", "two numbers": "12"}


def genotypes(rng, count, letters):
    pairs = rng.choice(list(letters), (count, 2))
    pairs[rng.random(count) < 0.2] = "0"
    return pairs


def ped(rng, samples, sites, letters, separator=" "):
    rows = []
    for k in range(1, samples + 1):
        father, mother = ("1", "2") if k > 2 else ("0", "0")
        pairs = genotypes(rng, sites, letters)
        cells = [separator.join(pair) for pair in pairs] if separator == " " else [" ".join(pair) for pair in pairs]
        rows.append(separator.join([f"F{k}", str(k), father, mother, str(rng.integers(3)), "-9", *cells]))
    return "\n".join(rows) + "\n"


def tped(rng, sites, samples, letters):
    rows = [f"1 rs{k} 0.{k} {100 * k + 7} " + " ".join(map(" ".join, genotypes(rng, samples, letters))) for k in range(sites)]
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("separator", [" ", "\t"])
@pytest.mark.parametrize("letters", ALLELES.values(), ids=ALLELES)
def test_text_filesets(rng, letters, separator):
    assert kind_of(ped(rng, 5, 7, letters, separator).encode()) is FileKind.PED
    assert kind_of(ped(rng, 3, 5000, letters, separator).encode()[:40_000]) is FileKind.PED  # a part of a line at the end
    assert kind_of(tped(rng, 5, 7, letters).encode()) is FileKind.TPED


def test_insertions_and_deletions(rng):
    """Their alleles have several letters."""
    assert kind_of(ped(rng, 5, 7, ["A", "AT", "gcc"]).encode()) is FileKind.PED
    assert kind_of(tped(rng, 5, 7, ["A", "AT", "gcc"]).encode()) is FileKind.TPED
    assert kind_of(tped(rng, 5, 7, ["A", "rs2"]).encode()) is None


def test_tables_of_genotypes_are_no_filesets(rng):
    for sites in range(5, 40):
        rows = ["\t".join([f"s{k}", *map(str, rng.integers(0, 3, sites))]) for k in range(6)]
        assert kind_of("\n".join(rows).encode()) is None
        assert kind_of("\n".join(["id\t" + "\t".join(f"m{k}" for k in range(sites)), *rows]).encode()) is None


def test_the_command_names_plink(tmp_path, rng):
    for name, text, option in (("x.ped", ped(rng, 5, 7, "12"), "--file"), ("x.tped", tped(rng, 5, 7, "12"), "--tfile")):
        (tmp_path / name).write_text(text)
        for words in ([], ["--no-header"]):
            refused = gpualign("dist", name, *words, cwd=tmp_path, check=False)
            assert refused.returncode == 2
            assert (
                f"{name} is a PLINK .{name[2:]} file; make a fileset that gpualign dist reads: plink {option} NAME"
                in refused.stderr.decode()
            )
