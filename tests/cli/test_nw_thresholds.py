"""Thresholds of `gpualign nw`: the rows are those of every pair, with the far ones dropped, whatever steps have left them out."""

import gzip
import json
import re

import numpy as np
import pytest
from command import gpualign, gpualign_here
from relatives import as_text, edited

from gpualign.core.common.errors import RunError
from gpualign.cpu.alignment.pair_list import CpuPairAligner

DNA, PROTEIN = "ACGT", "ARNDCQEGHILKMFPSTWYV"
FIELDS = "query,target,score,identity,qcov,tcov,matches,mismatches,qlen,tlen,cigar"


def family(rng, letters, count, length):
    """Records of a few families: copies, near copies, far ones, and some that are alone; with an ambiguity letter here and there."""
    founders = [rng.integers(0, len(letters), length) for _ in range(3)]
    edits = [0, 0, 1, 2, 5, length]
    return [as_text(edited(rng, founders[k % 3], int(rng.choice(edits)), len(letters) + 1), letters + "N") for k in range(count)]


def write(path, records, name="r"):
    path.write_text("".join(f">{name}{number}\n{letters}\n" for number, letters in enumerate(records)))
    return path


def rows_of(arguments):
    header, *lines = gpualign_here("nw", *arguments)[0].decode().splitlines()
    return header, [dict(zip(header.split("\t"), line.split("\t"), strict=True)) | {"line": line} for line in lines]


def filtered(arguments, passes):
    """Rows of all pairs that pass, as whole lines."""
    header, rows = rows_of(["--fields", FIELDS, *arguments])
    return [header, *(row["line"] for row in rows if passes(row))]


def covered(row, least):
    paired = int(row["matches"]) + int(row["mismatches"])
    return paired / int(row["qlen"]) >= least and paired / int(row["tlen"]) >= least


CASES = {
    "edits": (["--edit"], ["--max-distance", "3"], lambda row: int(row["score"]) <= 3),
    "no edits": (["--edit"], ["--max-distance", "0"], lambda row: int(row["score"]) == 0),
    "columns": (["--identity-def", "1"], ["--min-identity", "0.9"], lambda row: float(row["identity"]) >= 0.9),
    "distance": (["--identity-def", "4"], ["--max-distance", "0.08"], lambda row: 1 - float(row["identity"]) <= 0.08),
    "shorter": (["--identity-def", "0", "--end-gaps", "free"], ["--min-identity", "0.95"], lambda row: float(row["identity"]) >= 0.95),
    "score": (["--match", "2", "--mismatch", "-3", "--gap", "2"], ["--min-score", "60"], lambda row: int(row["score"]) >= 60),
    "covered": (
        ["--end-gaps", "free"],
        ["--min-identity", "0.95", "--min-coverage", "0.9"],
        lambda row: float(row["identity"]) >= 0.95 and covered(row, 0.9),
    ),
    "two thresholds": (
        ["--edit", "--identity-def", "1"],
        ["--min-identity", "0.9", "--max-distance", "5"],
        lambda row: float(row["identity"]) >= 0.9 and int(row["score"]) <= 5,
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("inputs", ["one", "self", "two", "added"])
def test_rows_are_those_of_every_pair(rng, tmp_path, case, inputs):
    scoring, thresholds, passes = CASES[case]
    records = family(rng, DNA, 65, 40)
    one, two = write(tmp_path / "one.fa", records[:40]), write(tmp_path / "two.fa", records[40:], "t")
    files = {"one": [one], "self": ["--self", one], "two": [one, two], "added": [one, "--add", two]}[inputs]
    expected = filtered([*scoring, *files], passes)
    rows, messages = gpualign_here("nw", "-v", "--fields", FIELDS, *scoring, *thresholds, *files)
    assert rows.decode().splitlines() == expected
    assert 1 < len(expected) < 40 * 64
    assert "of these, pairs left by each step" in messages


@pytest.mark.parametrize("thresholds", [[], ["--min-identity", "0.5"]], ids=["every pair", "near pairs"])
def test_the_coverage_that_is_looked_at_is_shown(rng, tmp_path, thresholds):
    """The fraction of letters beside letters: gaps within the alignment do not count, which qcov and tcov pass over."""
    file = write(tmp_path / "x.fa", [*family(rng, DNA, 40, 40), "ACGTACGTAAAAAAAAAACCGTTGCA", "ACGTACGTCCGTTGCA"])
    fields = "query,target,score,identity,coverage" if thresholds else "query,target,score,coverage"
    header, *rows = gpualign_here("nw", *thresholds, "--min-coverage", "0.6", file)[0].decode().splitlines()
    assert header == fields.replace(",", "\t")
    known = gpualign_here("nw", "--fields", f"{fields},matches,mismatches,qlen,tlen", file)[0].decode().splitlines()[1:]
    expected = []
    for row in known:
        *shown, matches, mismatches, queries, targets = row.split("\t")
        coverage = (int(matches) + int(mismatches)) / max(int(queries), int(targets))
        assert shown[-1] == f"{coverage:.6f}"
        if coverage >= 0.6 and (not thresholds or float(shown[3]) >= 0.5):
            expected.append("\t".join(shown))
    assert rows == expected
    assert any(row.split("\t")[-1] != "1.000000" for row in rows)


@pytest.mark.parametrize("definition", ["1", "2"])
@pytest.mark.parametrize("ends", ["penalised", "free"])
def test_parts_that_are_covered(rng, tmp_path, definition, ends):
    """Records that lack up to 15 % of their letters at one end or both, or have strange ones there: on either side of the thresholds."""
    records = []
    for record in family(rng, DNA, 280, 300):
        before, behind = sorted(int(cut) for cut in rng.choice([0, 0, 5, 15, 28, 32, 45], 2))
        strange = ["".join(rng.choice(list(DNA), cut * int(rng.integers(0, 2)))) for cut in (before, behind)]
        records.append(strange[0] + record[before : len(record) - behind] + strange[1])
    file = write(tmp_path / "x.fa", records)
    scoring = ["--identity-def", definition, "--end-gaps", ends, file]
    expected = filtered(scoring, lambda row: float(row["identity"]) >= 0.95 and covered(row, 0.9))
    rows, messages = gpualign_here("nw", "-v", "--fields", FIELDS, *scoring, "--min-identity", "0.95", "--min-coverage", "0.9")
    assert rows.decode().splitlines() == expected
    assert 200 < len(expected) < 5000
    if definition == "2":
        assert "-grams in" in messages  # the bound on the whole distance alone asks nothing of them


@pytest.mark.parametrize(("coverage", "bounded"), [("0.65", True), ("0.4", False)])
def test_coverages_that_leave_most_to_the_ends(rng, tmp_path, coverage, bounded):
    """The whole distance may be that of strangers; letters and substrings tell still."""
    records = [record[int(rng.integers(0, 60)) :][: int(rng.integers(140, 240))] for record in family(rng, DNA, 260, 200)]
    file = write(tmp_path / "x.fa", records)
    expected = filtered([file], lambda row: float(row["identity"]) >= 0.97 and covered(row, float(coverage)))
    rows, messages = gpualign_here("nw", "-v", "--fields", FIELDS, file, "--min-identity", "0.97", "--min-coverage", coverage)
    assert rows.decode().splitlines() == expected
    assert len(expected) > 200
    assert ("of these, pairs left by each step" in messages) == bounded


@pytest.mark.parametrize("letters", [DNA, PROTEIN])
@pytest.mark.parametrize(("length", "most"), [(12, 1), (12, 2), (70, 4), (300, 9), (300, 70)])
def test_lengths_and_alphabets(rng, tmp_path, letters, length, most):
    """Enough records for steps to be chosen by a sample."""
    file = write(tmp_path / "x.fa", family(rng, letters, 240, length))
    alphabet = ["--alphabet", "dna" if letters == DNA else "protein"]
    _, rows = rows_of(["--edit", *alphabet, file])
    expected = ["query\ttarget\tdistance", *(row["line"] for row in rows if int(row["distance"]) <= most)]
    for options in ([], ["--threads", "1", "--memory", "16MiB"]):
        assert gpualign("nw", "--edit", *alphabet, "--max-distance", str(most), *options, file).stdout.decode().splitlines() == expected


@pytest.mark.parametrize("copies", [1, 3])
def test_no_more_is_aligned_at_a_time_than_memory_holds(rng, tmp_path, monkeypatch, copies):
    """All pairs are near."""
    founder, records = rng.choice(list(DNA), 300), []
    for _ in range(240 // copies):
        record = founder.copy()
        record[rng.integers(0, 300, 4)] = "A"
        records.append("".join(record))
    file, sizes = write(tmp_path / "x.fa", records * copies), []

    align_pairs = CpuPairAligner.align_pairs

    def align(aligner, pairs):
        sizes.append(len(pairs))
        return align_pairs(aligner, pairs)

    monkeypatch.setattr(CpuPairAligner, "align_pairs", align)
    options = ["--threads", "1", "--memory", "4M", "--fields", FIELDS, "--identity-def", "1", "--min-identity", "0.9"]
    rows = gpualign_here("nw", *options, file)[0].splitlines()
    assert len(rows) == 1 + 240 * 239 // 2
    # A megabyte is for results. A pair that passes has at most 31 edits, so 63 runs, in 73 bytes, beside 52 bytes of numbers.
    assert max(sizes) * (73 + 52) <= 1 << 20
    assert len(sizes) > 2


@pytest.mark.parametrize("added", [False, True])
def test_nearest(rng, tmp_path, added):
    records = family(rng, DNA, 50, 30)
    one, two = write(tmp_path / "one.fa", records[:30]), write(tmp_path / "two.fa", records[30:], "t")
    files = [one, "--add", two] if added else [one]
    names = [f"r{number}" for number in range(30)] + ([f"t{number}" for number in range(20)] if added else [])
    both = write(tmp_path / "both.fa", records if added else records[:30])
    _, rows = rows_of(["--edit", one, both])
    expected = ["query\ttarget\tdistance"]
    for query in range(30):
        mine = [(int(row["distance"]), int(row["target"][1:])) for row in rows if row["query"] == f"r{query}"]
        best = sorted(pair for pair in mine if pair[1] != query and pair[0] <= 6)[:2]
        expected += [f"r{query}\t{names[j]}\t{score}" for score, j in sorted(best, key=lambda pair: pair[1])]
    found = gpualign("nw", "--edit", "--max-distance", "6", "--nearest", "2", *files)
    assert found.stdout.decode().splitlines() == expected


def test_plans_say_the_steps(rng, tmp_path):
    file = write(tmp_path / "x.fa", ["".join(rng.choice(list(DNA), 200)) for _ in range(400)])
    plan = gpualign("nw", "--dry-run", "--identity-def", "1", "--min-identity", "0.97", file).stdout.decode()
    assert "distinct" in plan
    assert "banded edit distance" in plan
    assert "edits      at most" in plan
    assert re.search(r"estimate   [\d.]+ s, measured on 400 of 400 records\n", plan)
    assert re.search(r"in a sample lengths leave [\d.e+]+ %", plan)
    done = gpualign("nw", "--identity-def", "1", "--min-identity", "0.97", file, "-o", str(tmp_path / "x.tsv"))
    assert re.search(r"400 distinct; of these, pairs left by each step: pairs 79,800, .*edit distance \d+", done.stderr.decode())


def test_summary_of_equal_records(tmp_path):
    """None but equal records leaves no pair to compare, and yet all pairs are decided about, at a rate that says so."""
    file = write(tmp_path / "x.fa", ["ACGT"] * 2000)
    messages = gpualign("nw", "-v", "--edit", "--max-distance", "1", file).stderr.decode()
    assert "1 distinct\n" in messages
    found = re.search(r"2,000 sequences, 1,999,000 pairs, 1,999,000 kept, in [0-9.]+ s, ([0-9.]+) M pairs/s", messages)
    assert found
    assert float(found[1]) > 0


def test_what_computes_every_pair_says_what_to_add(rng, tmp_path):
    file = write(tmp_path / "x.fa", ["".join(rng.choice(list(DNA), 8)) for _ in range(450)])
    done = gpualign("nw", "--min-identity", "0.97", file)
    assert b"--min-coverage" in done.stderr
    assert b"--min-coverage" not in gpualign("nw", "--min-identity", "0.97", "--min-coverage", "0.9", file).stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--min-coverage", "90"], "--min-coverage is a fraction from 0 to 1"),
        (["--nearest", "0"], "--nearest"),
        (["--nearest", "2", "--self"], "--nearest chooses among other records"),
        (["--add", "{file}", "{file}"], "--add takes one file"),
        (["--add", "{file}", "-o", "x.npy"], "--add writes a list of pairs"),
        (["--nearest", "2", "-o", "x.npy"], "drop rows of a table"),
    ],
)
def test_contradictions(tmp_path, arguments, said):
    file = write(tmp_path / "x.fa", ["ACGT", "ACGA"])
    done = gpualign("nw", file, *(argument.format(file=file) for argument in arguments), check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert not (tmp_path / "x.npy").exists()


@pytest.mark.slow
def test_real_genes(real_data, tmp_path):
    """Some real genes, against the matrix of all pairs."""
    with gzip.open(real_data / "16s_gold.fasta.gz", "rt") as stream:
        records = stream.read().split(">")[1:400]
    file = tmp_path / "genes.fa"
    file.write_text("".join(f">{record}" for record in records))
    matrix = tmp_path / "all.npy"
    gpualign("nw", "--edit", file, "-o", matrix)
    ids = (tmp_path / "all.ids.txt").read_text().splitlines()
    all_pairs = np.load(matrix)
    i, j = np.nonzero(np.triu(all_pairs <= 60, 1))
    expected = [f"{ids[a]}\t{ids[b]}\t{all_pairs[a, b]}" for a, b in zip(i, j, strict=True)]
    assert gpualign("nw", "--edit", "--max-distance", "60", file).stdout.decode().splitlines()[1:] == expected
    assert len(expected) > 10


def test_families_that_stand_together_fit_the_memory(rng, tmp_path):
    """All their near pairs come at once, of which a sample of the pairs knows nothing."""
    family = np.repeat(rng.integers(0, 4, (1, 100)), 2000, axis=0)
    for _ in range(2):
        family[np.arange(2000), rng.integers(0, 100, 2000)] = rng.integers(0, 4, 2000)
    paths = []
    for name in "ab":
        codes = rng.integers(0, 4, (20_000, 100))
        codes[5000:7000] = family[rng.permutation(2000)]
        records = np.frombuffer(DNA.encode(), dtype=np.uint8)[codes]
        paths.append(write(tmp_path / f"{name}.fa", [record.tobytes().decode() for record in records], name))
    summary = tmp_path / "summary.json"
    done = gpualign(
        "nw", "--edit", "--max-distance", "5", "--memory", "128M", "--threads", "2", "--device", "cpu", "--summary", summary, *paths
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(summary.read_text())
    assert found["results"]["pairs_kept"] >= 2000 * 2000
    assert found["peak_memory"] < (128 + 192) << 20


@pytest.mark.parametrize(
    "options", [[], ["--strand", "both"], ["--fields", "query,target,score,identity,cigar"]], ids=["", "strands", "paths"]
)
def test_the_nearest_of_many_targets(tmp_path, rng, options):
    """A query has more pairs than are written at a time, and its nearest are those of all of them."""
    names = [f"t{k}" for k in range(40_000)]
    letters = rng.choice(list("ACGT"), (len(names), 8))
    (tmp_path / "q.fa").write_text(">q\nACGTTCAGGT\n>r\nTTGACA\n")
    (tmp_path / "t.fa").write_text("".join(f">{name}\n{''.join(row)}\n" for name, row in zip(names, letters, strict=True)))
    words = ["nw", "-q", tmp_path / "q.fa", tmp_path / "t.fa", *options]
    header, *every = gpualign_here(*words)[0].decode().splitlines()
    expected = [header]
    for query in "qr":
        rows = [row for row in every if row.startswith(f"{query}\t")]
        expected += sorted(sorted(rows, key=lambda row: -int(row.split("\t")[2]))[:3], key=rows.index)
    assert gpualign_here(*words, "--nearest", "3")[0].decode().splitlines() == expected
    if "identity" in str(options):
        with pytest.raises(RunError, match=r"--nearest compares all pairs of a query, whose results need [\d,]+ bytes of it"):
            gpualign_here(*words, "--nearest", "3", "--memory", "6M")
