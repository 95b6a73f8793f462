"""`gpualign sw` in a part of a database: the same as in a file of that part."""

import gzip
import math

import numpy as np
import pytest
from command import gpualign, gpualign_here
from goldens import GENES_DB, GENES_QUERY
from goldens import PROTEINS_DB as DB
from goldens import PROTEINS_QUERY as QUERY

import gpualign as python

WHOLE = ["--max-hits", "200", "--fields", "query,target,score,bits,evalue,cigar"]


def records_of(path):
    """(id, record as text) of each record of a FASTA file."""
    return [(text.split()[0], f">{text}") for text in path.read_text().split(">")[1:]]


def here(*words):
    return gpualign_here("sw", "-q", "--device", "cpu", *words)[0].decode()


def refused(*words):
    """The message of a command that writes nothing."""
    done = gpualign("sw", "-q", "--device", "cpu", *words, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    return done.stderr.decode().removeprefix("gpualign: error: ").strip()


@pytest.fixture
def part(tmp_path, rng):
    """Ids, in another order than in the database, and a file of their records in that of the database."""
    chosen = sorted(rng.permutation(200)[:60].tolist())
    every = records_of(DB)
    (tmp_path / "part.fa").write_text("".join(every[k][1] for k in chosen))
    names = [every[k][0] for k in chosen]
    (tmp_path / "ids.txt").write_text("\ufeff# listed\n" + "".join(f"{name} \r\n\n" for name in rng.permutation(names)))
    (tmp_path / "rest.txt.gz").write_bytes(gzip.compress("".join(f"{name}\n" for name, _ in every if name not in names).encode()))
    gpualign_here("index", "-q", DB, "-o", tmp_path / "db.gpa")
    return tmp_path, names


def test_a_part_is_searched_as_a_file_of_it(part):
    folder, names = part
    expected = gpualign("sw", "-q", "--device", "cpu", QUERY, folder / "part.fa", *WHOLE).stdout
    assert len(expected.splitlines()) > 100
    for database in (DB, folder / "db.gpa"):
        for words in (["--targets", folder / "ids.txt"], ["--exclude", folder / "rest.txt.gz"]):
            assert gpualign("sw", "-q", "--device", "cpu", QUERY, database, *WHOLE, *words).stdout == expected
        one_by_one = [word for name in names for word in ("--targets", name)]
        assert here(QUERY, database, *WHOLE, *one_by_one).encode() == expected
        both = ["--targets", folder / "ids.txt", "--exclude", names[0], "--exclude", names[1]]
        fewer = [word for name in names[2:] for word in ("--targets", name)]
        assert here(QUERY, database, *WHOLE, *both) == here(QUERY, folder / "part.fa", *WHOLE, *fewer)
    (folder / "r.txt").write_text("".join(f'"{name}"\n' for name in names))  # as R's write.table without names of rows and columns
    assert here(QUERY, DB, *WHOLE, "--targets", folder / "r.txt").encode() == expected
    piped = gpualign("sw", "-q", QUERY, DB, *WHOLE, "--targets", "-", stdin=(folder / "ids.txt").read_bytes())
    assert piped.stdout == expected


def test_thresholds_scores_and_translations_of_a_part(part, rng):
    folder, _ = part
    chosen = ["--targets", folder / "ids.txt"]
    for database in (DB, folder / "db.gpa"):
        for words in (["--max-evalue", "0.5"], ["--all"], ["--evalue", "estimate"]):
            assert here(QUERY, database, *words, *chosen) == here(QUERY, folder / "part.fa", *words)
    names = [name for name, _ in records_of(GENES_DB)]
    (folder / "genes.fa").write_text("".join(text for name, text in records_of(GENES_DB) if name in names[2:5]) + ">short\nAC\n")
    (folder / "more.fa").write_text(">short\nAC\n" + "".join(text for _, text in records_of(GENES_DB)))
    selected = [word for name in [*names[2:5], "short"] for word in ("--targets", name)]
    for words in ([], ["--translate", "both"]):
        assert here(GENES_QUERY, folder / "more.fa", *words, *selected) == here(GENES_QUERY, folder / "genes.fa", *words)


def test_repeated_ids_are_selected_together(tmp_path):
    letters = [text.split("\n", 1)[1] for _, text in records_of(DB)[:5]]
    names = ["a", "b", "a", "a_2", "a"]
    for name, some in (("one", names), ("first", names[:2])):
        (tmp_path / f"{name}.fa").write_text("".join(f">{name}\n{text}" for name, text in zip(some, letters, strict=False)))
    (tmp_path / "second.fa").write_text("".join(f">{name}\n{text}" for name, text in zip(names[2:], letters[2:], strict=True)))
    (tmp_path / "files.txt").write_text(f"{tmp_path / 'first.fa'}\n{tmp_path / 'second.fa'}\n")

    def found(*words):
        return {line.split("\t")[1] for line in here(QUERY, *words, "--allow-duplicates", "--fields", "query,target").splitlines()[1:]}

    for database in (tmp_path / "one.fa", f"@{tmp_path / 'files.txt'}"):
        every = found(database)
        assert len(every) == 5
        assert len(found(database, "--targets", "a")) == 3
        assert found(database, "--targets", "a_2") < found(database, "--targets", "a", "--targets", "a_2")
        assert found(database, "--exclude", "a") == {"b", "a_2"}
        assert found(database, "--targets", "b") == {"b"}


def test_evalues_of_a_database_of_another_size(part):
    """With the finite-size correction, only the letters count: those of the whole database give its E-values."""
    folder, names = part
    letters = sum(len("".join(text.split("\n")[1:])) for _, text in records_of(DB))
    whole = [line for line in here(QUERY, DB, *WHOLE).splitlines() if line.split("\t")[1] in {"target", *names}]
    stated = here(QUERY, folder / "db.gpa", *WHOLE, "--targets", folder / "ids.txt", "--evalue-letters", letters)
    assert stated.splitlines() == whole
    hits = next(python.sw([python.read(QUERY)[0]], DB, targets=names, evalue_letters=10 * letters, fields=["target", "evalue"]))
    plain = next(python.sw([python.read(QUERY)[0]], DB, targets=names, evalue_letters=letters, fields=["target", "evalue"]))
    assert hits["target"] == plain["target"]
    np.testing.assert_allclose(hits["evalue"], 10 * plain["evalue"])


@pytest.mark.parametrize("words", [[], ["--translate", "both"]])
def test_records_are_scaled_with_the_letters(words):
    """For nucleotides, E-values also depend on the number of records, which doubles with the number of letters."""
    letters = sum(len("".join(text.split("\n")[1:])) for _, text in records_of(GENES_DB))
    fields = ["--fields", "query,qlen,target,bits,evalue", *words]
    plain = here(GENES_QUERY, GENES_DB, *fields)
    assert here(GENES_QUERY, GENES_DB, *fields, "--evalue-letters", letters) == plain
    if words:
        return
    for factor in (1, 7, 1000):
        for line in here(GENES_QUERY, GENES_DB, *fields, "--evalue-letters", factor * letters).splitlines()[1:]:
            _, length, _, bits, evalue = line.split("\t")
            query, total, count = int(length), factor * letters, 6 * factor

            def holds(n, query=query, total=total, count=count):
                space = 0.068 * (query - n) * (total - count * n)  # 5/-4 with gaps 10/6
                return space > 0 and n <= 1.0 / 0.163 * math.log(space) - 19

            spaces = [(query - n) * (total - count * n) for n in range(query) if holds(n) or n == 0]
            assert float(evalue) == pytest.approx(2 * spaces[-1] * 2 ** -float(bits), rel=0.05)


def test_refusals(part):
    folder, names = part
    (folder / "wrong.txt").write_text(f"{names[0]}\nno_such\nnor_this\nx\ny\nz\n")
    (folder / "empty.txt").write_text("# nothing\n")
    message = f"{folder / 'wrong.txt'}: line 2: no record 'no_such' in {DB}, nor 'nor_this', 'x', 'y' and 1 more"
    assert refused(QUERY, DB, "--targets", folder / "wrong.txt") == message
    assert refused(QUERY, folder / "db.gpa", "--exclude", folder / "wrong.txt") == message.replace(str(DB), str(folder / "db.gpa"))
    assert refused(QUERY, DB, "--targets", "ids.tx") == f"--targets ids.tx (which is no file): no record 'ids.tx' in {DB}"
    accession = names[0].split("|")[1]
    assert refused(QUERY, DB, "--targets", accession).endswith(f"no record {accession!r} in {DB}; ids are whole words such as {names[0]!r}")
    assert refused(QUERY, DB, "--targets", folder / "empty.txt") == f"--targets {folder / 'empty.txt'}: no ids; expected one per line"
    assert refused(QUERY, DB, "--targets", names[0], "--exclude", names[0]) == (
        f"{DB}: no record is left: --targets and --exclude leave out all of them"
    )
    assert refused(QUERY, "--targets", names[0]).startswith("--targets selects records of a database, and the queries are searched against")
    assert refused(QUERY, DB, "--evalue", "none", "--evalue-letters", 5) == "--evalue-letters needs E-values"
    assert refused(QUERY, DB, "--all", "--evalue-letters", 5).startswith("--evalue-letters applies to hits")
    with pytest.raises(python.InputError, match=r"targets: no record 'no_such' in "):
        python.sw([python.read(QUERY)[0]], DB, targets=["no_such"])
    with pytest.raises(python.InputError, match=r"exclude selects records of a database"):
        python.sw(python.read(QUERY), exclude=["x"])
    with pytest.raises(python.InputError, match=r"no record is left: targets leaves out all of them"):
        python.sw(python.read(QUERY), DB, targets=[])
    rewritten = refused(QUERY, DB, "--targets", folder / "ids.txt", "-o", folder / "ids.txt", "--format", "tsv")
    assert "ids.txt" in rewritten
    assert (folder / "ids.txt").read_text().startswith("\ufeff# listed")


def test_a_part_is_resumed_only_as_it_was(part, monkeypatch):
    folder, names = part
    monkeypatch.chdir(folder)
    merge = ["merge", "x.tsv.1-of-2.part", "x.tsv.2-of-2.part", "-o", "x.tsv"]
    for k in (1, 2):
        here(QUERY, DB, "--targets", "ids.txt", "-o", "x.tsv", "--shard", f"{k}/2")
    gpualign_here(*merge)
    assert (folder / "x.tsv").read_text() == here(QUERY, "part.fa")
    for k in (1, 2):
        here(QUERY, DB, "--targets", "ids.txt", "-o", "x.tsv", "--shard", f"{k}/2")
    here(QUERY, DB, "--targets", names[0], "-o", "x.tsv", "--shard", "2/2")
    with pytest.raises(python.InputError, match=r"it was started with --targets"):
        gpualign_here(*merge)
    (folder / "ids.txt").write_text(f"{names[0]}\n")
    here(QUERY, DB, "--targets", "ids.txt", "-o", "x.tsv", "--shard", "2/2")
    with pytest.raises(python.InputError, match="it was started with other input"):
        gpualign_here(*merge)
