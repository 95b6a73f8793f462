"""`gpualign sw --mask` through the installed executable."""

from itertools import groupby

import pytest
from Bio.Seq import reverse_complement
from command import gpualign
from places import DATA

pytestmark = pytest.mark.slow

QUERY, DB = DATA / "proteins_query.fasta", DATA / "proteins_db.fasta"
NOTE = "masked 54 of 599 query letters of low complexity (seg; --mask none searches them)"


def sw(*arguments, **more):
    return gpualign("sw", "--device", "cpu", *arguments, **more)


def table(done):
    names, *rows = (line.split("\t") for line in done.stdout.decode().splitlines())
    return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.fixture
def repeats(tmp_path, rng):
    """Two genes of DNA with a stretch of As in the middle, one that is nothing else, and a database with Ns."""
    left, right = ("".join(rng.choice(list("ACGT"), 100)) for _ in range(2))
    gene = left + "A" * 40 + right
    (tmp_path / "q.fa").write_text(f">gene\n{gene}\n>back\n{reverse_complement(gene)}\n>polya\n{'A' * 60}\n>polyt\n{'T' * 60}\n")
    (tmp_path / "db.fa").write_text(f">whole\n{gene}\n>unknown\n{'N' * 300}\n>as\n{'A' * 300}\n")
    return tmp_path, gene


@pytest.mark.parametrize(
    ("options", "masked"),
    [
        ([], False),
        (["--composition", "none"], True),
        (["--composition", "none", "--no-traceback"], True),
        (["--composition", "none", "--evalue", "estimate"], True),
        (["--mask", "seg"], True),
        (["--evalue", "none"], False),
        (["--evalue", "none", "--mask", "seg"], True),
        (["--mask", "none"], False),
        (["--all"], False),
        (["--all", "--mask", "seg"], True),
        (["--composition", "none", "--dry-run"], True),
    ],
)
def test_what_is_masked_unless_asked(options, masked):
    assert (NOTE in sw(QUERY, DB, *options).stderr.decode()) == masked


def test_rows_show_and_count_letters_that_were_masked():
    """As blastp does: a protein is all of itself, though a part of it scored as X."""
    fields = "query,target,score,evalue,identity,matches,length,qlen,qstart,qend,qaln,cigar"
    query = "sp|A1YGK7|HXA7_PANPA"
    (own,) = [r for r in table(sw("-q", QUERY, QUERY, "--max-hits", "1", "--mask", "seg", "--fields", fields)) if r["query"] == query]
    (plain,) = [r for r in table(sw("-q", QUERY, QUERY, "--max-hits", "1", "--mask", "none", "--fields", fields)) if r["query"] == query]
    assert (own["qlen"], plain["qlen"]) == ("230", "230")
    assert plain["qaln"][int(own["qstart"]) - 1 : int(own["qend"])] == own["qaln"]
    assert (own["identity"], own["matches"], own["cigar"]) == ("1.000000", own["length"], f"{own['length']}=")
    assert int(own["score"]) < int(plain["score"])


def test_identities_of_masked_hits_are_those_of_their_letters(tmp_path, rng):
    """Of each row: counts, CIGAR and identity by the letters of the records, which stand in its alignment."""
    letters = list("ARNDCQEGHILKMFPSTWYV")
    proteins = ["".join(rng.choice(letters, 60)) + rng.choice(letters) * 15 + "".join(rng.choice(letters, 60)) for _ in range(6)]
    targets = ["".join(c if rng.random() > 0.2 else str(rng.choice(letters)) for c in one) for one in proteins]
    targets = [one[:70] + one[73:] if k % 2 else one for k, one in enumerate(targets)]
    (tmp_path / "q.fa").write_text("".join(f">q{k}\n{one}\n" for k, one in enumerate(proteins)))
    (tmp_path / "t.fa").write_text("".join(f">t{k}\n{one}\n" for k, one in enumerate(targets)))
    fields = "query,qstart,qend,qaln,taln,matches,mismatches,gaps,gap_opens,length,identity,cigar"
    done = sw(tmp_path / "q.fa", tmp_path / "t.fa", "--mask", "seg", "--max-evalue", "1e-5", "--identity-def", "1", "--fields", fields)
    assert b"query letters of low complexity" in done.stderr
    rows = table(done)
    assert len(rows) >= 6
    for row in rows:
        columns = list(zip(row["qaln"], row["taln"], strict=True))
        given = proteins[int(row["query"][1:])][int(row["qstart"]) - 1 : int(row["qend"])]
        assert row["qaln"].replace("-", "") == given
        kinds = ["I" if b == "-" else "D" if a == "-" else "=" if a == b else "X" for a, b in columns]
        runs = [(kind, len(list(group))) for kind, group in groupby(kinds)]
        assert row["cigar"] == "".join(f"{size}{kind}" for kind, size in runs)
        assert [int(row[name]) for name in ("matches", "mismatches", "gaps", "gap_opens", "length")] == [
            kinds.count("="),
            kinds.count("X"),
            kinds.count("I") + kinds.count("D"),
            sum(kind in "ID" for kind, _ in runs),
            len(columns),
        ]
        assert float(row["identity"]) == pytest.approx(kinds.count("=") / len(columns), abs=1e-6)


def test_both_strands_are_masked_alike(repeats):
    folder, _ = repeats
    done = sw(folder / "q.fa", folder / "db.fa", "--fields", "query,target,score,strand,qaln", "--max-evalue", "1e-9")
    assert "2 queries, 'polya' the first, are of low complexity throughout and can have no hits" in done.stderr.decode()
    gene_row, back_row = table(done)
    assert (gene_row["query"], gene_row["strand"], back_row["query"], back_row["strand"]) == ("gene", "+", "back", "-")
    assert gene_row["qaln"] == back_row["qaln"]
    assert "A" * 38 in gene_row["qaln"]
    assert gene_row["score"] == back_row["score"]
    plain = table(sw("-q", folder / "q.fa", folder / "db.fa", "--mask", "none", "--no-traceback", "--max-evalue", "1e-9"))
    assert {(row["query"], row["target"]) for row in plain} > {("polya", "as"), ("polyt", "as"), ("gene", "whole")}


def test_masked_letters_find_no_unknown_ones(repeats):
    """With --match, N equals N: not the N that a letter was masked to."""
    folder, _ = repeats
    rows = table(sw("-q", folder / "q.fa", folder / "db.fa", "--match", "2", "--mismatch", "-3", "--gap-open", "7", "--gap-extend", "2"))
    assert {row["target"] for row in rows if float(row["evalue"]) < 1e-3} == {"whole"}
    assert "unknown" not in {row["target"] for row in rows}
    assert not [row for row in rows if row["query"].startswith("poly")]


def test_one_file(repeats):
    """Its records are masked as queries, not as targets; no record is its own hit unless asked."""
    folder, gene = repeats
    (folder / "one.fa").write_text(f">a\n{gene}\n>b\n{gene[5:]}\n>as\n{'A' * 100}\n")
    done = sw(folder / "one.fa", "--fields", "query,target,qaln,taln")
    rows = table(done)
    assert b": 3 sequences, 18 pairs" in done.stderr
    assert all(row["query"] != row["target"] for row in rows)
    assert not [row for row in rows if row["query"] == "as"]
    (row,) = [row for row in rows if (row["query"], row["target"]) == ("a", "b")]
    assert "A" * 38 in row["qaln"]
    assert "A" * 38 in row["taln"]
    own = {(row["query"], row["target"]) for row in table(sw("-q", folder / "one.fa", "--self", "--no-traceback", "--min-score", "200"))}
    assert own == {("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")}


def test_nothing_to_mask_is_not_told(tmp_path):
    (tmp_path / "q.fa").write_text(">q\nMKVADEFGHIKLMNPQR\n")
    assert b"masked" not in sw(tmp_path / "q.fa", DB).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([QUERY, DB, "--mask", "dust"], "--mask dust is for DNA; these are protein sequences: expected --mask seg or none"),
        (["q.fa", "db.fa", "--mask", "seg"], "--mask seg is for proteins; these are dna sequences: expected --mask dust or none"),
        ([QUERY, DB, "--all", "--mask", "dust"], "--mask dust is for DNA"),
        ([QUERY, "--all", "--mask", "seg"], "give --mask and --mask-target the same method, or the file twice"),
        ([QUERY, DB, "--mask", "some"], "'some' is not one of seg, dust, none"),
    ],
)
def test_refusals(repeats, arguments, message):
    done = sw(*arguments, cwd=repeats[0], check=False)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert done.stdout == b""
