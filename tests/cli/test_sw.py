"""`gpualign sw` through the installed executable."""

import gzip
import shlex
import signal

import numpy as np
import pytest
from Bio.Seq import reverse_complement
from command import GPUALIGN, gpualign, shell
from goldens import GENES_DB, GENES_QUERY
from goldens import PROTEINS_DB as DB
from goldens import PROTEINS_QUERY as QUERY
from path_files import parse_cigar
from processes import interrupt

pytestmark = pytest.mark.slow


def sw(*arguments, **more):
    return gpualign("sw", "--device", "cpu", *arguments, **more)


def table(done):
    names, *rows = (line.split("\t") for line in done.stdout.decode().splitlines())
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_hits_are_the_best_of_all_pairs():
    rows = table(sw("-q", QUERY, DB, "--max-hits", "7", "--composition", "none", "--mask", "none"))
    every = table(sw("-q", QUERY, DB, "--all"))
    assert len(every) == 600
    for query in {row["query"] for row in rows}:
        hits = [(int(r["score"]), r["target"]) for r in rows if r["query"] == query]
        pairs = [(int(r["score"]), r["target"]) for r in every if r["query"] == query]
        assert hits == sorted(pairs, key=lambda p: -p[0])[:7]  # stable: ties in the order of the database


def test_strands():
    rows = {row["query"]: row for row in table(sw("-q", GENES_QUERY, GENES_DB, "--max-hits", "1"))}
    assert {query: (row["target"], row["strand"]) for query, row in rows.items()} == {
        "plus": ("t1", "+"),
        "minus": ("t2", "-"),
        "both": ("t3", "-"),
    }
    assert [rows["minus"][f] for f in ("qstart", "qend", "tstart", "tend")] == ["3", "176", "101", "280"]
    assert [rows["plus"][f] for f in ("qstart", "qend", "tstart", "tend")] == ["1", "120", "41", "160"]
    for strand, found in (("plus", {"plus": "t1", "both": "t3"}), ("minus", {"minus": "t2", "both": "t3"})):
        rows = table(sw("-q", GENES_QUERY, GENES_DB, "--max-evalue", "1e-5", "--strand", strand))
        assert {row["query"]: row["target"] for row in rows} == found
        assert {row["strand"] for row in rows} == {"+" if strand == "plus" else "-"}
    both = sw("-q", GENES_QUERY, GENES_DB, "--format", "m8", "--max-hits", "1").stdout.decode().splitlines()
    assert both[1].split("\t")[6:10] == ["3", "176", "280", "101"]  # BLAST tells the target's ends the wrong way round


def test_sam_and_paf_tell_the_same_alignment(tmp_path):
    pysam, readpaf = pytest.importorskip("pysam"), pytest.importorskip("readpaf")
    sam = tmp_path / "hits.sam"
    sam.write_bytes(sw("-q", GENES_QUERY, GENES_DB, "--max-evalue", "1e-3", "--format", "sam").stdout)
    letters, texts = (dict(record.split("\n")[:2] for record in path.read_text().split(">")[1:]) for path in (GENES_QUERY, GENES_DB))
    lines = sw("-q", GENES_QUERY, GENES_DB, "--max-evalue", "1e-3", "--format", "paf").stdout.decode().splitlines()
    paf = list(readpaf.parse_paf(lines))
    with pysam.AlignmentFile(str(sam)) as reader:
        assert reader.references == tuple(f"t{i}" for i in range(6))
        records = list(reader)
    assert len(records) == len(paf)
    seen = set()
    for record, line in zip(records, paf, strict=True):
        assert (record.query_name, record.reference_name) == (line.query_name, line.target_name)
        assert record.is_reverse == (line.strand == "-")
        assert record.is_secondary == (record.query_name in seen)
        seen.add(record.query_name)
        given = letters[record.query_name]
        assert record.query_sequence == (reverse_complement(given) if record.is_reverse else given)
        assert (record.reference_start, record.reference_end) == (line.target_start, line.target_end)
        start, end = line.query_start, line.query_end
        if record.is_reverse:
            start, end = len(given) - end, len(given) - start
        assert (record.query_alignment_start, record.query_alignment_end) == (start, end)
        assert record.get_reference_sequence().upper() == texts[record.reference_name][line.target_start : line.target_end]
        assert record.get_tag("AS") == line.tags["AS"].value


def test_columns():
    fields = "qlen,tlen,identity,matches,length,cigar,qstart,qend,tstart,tend,qaln,taln,qcov,tcov,bits,evalue,strand"
    for row in table(sw("-q", QUERY, DB, "--max-hits", "3", "--fields", fields)):
        path = parse_cigar(row["cigar"])
        assert len(path) == int(row["length"]) == len(row["qaln"]) == len(row["taln"])
        assert path.count("=") == int(row["matches"])
        assert float(row["identity"]) == pytest.approx(int(row["matches"]) / len(path), abs=1e-6)
        assert float(row["qcov"]) == pytest.approx((int(row["qend"]) - int(row["qstart"]) + 1) / int(row["qlen"]), abs=1e-6)
        assert float(row["tcov"]) == pytest.approx((int(row["tend"]) - int(row["tstart"]) + 1) / int(row["tlen"]), abs=1e-6)
        assert len(row["qaln"].replace("-", "")) == int(row["qend"]) - int(row["qstart"]) + 1


def test_an_index_gives_the_same_bytes(tmp_path):
    gpualign("index", "-q", DB, "-o", tmp_path / "db.gpa")
    for options in (["--format", "sam"], ["--all"], ["--max-hits", "500", "--no-traceback"], ["--format", "aln", "--max-hits", "2"]):
        assert sw("-q", QUERY, DB, *options).stdout == sw("-q", QUERY, tmp_path / "db.gpa", *options).stdout
    sw("-q", QUERY, tmp_path / "db.gpa", "--all", "-o", tmp_path / "a.npy")
    sw("-q", QUERY, DB, "--all", "-o", tmp_path / "b.npy")
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
    assert (tmp_path / "a.target_ids.txt").read_text() == (tmp_path / "b.target_ids.txt").read_text()


@pytest.mark.parametrize("options", [["--threads", "1"], ["--threads", "3"], ["--memory", "3M"]])
def test_the_same_bytes_however_the_work_is_cut(options):
    assert sw("-q", QUERY, DB, *options).stdout == sw("-q", QUERY, DB).stdout


def test_one_file(small_16s):
    """Each record is searched with all others, and with itself if asked."""
    rows = table(sw("-q", small_16s, "--max-hits", "3", "--no-traceback", "--mask", "none"))
    assert len(rows) == 180
    assert all(row["query"] != row["target"] for row in rows)
    own = table(sw("-q", small_16s, "--max-hits", "1", "--no-traceback", "--self", "--mask", "none"))
    assert len(own) == 60
    best = {row["query"]: row for row in own}
    every = table(sw("-q", small_16s, "--all"))
    assert len(every) == 1770
    assert len(table(sw("-q", small_16s, "--all", "--self"))) == 1830
    score = {frozenset((r["query"], r["target"])): r["score"] for r in every}
    for row in rows:
        assert row["strand"] == "-" or row["score"] == score[frozenset((row["query"], row["target"]))]
        assert int(best[row["query"]]["score"]) >= int(row["score"])


def test_every_score_as_a_matrix(tmp_path):
    sw("-q", QUERY, DB, "--all", "-o", tmp_path / "scores.npy")
    matrix = np.load(tmp_path / "scores.npy")
    rows = table(sw("-q", QUERY, DB, "--all"))
    assert matrix.shape == (3, 200)
    assert matrix.ravel().tolist() == [int(row["score"]) for row in rows]
    sw("-q", QUERY, "--all", "-o", tmp_path / "own.npy")
    own = np.load(tmp_path / "own.npy")
    assert own.shape == (3, 3)
    assert (own == own.T).all()
    assert (np.diag(own) > 700).all()


def test_filters():
    assert len(table(sw("-q", QUERY, DB))) == 75
    rows = table(sw("-q", QUERY, DB, "--max-hits", "200"))
    assert len(rows) == 600
    for option, field, kept in (
        ("--min-score=200", "score", lambda x: float(x) >= 200),
        ("--max-evalue=1e-20", "evalue", lambda x: float(x) <= 1e-20),
        ("--min-identity=0.4", "identity", lambda x: float(x) >= 0.4),
    ):
        passing = [row for row in rows if kept(row[field])]
        assert table(sw("-q", QUERY, DB, option)) == passing
        assert table(sw("-q", QUERY, DB, option, "--max-hits", "200")) == passing
        best = [row for query in dict.fromkeys(r["query"] for r in rows) for row in [r for r in rows if r["query"] == query][:9]]
        assert table(sw("-q", QUERY, DB, option, "--max-hits", "9")) == [row for row in best if kept(row[field])]
    assert len(table(sw("-q", QUERY, DB, "--max-hits", "1000", "--no-traceback"))) == 600
    none = sw(GENES_QUERY, GENES_DB, "--min-score", "100000")
    assert none.stdout.count(b"\n") == 1
    assert b"0 hits" in none.stderr


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    """Queries with 1,100, 40 and no relatives in a database; the many are the second query's, so that others have to wait."""
    rng = np.random.default_rng(5)
    letters = np.array(list("ARNDCQEGHILKMFPSTWYV"))
    folder = tmp_path_factory.mktemp("families")
    genes = {name: rng.choice(letters, 40) for name in ("few", "many", "none")}
    targets = [
        np.where(rng.random(40) < 0.1, rng.choice(letters, 40), genes[name]) for name, n in (("many", 1100), ("few", 40)) for _ in range(n)
    ]
    targets += [rng.choice(letters, rng.integers(5, 60)) for _ in range(60)]
    (folder / "q.fa").write_text("".join(f">{name}\n{''.join(gene)}\n" for name, gene in genes.items()))
    order = rng.permutation(len(targets))
    (folder / "db.fa").write_text("".join(f">t{k}\n{''.join(targets[at])}\n" for k, at in enumerate(order)))
    return folder / "q.fa", folder / "db.fa"


def test_a_threshold_writes_all_that_pass(families):
    every = table(sw("-q", *families, "--max-hits", "1200", "--no-traceback"))
    fields = ("query", "target", "score", "bits", "evalue")
    for options, kept in (
        (["--max-evalue", "1e-6"], lambda row: float(row["evalue"]) <= 1e-6),
        (["--min-score", "90"], lambda row: int(row["score"]) >= 90),
        (["--max-evalue", "1e-3", "--min-score", "100"], lambda row: int(row["score"]) >= 100),
    ):
        done = sw(*families, *options, "--threads", "1")
        rows = [{field: row[field] for field in fields} for row in table(done)]
        expected = [{field: row[field] for field in fields} for row in every if kept(row)]
        assert rows == expected
        counts = [sum(row["query"] == name for row in rows) for name in ("few", "many", "none")]
        assert counts[0] > 25
        assert counts[1] > 1000
        assert counts[2] == 0
        assert b"queries have more" not in done.stderr
        assert sw("-q", *families, *options, "--threads", "3").stdout == done.stdout
        assert sw("-q", *families, *options, "--memory", "3M").stdout == done.stdout
    close = table(sw("-q", *families, "--min-identity", "0.9"))
    assert sum(row["query"] == "many" for row in close) > 500
    assert min(float(row["identity"]) for row in close) >= 0.9


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (
            [],
            "3 {hits} than the 25 {kept} 25 by default); for 2 of them the next hit {notable}: a threshold such as --max-evalue, w",
        ),
        (["--max-hits", "1150"], "3 {hits} than the 1,150 {kept} 1150); their next hits have E-values above 0.001\n"),
        (["--max-hits", "3", "--evalue", "none"], "3 {hits} than the 3 {kept} 3)\n"),
        (["--max-hits", "100", "--max-evalue", "1e-6"], "1 {hits} that pass than the 100 {kept} 100)\n"),
        (["--max-hits", "30", "--min-score", "90"], "2 {hits} that pass than the 30 {kept} 30)\n"),
        (["--max-hits", "30", "--min-identity", "0.5"], "3 {hits} than the 30 {kept} 30); --min-identity chose among those\n"),
        (["--max-hits", "1100", "--max-evalue", "1e-6"], None),
        (["--max-hits", "1200"], None),
    ],
)
def test_what_a_limit_keeps_back_is_said(families, options, note):
    text = sw(*families, *options, "--fields", "query,target,score").stderr.decode()
    if note is None:
        assert "have more" not in text
    else:
        words = {"hits": "of 3 queries have more hits", "kept": "that are kept of each (--max-hits"}
        assert note.format(**words, notable="has an E-value of 0.001 or less") in text
    assert sw("-q", *families, *options, "--fields", "query,target,score").stderr == b""


def test_evalues_are_said():
    assert b"E-values by BLAST's table, BLOSUM62 with gaps 11/1 in its counting: lambda 0.267, K 0.041" in sw(QUERY, DB).stderr
    assert b"E-values by simulation of 10,000 pairs" in sw(QUERY, DB, "--gap", "6").stderr
    assert b"E-values by simulation" in sw(QUERY, DB, "--evalue", "estimate").stderr
    linear = sw(GENES_QUERY, GENES_DB, "--gap-open", "10", "--gap-extend", "1")
    assert b"no E-values: with NUC.4.4, gap open 10, extend 1 the scores of random sequences grow" in linear.stderr
    assert {row["evalue"] for row in table(linear)} == {"nan"}
    assert {row["bits"] for row in table(sw("-q", QUERY, DB, "--evalue", "none"))} == {"nan"}
    lines = sw("-q", QUERY, DB, "--evalue", "none", "--format", "m8").stdout.decode().splitlines()
    assert {line.split("\t")[10] for line in lines} == {"-1"}


def test_databases_of_all_kinds(tmp_path):
    record = QUERY.read_text().split(">")[1]
    (tmp_path / "one.fa").write_text(f">{record}")
    assert len(table(sw("-q", QUERY, tmp_path / "one.fa", "--max-evalue", "1e-3"))) == 1
    (tmp_path / "holes.fa").write_text(f">none\n>{record}>empty\n\n>short\nM\n")
    done = sw(QUERY, tmp_path / "holes.fa", "--max-evalue", "1e-3")
    assert b"left out 2 records without letters, 'none' the first" in done.stderr
    assert len(table(done)) == 1
    with gzip.open(tmp_path / "crlf.fa.gz", "wb") as file:
        file.write(DB.read_bytes().lower().replace(b"\n", b"\r\n"))
    lower = table(sw("-q", QUERY, tmp_path / "crlf.fa.gz"))
    assert [row["score"] for row in lower] == [row["score"] for row in table(sw("-q", QUERY, DB))]
    piped = sw("-q", "-", DB, stdin=QUERY.read_bytes())
    assert piped.stdout == sw("-q", QUERY, DB).stdout
    assert sw("-q", QUERY, "-", stdin=DB.read_bytes()).stdout == piped.stdout


def test_a_database_from_a_pipe(tmp_path):
    (tmp_path / "q.fa").write_text(">q\nMKVLAARNDW\n")
    (tmp_path / "db.fa").write_text("".join(f">d{i}\nMKVLAARND{'WL'[i % 2]}\n" for i in range(2000)))  # more than a pipe is read at once
    command = [GPUALIGN, "sw", "-q", "--max-hits", "3000", "q.fa"]
    piped = shell(f"{shlex.join(command)} <(cat db.fa)", tmp_path)
    assert piped.stderr == b""
    assert piped.stdout == gpualign(*command[1:], "db.fa", cwd=tmp_path).stdout


@pytest.mark.slow
def test_a_protein_as_long_as_titin(tmp_path, rng):
    titin = "".join(rng.choice(list("ARNDCQEGHILKMFPSTWYV"), 40_000))
    (tmp_path / "db.fa").write_text(f">titin\n{titin}\n>short\nMKV\n")
    (tmp_path / "q.fa").write_text(f">part\n{titin[25_000:25_300]}\n>third\n{titin[:12_500]}\n")
    rows = table(sw("-q", tmp_path / "q.fa", tmp_path / "db.fa", "--max-evalue", "1e-9", "--mask", "none"))
    assert int(rows[1]["score"]) > 2**16
    assert [(row["query"], row["tstart"], row["tend"], row["identity"]) for row in rows] == [
        ("part", "25001", "25300", "1.000000"),
        ("third", "1", "12500", "1.000000"),  # whose score 16 bits do not hold
    ]


def test_head_ends_quietly():
    done = shell(f"{GPUALIGN} sw -q --device cpu {QUERY} {DB} --max-hits 200 | head -2")
    assert done.stdout.count(b"\n") == 2
    assert done.stderr == b""


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_it_soon_and_leave_nothing(tmp_path, rng, signum, code):
    letters = np.frombuffer(b"ACGT", dtype=np.uint8)
    texts = (letters[rng.integers(0, 4, 1500)].tobytes().decode() for _ in range(2000))
    (tmp_path / "long.fa").write_text("".join(f">r{i}\n{text}\n" for i, text in enumerate(texts)))
    words = [GPUALIGN, "sw", "-q", "--device", "cpu", "--threads", "2", "long.fa", "-o", "x.tsv"]
    found, errors = interrupt(words, tmp_path, signum)
    assert found == code
    assert "no output file was written" in errors
    assert [p.name for p in tmp_path.iterdir()] == ["long.fa"]


def test_dry_run():
    out = sw(QUERY, DB, "--dry-run").stdout.decode()
    assert "3 x 200" in out
    assert "local, affine gaps, 8-bit scores, wider where they overflow" in out
    assert "estimate" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no.fa", DB], "no.fa: no such file"),
        ([QUERY, "bad.fa"], "bad.fa: record 'x': '!' at position 2"),
        ([QUERY, "empty.fa"], "empty.fa: empty file"),
        (["holes.fa", DB], "holes.fa: record 'none' (number 1) has no letters"),
        ([QUERY, DB, "--self"], "--self is for one file"),
        (["-", "-"], "only one input can be standard input"),
        ([QUERY, DB, "--strand", "both"], "--strand is for DNA; these are protein sequences"),
        ([QUERY, DB, "--no-traceback", "--format", "paf"], "--no-traceback leaves out the alignments, which format paf needs"),
        ([QUERY, DB, "--no-traceback", "--fields", "query,cigar"], "--no-traceback leaves out the alignments, which cigar needs"),
        ([QUERY, DB, "--no-traceback", "--min-identity", "0.5"], "--min-identity needs alignments"),
        ([QUERY, DB, "--min-identity", "50"], "--min-identity is a fraction"),
        ([QUERY, DB, "--fields", "nothing"], "no column is called 'nothing'"),
        ([QUERY, DB, "--format", "m8", "--fields", "query"], "--fields chooses the columns of tsv"),
        ([QUERY, DB, "-o", "x.npy"], "the name does not determine the format"),
        ([QUERY, DB, "--format", "npy", "-o", "x"], "--format npy is a matrix of all pairs; give --all too"),
        ([QUERY, DB, "--evalue", "table", "--gap", "6"], "BLAST's tables do not have BLOSUM62, gap 6"),
        ([QUERY, DB, "--evalue", "none", "--max-evalue", "1"], "--max-evalue needs E-values"),
        ([QUERY, DB, "--max-evalue", "-1"], "--max-evalue: expected 0 or more"),
        ([QUERY, DB, "--all", "--max-hits", "3"], "--max-hits applies to hits"),
        ([QUERY, DB, "--all", "--max-evalue", "0"], "--max-evalue applies to hits"),
        ([QUERY, DB, "--all", "--min-identity", "0"], "--min-identity applies to hits"),
        ([QUERY, DB, "--all", "--no-traceback"], "--no-traceback applies to hits"),
        (
            [QUERY, DB, "--all", "--fields", "query,evalue"],
            "--fields 'evalue': --all writes only scores; there are query, target, score, qlen",
        ),
        ([QUERY, DB, "--all", "--format", "sam"], "--format sam holds alignments of hits"),
        ([QUERY, DB, "--all", "--fields", "query,cigar"], "--all writes only scores"),
        ([QUERY, DB, "--max-hits", "0"], "expected an integer, 1 or more; found '0'"),
        (["dna.fa", "dna.fa", "--max-evalue", "1", "--gap", "2", "--match", "5"], "scores have no E-values"),
        (["dna.fa", "dna.fa", "--all", "--strand", "both"], "--all writes one score per pair"),
        (["dna.fa", DB], "like protein: search with --translate query"),
        ([QUERY, "half.gpa"], "half.gpa: the index is truncated"),
        (["dna.fa", "db.gpa", "--alphabet", "dna"], "--alphabet dna: db.gpa is an index of protein"),
    ],
)
def test_refusals(tmp_path, arguments, message):
    (tmp_path / "bad.fa").write_text(">x\nA!\n")
    (tmp_path / "empty.fa").write_text("")
    (tmp_path / "holes.fa").write_text(">none\n>b\nMKV\n")
    (tmp_path / "dna.fa").write_text(">x\n" + "ACGTGTCA" * 20 + "\n")
    if any(str(a).endswith(".gpa") for a in arguments):
        gpualign("index", "-q", DB, "-o", "db.gpa", cwd=tmp_path)
        (tmp_path / "half.gpa").write_bytes((tmp_path / "db.gpa").read_bytes()[:20_000])
    before = sorted(tmp_path.iterdir())
    done = sw(*arguments, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert done.stdout == b""
    assert sorted(tmp_path.iterdir()) == before
