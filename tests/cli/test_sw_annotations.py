"""`gpualign sw` with annotations of targets, from a table and from the titles of UniProt: as columns, and to choose what is searched."""

import gzip

import pytest
from command import gpualign, gpualign_here
from goldens import GENES_DB, GENES_QUERY
from goldens import PROTEINS_DB as DB
from goldens import PROTEINS_QUERY as QUERY

import gpualign as python

HITS = ["--max-hits", "200", "--evalue", "none"]


def after(key, title):
    """Read the text between a key in a title and the next key."""
    words, found = title.split(), None
    for word in words:
        if word[2:3] == "=" and word[:2].isupper():
            found = [word[3:]] if word[:2] == key else found
            if word[:2] != key and found is not None:
                return " ".join(found)
        elif found is not None:
            found.append(word)
    return " ".join(found or [])


TEXTS = [f">{text}" for text in DB.read_text().split(">")[1:]]
TITLES = {text[1:].split()[0]: text.split("\n")[0] for text in TEXTS}
ORGANISMS = {name: after("OS", title) for name, title in TITLES.items()}
GENES = {name: after("GN", title) for name, title in TITLES.items()}


def here(*words):
    return gpualign_here("sw", "-q", "--device", "cpu", *words)[0].decode()


def table(text, delimiter="\t"):
    names, *rows = (line.split(delimiter) for line in text.splitlines())
    return [dict(zip(names, row, strict=True)) for row in rows]


def refused(*words):
    """The message of a command that writes nothing."""
    done = gpualign("sw", "-q", "--device", "cpu", QUERY, *words, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    return done.stderr.decode().removeprefix("gpualign: error: ").strip()


@pytest.fixture
def folder(tmp_path, rng):
    """A compressed table of three of four records, and some others, in any order; and an index."""
    names = list(TITLES)
    rows = [f"{name}\tt{k % 3}\t{'long, text ' * (k % 2)}end\town {k}\n" for k, name in enumerate(names) if k % 4]
    rows += [f"other{k}\tt9\tx\ty\n" for k in range(30)]
    text = "entry\ttaxid\tnote, of mine\tgene\n" + "".join(rng.permutation(rows))
    (tmp_path / "table.tsv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "table.tsv").write_text(text.replace("note, of mine", "note"))
    gpualign_here("index", "-q", DB, "-o", tmp_path / "db.gpa")
    return tmp_path


def test_columns_of_titles(folder):
    done = gpualign("sw", "-q", "--device", "cpu", QUERY, DB, *HITS, "--fields", "query,target,organism,gene,taxid,score")
    rows = table(done.stdout.decode())
    assert len(rows) > 500
    for row in rows:
        assert (row["organism"], row["gene"], row["taxid"]) == (ORGANISMS[row["target"]], GENES[row["target"]], "")
    assert sum(bool(gene) for gene in GENES.values()) > 100
    assert any(not gene for gene in GENES.values())
    plain = here(QUERY, DB, *HITS, "--fields", "query,target,score")
    assert [(row["query"], row["target"], row["score"]) for row in rows] == [tuple(row.values()) for row in table(plain)]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Hemoglobin subunit alpha OS=Homo sapiens OX=9606 GN=HBA1 PE=1 SV=2", ("Homo sapiens", "9606", "HBA1")),
        ("OS=Homo sapiens", ("Homo sapiens", "", "")),
        ("name BOS=x OX=1", ("", "1", "")),
        ("no keys", ("", "", "")),
        ("", ("", "", "")),
        (
            "x OS=Influenza A virus (strain A/Hickox/1940 H1N1) OX=383543 GN=HA PE=3",
            ("Influenza A virus (strain A/Hickox/1940 H1N1)", "383543", "HA"),
        ),
    ],
)
def test_titles(tmp_path, title, expected):
    (tmp_path / "db.fa").write_text(f">x {title}\nMKVLAWGKRR\n")
    (tmp_path / "q.fa").write_text(">q\nMKVLAWGKRR\n")
    (row,) = table(here(tmp_path / "q.fa", tmp_path / "db.fa", "--fields", "organism,taxid,gene"))
    assert tuple(row.values()) == expected


def test_columns_of_a_table(folder):
    lines = [line.split("\t") for line in (folder / "table.tsv").read_text().splitlines()[1:]]
    cells = {name: (taxid, note, gene) for name, taxid, note, gene in lines}
    words = [QUERY, DB, *HITS, "--annotate", folder / "table.tsv", "--fields", "query,target,taxid,note,gene,organism"]
    rows = table(here(*words))
    for row in rows:
        # A table wins over titles, also where it has no row.
        assert (row["taxid"], row["note"], row["gene"]) == tuple(cell.strip() for cell in cells.get(row["target"], ("", "", "")))
        assert row["organism"] == ORGANISMS[row["target"]]
    by_index = here(QUERY, folder / "db.gpa", *words[2:-1], "target,note")
    assert [(row["target"], row["note"]) for row in table(by_index)] == [(row["target"], row["note"]) for row in rows]
    for format in ("m8", "paf"):
        assert here(*words[:-2], "--format", format) == here(QUERY, DB, *HITS, "--format", format)


@pytest.mark.parametrize(
    "table",
    [
        '"kind"\t"note"\n"b"\t"x"\t"of b"\n"a"\t"y"\t"of a"\n',  # R's write.table
        '"id" "kind" "note"\n"1" "b" "x" "of b"\n"2" "a" "y" "of a"\n',
        '"","id","kind","note"\n"1","b","x","of b"\n"2","a","y","of a"\n',  # R's write.csv
        ",id,kind,note\n0,b,x,of b\n1,a,y,of a\n",  # pandas
        "Unnamed: 0\tid\tkind\tnote\n0\tb\tx\tof b\n1\ta\ty\tof a\n",
        "# of x\n# in 2026\nid\tkind\tnote\nb\tx\tof b\na\ty\tof a\n",
        "# of x, y\nEntry,kind,note\nb,x,of b\na,y,of a\n",
    ],
)
def test_names_and_numbers_of_rows(tmp_path, table):
    (tmp_path / "table").write_text(table)
    (tmp_path / "db.fa").write_text(">a\nMKVLAAGIVGLW\n>b\nMKVLAAGIVGLC\n")
    words = (tmp_path / "db.fa", tmp_path / "db.fa", "--annotate", tmp_path / "table", "--fields", "target,note,kind", "--max-hits", "1")
    assert here(*words).splitlines()[1:] == ["a\tof a\ty", "b\tof b\tx"]


@pytest.mark.parametrize("row", ["a\t1\t", "a\t1\tx"])
def test_a_row_with_another_cell_is_refused(tmp_path, row):
    (tmp_path / "table").write_text(f"id\tkind\n{row}\n")
    (tmp_path / "db.fa").write_text(">a\nMKVLAAGIVGLW\n")
    assert refused(tmp_path / "db.fa", "--annotate", tmp_path / "table").endswith("table: line 2 has 3 columns, line 1 has 2")


def test_every_form_has_the_same_columns(folder):
    import csv

    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    fields = ["query", "target", "note", "organism", "gene"]
    words = [QUERY, DB, *HITS, "--annotate", folder / "table.tsv", "--fields", ",".join(fields)]
    expected = [list(row.values()) for row in table(here(*words))]
    assert list(csv.reader(here(*words, "--format", "csv").splitlines()))[1:] == expected
    here(*words, "-o", folder / "x.parquet")
    here(*words, "-o", folder / "x.arrow")
    for read in (parquet.read_table(folder / "x.parquet"), feather.read_table(folder / "x.arrow")):
        assert read.schema.field("note").type in (pyarrow.string(), pyarrow.large_string())
        assert [list(row.values()) for row in read.to_pylist()] == expected
    found = python.sw(QUERY, DB, max_hits=200, evalue="none", annotate=folder / "table.tsv", fields=fields)
    assert [list(row.values()) for hits in found for row in hits] == expected
    with open(DB, "rb") as stream:
        found = python.sw(QUERY, stream, max_hits=200, evalue="none", fields=["query", "target", "organism"])
        assert [list(row.values()) for hits in found for row in hits] == [[row[0], row[1], row[3]] for row in expected]


def test_chosen_records_are_searched_as_a_file_of_them(folder):
    lines = [line.split("\t") for line in (folder / "table.tsv").read_text().splitlines()[1:]]
    taxids = {name: taxid for name, taxid, *_ in lines}
    common = max(set(GENES.values()) - {""}, key=list(GENES.values()).count)
    some = [ORGANISMS[name] for name in list(TITLES)[:40]]
    quoted = ",".join(f'"{one}"' for one in some)
    annotated = ["--annotate", folder / "table.tsv"]
    cases = [
        ([*annotated, "--where", "taxid=t1,t2"], lambda name: taxids.get(name) in ("t1", "t2")),
        (
            [*annotated, "--where", " taxid = t1 , t2", "--where", f"organism={quoted}"],
            lambda name: taxids.get(name) in ("t1", "t2") and ORGANISMS[name] in some,
        ),
        ([*annotated, "--where", "taxid="], lambda name: name not in taxids),
        (["--where", f"gene={common}"], lambda name: GENES[name] == common),
        (["--where", "gene="], lambda name: not GENES[name]),
        (
            [*annotated, "--where", "taxid=t0", "--exclude", list(TITLES)[3]],
            lambda name: taxids.get(name) == "t0" and name != list(TITLES)[3],
        ),
    ]
    for words, is_chosen in cases:
        chosen = [text for text in TEXTS if is_chosen(text[1:].split()[0])]
        assert 0 < len(chosen) < 200
        (folder / "part.fa").write_text("".join(chosen))
        expected = here(QUERY, folder / "part.fa", "--max-evalue", "10")
        assert here(QUERY, DB, "--max-evalue", "10", *words) == expected
        if not any("organism" in str(word) or "gene" in str(word) for word in words):
            assert here(QUERY, folder / "db.gpa", "--max-evalue", "10", *words) == expected
        assert here(QUERY, DB, "--all", *words) == here(QUERY, folder / "part.fa", "--all")
    by_name = {"organism": some, "taxid": "t1"}
    found = python.sw(QUERY, DB, annotate=folder / "table.tsv", where=by_name, max_hits=200, evalue="none", fields=["query", "target"])
    assert {row["target"] for hits in found for row in hits} == {
        name for name in TITLES if taxids.get(name) == "t1" and ORGANISMS[name] in some
    }


def test_translations_and_repeated_ids(tmp_path):
    names = [text.split()[0] for text in GENES_DB.read_text().split(">")[1:]]
    (tmp_path / "db.fa").write_text(
        ">short OS=none\nAC\n"
        + GENES_DB.read_text()
        + "".join(f">{names[1]}\n{text.split(chr(10), 1)[1]}" for text in GENES_DB.read_text().split(">")[3:4])
    )
    (tmp_path / "t.csv").write_text("id,colour\n" + "".join(f'{name},"c{k}, dark"\n' for k, name in enumerate(names)))
    words = [GENES_QUERY, tmp_path / "db.fa", "--allow-duplicates", "--annotate", tmp_path / "t.csv", "--fields", "target,colour"]
    for more in ([], ["--translate", "both"]):
        rows = table(here(*words, *more))
        assert {row["target"] for row in rows} >= {names[1], f"{names[1]}_2"}
        for row in rows:
            assert row["colour"] == ("" if row["target"] == "short" else f"c{names.index(row['target'].removesuffix('_2'))}, dark")
        chosen = table(here(*words, *more, "--where", 'colour="c1, dark"'))
        assert {row["target"] for row in chosen} == {names[1], f"{names[1]}_2"}


def test_whole_numbers_as_pandas_writes_them_beside_empty_cells(tmp_path):
    first, second, third = list(TITLES)[:3]
    (tmp_path / "taxa.tsv").write_text(f"id\ttaxid\n{first}\t9606.0\n{second}\t\n{third}\t10090.0\n")
    words = [QUERY, DB, *HITS, "--annotate", tmp_path / "taxa.tsv", "--where"]
    chosen = gpualign_here("sw", "--device", "cpu", *words, "taxid=9606,7,96", "--fields", "target,taxid")
    assert {tuple(row.values()) for row in table(chosen[0].decode())} == {(first, "9606.0")}
    assert "has taxid '7', '96'" in chosen[1]


def test_changed_annotations_are_other_input(folder, monkeypatch):
    monkeypatch.chdir(folder)
    words = [QUERY, DB, "--annotate", "table.tsv", "--fields", "target,note", "-o", "x.tsv", "--shard"]
    merge = ["merge", "x.tsv.1-of-2.part", "x.tsv.2-of-2.part", "-o", "x.tsv"]
    for k in (1, 2):
        here(*words, f"{k}/2")
    gpualign_here(*merge)
    assert (folder / "x.tsv").read_text() == here(*words[:-3])
    here(*words, "1/2")
    (folder / "table.tsv").write_text((folder / "table.tsv").read_text().replace("end", "END"))
    here(*words, "2/2")
    with pytest.raises(python.InputError, match="it was started with other input"):
        gpualign_here(*merge)


def test_wide_cells_are_written_a_few_at_a_time(tmp_path):
    (tmp_path / "db.fa").write_text("".join(f">s{k}\nMKVLAWGKRR\n" for k in range(3000)))
    (tmp_path / "q.fa").write_text(">q\nMKVLAWGKRR\n")
    (tmp_path / "t.tsv").write_text("id\tx\n" + "".join(f"s{k}\t{'x' * 30_000}\n" for k in range(3000)))
    words = [tmp_path / "q.fa", tmp_path / "db.fa", "--annotate", tmp_path / "t.tsv", "--fields", "target,x", "--max-hits", "3000"]
    done = gpualign("sw", *words, "--device", "cpu", "--evalue", "none", "--summary", tmp_path / "s.json", "-o", tmp_path / "x.tsv")
    assert b"3,000 hits" in done.stderr
    assert (tmp_path / "x.tsv").stat().st_size > 90_000_000
    import json

    assert json.loads((tmp_path / "s.json").read_text())["peak_memory"] < 200 << 20


def test_refusals(folder):
    good = folder / "table.tsv"
    for text, message in (
        ("", "empty; expected a line with the titles of the columns, and an id in each line that follows"),
        ("id\ttaxid\n", "only a line of titles; expected an id in each line that follows"),
        ("id\na\n", "line 1 has one column; expected an id and its annotations, delimited by tabs"),
        ("id\ttaxid\na\t1\nb\n", "line 3 has 1 columns, line 1 has 2"),
        ("id\ttaxid\ttaxid\na\t1\t2\n", "2 columns are called 'taxid'; give them different names"),
        ("id\ttaxid\na\t1\nb\t3\na\t2\n", "lines 2 and 4 differ in the annotations of 'a'"),
        ("id\ttaxid\na\t1\n", f"none of its ids is one of {DB}, whose first is {next(iter(TITLES))!r}"),
        (f"{next(iter(TITLES))}\ttaxid\na\t1\n", "the first line begins with the id of a record; expected the titles of the columns"),
    ):
        (folder / "bad.tsv").write_text(text)
        words = ["--annotate", folder / "bad.tsv", "--fields", "target,taxid"]
        assert refused(DB, *words) == f"{folder / 'bad.tsv'}: {message}"
    where = ["--annotate", good, "--where"]
    assert refused(DB, *where, "taxids=1") == (
        "--where: no column is called 'taxids'; there are taxid, note, gene, organism; did you mean taxid?"
    )
    assert refused(DB, *where, "taxid").startswith("--where taxid: expected a column and its values, as in taxid=9606,10090")
    assert refused(DB, *where, "taxid=nowhere") == f"{DB}: no record is left: --where leaves out all of them"
    assert refused(*where, "taxid=t1").startswith("--where selects records of a database")
    assert "no column is called 'nots'" in refused(DB, "--annotate", good, "--fields", "target,nots")
    assert refused(folder / "db.gpa", "--fields", "target,organism") == (
        f"{folder / 'db.gpa'}: no titles are known from which organism could be taken; search a FASTA file, or give a table with this"
        " column: --annotate"
    )
    assert "no column is called 'organism'" in gpualign("nw", DB, "--fields", "organism", check=False).stderr.decode()
    done = gpualign("sw", "--device", "cpu", QUERY, DB, *where, "taxid=t1,nowhere", "--fields", "target,length,note")
    assert b"no record of " + str(DB).encode() + b" has taxid 'nowhere'" in done.stderr
    with pytest.raises(python.InputError, match=r"no titles are known from which taxid could be taken"):
        python.sw(QUERY, python.read(DB), fields=["target", "taxid"])
    with pytest.raises(python.InputError, match=r"where: no column is called 'x'"):
        python.sw(QUERY, DB, where={"x": "1"})
    with pytest.raises(python.InputError, match=r"where: expected a dict of names and texts; found str"):
        python.sw(QUERY, DB, where="taxid=1")
