"""`gpualign cluster`: the same clusters from sequences, lists and matrices; what it writes; what it refuses."""

import csv
import io
import json
import re

import numpy as np
import pytest
from command import gpualign, gpualign_here, shell
from goldens import CORE

import gpualign as package
from gpualign.core.common.errors import InputError

pytest.importorskip("scipy")

GENES = ">a;size=1\nACGTACGTACGTACGT\n>b;size=7\nACGTACGTACGAACGT\n>c;size=2\nACGTACGTACGAACGA\n>d\nTTTTTTTTTTTTTTTTT\n"
LIST = "query\ttarget\tdistance\na\tb\t1\nb\tc\t2\nc\td\t9\n"


def rows(output):
    return list(csv.DictReader(io.StringIO(output.decode()), delimiter="\t"))


def clusters(output):
    """The cluster of each record of a table."""
    return {row["id"]: int(row["cluster"]) for row in rows(output)}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "genes.fa").write_text(GENES)
    (tmp_path / "list.tsv").write_text(LIST)
    return tmp_path


# ---- where distances are from


@pytest.fixture(scope="module")
def identities(tmp_path_factory, small_16s):
    """All identities of genes: a list and a matrix."""
    folder = tmp_path_factory.mktemp("identities")
    gpualign("nw", small_16s, "--fields", "query,target,score,identity", "-o", folder / "list.tsv")
    gpualign("nw", small_16s, "--value", "identity", "-o", folder / "m.npz")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "threshold", "value"),
    [
        ("single", "min_identity", 0.8),
        ("complete", "min_identity", 0.8),
        ("average", "min_identity", 0.8),
        ("average", "max_distance", 0.2),
        ("greedy", "max_distance", 0.2),
    ],
)
def test_sequences_lists_and_matrices_agree(identities, small_16s, method, threshold, value):
    words = [f"--{threshold.replace('_', '-')}", value, "--method", method]
    direct = rows(gpualign("cluster", small_16s, *words).stdout)
    for given in (["--edges", "list.tsv"], ["--distances", "m.npz"]):
        found = gpualign("cluster", small_16s, *given, *words, cwd=identities)
        assert clusters(found.stdout) == {row["id"]: int(row["cluster"]) for row in direct}
    assert 4 < len({row["cluster"] for row in direct}) < 60
    here = package.cluster(small_16s, method=method, **{threshold: value})
    assert (here.labels + 1).tolist() == [int(row["cluster"]) for row in direct]
    assert here.to_frame()["representative"].tolist() == [row["representative"] for row in direct]
    assert [f"{value:.6f}" for value in here.distances] == [row["distance"] for row in direct]


@pytest.mark.slow
def test_python_takes_its_own_matrices(small_16s):
    genes = package.read(small_16s)
    found = package.cluster(genes, min_identity=0.8, method="average")
    again = package.cluster(package.nw(genes, value="identity"), min_identity=0.8, method="average")
    assert again.labels.tolist() == found.labels.tolist()
    assert again.members(0) == [genes.ids[0]]
    calls = np.array([[0, 1, 2, 0], [0, 2, 2, 1], [0, 1, 2, 0]])
    assert package.cluster(package.dist(calls), max_distance=1).labels.tolist() == [0, 1, 0]
    edits = package.nw(genes[:9], scoring=package.EDIT)
    assert package.cluster(edits, package.EDIT, max_distance=300).sizes.sum() == 9


@pytest.mark.parametrize(
    "words", [["--max-distance", "2"], ["--max-distance", "2", "--compared", "--format", "csv"], ["--format", "molten"]], ids=" ".join
)
def test_lists_of_dist_are_taken_also_joined_by_cat(words):
    """Near pairs, between tabs or commas, or every pair in both orders; records without near pairs are those of the sequences."""
    listed = gpualign("dist", CORE, *words).stdout
    found = gpualign("cluster", "--edges", "-", CORE, "--degap", "--max-distance", "2", stdin=listed + listed).stdout
    matrix = gpualign("dist", CORE).stdout
    assert clusters(found) == clusters(gpualign("cluster", "--distances", "-", "--max-distance", "2", stdin=matrix).stdout)


def test_edit_distances(folder):
    words = ["--edit", "--max-distance", "1"]
    direct = clusters(gpualign("cluster", "genes.fa", *words, cwd=folder).stdout)
    assert list(direct.values()) == [1, 1, 1, 2]
    gpualign("nw", "--edit", "genes.fa", "-o", "edges.tsv", cwd=folder)
    gpualign("nw", "--edit", "genes.fa", "-o", "m.npy", cwd=folder)
    gpualign("nw", "--edit", "--condensed", "genes.fa", "-o", "c.npz", cwd=folder)
    for given in (["--edges", "edges.tsv"], ["--distances", "m.npy"], ["--distances", "c.npz"]):
        assert clusters(gpualign("cluster", *given, *words, cwd=folder).stdout) == direct
    assert package.cluster(folder / "genes.fa", package.EDIT, max_distance=1).labels.tolist() == [0, 0, 0, 1]
    assert package.cluster(package.nw(folder / "genes.fa", scoring=package.EDIT), package.EDIT, max_distance=1).labels.tolist() == [
        0,
        0,
        0,
        1,
    ]


def test_the_list_alone_knows_what_it_names(folder):
    found = gpualign("cluster", "--edges", "list.tsv", "--max-distance", "2", cwd=folder)
    assert found.stdout.decode().splitlines() == [
        "id\tcluster\tsize\trepresentative\tdistance",
        *("a\t1\t3\tb\t1", "b\t1\t3\tb\t0", "c\t1\t3\tb\t2", "d\t2\t1\td\t0"),
    ]
    assert b"4 records, 2 near pairs, 2 clusters: 1 singleton, the largest of 3\n" in found.stderr


def test_a_pair_without_a_distance_is_not_near(folder):
    (folder / "m.tsv").write_text("\ta\tb\tc\na\t0\t1\tnan\nb\t1\t0\t1\nc\tnan\t1\t0\n")
    done = gpualign("cluster", "--distances", "m.tsv", "--max-distance", "1", "--method", "complete", cwd=folder)
    assert sorted(clusters(done.stdout).values()) in ([1, 1, 2], [1, 2, 2])
    assert b"1 pair has no distance, and is not near" in done.stderr
    done = gpualign("cluster", "--distances", "m.tsv", "--max-distance", "1", "--method", "average", cwd=folder, check=False)
    assert done.returncode == 2
    assert b"takes the mean of all distances, and 'a' and 'c' have none: make the matrix without such records" in done.stderr


def test_orders_of_greedy_centroids(folder):
    words = ["cluster", "genes.fa", "--edit", "--max-distance", "1", "--method", "greedy"]

    def centroids(*more):
        return [row["representative"][0] for row in rows(gpualign(*words, *more, cwd=folder).stdout)]

    assert centroids("--order", "size") == ["b", "b", "b", "d"]
    assert centroids("--order", "input") == ["a", "a", "c", "d"]
    assert centroids() == centroids("--order", "length") == ["b", "b", "b", "d"]


def test_identical_records_follow_the_first_of_them(tmp_path):
    """Though a centroid that comes later is nearer: d is b, and b joins a before c becomes a centroid."""
    ancestor = "CAACCAACGCAGTGGTGGCCGGCGTCTTTATGTGTTATACCCAGTCAATAATGTCCGACGGCGTTGTAGTCATTTAGAGAATAGCTTTAATATCTGAAAG"
    one = ancestor[:20] + "T" + ancestor[21:40] + "G" + ancestor[41:60] + "T" + ancestor[61:]
    other = one[:30] + "A" + one[31:70] + "G" + one[71:]
    (tmp_path / "x.fa").write_text(f">a\n{ancestor}\n>b\n{one}\n>c\n{other}\n>d\n{one}\n")
    words = ["cluster", "x.fa", "--edit", "--max-distance", "3", "--method", "greedy"]
    found = gpualign(*words, "--uc", "x.uc", cwd=tmp_path)
    assert [(row["representative"], row["distance"]) for row in rows(found.stdout)] == [("a", "0"), ("a", "3"), ("c", "0"), ("a", "3")]
    assert b"4 records, 5 near pairs, 2 clusters" in found.stderr
    hits = [line.split("\t") for line in (tmp_path / "x.uc").read_text().splitlines() if line[0] == "H"]
    assert [(hit[3], hit[7], hit[8], hit[9]) for hit in hits] == [("97.0", "100M", "b", "a"), ("97.0", "100M", "d", "a")]
    turned = gpualign(*words, "--order", "input", stdin=b"", cwd=tmp_path)
    assert turned.stdout == found.stdout


@pytest.mark.parametrize("method", ["single", "complete", "average"])
@pytest.mark.parametrize(
    "words", [["--edit", "--max-distance", "3"], ["--max-distance", "0.1"], ["--max-distance", "0.1", "--strand", "both"]]
)
def test_copies_of_records_cluster_as_the_list_of_all_pairs_does(rng, tmp_path, method, words):
    """Each copy is a record of its own in the list of all pairs, with ids, counts and representatives in the order of the input."""
    ancestor = rng.integers(0, 4, 40)
    family = [ancestor]
    while len(family) < 12:
        copy = family[rng.integers(len(family))].copy()
        copy[rng.integers(40, size=2)] = rng.integers(0, 4, 2)
        family.append(copy)
    records = ["".join("ACGT"[code] for code in family[k]) for k in rng.integers(0, len(family), 60)]
    (tmp_path / "x.fa").write_text("".join(f">r{k}\n{text}\n" for k, text in enumerate(records)))
    direct = gpualign("cluster", "x.fa", *words, "--method", method, "--summary", "s.json", cwd=tmp_path)
    listed = ["--edit"] if "--edit" in words else ["--fields", "query,target,distance", *words[2:]]
    gpualign("nw", "x.fa", *listed, "-o", "list.tsv", cwd=tmp_path)
    given = gpualign(
        "cluster", "x.fa", "--edges", "list.tsv", *words[:-2] if "--strand" in words else words, "--method", method, cwd=tmp_path
    )
    assert direct.stdout == given.stdout
    told = [output.stderr.decode().split(" records, ")[1].split("largest of")[0] for output in (direct, given)]
    assert told[0] == told[1]
    assert json.loads((tmp_path / "s.json").read_text())["results"]["pairs"] == 60 * 59 // 2
    assert len(set(records)) < 20


# ---- what is written


def test_all_outputs_at_once(folder):
    done = gpualign(
        *("cluster", "genes.fa", "--min-identity", "0.9", "-o", "t.tsv.gz", "--uc", "x.uc", "--representatives", "r.fa"), cwd=folder
    )
    assert done.stdout == b""
    text = shell("zcat t.tsv.gz", cwd=folder).stdout
    assert clusters(text) == {"a;size=1": 1, "b;size=7": 1, "c;size=2": 1, "d": 2}
    assert (folder / "r.fa").read_text() == ">b;size=7\nACGTACGTACGAACGT\n>d\nTTTTTTTTTTTTTTTTT\n"
    lines = [line.split("\t") for line in (folder / "x.uc").read_text().splitlines()]
    assert {len(line) for line in lines} == {10}
    assert [line[0] for line in lines] == ["S", "H", "H", "S", "C", "C"]
    assert lines[1] == ["H", "0", "16", "93.8", "+", "0", "0", "16M", "a;size=1", "b;size=7"]
    assert lines[4] == ["C", "0", "3", "*", "*", "*", "*", "*", "b;size=7", "*"]


@pytest.mark.parametrize("words", [["--representatives", "r.fa"], ["-o", "r.fa"], ["--edges", "list.tsv", "--representatives", "r.fa"]])
def test_representatives_keep_their_header_lines(folder, words):
    (folder / "x.fa").write_text(">b;size=7 E. coli  16S\tgene \nacgtacgtacga\n>a\nACGTACGTACGA\n>c of\nGG\n>d\nTTTTTTTTTTTTTTTTT\n")
    (folder / "list.tsv").write_text("query\ttarget\tscore\nb;size=7\ta\t0\n")
    gpualign("cluster", "x.fa", "--edit", "--max-distance", "1", *words, cwd=folder)
    expected = [">b;size=7 E. coli  16S gene", "ACGTACGTACGA", ">c of", "GG", ">d", "TTTTTTTTTTTTTTTTT"]
    assert (folder / "r.fa").read_text().splitlines() == expected


@pytest.mark.parametrize("fractions", [False, True])
def test_tables_of_typed_columns(folder, fractions):
    """In files and on standard output: what the text says, with nothing rounded, and null where a distance is not known."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    pairs = folder / "pairs.tsv"
    pairs.write_text(LIST.replace("\t1\n", "\t0.123456789\n") if fractions else LIST)
    words = ["cluster", "--edges", pairs, "--max-distance", "2", "--method", "single"]
    told = rows(gpualign(*words).stdout)
    gpualign(*words, "-o", folder / "c.parquet")
    gpualign(*words, "-o", folder / "c.arrow")
    streamed = pa.ipc.open_stream(gpualign(*words, "--format", "arrow").stdout).read_all()
    for table in (parquet.read_table(folder / "c.parquet"), feather.read_table(folder / "c.arrow"), streamed):
        assert table.column_names == list(told[0])
        found = table.to_pylist()
        assert [(row["id"], row["cluster"], row["size"], row["representative"]) for row in found] == [
            (row["id"], int(row["cluster"]), int(row["size"]), row["representative"]) for row in told
        ]
        assert [f"{row['distance']:{'.6f' if fractions else 'd'}}" if row["distance"] is not None else "nan" for row in found] == [
            row["distance"] for row in told
        ]


def test_paths_in_uc_are_those_of_the_centroid(folder):
    """As vsearch tells them: I is a letter of the centroid alone; and = is the same sequence."""
    (folder / "x.fa").write_text(">short\nACGTTGCATGCA\n>long\nACGTTGACATGCA\n>same\nACGTTGACATGCA\n")
    words = ["cluster", "x.fa", "--edit", "--max-distance", "1", "--format", "uc", "--method", "greedy"]
    lines = [line.split("\t") for line in gpualign(*words, cwd=folder).stdout.decode().splitlines()]
    assert [line[7] for line in lines if line[0] == "H"] == ["6MI6M", "="]
    lines = [line.split("\t") for line in gpualign(*words, "--order", "input", cwd=folder).stdout.decode().splitlines()]
    assert [line[7] for line in lines if line[0] == "H"] == ["6MD6M", "6MD6M"]


def test_uc_without_alignments_says_what_is_known(folder):
    (folder / "i.tsv").write_text("query\tidentity\ttarget\na\t0.98\tb\n")
    found = gpualign("cluster", "--edges", "i.tsv", "--min-identity", "0.97", "--format", "uc", cwd=folder).stdout.decode()
    assert found.splitlines()[1] == "H\t0\t*\t98.0\t+\t0\t0\t*\tb\ta"
    found = gpualign("cluster", "--edges", "list.tsv", "--max-distance", "1", "--format", "uc", cwd=folder).stdout.decode()
    assert found.splitlines()[1] == "H\t0\t*\t*\t+\t0\t0\t*\tb\ta"


def test_dry_run_says_what_would_be_done(folder):
    found = gpualign("cluster", "genes.fa", "--min-identity", "0.9", "--dry-run", "-o", "x.tsv", cwd=folder).stdout.decode()
    assert "pairs      6\n" in found
    assert found.endswith("method     single\n")
    assert not (folder / "x.tsv").exists()


def test_one_record(folder):
    (folder / "one.fa").write_text(">a\nACGT\n")
    for method in ("single", "complete", "average", "greedy"):
        found = gpualign("cluster", "one.fa", "--min-identity", "0.9", "--method", method, cwd=folder).stdout.decode()
        assert found.splitlines()[1:] == ["a\t1\t1\ta\t0.000000"]


# ---- what is refused


def refused(words, folder, code=2):
    before = sorted(folder.rglob("*"))
    done = gpualign("cluster", *words, check=False, cwd=folder)
    assert done.returncode == code
    assert done.stdout == b""
    assert sorted(folder.rglob("*")) == before
    assert b"Traceback" not in done.stderr
    return done.stderr.decode()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["genes.fa"], "cluster wants one threshold, --max-distance or --min-identity\n"),
        (["genes.fa", "--max-distance", "0.1", "--min-identity", "0.9"], "--max-distance or --min-identity; found both"),
        (["--max-distance", "1"], "nothing to cluster"),
        (["--edges", "list.tsv", "--distances", "list.tsv", "--max-distance", "1"], "give one of them"),
        (["genes.fa", "--max-distance", "3"], "--max-distance is 1 - identity, from 0 to 1; found 3 (3 % is 0.03)"),
        (["genes.fa", "--min-identity", "97"], "97 % is 0.97"),
        (["genes.fa", "--edit", "--max-distance", "1.5"], "edit distances are whole numbers"),
        (["--edges", "list.tsv", "--max-distance", "-1"], "--max-distance is a distance from 0 on; found -1"),
        (
            ["genes.fa", "--min-identity", "0.9", "--order", "size"],
            "--order is of greedy centroids; it cannot be combined with --method single",
        ),
        (["--edges", "list.tsv", "--max-distance", "1", "--method", "greedy", "--order", "length"], "the lengths are not known"),
        (["--edges", "list.tsv", "--max-distance", "1", "--method", "greedy", "--order", "size"], "no id has its abundance"),
        (["--edges", "list.tsv", "--max-distance", "1", "--gap-open", "3"], "--gap-open is of alignments; with --edges nothing is aligned"),
        (["--edges", "list.tsv", "--max-distance", "1", "--format", "fasta"], "fasta writes sequences, and there are none"),
        (["--edges", "list.tsv", "--max-distance", "1", "--representatives", "x.fa"], "--representatives writes sequences"),
        (["--edges", "list.tsv", "--min-identity", "0.9"], "the columns are query, target, distance; the column identity is wanted"),
        (
            ["--edges", "list.tsv", "--max-distance", "9", "--method", "average"],
            "and 'a' and 'c' have none: write all pairs, without a threshold",
        ),
        (["genes.fa", "--min-identity", "0.9", "-o", "x.uc", "--uc", "x.uc"], "name the same file"),
        (["genes.fa", "--min-identity", "0.9", "-o", "genes.fa"], "is also an input"),
        (["genes.fa", "--min-identity", "0.9", "-o", "x.clstr"], "end it in .tsv, .csv, .parquet, .arrow, .feather, .uc, .fasta, .fa"),
        (
            ["genes.fa", "--edges", "list.tsv", "--max-distance", "1"],
            "list.tsv: line 2 names 'a', which is none of the records that were given",
        ),
        (["--edges", "none.tsv", "--max-distance", "1"], "none.tsv: no such file"),
        (["-", "--edges", "-", "--max-distance", "1"], "standard input"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage(folder, words, message):
    assert message in refused(words, folder)


def test_lists_of_mash():
    """Each genome with itself too, with a P-value and how many hashes are shared."""
    pairs = [("a", "a", "0", "1000/1000"), ("a", "b", "0.022", "456/1000"), ("a", "c", "1", "0/1000"), ("b", "b", "1e-16", "999/1000")]
    listed = "".join(f"{one}\t{other}\t{distance}\t1e-9\t{shared}\n" for one, other, distance, shared in pairs)
    found = gpualign("cluster", "--edges", "-", "--max-distance", "0.05", stdin=listed.encode()).stdout
    assert clusters(found) == {"a": 1, "b": 1, "c": 2}


@pytest.mark.parametrize("method", ["single", "complete", "average", "greedy"])
def test_a_list_in_which_nothing_is_near(folder, method):
    """What `dist --max-distance 0` writes of samples that all differ; with the sequences each is a cluster."""
    words = ["cluster", "--edges", "-", "--edit", "--max-distance", "0", "--method", method]
    done = gpualign(*words, stdin=b"query\ttarget\tscore\n")
    assert done.stdout == b"id\tcluster\tsize\trepresentative\tdistance\n"
    assert (
        b"- names 0 records; a record that is in no pair is in no cluster: --ids FILE names all records, or give the sequences"
        in done.stderr
    )
    assert gpualign(*words, "--format", "uc", stdin=b"query\ttarget\tscore\n").stdout == b""
    (folder / "two.fa").write_text(">a\nACGT\n>b\nACGA\n")
    found = gpualign(*words, folder / "two.fa", stdin=b"query\ttarget\tscore\n").stdout
    assert clusters(found) == {"a": 1, "b": 2}
    refused = gpualign("tree", "--edges", "-", "--method", "mst", stdin=b"query\ttarget\tdistance\n", check=False)
    assert (refused.returncode, refused.stderr) == (
        2,
        b"gpualign: error: --edges -: a header and no pairs; without records there is no tree\n",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "x: empty file; expected a list of pairs"),
        ("\n\n", "x: empty file; expected a list of pairs"),
        ("query\ttarget\tscore\na\tb\t3\n", "x: the columns are query, target, score; scores are no distances: say --edit"),
        ("query\ttarget\na\tb\n", "x: the columns are query, target; the column distance or identity is wanted"),
        ("id\tother\tvalue\na\tb\t1\n", "x: line 1 is 'id, other, value'; expected a header with the columns query and target"),
        ("a\tb\t90\t10\t1\t0\t1\t10\t1\t10\t1e-9\t50\n", "x: 12 columns without names; a list without a header is of two ids"),
        ("a\tb\t1\t0.5\t456 of 1000\n", "x: 5 columns without names"),
        ("a\tb\t1\textra\n", "x: 4 columns without names"),
        ("a\tb\t1\na\ta\t23\n", "x: line 2: 'a' is at a distance of 23 from itself; two records may have this id"),
        ("a\tb\t1\na\tc\n", "x: line 2 has 2 columns; expected 3, as in the first line"),
        ("a\tb\t1\na\tc\tfar\n", "x: line 2: 'far' where a distance, a number from 0 on, is expected"),
        ("a\tb\t1\na\tc\t-1\n", "x: line 2: '-1' where a distance"),
        ("a\tb\t1\na\tc\tinf\n", "x: line 2: 'inf' where a distance"),
        ("a\tb\t1_000\n", "x: line 1 is"),
        ("query\ttarget\tidentity\na\tb\t97.5\n", "x: line 2: '97.5' where an identity from 0 to 1 is expected"),
        ("a,b,1\nc,a,2\nb,a,3\n", "x: lines 1 and 3 say 1 and 3 of 'a' and 'b'; a pair has one value"),
        ("a\0b", "x: a binary file; expected a list of pairs, as .tsv or .csv"),
    ],
    ids=range(17),
)
def test_bad_lists(folder, content, message):
    (folder / "x").write_text(content)
    assert message in refused(["--edges", "x", "--max-distance", "1"], folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\ta\tb\na\t0\t1\nb\t2\t0\n", "x: not symmetric: 'a' to 'b' is 1, the other way 2; distances of one set with itself are wanted"),
        ("\ta\tb\nc\t0\t1\nd\t1\t0\n", "x: the rows are of 2 records and the columns of 2 others"),
        ("\ta\tb\nb\t0\t1\na\t1\t0\n", "x: the rows are in another order than the columns"),
        ("\ta\tb\na\t9\t5\nb\t5\t8\n", "x: holds scores or kinships, which are no distances"),
        ("\ta\tb\na\t0\tinf\nb\tinf\t0\n", "x: holds inf; distances are finite and not negative"),
        ("\ta\tb\na\t0\tx\nb\tx\t0\n", "x: line 2: 'x' is no number"),
        ("\ta\ta\na\t0\t1\na\t1\t0\n", "x: records 1 and 2 have the same id 'a'"),
        ("\ta\t\na\t0\t1\n\t1\t0\n", "x: line 3 has an empty id"),
    ],
    ids=range(8),
)
def test_bad_matrices(folder, content, message):
    (folder / "x").write_text(content)
    assert message in refused(["--distances", "x", "--max-distance", "1"], folder)


def test_records_of_the_matrix_and_the_sequences_are_the_same(folder):
    (folder / "m.tsv").write_text("\ta\tb\na\t0\t1\nb\t1\t0\n")
    message = refused(["genes.fa", "--distances", "m.tsv", "--max-distance", "1"], folder)
    assert "m.tsv: 'a' is only in the matrix; both are to have the same records" in message
    assert "--min-identity is about identities, and these are distances" in refused(
        ["--distances", "m.tsv", "--min-identity", "0.9"], folder
    )


def test_a_linkage_that_takes_more_than_the_memory_is_refused(tmp_path):
    chain = "".join(f"r{k}\tr{k + 1}\t1\n" for k in range(2000))
    (tmp_path / "chain").write_text(chain)
    message = refused(["--edges", "chain", "--max-distance", "1", "--method", "complete", "--memory", "1M"], tmp_path, code=1)
    assert "2,001 records are connected, and complete linkage of them takes" in message
    found = gpualign("cluster", "--edges", "chain", "--max-distance", "1", "--method", "complete", "--memory", "100M", cwd=tmp_path)
    assert max(np.bincount(list(clusters(found.stdout).values()))) == 2


@pytest.fixture(scope="module")
def crowds(tmp_path_factory):
    """Files of records that are all near each other: the same 5,000 times, and 3,000 that are different."""
    folder, random = tmp_path_factory.mktemp("crowds"), np.random.default_rng(1)
    ancestor = random.integers(0, 4, 100)
    family = np.repeat(ancestor[None], 3000, axis=0)
    for _ in range(3):
        family[np.arange(3000), random.integers(0, 100, 3000)] = random.integers(0, 4, 3000)
    for name, codes in (("same", [ancestor] * 5000), ("alike", family)):
        texts = ("".join("ACGT"[code] for code in record) for record in codes)
        (folder / name).write_text("".join(f">r{k}\n{text}\n" for k, text in enumerate(texts)))
    return folder


@pytest.mark.parametrize("method", ["single", "complete", "average", "greedy"])
@pytest.mark.parametrize(("name", "memory", "pairs"), [("same", 32, 5000 * 4999 // 2), ("alike", 200, 3000 * 2999 // 2)])
def test_records_that_are_all_near_fit_the_memory(crowds, tmp_path, method, name, memory, pairs):
    """Some hundred megabytes are what Python, NumPy and scipy take."""
    words = ["--edit", "--max-distance", "6", "--method", method, "--threads", "2", "--device", "cpu", "--memory", f"{memory}M"]
    found = gpualign("cluster", crowds / name, *words, "--summary", tmp_path / "s.json").stdout
    assert set(clusters(found).values()) == {1}
    told = json.loads((tmp_path / "s.json").read_text())
    assert told["results"]["near_pairs"] == pairs
    assert told["peak_memory"] < (memory + 120) << 20


def test_near_pairs_that_do_not_fit_the_memory_are_refused(crowds, tmp_path):
    words = ["--edit", "--max-distance", "6", "--memory", "32M", "--threads", "1", "--device", "cpu"]
    message = refused([crowds / "alike", *words], tmp_path, code=1)
    assert re.search(r"records are near: they take about 5\d\.\d MiB of memory, 16 bytes each, and may take half of it, 15.8 MiB", message)
    assert re.search(r"choose a nearer threshold, or raise --memory to 12\d\.\d MiB or more", message)
    (tmp_path / "long").write_text("".join(f"a{k}\tb{k}\t1\n" for k in range(20_000)))
    words = ["--max-distance", "6", "--memory", "1M"]
    message = refused(["--edges", "long", *words], tmp_path, code=1)
    assert "long: the list is too long for the memory: reading takes 96 bytes a pair, and there are more lines than 10,922" in message
    matrix = "\n".join([*("\t".join([f"r{k}", *["0"] * 400]) for k in range(400))])
    (tmp_path / "matrix").write_text("\t".join(["", *(f"r{k}" for k in range(400))]) + "\n" + matrix + "\n")
    assert "too many pairs of 400 records are near" in refused(["--distances", "matrix", *words], tmp_path, code=1)


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
    with pytest.raises(package.InputError, match="a matrix of two sets"):
        package.cluster(package.nw(["ACGT"], ["ACGA"], value="distance"), max_distance=1)


def test_records_that_are_in_no_pair(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "near.tsv").write_text("query\ttarget\tdistance\nb\tc\t1\nc\td\t9\n")
    (tmp_path / "ids").write_text("\ufeffa\r\nb\r\n\r\nc\r\nd\r\ne\r\n")
    words = ("cluster", "--edges", "near.tsv", "--max-distance", "2")
    out, messages = gpualign_here(*words)
    assert [line.split("\t")[:2] for line in out.decode().splitlines()[1:]] == [["b", "1"], ["c", "1"], ["d", "2"]]
    assert "near.tsv names 3 records; a record that is in no pair is in no cluster: --ids FILE names all records" in messages
    out, messages = gpualign_here(*words, "--ids", "ids")
    assert [line.split("\t")[:2] for line in out.decode().splitlines()[1:]] == [["a", "1"], ["b", "2"], ["c", "2"], ["d", "3"], ["e", "4"]]
    assert "4 clusters: 3 singletons" in messages
    assert "names" not in messages


@pytest.mark.parametrize(
    ("ids", "words", "message"),
    [
        ("a\nb\n", ("--edges", "near.tsv"), "near.tsv: line 2 names 'c', which is none of the records that were given"),
        ("a\nb\na\n", ("--edges", "near.tsv"), "ids: 'a' is on lines 1 and 3"),
        ("\n", ("--edges", "near.tsv"), "ids: no ids; expected one per line"),
        ("a\n", ("--distances", "near.tsv"), "--ids is for the pairs of --edges"),
        ("a\n", ("near.tsv", "--edges", "near.tsv"), "--ids is for the pairs of --edges, whose records SEQS has already"),
    ],
)
def test_ids_that_do_not_fit(tmp_path, monkeypatch, ids, words, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "near.tsv").write_text("query\ttarget\tdistance\nb\tc\t1\nc\td\t9\n")
    (tmp_path / "ids").write_text(ids)
    with pytest.raises(InputError, match=message):
        gpualign_here("cluster", *words, "--max-distance", "2", "--ids", "ids")
