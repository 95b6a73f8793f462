"""`gpualign cluster`: what it refuses, with the message, and nothing written."""

import re

import numpy as np
import pytest
from cluster_command import clusters, refused, write_small_files
from command import gpualign_here

import gpualign as package
from gpualign.core.common.errors import InputError

pytest.importorskip("scipy")


@pytest.fixture
def folder(tmp_path):
    write_small_files(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["genes.fa"],
            "cluster needs one threshold, --max-distance or --min-identity: say --min-identity 0.97, or --edit with --max-distance 3\n",
        ),
        (["--edges", "list.tsv"], "say --max-distance 12, or --min-identity 0.97 for identities\n"),
        (["list.tsv", "--max-distance", "3"], "list.tsv is a list of pairs; read it with --edges: gpualign cluster --edges list.tsv\n"),
        (
            ["list.tsv", "--max-distance", "0.1"],
            "list.tsv is a list of pairs; expected FASTA or FASTQ; gpualign cluster --edges reads it\n",
        ),
        (["genes.fa", "--max-distance", "0.1", "--min-identity", "0.9"], "--max-distance or --min-identity; found both"),
        (["--max-distance", "1"], "nothing to cluster"),
        (["--edges", "list.tsv", "--distances", "list.tsv", "--max-distance", "1"], "give only one of them"),
        (
            ["genes.fa", "--max-distance", "3"],
            "--max-distance is 1 - identity, from 0 to 1; found 3: for at most 3 edits add --edit; 3 % is 0.03;"
            " gpualign dist counts the SNPs of aligned sequences",
        ),
        (["genes.fa", "--min-identity", "97"], "97 % is 0.97"),
        (["genes.fa", "--edit", "--max-distance", "1.5"], "--max-distance: expected a whole number, 0 or more; found 1.5"),
        (["--edges", "list.tsv", "--max-distance", "-1"], "--max-distance: expected 0 or more; found -1"),
        (
            ["genes.fa", "--min-identity", "0.9", "--order", "size"],
            "--order is for greedy centroids; it cannot be combined with --method single",
        ),
        (["--edges", "list.tsv", "--max-distance", "1", "--method", "greedy", "--order", "length"], "the lengths are not known"),
        (["--edges", "list.tsv", "--max-distance", "1", "--method", "greedy", "--order", "size"], "no id has an abundance"),
        (["--edges", "list.tsv", "--max-distance", "1", "--gap-open", "3"], "--gap-open applies to alignments; with --edges"),
        (["--edges", "list.tsv", "--max-distance", "1", "--format", "fasta"], "fasta needs sequences, and there are none"),
        (["--edges", "list.tsv", "--max-distance", "1", "--representatives", "x.fa"], "--representatives needs sequences"),
        (["--edges", "list.tsv", "--min-identity", "0.9"], "the columns are query, target, distance; expected a column identity"),
        (
            ["--edges", "list.tsv", "--max-distance", "9", "--method", "average"],
            "and 'a' and 'c' have none: write all pairs, without a threshold",
        ),
        (["genes.fa", "--min-identity", "0.9", "-o", "x.uc", "--uc", "x.uc"], "name the same file"),
        (["genes.fa", "--min-identity", "0.9", "-o", "genes.fa"], "is also an input"),
        (["genes.fa", "--min-identity", "0.9", "-o", "x.clstr"], "end it in .tsv, .csv, .parquet, .arrow, .feather, .uc, .fasta, .fa"),
        (
            ["genes.fa", "--edges", "list.tsv", "--max-distance", "1"],
            "list.tsv: line 2 names 'a', which is not among the given records",
        ),
        (["--edges", "none.tsv", "--max-distance", "1"], "none.tsv: no such file"),
        (["-", "--edges", "-", "--max-distance", "1"], "standard input"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage(folder, words, message):
    assert message in refused(words, folder)


def test_matrices_are_not_sequences(folder):
    np.save(folder / "m.npy", np.zeros((2, 2)))
    assert "m.npy is a NumPy matrix; read it with --distances: gpualign cluster --distances m.npy\n" in refused(
        ["m.npy", "--max-distance", "2"], folder
    )


def assert_unreadable(folder, monkeypatch, option, content, message):
    """A file of these contents is refused with the message, and nothing is written: in this process; `refused` has the exit code."""
    monkeypatch.chdir(folder)
    (folder / "x").write_text(content)
    before = sorted(folder.rglob("*"))
    with pytest.raises(InputError, match=re.escape(message)):
        gpualign_here("cluster", option, "x", "--max-distance", "1")
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "x: empty file; expected a list of pairs"),
        ("\n\n", "x: empty file; expected a list of pairs"),
        ("query\ttarget\tscore\na\tb\t3\n", "x: the columns are query, target, score; scores are not distances: say --edit"),
        ("query\ttarget\na\tb\n", "x: the columns are query, target; expected a column distance or identity"),
        (
            "Source,Target,Weight\na,b,3\n",
            "x: the columns are Source, Target, Weight; expected a column distance or identity; give this title to",
        ),
        (
            "level_0,level_1,0\na,b,3\n",
            "x: the columns are level_0, level_1, 0; expected a column distance or identity; give this title to the column",
        ),
        (
            "0,1,2\na,b,3\na,c,4\n",
            "x: line 1 may be a pair, or the numbers of columns as pandas writes them; write a header: query, target, distance",
        ),
        (
            "Var1,Var2,value\na,b,3\n",
            "x: the columns are Var1, Var2, value; expected a column distance or identity; give this title to the column",
        ),
        ("query target distance\nr1 1 2 5\n", "x: line 2 has 4 columns; expected 3, as in line 1"),
        ("query target distance\nr1 a b 5\nr1 a c 5\n", "x: line 2 has 4 columns; expected 3, as in line 1"),
        ("# x\nquery\ttarget\tdistance\na\tb\tfar\n", "x: line 3: expected a distance, a number of 0 or more, found 'far'"),
        ("id\tother\tvalue\na\tb\t1\n", "x: line 1 is 'id, other, value'; expected a header with the columns query and target"),
        ("a\tb\t90\t10\t1\t0\t1\t10\t1\t10\t1e-9\t50\n", "x: 12 columns without names; expected two ids and a distance"),
        ("a\tb\t1\t0.5\t456 of 1000\n", "x: 5 columns without names"),
        ("a\tb\t1\textra\n", "x: 4 columns without names"),
        ("a\tb\t1\na\ta\t0.0001\n", "x: line 2: 'a' is at a distance of 0.0001 from itself"),
        ("a\tb\t1\na\ta\t23\n", "x: line 2: 'a' is at a distance of 23 from itself; two records may have this id, or the values are"),
        ("a\tb\t97.5\na\tc\t31\n", "x: fractions from 1 to 100 without a title may be percent identities (BLAST, fastANI)"),
        ("a\tb\t1\na\tc\n", "x: line 2 has 2 columns; expected 3, as in the first line"),
        ("a\tb\t1\na\tc\tfar\n", "x: line 2: expected a distance, a number of 0 or more, found 'far'"),
        ("a\tb\t1\na\tc\t0,5\n", "expected a distance, a number of 0 or more, found '0,5'; write a point in decimals"),
        ("a\tb\t0,5\n", "x: line 1: expected a distance, found '0,5'; write a point in decimals"),
        ('query,target,distance\na,b,"1,234"\n', "found '1,234', which may be 1234 with commas between thousands or a decimal"),
        ("a\tb\t1\na\tc\t-1\n", "x: line 2: expected a distance, a number of 0 or more, found '-1'"),
        ("a\tb\t1\na\tc\tinf\n", "x: line 2: expected a distance, a number of 0 or more, found 'inf'"),
        ("a\tb\t1_000\n", "x: line 1 is"),
        ("query\ttarget\tidentity\na\tb\t97.5\n", "x: line 2: expected an identity from 0 to 1, found '97.5'"),
        ("a,b,1\nc,a,2\nb,a,3\n", "x: lines 1 and 3 have 1 and 3 for 'a' and 'b'; a pair has one value"),
        ("a,b,0.33333333\nb,a,0.33333332\n", "x: lines 1 and 2 have 0.33333333 and 0.33333332 for 'a' and 'b'; a pair has one value"),
        ("a\0b", "x: a binary file; expected a list of pairs, as .tsv or .csv"),
        (  # as paste joins two lists
            "query\ttarget\tdistance\tquery\ttarget\tdistance\na\tb\t1\ta\tb\t9\n",
            "x: 2 columns are called 'query'; delete or rename all but one",
        ),
    ],
    ids=range(31),
)
def test_bad_lists(folder, monkeypatch, content, message):
    assert_unreadable(folder, monkeypatch, "--edges", content, message)


def test_an_infinite_distance_is_no_decimal_comma(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "x").write_text("a\tb\t1\na\tc\tinf\n")
    with pytest.raises(InputError, match=r"found 'inf'$"):
        gpualign_here("cluster", "--edges", "x", "--max-distance", "1")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\ta\tb\na\t0\t1\nb\t2\t0\n", "x: not symmetric: 'a' to 'b' is 1, the other way 2; expected distances within one set"),
        ("\ta\tb\na\t0\t0.33333333\nb\t0.33333332\t0\n", "'a' to 'b' is 0.33333333, the other way 0.33333332"),
        ("\ta\tb\nc\t0\t1\nd\t1\t0\n", "x: 2 rows and 2 columns, and 'a' is only in the columns"),
        ("\ta\tb\nb\t0\t1\na\t1\t0\n", "x: rows and columns are in different orders"),
        ("\ta\tb\na\t9\t5\nb\t5\t8\n", "x: holds scores, kinships or percent identities, which are not distances"),
        (",a,b,c\na,0,-1,5e6\nb,-1,0,5e6\nc,5e6,5e6,0\n", "x: expected distances that are finite and not negative, found -1 for 'a'"),
        ("\ta\tb\na\t0\tinf\nb\tinf\t0\n", "x: expected distances that are finite and not negative, found inf for 'a' and 'b'; write nan"),
        ("3\na 0 2 1\nb 2 0 -1\nc 1 -1 0\n", "x: expected distances that are finite and not negative, found -1 for 'b' and 'c'"),
        ("\ta\tb\tc\na\t0\t1\t2\nb\t1\t0\t3\n", "x: 2 rows and 3 columns, and 'c' is only in the columns"),
        ("\ta\ta\tb\na\t0\t1\t2\nb\t1\t0\t3\n", "x: 2 rows and 3 columns; expected"),
        ("\ta\tb\na\t0\tx\nb\tx\t0\n", "x: line 2: expected a number, found 'x'"),
        ("\ta\ta\na\t0\t1\na\t1\t0\n", "x: records 1 and 2 have the same id 'a'"),
        ("\ta\t\na\t0\t1\n\t1\t0\n", "x: line 3 has an empty id"),
    ],
    ids=range(13),
)
def test_bad_matrices(folder, monkeypatch, content, message):
    assert_unreadable(folder, monkeypatch, "--distances", content, message)


@pytest.mark.parametrize("diagonal", [100, 7])
def test_matrices_with_a_diagonal_are_no_edit_distances(folder, diagonal):
    (folder / "m.tsv").write_text(f"\ta\tb\na\t0\t3\nb\t3\t{diagonal}\n")
    message = refused(["--distances", "m.tsv", "--edit", "--max-distance", "60"], folder)
    assert f"m.tsv: holds scores, kinships or percent identities, not edit distances: 'b' is at {diagonal} from itself; write" in message
    assert "--edit" not in refused(["--distances", "m.tsv", "--min-identity", "0.97"], folder)


def test_identities_without_a_diagonal_are_not_called_distances(folder):
    gpualign_here("nw", "-q", folder / "genes.fa", "--value", "identity", "--condensed", "-o", folder / "i.npy")
    message = refused(["--distances", "i.npy", "--min-identity", "0.9"], folder)
    assert "i.npy: has no diagonal, so its values are taken for distances; if they are identities, write the square" in message
    gpualign_here("nw", "-q", folder / "genes.fa", "--value", "identity", "--condensed", "-o", folder / "i.npz")
    assert gpualign_here("cluster", "-q", "--distances", folder / "i.npz", "--min-identity", "0.9")[0]


def test_records_of_the_matrix_and_the_sequences_are_the_same(folder):
    (folder / "m.tsv").write_text("\ta\tb\na\t0\t1\nb\t1\t0\n")
    message = refused(["genes.fa", "--distances", "m.tsv", "--max-distance", "1"], folder)
    assert "m.tsv: 'a' is only in the matrix; both must have the same records" in message
    assert "--min-identity is about identities, and these are distances" in refused(
        ["--distances", "m.tsv", "--min-identity", "0.9"], folder
    )


def test_without_scipy_the_option_is_told(folder, monkeypatch):
    from importlib import util

    from command import gpualign_here

    find = util.find_spec
    monkeypatch.setattr("gpualign.jobs.cluster.find_spec", lambda name: None if name == "scipy" else find(name))
    with pytest.raises(package.InputError, match=r"--method single needs scipy: pip install 'gpualign\[linkage\]'"):
        gpualign_here("cluster", folder / "genes.fa", "--min-identity", "0.9")
    out, _ = gpualign_here("cluster", folder / "genes.fa", "--min-identity", "0.9", "--method", "greedy")
    assert list(clusters(out).values()) == [1, 1, 1, 2]


def test_bad_arguments_in_python():
    for words, message in (
        ({"method": "ward"}, "method 'ward'"),
        ({"order": "name"}, "order 'name'"),
        ({"identity_def": 7}, "identity_def 7"),
        ({"min_identity": 0.9, "max_distance": 0.1}, "found both"),
    ):
        with pytest.raises(package.InputError, match=message):
            package.cluster(["ACGT", "ACGA"], **words)
    scores = package.nw(["ACGT", "ACGA"])
    with pytest.raises(package.InputError, match="a matrix of scores"):
        package.cluster(scores, max_distance=1)
    with pytest.raises(package.InputError, match="a matrix of scores, not edit distances, because records are not at 0 from themselves"):
        package.cluster(scores, scoring=package.EDIT, max_distance=1)
    with pytest.raises(package.InputError, match="a matrix of two sets"):
        package.cluster(package.nw(["ACGT"], ["ACGA"], value="distance"), max_distance=1)


@pytest.mark.parametrize(
    ("ids", "words", "message"),
    [
        ("a\nb\n", ("--edges", "near.tsv"), "near.tsv: line 2 names 'c', which is not among the given records"),
        ("a\nb\na\n", ("--edges", "near.tsv"), "ids: 'a' is on lines 1 and 3"),
        ("\n", ("--edges", "near.tsv"), "ids: no ids; expected one per line"),
        ("a\tx\nb\ty\n", ("--edges", "near.tsv"), "ids: line 1 has a control character, .* in the id"),
        ("id\nb\nc\nd\n", ("--edges", "near.tsv"), "ids: 'id' in the first line may be a title; delete it"),
        ('"Sample"\n"b"\n"c"\n"d"\n', ("--edges", "near.tsv"), "ids: 'Sample' in the first line may be a title; delete it"),
        ("a\n", ("--distances", "near.tsv"), "--ids is for the pairs of --edges"),
        ("a\n", ("near.tsv", "--edges", "near.tsv"), "--ids is for the pairs of --edges; SEQS already lists their records"),
    ],
)
def test_ids_that_do_not_fit(tmp_path, monkeypatch, ids, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "near.tsv").write_text("query\ttarget\tdistance\nb\tc\t1\nc\td\t9\n")
    (tmp_path / "ids").write_text(ids)
    with pytest.raises(InputError, match=message):
        gpualign_here("cluster", *words, "--max-distance", "2", "--ids", "ids")


def test_whole_numbers_that_may_be_percent_identities_are_told(tmp_path):
    note = (
        "x: its whole numbers from 70 to 100, without a title, are taken for distances; if they are percent identities, write 100 - value"
    )
    for text, expected in (("a\tb\t100.000\na\tc\t97\n", True), ("a\tb\t100\na\tc\t12\n", False), ("a\ta\t0\n", False)):
        (tmp_path / "x").write_text(text)
        assert (note in gpualign_here("tree", "--edges", tmp_path / "x", "--method", "mst")[1]) == expected
