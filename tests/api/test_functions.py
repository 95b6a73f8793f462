"""`import gpualign`: the same numbers as the commands and as other libraries, from several threads, with errors that are exceptions."""

import csv
import inspect
import io
import logging
import os
import subprocess
import sys
import threading
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord
from command import gpualign as run
from places import DATA
from work import at_once

import gpualign
from gpualign.core.results.columns import FIELDS, description_fields
from gpualign.core.sequences.annotations import TITLE_KEYS

edlib = pytest.importorskip("edlib")
parasail = pytest.importorskip("parasail")

LETTERS = np.array(list("ACGT"))


def texts(rng, count, longest):
    """Random DNA, relatives among it."""
    ancestor = rng.integers(0, 4, longest)
    out = []
    for _ in range(count):
        copy = np.where(rng.random(longest) < 0.2, rng.integers(0, 4, longest), ancestor)[: int(rng.integers(1, longest + 1))]
        out.append("".join(LETTERS[copy]))
    return out


def rows(words):
    """A command's table as dictionaries of text."""
    return list(csv.DictReader(io.StringIO(run(*words).stdout.decode()), delimiter="\t"))


@pytest.fixture
def genes(small_16s):
    return gpualign.read(small_16s)


@pytest.mark.slow
def test_sequences_from_everywhere(small_16s, genes):
    assert len(genes) == 60
    assert genes.alphabet == "dna"
    with open(small_16s, "rb") as stream:
        assert gpualign.read(stream).ids == genes.ids
    again = gpualign.Sequences(list(genes), ids=genes.ids)
    assert list(again) == list(genes)
    of_records = gpualign.Sequences([SeqRecord(Seq(text), id=name) for text, name in zip(genes, genes.ids, strict=True)])
    assert (of_records.ids, list(of_records)) == (genes.ids, list(genes))
    assert gpualign.Sequences([b"acgu", bytearray(b"AC")])[0] == "ACGT"
    part = genes[3:9:2]
    assert part.ids == genes.ids[3:9:2]
    assert list(part) == list(genes)[3:9:2]
    assert genes[-1] == list(genes)[-1]
    for selection in ([7, 0, -1], np.array([7, 0, 59]), np.isin(np.arange(60), [0, 7, 59])):
        chosen = np.arange(60)[selection]
        assert genes[selection].ids == [genes.ids[k] for k in chosen]
        assert list(genes[selection]) == [genes[k] for k in chosen]
    assert part.lengths.tolist() == [len(text) for text in part]
    assert gpualign.Sequences(["MKV", "MK"]).alphabet == "protein"
    assert gpualign.Sequences(["ACGT"], alphabet="protein").alphabet == "protein"


@pytest.mark.slow
@pytest.mark.parametrize("value", ["score", "identity", "distance"])
def test_nw_gives_the_matrix_of_the_command(tmp_path, small_16s, genes, value):
    run("nw", small_16s, "-o", tmp_path / "m.npy", "--value", value)
    found = gpualign.nw(genes[:], value=value, threads=2)
    np.testing.assert_array_equal(found.values, np.load(tmp_path / "m.npy"))
    assert found.ids == found.target_ids == genes.ids
    run("nw", small_16s, "-o", tmp_path / "c.npy", "--value", value, "--condensed")
    np.testing.assert_array_equal(found.condensed(), np.load(tmp_path / "c.npy"))
    frame = found.to_frame()
    assert frame.loc[genes.ids[3], genes.ids[5]] == found.values[3, 5]


def test_nw_into_a_file(tmp_path, rng):
    made = texts(rng, 9, 50)
    path = tmp_path / "m.npy"
    found = gpualign.nw(made[:4], made[4:], scoring=gpualign.EDIT, out=path)
    assert isinstance(found.values, np.memmap)
    expected = [[edlib.align(a, b)["editDistance"] for b in made[4:]] for a in made[:4]]
    assert found.values.tolist() == np.load(path).tolist() == expected
    assert [p.name for p in tmp_path.iterdir()] == ["m.npy"]
    with pytest.raises(ValueError, match="two"):
        found.condensed()
    with pytest.raises(gpualign.RunError, match="cannot write"):
        gpualign.nw(made, out=tmp_path / "none" / "m.npy")


@pytest.mark.slow
def test_pairs_are_those_of_the_command(genes, small_16s):
    found = gpualign.pairs(genes, min_identity=0.8)
    told = rows(["nw", small_16s, "--min-identity", "0.8", "--fields", "query,target,identity"])
    assert [(q, t) for q, t, _ in found] == [(row["query"], row["target"]) for row in told]
    np.testing.assert_allclose(found.value, [float(row["identity"]) for row in told], atol=5e-7)
    near = gpualign.pairs(genes, scoring=gpualign.EDIT, max_distance=300)
    assert list(near) == [(r["query"], r["target"], int(r["distance"])) for r in rows(["nw", "--edit", "--max-distance", "300", small_16s])]
    matrix = gpualign.nw(genes, scoring=gpualign.EDIT).values
    sparse = near.to_csr()
    assert sparse.nnz == len(near)
    assert (sparse.toarray()[near.i, near.j] == matrix[near.i, near.j]).all()
    assert ((np.triu(matrix, 1) <= 300) & (np.triu(np.ones_like(matrix), 1) > 0)).sum() == len(near)
    assert near.to_frame()["distance"].tolist() == near.value.tolist()
    streamed = gpualign.iter_pairs(genes, scoring=gpualign.EDIT, max_distance=300, batch=7)
    assert [(row["query"], row["target"], row["score"]) for table in streamed for row in table] == list(near)
    covered = gpualign.pairs(genes, min_identity=0.8, min_coverage=0.9)
    told = rows(["nw", small_16s, "--min-identity", "0.8", "--min-coverage", "0.9", "--fields", "query,target"])
    assert [(q, t) for q, t, _ in covered] == [(row["query"], row["target"]) for row in told]
    assert 0 < len(covered) <= len(found)
    apart = gpualign.pairs(genes, max_distance=0.2)
    assert (apart.i.tolist(), apart.j.tolist()) == (found.i.tolist(), found.j.tolist())
    np.testing.assert_allclose(apart.value, 1 - found.value)
    scored = gpualign.pairs(genes[:9], genes[9:20], min_score=4000)
    assert (scored.value >= 4000).all()
    assert len(gpualign.pairs(["ACGT", "TTTT"], scoring=gpualign.EDIT, max_distance=0)) == 0
    assert len(gpualign.pairs(["ACGT"], min_score=0)) == 0


@pytest.mark.slow
def test_every_column_as_the_command_has_it(genes, tmp_path):
    (tmp_path / "some.fa").write_text("".join(f">{name}\n{text}\n" for name, text in zip(genes.ids[:12], genes, strict=False)))
    names = [name for name, field in FIELDS.items() if not field.hits_only and not description_fields(name)]
    tables = list(gpualign.iter_pairs(genes[:12], fields=names, batch=25))
    assert repr(tables[0]) == f"<Table of 25 rows: {', '.join(names)}>"
    assert [len(table) for table in tables] == [25, 25, 16]
    found = [row for table in tables for row in table]
    for ours, told in zip(found, rows(["nw", tmp_path / "some.fa", "--fields", ",".join(names)]), strict=True):
        for name in names:
            if isinstance(ours[name], float):
                assert ours[name] == pytest.approx(float(told[name]), abs=5e-7)
            else:
                assert str(ours[name]) == told[name]
    assert list(tables[0].to_frame().columns) == names


@pytest.mark.slow
@pytest.mark.parametrize("batch", [999, 32_768, 40_000, 10**6])
@pytest.mark.parametrize("least", [None, 0])
def test_tables_of_any_size_from_blocks_of_any_size(rng, batch, least):
    """Tables that end within a block of pairs, and that go over several: blocks of 32,768 pairs, or fewer that pass."""
    options = {"min_score": least, "threads": 1}
    reads = texts(rng, 400, 30)
    (whole,) = gpualign.iter_pairs(reads, batch=10**6, **options)
    tables = list(gpualign.iter_pairs(reads, batch=batch, **options))
    assert (len(whole) == 79_800) == (least is None)
    assert {len(table) for table in tables[:-1]} <= {batch}
    assert 0 < len(tables[-1]) <= batch
    assert [row for table in tables for row in table] == list(whole)


def test_closing_an_iterator_ends_all_threads(rng):
    made = texts(rng, 400, 1500)
    running = gpualign.iter_pairs(made, memory=200 << 20, batch=10)
    assert len(next(running)) == 10
    running.close()
    hits = gpualign.sw(made[:3], made, evalue="none")
    next(hits)
    hits.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("gpualign")]


@pytest.mark.slow
def test_sw_gives_the_hits_of_the_command(genes, small_16s, tmp_path):
    names = [name for name in FIELDS if name not in ("qaln", "taln", "qtitle", "ttitle", *TITLE_KEYS)]
    options = ["--fields", ",".join(names), "--max-hits", "3"]
    (tmp_path / "q.fa").write_text("".join(f">{name}\n{text}\n" for name, text in zip(genes.ids[:5], genes, strict=False)))
    told = rows(["sw", tmp_path / "q.fa", small_16s, *options])
    index = gpualign.Index.build(small_16s, tmp_path / "db.gpa")
    assert len(index) == 60
    for database in (genes, small_16s, index, tmp_path / "db.gpa"):
        found = list(gpualign.sw(genes[:5], database, max_hits=3, fields=names))
        assert [hits.query for hits in found] == genes.ids[:5]
        assert [hits.index for hits in found] == [0, 1, 2, 3, 4]
        ours = [row for hits in found for row in hits]
        for one, row in zip(ours, told, strict=True):
            assert {name: str(one[name]) for name in names if not isinstance(one[name], float)}.items() <= row.items()
            assert one["evalue"] == pytest.approx(float(row["evalue"]), rel=1e-2)


def test_sw_tells_of_queries_without_hits(rng):
    gene = "".join(LETTERS[rng.integers(0, 4, 80)])
    other = ["".join(LETTERS[rng.integers(0, 4, 80)]) for _ in range(4)]
    queries = [other[0], gene, other[1], other[2], gene, other[3]]
    found = list(gpualign.sw(queries, [gene], max_evalue=1e-9, mask="none"))
    assert [len(hits) for hits in found] == [0, 1, 0, 0, 1, 0]
    assert found[1]["target"] == ["0"]
    itself = list(gpualign.sw(queries, min_score=200, mask="none", evalue="none", traceback=False))
    assert [hits["target"] for hits in itself] == [[], ["4"], [], [], ["1"], []]


@pytest.mark.parametrize("longest", [1, 9, 70, 700])
def test_align_against_other_libraries(rng, longest):
    matrix = parasail.matrix_create("ACGT", 5, -4)
    made = texts(rng, 12, longest)
    for query, target in zip(made[::2], made[1::2], strict=True):
        found = gpualign.align(query, target)
        assert found.score == parasail.nw_striped_32(query, target, 10, 1, matrix).score
        edits = gpualign.align(query, target, gpualign.EDIT)
        assert edits.score == edits.mismatches + edits.gaps == edlib.align(query, target)["editDistance"]
        local = gpualign.align(query, target, mode="local")
        assert local.score == parasail.sw_striped_32(query, target, 16, 6, matrix).score
        assert query[slice(*local.query_range)] == local.query.replace("-", "")
        assert target[slice(*local.target_range)] == local.target.replace("-", "")
        for one in (found, edits):
            assert (one.query.replace("-", ""), one.target.replace("-", "")) == (query, target)
            assert len(one.query) == one.matches + one.mismatches + one.gaps
            assert f"{one.score}" in str(one)


def test_align_is_what_the_command_draws(tmp_path):
    (tmp_path / "a.fa").write_text(">query\nACGTTGCA\n")
    (tmp_path / "b.fa").write_text(">target\nAGTTGCAA\n")
    assert str(gpualign.align("acgttgca", "AGTTGCAA")) == run("nw", tmp_path / "a.fa", tmp_path / "b.fa", "--format", "aln").stdout.decode()
    nothing = gpualign.align("AAAA", "CCCC", mode="local")
    assert (nothing.score, nothing.cigar, nothing.identity) == (0, "*", 0)
    assert gpualign.align("MKVLAT", "MKILAT").score == parasail.nw("MKVLAT", "MKILAT", 11, 1, parasail.blosum62).score
    assert gpualign.align("ACGTAC", "GTA", end_gaps="target").score == 15


def test_a_matrix_that_lacks_a_letter(tmp_path):
    (tmp_path / "m.txt").write_text("  A C G T\nA 1 0 0 0\nC 0 1 0 0\nG 0 0 1 0\nT 0 0 0 1\n")
    scoring = gpualign.Scoring(matrix=str(tmp_path / "m.txt"), gap=1)
    assert gpualign.align("ACGT", "ACG", scoring).score == 2
    with pytest.raises(gpualign.InputError, match="no row for the letter 'N'"):
        gpualign.align("ACGN", "ACG", scoring)
    with pytest.raises(gpualign.InputError, match="no row for the letter 'N'"):
        gpualign.nw(["ACGN", "ACG"], scoring=scoring)


@pytest.mark.slow
def test_several_threads_at_once(genes):
    part = genes[:12]
    expected = gpualign.nw(part).values
    alone = gpualign.align(genes[0], genes[1])

    def work():
        for _ in range(3):
            np.testing.assert_array_equal(gpualign.nw(part, threads=2).values, expected)
            assert gpualign.align(genes[0], genes[1]).cigar == alone.cigar
            assert sum(len(table) for table in gpualign.iter_pairs(part, batch=7)) == 66
            assert len(next(gpualign.sw(part[:2], part, max_hits=2))) == 2

    at_once(*[work] * 4)


@pytest.mark.slow
def test_progress_counts_to_the_end(genes):
    told = []
    gpualign.nw(genes[:9], progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] > 0
    assert [done for done, _ in told] == sorted(done for done, _ in told)


@pytest.mark.parametrize("metric", ["hamming", "fraction", "ibs", "allele"])
def test_dist_gives_the_matrix_of_the_command(tmp_path, metric):
    table = DATA / "snps.tsv"
    run("dist", table, "--metric", metric, "-o", tmp_path / "d.npy")
    told = np.load(tmp_path / "d.npy")
    found = gpualign.dist(table, metric=metric)
    np.testing.assert_array_equal(found.values, told)
    assert found.ids == (tmp_path / "d.ids.txt").read_text().split()
    cells = [line.split("\t")[1:] for line in table.read_text().splitlines()[1:]]
    calls = np.array([[int(cell) if cell in "012" and cell else -1 for cell in row] for row in cells])
    np.testing.assert_array_equal(gpualign.dist(calls, metric=metric).values, told)
    mapped = gpualign.dist(calls[:5], calls[5:], metric=metric, out=tmp_path / "r.npy", ids=list("abcde"))
    np.testing.assert_array_equal(mapped.values, told[:5, 5:])
    assert (mapped.ids, mapped.target_ids[0]) == (list("abcde"), "1")


def test_dist_of_letters(tmp_path):
    (tmp_path / "x.aln").write_text(">a\nACGTN\n>b\nACGAA\n>c\nNNNNA\n")
    with open(tmp_path / "x.aln", "rb") as stream:
        found = gpualign.dist(stream)
    letters = np.array([list("ACGTN"), list("ACGAA"), list("NNNNA")])
    again = gpualign.dist(letters, ids=["a", "b", "c"])
    for one in (found, again, gpualign.dist(letters.astype("S1").view(np.uint8).reshape(3, 5), ids=["a", "b", "c"])):
        assert one.ids == ["a", "b", "c"]
        np.testing.assert_array_equal(one.values, [[0, 1, np.nan], [1, 0, 0], [np.nan, 0, 0]])
    assert np.isnan(gpualign.dist(letters, min_compared=0.9).values[0, 1])


def test_chosen_sites(tmp_path):
    (tmp_path / "x.aln").write_text(">a\nACGTAC\n>b\nACGTNC\n>c\nTGNANG\n>d\nTGGAAC\n")
    (tmp_path / "m.bed").write_text("ref\t0\t1\n")

    def found(**choice):
        return gpualign.dist(tmp_path / "x.aln", **choice).values[0].tolist()

    assert found() == [0, 0, 4, 3]
    assert found(mask=tmp_path / "m.bed") == found(regions="ref:2-") == [0, 0, 3, 2]
    assert found(regions=tmp_path / "m.bed") == [0, 0, 1, 1]
    assert found(core=0.75) == [0, 0, 4, 3]
    assert found(core=1) == [0, 0, 4, 3]
    assert found(maf=0.5) == [0, 0, 3, 3]
    letters = np.array([[*"ACGT"], [*"ACGA"], [*"NCTA"]])
    assert gpualign.dist(letters, core=1.0, maf=np.float64(0.3)).values.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


def test_an_input_is_never_written_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {"x.fa": ">a\nACGT\n>b\nACGA\n", "t.tsv": "id\tr1\na\t0\nb\t1\n", "m.bed": "x\t0\t1\n"}
    for name, text in texts.items():
        Path(name).write_text(text)
    Path("link.fa").symlink_to("x.fa")
    for call in (
        lambda: gpualign.nw("x.fa", out=Path("x.fa")),
        lambda: gpualign.nw(["ACGT"], "x.fa", out="link.fa"),
        lambda: gpualign.dist("t.tsv", out="t.tsv"),
        lambda: gpualign.dist("x.fa", mask="m.bed", out="m.bed"),
        lambda: gpualign.Index.build("x.fa", "./x.fa"),
    ):
        with pytest.raises(gpualign.InputError, match="is also an input and would overwrite it"):
            call()
    with Path("x.fa").open("rb") as stream, pytest.raises(gpualign.InputError, match="is also an input"):
        gpualign.nw(stream, out=str(tmp_path / "x.fa"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {**texts, "link.fa": texts["x.fa"]}
    assert gpualign.nw("x.fa", out="new.npy").values.shape == (2, 2)


def test_thresholds_are_numbers_of_any_kind():
    seqs = ["ACGTACGT", "ACGTACGA", "TTTTTTTT"]
    scored = gpualign.nw(seqs).values
    for least in (20, 20.0, 19.5, np.float64(20), np.int8(20)):
        assert len(gpualign.pairs(seqs, min_score=least)) == np.sum(np.triu(scored, 1) >= 20)
        assert sum(len(hits) for hits in gpualign.sw(seqs, min_score=least, evalue="none", strand="plus", mask="none")) > 0
    for least in (0.8, np.float32(0.8), np.array(0.8), Fraction(4, 5), Decimal("0.8")):
        assert len(gpualign.pairs(seqs, min_identity=least)) == 1
        assert len(gpualign.cluster(seqs, min_identity=least)) == 2
    for most in (1, 1.0, np.int64(1), Fraction(1), Decimal(1)):
        assert len(gpualign.pairs(seqs, metric="edit", max_distance=most)) == 1
    proteins = ["MEEPQSDPSVEPPLSQETFSDLWKLLPENNVLSPLPSQAMDDLMLSPDDIEQWF"]
    for most in (1e-9, Fraction(1, 10**9), Decimal("1e-9")):
        assert sum(len(hits) for hits in gpualign.sw(proteins, list(proteins), max_evalue=most)) == 1


def test_no_file_of_a_fileset_and_no_mapped_array_is_written_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = {
        "x.bed": bytes([0x6C, 0x1B, 1, 0b1000]),
        "x.bim": b"1 rs1 0 1 A G\n",
        "x.fam": b"0 a 0 0 0 -9\n0 b 0 0 0 -9\n",
    }
    for name, content in written.items():
        Path(name).write_bytes(content)
    for given in ("x", "x.bim", Path("x.bed")):
        for out in written:
            with pytest.raises(gpualign.InputError, match=f"the output {out} is also an input"):
                gpualign.dist(given, out=out)
            with pytest.raises(gpualign.InputError, match="is also an input"):
                gpualign.dist("x.bed", given, out=out)
    assert {name: Path(name).read_bytes() for name in written} == written
    assert gpualign.dist("x", out="new.npy").values.shape == (2, 2)

    calls = np.array([[0, 1, 2], [1, 1, 2]], dtype=np.int8)
    np.save("calls.npy", calls)
    mapped = np.load("calls.npy", mmap_mode="r")
    for given in (mapped, mapped[:, 1:], np.asarray(mapped)[::-1]):
        with pytest.raises(gpualign.InputError, match="is also an input"):
            gpualign.dist(given, out="calls.npy")
    np.testing.assert_array_equal(np.load("calls.npy"), calls)
    assert gpualign.dist(calls, out="calls.npy").values.tolist() == [[0, 1], [1, 0]]  # not mapped: it is a file like any other


@pytest.mark.slow
def test_too_little_memory_is_a_run_error(genes):
    with pytest.raises(RuntimeError, match="memory") as raised:
        gpualign.nw(genes, memory=1000)
    assert isinstance(raised.value, gpualign.RunError)


def test_notes_go_to_the_log(caplog):
    with caplog.at_level(logging.DEBUG, "gpualign"):
        gpualign.nw(["ACGT", "AC"], device="cpu")
    assert any("NUC.4.4" in record.message and record.levelname == "INFO" for record in caplog.records)
    assert any("1 band" in record.message and record.levelname == "DEBUG" for record in caplog.records)


def test_devices():
    assert gpualign.devices()[0] == "cpu"


def test_the_import_loads_nothing():
    code = "import sys, gpualign; gpualign.__version__; dir(gpualign); print(sorted({'numpy', 'Bio', 'gpualign.core'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"[]"
    for name in gpualign.__all__:
        assert getattr(gpualign, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        gpualign.nothing  # noqa: B018


def test_examples_in_docstrings():
    import doctest

    attempted = 0
    for path in Path(gpualign.__file__).parent.glob("_[a-z]*.py"):
        result = doctest.testmod(import_module(f"gpualign.{path.stem}"))
        assert not result.failed
        attempted += result.attempted
    assert attempted > 9


def test_both_strands():
    genes = ["AAACCCGGTT", "AACCGGGTTT", "ACCCGGTT"]  # the second is the reverse complement of the first
    assert gpualign.nw(genes, value="identity").values[0, 1] < 1
    assert gpualign.nw(genes, value="identity", strand="both").values[0, 1] == 1
    assert list(gpualign.pairs(genes, scoring=gpualign.EDIT, max_distance=2, strand="both")) == [
        ("0", "1", 0),
        ("0", "2", 2),
        ("1", "2", 2),
    ]
    (table,) = gpualign.iter_pairs(genes, fields=["query", "target", "strand"], strand="both")
    assert [row["strand"] for row in table] == ["-", "+", "-"]
    found = gpualign.cluster(genes, scoring=gpualign.EDIT, max_distance=0, method="greedy", strand="both")
    assert found.labels.tolist() == [0, 0, 1]


def test_places_mean_the_same_in_every_function():
    """Two sets, then the scoring; everything else is named."""
    placed = {
        name: [p.name for p in inspect.signature(getattr(gpualign, name)).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        for name in ("align", "nw", "pairs", "iter_pairs", "sw", "cluster", "dist")
    }
    sets, pair = ["seqs", "targets", "scoring"], ["query", "target", "scoring"]
    assert placed == {
        **{"align": pair, "nw": sets, "pairs": sets, "iter_pairs": sets},
        **{"sw": ["queries", "db", "scoring"], "cluster": ["seqs"], "dist": ["samples", "others"]},
    }


# ---- arguments of other types
@pytest.mark.parametrize("most", [2**31, 2**62, sys.maxsize, 10**30])
def test_huge_thresholds(most):
    sequences = ["ACGTACGT", "ACGTTCGT", "ACGTAC"]
    assert len(gpualign.pairs(sequences, scoring=gpualign.EDIT, max_distance=most)) == 3
    assert gpualign.cluster(sequences, scoring=gpualign.EDIT, max_distance=most).labels.tolist() == [0, 0, 0]
    assert len(gpualign.pairs(sequences, min_score=-most)) == 3
    assert len(gpualign.pairs(sequences, min_score=most)) == 0


def test_sequences_of_pandas():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(["ACGT", "AGT"], index=["first", "second"])
    assert gpualign.nw(series).ids == ["first", "second"]
    assert gpualign.nw(series.reset_index(drop=True)).ids == ["0", "1"]
    with pytest.raises(gpualign.InputError, match=r"give the column that has them, such as frame\['seq'\]"):
        gpualign.nw(series.to_frame("seq"))


def test_a_descriptor_is_no_path(tmp_path):
    descriptor = os.open(os.devnull, os.O_WRONLY)
    with pytest.raises(gpualign.InputError):
        gpualign.Index.build(descriptor, tmp_path / "x.gpa")
    os.fstat(descriptor)  # still open
    os.close(descriptor)


def test_records_of_biopython_are_aligned():
    assert gpualign.align(SeqRecord(Seq("ACGT"), id="a"), b"AGT").cigar == gpualign.align("ACGT", "AGT").cigar


def test_a_program_ends_while_pairs_are_left(rng):
    """Python closes the iterator when it no longer runs the threads that compute for it."""
    script = f"""
import gpualign
pairs = gpualign.iter_pairs({texts(rng, 400, 300)!r}, fields=["query", "score", "cigar"], threads=2, device="cpu")
next(pairs)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
