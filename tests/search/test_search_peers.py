"""Hits beside those of ssearch36 and blastp, where they are installed."""

import math
import re
import shutil
import subprocess

import pytest
from command import gpualign

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def proteins(real_data, tmp_path_factory):
    """Every fifth query of the real set, and a twentieth of its database."""
    import gzip

    folder = tmp_path_factory.mktemp("peers")
    for name, step in (("query", 5), ("db", 20)):
        path = real_data / f"proteins_{name}.fasta.gz"
        if not path.exists():
            pytest.skip(f"{path.name} is not among the real data")
        with gzip.open(path, "rt") as stream:
            records = ("\n" + stream.read()).split("\n>")[1:]
        # ssearch36 reads U as X and blastp as C: leave such records out.
        plain = [r for r in records if "U" not in "".join(r.split("\n")[1:])]
        (folder / f"{name}.fa").write_text("".join(f">{r}\n" for r in plain[::step]))
    return folder


def ours(folder, *options):
    out = gpualign("sw", "-q", "--device", "cpu", folder / "query.fa", folder / "db.fa", *options).stdout.decode()
    names, *rows = (line.split("\t") for line in out.splitlines())
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_scores_of_ssearch36(proteins):
    """-z -1: no statistics, sorted by score. 100 queries."""
    if shutil.which("ssearch36") is None:
        pytest.skip("ssearch36 is not installed")
    command = ["ssearch36", "-q", "-z", "-1", "-s", "BP62", "-f", "-11", "-g", "-1", "-b", "20", "-d", "0", "-T", "1"]
    text = subprocess.run([*command, proteins / "query.fa", proteins / "db.fa"], capture_output=True, text=True, check=True).stdout
    theirs = {}
    for part in re.split(r"^ *\d+>>>", text, flags=re.MULTILINE)[1:]:
        table = part.split("The best scores are:")[1]
        theirs[part.split()[0]] = [(m[1], int(m[2])) for m in re.finditer(r"^(\S+) .*\( *\d+\) +(\d+)$", table, re.MULTILINE)]
    assert len(theirs) >= 95
    found = {}
    for row in ours(proteins, "--max-hits", "20", "--no-traceback", "--mask", "none", "--composition", "none"):
        found.setdefault(row["query"], []).append((row["target"], int(row["score"])))
    for query, hits in theirs.items():
        assert len(hits) == 20
        assert [score for _, score in found[query]] == [score for _, score in hits], query
        last = hits[-1][1]  # of equal scores at the end, either may show others
        assert {h for h in found[query] if h[1] > last} == {h for h in hits if h[1] > last}


@pytest.mark.parametrize(("seg", "mask"), [("no", "none"), ("yes", "seg")])
def test_evalues_and_alignments_of_blastp(proteins, seg, mask):
    """Hits that blastp's heuristics find with the same score have the same E-value, bit score and, nearly all, the same alignment."""
    if shutil.which("blastp") is None:
        pytest.skip("blastp is not installed")
    columns = "6 qseqid sseqid score evalue bitscore pident length mismatch gapopen qstart qend sstart send"
    options = ["-gapopen", "11", "-gapextend", "1", "-comp_based_stats", "0", "-seg", seg, "-evalue", "10", "-max_hsps", "1"]
    command = ["blastp", "-query", proteins / "query.fa", "-subject", proteins / "db.fa", *options, "-outfmt", columns]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    wanted = ["--max-hits", "100", "--mask", mask, "--composition", "none"]
    table = gpualign("sw", "-q", "--device", "cpu", proteins / "query.fa", proteins / "db.fa", *wanted, "--format", "m8")
    rows = {tuple(line.split("\t")[:2]): line.split("\t") for line in table.stdout.decode().splitlines()}
    scores = {(r["query"], r["target"]): int(r["score"]) for r in ours(proteins, *wanted, "--no-traceback")}
    compared = same = more = 0
    for line in text.splitlines():
        query, target, score, evalue, bits, *alignment = line.split("\t")
        if int(score) != scores.get((query, target)):
            more += int(score) > scores.get((query, target), math.inf)
            continue
        compared += 1
        row = rows[query, target]
        if float(evalue) > 1e-170:
            assert abs(math.log10(float(row[10]) / float(evalue))) < 0.05, (line, row)
        assert abs(float(row[11]) - float(bits)) <= 0.11
        same += alignment == row[2:10]
    assert compared > 300
    # A heuristic never finds more; but of equally probable segments NCBI may mask the shorter one.
    assert more <= (0 if mask == "none" else 0.01 * compared)
    assert same > 0.9 * compared
