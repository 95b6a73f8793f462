"""What ambiguity letters count as in identities: each rule against counts of the aligned letters, and thresholds that lose no pair."""

import re
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest
from command import gpualign, gpualign_here
from hypothesis import given
from hypothesis import strategies as st

import gpualign as gp

MEANS = {
    **{letter: letter for letter in "ACGT"},
    **{"R": "AG", "Y": "CT", "K": "GT", "M": "AC", "S": "CG", "W": "AT", "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT"},
}
PROTEIN = {
    **{letter: letter for letter in "ARNDCQEGHILKMFPSTWYVUO*"},
    **{"B": "ND", "Z": "QE", "J": "IL", "X": "ARNDCQEGHILKMFPSTWYVUO"},
}
RULES = ("unequal", "compatible", "skip")
FIELDS = "query,target,qaln,taln,qlen,tlen,matches,mismatches,gaps,gap_opens,length"


def counted(rule, means, query, target):
    """(matches, mismatches, letters in gaps, gaps, those of the letters that are in gaps at the ends) of aligned letters."""
    columns = list(zip(query, target, strict=True))
    paired = [k for k, (a, b) in enumerate(columns) if a != "-" and b != "-"]
    matches = mismatches = gaps = opened = ends = 0
    gap = None
    for k, (a, b) in enumerate(columns):
        skipped = rule == "skip" and any(len(means.get(letter, letter)) > 1 for letter in (a, b))
        if a != "-" and b != "-":
            gap = None
            equal = a == b if rule != "compatible" else bool(set(means[a]) & set(means[b]))
            matches += equal and not skipped
            mismatches += not equal and not skipped
            continue
        side = "query" if a == "-" else "target"
        if not skipped:
            gaps += 1
            opened += gap != side
            ends += not paired or k < paired[0] or k > paired[-1]
            gap = side
        elif gap is not None and gap != side:
            gap = None
    return matches, mismatches, gaps, opened, ends


def identities(counts, lengths):
    """By vsearch's definitions, as fractions; None where a rule has none."""
    matches, mismatches, gaps, opened, ends = counts
    columns = matches + mismatches + gaps

    def part(num, den):
        return Fraction(num, den) if den > 0 else Fraction(0)

    differences = max(lengths) - mismatches - opened
    return [
        part(matches, min(lengths)),
        part(matches, columns),
        part(matches, columns - ends),
        part(max(0, differences), max(lengths)) if columns else Fraction(0),
        part(matches, columns),
    ]


def rows_of(*words):
    out, _ = gpualign_here("nw", "-q", "--device", "cpu", *words)
    names, *rows = (line.split("\t") for line in out.decode().splitlines())
    return [dict(zip(names, row, strict=True)) for row in rows]


def written(folder, records):
    path = folder / "records.fa"
    path.write_text("".join(f">r{k}\n{letters}\n" for k, letters in enumerate(records)))
    return path


def relatives(rng, letters, unclear, length, records, share):
    """Descendants of a sequence, with a share of ambiguity letters, some of them in runs and at the ends."""
    first = rng.choice(list(letters), length)
    out = []
    for _ in range(records):
        one = np.where(rng.random(length) < 0.1, rng.choice(list(letters), length), first)
        one = np.where(rng.random(length) < share, rng.choice(list(unclear), length), one)
        text = "".join(one)
        at, size = rng.integers(0, length), rng.integers(0, 6)
        text = text[:at] + str(rng.choice(list(unclear))) * size + text[at + int(rng.integers(0, 5)) :]
        out.append(text if rng.random() < 0.7 else text[int(rng.integers(0, 9)) :])
    return out


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("options", [(), ("--end-gaps", "free"), ("--edit",), ("--match", "1", "--mismatch", "-1", "--gap", "1")], ids=str)
@pytest.mark.parametrize("kind", ["dna", "protein"])
def test_counts_are_those_of_the_aligned_letters(tmp_path, rng, kind, rule, options):
    means = MEANS if kind == "dna" else PROTEIN
    clear = [letter for letter, stands_for in means.items() if len(stands_for) == 1]
    unclear = [letter for letter, stands_for in means.items() if len(stands_for) > 1]
    path = written(tmp_path, relatives(rng, clear, unclear, 60, 14, 0.08))
    common = (path, *options, "--alphabet", kind, "--ambiguous", rule)
    found = rows_of(*common, "--fields", FIELDS)
    by_definition = {d: rows_of(*common, "--identity-def", d, "--fields", "identity") for d in range(5) if rule != "skip" or d in (1, 2, 4)}
    differ = 0
    for k, row in enumerate(found):
        counts = counted(rule, means, row["qaln"], row["taln"])
        assert [int(row[name]) for name in ("matches", "mismatches", "gaps", "gap_opens")] == list(counts[:4]), row
        assert int(row["length"]) == sum(counts[:3])
        wanted = identities(counts, (int(row["qlen"]), int(row["tlen"])))
        for definition, rows in by_definition.items():
            assert float(rows[k]["identity"]) == pytest.approx(float(wanted[definition]), abs=6e-7), (definition, row)
        differ += counts != counted("unequal", means, row["qaln"], row["taln"])
    assert differ or rule == "unequal"


def test_threads_count_alike(tmp_path, rng):
    """More pairs than a thread recounts at a time."""
    path = written(tmp_path, relatives(rng, "ACGT", "RYN", 60, 70, 0.08))
    options = (path, "--min-identity", "0.3", "--min-coverage", "0.1", "--fields", "query,target,matches,mismatches,identity")
    one = rows_of(*options, "--threads", "1")
    assert len(one) > 2100
    assert rows_of(*options, "--threads", "3") == one


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("more", [(), ("--strand", "both"), ("--end-gaps", "free")], ids=str)
@pytest.mark.parametrize("definition", [0, 1, 2, 4])
def test_thresholds_lose_no_pair(tmp_path, rng, rule, definition, more):
    """Pairs that are looked for by edits are those that pass among all, with lengths and coverages that make bounds close."""
    if rule == "skip" and definition == 0:
        pytest.skip("skip leaves columns out")
    records = relatives(rng, "ACGT", "NRYKMSWBDHV", 90, 40, 0.03) + relatives(rng, "ACGT", "N", 80, 30, 0.0)
    records += [records[0][:30] + "N" * 25 + records[0][55:], records[1]]
    path = written(tmp_path, records)
    common = (path, "--ambiguous", rule, "--identity-def", definition, *more)
    every = rows_of(*common, "--fields", "query,target,identity,coverage")
    for identity, coverage in (("0.97", "0.9"), ("0.9", "0.8"), ("0.8", "0.95"), ("0.95", None)):
        near = [
            (row["query"], row["target"], row["identity"])
            for row in every
            if float(row["identity"]) >= float(identity) and float(row["coverage"]) >= float(coverage or 0)
        ]
        thresholds = ("--min-identity", identity, *(("--min-coverage", coverage) if coverage else ()))
        found = rows_of(*common, *thresholds, "--fields", "query,target,identity")
        assert [(row["query"], row["target"], row["identity"]) for row in found] == near
        assert near


@given(st.lists(st.text("ACGTN", min_size=1, max_size=12), min_size=2, max_size=6), st.sampled_from(RULES))
def test_every_face_counts_alike(records, rule):
    """Tables, matrices, lists of near pairs, and clusters."""
    table = [row for part in gp.iter_pairs(records, fields=["query", "target", "identity"], ambiguous=rule) for row in part]
    matrix = gp.nw(records, value="identity", ambiguous=rule).values
    near = {(i, j): value for i, j, value in gp.pairs(records, min_identity=0.6, ambiguous=rule)}
    for row in table:
        i, j = int(row["query"]), int(row["target"])
        assert matrix[i, j] == row["identity"] == matrix[j, i]
        assert near.get((row["query"], row["target"])) == (row["identity"] if row["identity"] >= 0.6 else None)
    labels = gp.cluster(records, min_identity=0.6, min_coverage=0, ambiguous=rule).labels
    # Clusters are made of first copies: the other way round, two sequences may have another alignment.
    firsts = {records.index(one) for one in records}
    assert all(labels[int(i)] == labels[int(j)] for i, j in near if {int(i), int(j)} <= firsts)


def test_nucleotides_are_compatible_unless_asked_and_proteins_not(tmp_path):
    dna = written(tmp_path, ["ACGTACGTTACGATTACA", "ACGTACNNTACGATTACA"])
    out, said = gpualign_here("nw", dna, "--fields", "identity,matches,cigar")
    assert out.split() == [b"identity", b"matches", b"cigar", b"1.000000", b"18", b"6=2X10="]
    assert "1 of 2 records have ambiguity letters; in identities they match what they may stand for (--ambiguous compatible)" in said
    out, said = gpualign_here("nw", dna, "--fields", "identity", "--ambiguous", "unequal")
    assert out.split() == [b"identity", b"0.888889"]
    assert "ambiguity" not in said
    assert "ambiguity" not in gpualign_here("nw", dna)[1]  # scores alone
    assert gp.align("ACGTACGTTACGATTACA", "ACGTACNNTACGATTACA").identity == 1
    protein = written(tmp_path, ["MKVLAWDERTYPLLMNQE", "MKVLAWXXRTYPLLMNQE"])
    assert gpualign_here("nw", "-q", protein, "--fields", "identity")[0].split() == [b"identity", b"0.888889"]
    assert gpualign_here("nw", "-q", protein, "--fields", "identity", "--ambiguous", "compatible")[0].split()[1] == b"1.000000"


def test_clusters_and_their_alignments_follow_the_rule(tmp_path):
    path = written(tmp_path, ["ACGTACGTTACGATTACA", "ACGTACNNTACGATTACA"])
    for rule, lines in (("compatible", [b"H\t0\t18\t100.0"]), ("unequal", [])):
        out, _ = gpualign_here("cluster", "-q", path, "--min-identity", "0.95", "--format", "uc", "--ambiguous", rule)
        assert [line[:12] for line in out.splitlines() if line.startswith(b"H")] == lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("nw", "--ambiguous", "skip", "--identity-def", "0"),
            "--ambiguous skip leaves columns out, and --identity-def 0 divides",
        ),
        (("cluster", "--min-identity", "1", "--ambiguous", "skip", "--identity-def", "3"), "--identity-def 3 divides by whole sequences"),
        (("cluster", "--min-identity", "1", "--distances", "x.npy", "--ambiguous", "skip"), "--ambiguous applies to alignments"),
        (("nw", "--ambiguous", "maybe"), "'maybe' is not one of unequal, compatible, skip"),
    ],
)
def test_refusals(tmp_path, words, message):
    done = gpualign(*words, written(tmp_path, ["ACGN", "ACGT"]), check=False)
    assert done.returncode == 2
    assert message in done.stderr.decode()


def test_identities_are_those_of_vsearch(tmp_path, rng):
    """Of pairs that vsearch aligns alike, all five definitions."""
    if shutil.which("vsearch") is None:
        pytest.skip("vsearch is not installed")
    path = written(tmp_path, relatives(rng, "ACGT", "NRYKMSWBDHV", 300, 30, 0.04))
    fields = "query+target+id0+id1+id2+id3+id4+caln"
    words = ["--allpairs_global", path, "--acceptall", "--qmask", "none", "--userout", tmp_path / "v.tsv", "--userfields", fields]
    subprocess.run(["vsearch", "--quiet", *words], check=True)
    costs = ("--match", "2", "--mismatch", "-4", "--gap-open", "22", "--gap-extend", "2")
    ours = {}
    for definition in range(5):
        for row in rows_of(path, *costs, "--identity-def", definition, "--fields", "query,target,identity,cigar_m"):
            ours.setdefault(frozenset((row["query"], row["target"])), [row["cigar_m"]]).append(100 * float(row["identity"]))
    alike = 0
    for line in (tmp_path / "v.tsv").read_text().splitlines():
        query, target, *theirs, runs = line.split("\t")
        cigar, *found = ours[frozenset((query, target))]
        spelled = re.sub(r"(?<!\d)([MID])", r"1\1", runs)
        if cigar in (spelled, spelled.translate(str.maketrans("ID", "DI"))):
            alike += 1
            assert found == pytest.approx([float(one) for one in theirs], abs=0.06)
    assert alike > 50
