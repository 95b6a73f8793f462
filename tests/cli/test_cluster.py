"""`gpualign cluster`: the same clusters from sequences, lists and matrices; what it writes."""

import json
import re

import numpy as np
import pytest
from cluster_command import LIST, clusters, rows, write_small_files
from command import gpualign, gpualign_here, shell
from goldens import CORE

import gpualign as package

pytest.importorskip("scipy")


@pytest.fixture
def folder(tmp_path):
    write_small_files(tmp_path)
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
    direct = rows(gpualign_here("cluster", small_16s, *words, "--min-coverage", 0)[0])
    for given in (["--edges", identities / "list.tsv"], ["--distances", identities / "m.npz"]):
        found, _ = gpualign_here("cluster", small_16s, *given, *words)
        assert clusters(found) == {row["id"]: int(row["cluster"]) for row in direct}
    assert 4 < len({row["cluster"] for row in direct}) < 60
    here = package.cluster(small_16s, method=method, min_coverage=0, **{threshold: value})
    assert (here.labels + 1).tolist() == [int(row["cluster"]) for row in direct]
    assert here.to_frame()["representative"].tolist() == [row["representative"] for row in direct]
    assert [f"{value:.6f}" for value in here.distances] == [row["distance"] for row in direct]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
@pytest.mark.parametrize(
    ("far", "near", "mean"), [(0.4, 0.2, 0.3), (0.14, 0.06, 0.1), (0.5, 0.1, 0.3), (0.13, 0.01, 0.07), (0.9, 0.2, 0.55), (60, 10, 35)]
)
def test_means_at_the_threshold_of_rounded_matrices(tmp_path, kind, far, near, mean):
    """The third record is at this mean from the first two; a threshold somewhat below leaves it alone, whatever the type of the matrix."""
    matrix = np.array([[0, 0.001, near], [0.001, 0, far], [near, far, 0]])
    for name, values, options in (("d", matrix, ["--max-distance"]), ("i", 1 - matrix, ["--min-identity"])):
        if name == "i" and far > 1:
            continue
        np.save(tmp_path / f"{name}.npy", values.astype(kind))
        for limit, count in ((mean, 1), (0.99 * mean, 2)):
            at = limit if name == "d" else 1 - limit
            words = ["cluster", "-q", "--distances", f"{name}.npy", "--method", "average", *options, f"{at:.6g}"]
            assert len(set(clusters(gpualign(*words, cwd=tmp_path).stdout).values())) == count, (name, limit)


@pytest.mark.parametrize("title", ["distance", "identity"])
def test_means_at_a_threshold_of_more_decimals_than_the_list(title):
    """Pairs at 2/30, in a group with a far pair."""
    near, far = ("0.066667", "0.900000") if title == "distance" else ("0.933333", "0.100000")
    listed = f"query\ttarget\t{title}\na\tb\t{near}\na\tc\t{far}\nb\tc\t{near}\n".encode()
    for at, found in ((2 / 30, {"a": 1, "b": 1, "c": 2}), (0.0666664, {"a": 1, "b": 2, "c": 3})):
        words = ["cluster", "--edges", "-", "--max-distance", repr(at), "--method", "average"]
        assert clusters(gpualign(*words, stdin=listed).stdout) == found


def test_python_takes_its_own_matrices(small_16s):
    genes = package.read(small_16s)
    found = package.cluster(genes, min_identity=0.8, min_coverage=0, method="average")
    again = package.cluster(package.nw(genes, value="identity"), min_identity=0.8, method="average")
    assert again.labels.tolist() == found.labels.tolist()
    assert again.members(0) == [genes.ids[0]]
    calls = np.array([[0, 1, 2, 0], [0, 2, 2, 1], [0, 1, 2, 0]])
    assert package.cluster(package.dist(calls), max_distance=1).labels.tolist() == [0, 1, 0]
    edits = package.nw(genes[:9], scoring=package.EDIT)
    assert package.cluster(edits, scoring=package.EDIT, max_distance=300).sizes.sum() == 9


@pytest.mark.parametrize(
    ("words", "joined"),
    [
        (["--min-identity", "0.97"], False),
        (["--max-distance", "0.03"], False),
        (["--min-identity", "0.97", "--method", "greedy"], False),
        (["--min-identity", "0.97", "--min-coverage", "0"], True),
        (["--min-identity", "0.97", "--min-coverage", "0.1"], True),
        (["--min-identity", "0.97", "--identity-def", "0"], False),
        (["--edit", "--max-distance", "500"], True),
    ],
)
def test_a_fragment_joins_no_clusters(rng, tmp_path, words, joined):
    """50 letters that two unrelated genes share, unless any coverage will do."""
    shared, *own = ("".join(rng.choice(list("ACGT"), size)) for size in (50, 400, 400))
    (tmp_path / "x.fa").write_text(f">gene\n{own[0]}{shared}\n>other\n{own[1]}{shared}\n>fragment\n{shared}\n")
    out, messages = gpualign_here("cluster", tmp_path / "x.fa", *words)
    assert (len(set(clusters(out).values())) < 3) == joined
    assert ("at least 0.8 of each sequence" in messages) == (not joined)
    assert "--min-coverage 0 takes any" in messages or joined


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
    assert package.cluster(folder / "genes.fa", scoring=package.EDIT, max_distance=1).labels.tolist() == [0, 0, 0, 1]
    assert package.cluster(package.nw(folder / "genes.fa", scoring=package.EDIT), scoring=package.EDIT, max_distance=1).labels.tolist() == [
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


@pytest.mark.parametrize(
    ("words", "content", "note"),
    [
        (
            ["--max-distance", "12"],
            "distance\na\tb\t2\nb\tc\t1\n",
            "the farthest pair is at 2; for clusters at 12 it must have been written with",
        ),
        (
            ["--levels", "10,4"],
            "distance\na\tb\t2\n",
            "the farthest pair is at 2; for clusters at 10 it must have been written with --max-distance 10 or more",
        ),
        (["--max-distance", "3"], "distance\na\tb\t2\n", None),
        (["--max-distance", "0"], "distance\na\tb\t0\n", None),
        (["--max-distance", "12"], "distance\n", None),
        (
            ["--min-identity", "0.9"],
            "identity\na\tb\t0.98\n",
            "the lowest identity is 0.98; for clusters at 0.9 it must have been written with",
        ),
        (["--min-identity", "0.95"], "identity\na\tb\t0.96\n", None),
    ],
)
def test_a_list_that_may_lack_pairs_is_noted(tmp_path, words, content, note):
    """Written with a smaller distance than the clusters have, it has no pairs in between."""
    (tmp_path / "near.tsv").write_text(f"query\ttarget\t{content}")
    (tmp_path / "ids.txt").write_text("a\nb\nc\n")
    _, said = gpualign_here("cluster", "--edges", tmp_path / "near.tsv", "--ids", tmp_path / "ids.txt", *words, "-o", tmp_path / "x.tsv")
    assert (f"near.tsv: {note}" in said) if note else ("must have been written" not in said)


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
    assert b"4 records, 2 near pairs with a centroid, 2 clusters" in found.stderr
    hits = [line.split("\t") for line in (tmp_path / "x.uc").read_text().splitlines() if line[0] == "H"]
    assert [(hit[3], hit[7], hit[8], hit[9]) for hit in hits] == [("97.0", "100M", "b", "a"), ("97.0", "100M", "d", "a")]
    turned = gpualign(*words, "--order", "input", stdin=b"", cwd=tmp_path)
    assert turned.stdout == found.stdout


@pytest.mark.parametrize("method", ["single", "complete", "average"])
@pytest.mark.parametrize(
    "words", [["--edit", "--max-distance", "3"], ["--max-distance", "0.1"], ["--max-distance", "0.1", "--strand", "both"]]
)
def test_copies_of_records_cluster_as_the_list_of_all_pairs_does(rng, tmp_path, monkeypatch, method, words):
    """Each copy is a record of its own in the list of all pairs, with ids, counts and representatives in the order of the input."""
    monkeypatch.chdir(tmp_path)
    ancestor = rng.integers(0, 4, 40)
    family = [ancestor]
    while len(family) < 12:
        copy = family[rng.integers(len(family))].copy()
        copy[rng.integers(40, size=2)] = rng.integers(0, 4, 2)
        family.append(copy)
    records = ["".join("ACGT"[code] for code in family[k]) for k in rng.integers(0, len(family), 60)]
    (tmp_path / "x.fa").write_text("".join(f">r{k}\n{text}\n" for k, text in enumerate(records)))
    direct = gpualign_here("cluster", "x.fa", *words, "--method", method, "--summary", "s.json")
    listed = ["--edit"] if "--edit" in words else ["--fields", "query,target,distance", *words[2:]]
    gpualign_here("nw", "x.fa", *listed, "-o", "list.tsv")
    given = gpualign_here("cluster", "x.fa", "--edges", "list.tsv", *words[:-2] if "--strand" in words else words, "--method", method)
    assert direct[0] == given[0]
    told = [output[1].split(" records, ")[1].split("largest of")[0] for output in (direct, given)]
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
    assert "\nestimate   " in found
    assert re.search(
        r"method     single\nnear pairs up to [0-9,]+ in memory, more in a temporary file, 16 bytes each\noutput     about ", found
    )
    assert not (folder / "x.tsv").exists()


def test_one_record(folder):
    (folder / "one.fa").write_text(">a\nACGT\n")
    for method in ("single", "complete", "average", "greedy"):
        found = gpualign("cluster", "one.fa", "--min-identity", "0.9", "--method", method, cwd=folder).stdout.decode()
        assert found.splitlines()[1:] == ["a\t1\t1\ta\t0.000000"]


@pytest.mark.parametrize(
    "titles",
    [
        "ID1,ID2,Distance",
        "source,target,distance",
        "Sample1,Sample2,Distance",
        "item1,item2,distance",
        "Var1,Var2,Distance",
        "Query,Target,Distance",
    ],
)
def test_lists_with_titles_of_other_programs(tmp_path, titles):
    """HIV-TRACE, MicrobeTrace, Gephi, SKA and R have titles of their own. As genotypes these lists are refused, not read as alleles."""
    (tmp_path / "x.csv").write_text(f"{titles}\n101,102,11\n103,104,12\n")
    rows, _ = gpualign_here("cluster", "-q", "--edges", tmp_path / "x.csv", "--max-distance", "11")
    assert [line.split(b"\t")[:2] for line in rows.splitlines()[1:]] == [[b"101", b"1"], [b"102", b"1"], [b"103", b"2"], [b"104", b"3"]]
    done = gpualign("dist", tmp_path / "x.csv", check=False)
    assert done.returncode == 2
    assert b"x.csv is a list of pairs; gpualign cluster with --edges makes clusters of it" in done.stderr


@pytest.mark.parametrize(
    "listed",
    [
        "Sample1\tSample2\tDistance\tMismatches\na\tb\t1\t0.1\na\tc\t7\t0.2\n",
        "Mismatches\tTARGET\tQUERY\tDistance\n0.1\ta\tb\t1\n0.2\ta\tc\t7\n",
        ",item1,item2,distance\n0,a,b,1\n1,a,c,7\n",
        "query,target,Distance,distance\na,b,9,1\na,c,0,7\n",
        '"query" "target" "distance"\n"r1" "a" "b" 1\n"r2" "a" "c" 7\n',
        "# made, by x 1\n#\n\n# query\ttarget\tdistance\na\tb\t1\na\tc\t7\n",
        "\ufeff# made\tby x\r\nquery,target,distance\r\na,b,1\r\na,c,7\r\n",
        "#query target distance\na b 1\na c 7\n",
        "query,target,distance\na,b,1\na,c,\n",
    ],
)
def test_headers_of_lists(listed):
    assert clusters(gpualign("cluster", "--edges", "-", "--max-distance", "2", stdin=listed.encode()).stdout) == {"a": 1, "b": 1, "c": 2}


@pytest.mark.parametrize("listed", ["#a\tb\t1\n#a\tc\t7\n", "# a,b,1\n# a,c,7\n"])
def test_ids_that_begin_like_comments(listed):
    assert list(clusters(gpualign("cluster", "--edges", "-", "--max-distance", "2", stdin=listed.encode()).stdout).values()) == [1, 1, 2]


@pytest.mark.parametrize(
    ("listed", "limit"),
    [
        ("query\ttarget\tdistance\na\ta\t3e-8\na\tb\t-2.2e-16\na\tc\t1\n", ("--max-distance", "0.05")),
        ("query\ttarget\tidentity\na\ta\t1\na\tb\t1.0000000000000002\na\tc\t-3e-17\n", ("--min-identity", "0.97")),
    ],
)
def test_rounding_errors_in_lists(listed, limit):
    assert clusters(gpualign("cluster", "--edges", "-", *limit, stdin=listed.encode()).stdout) == {"a": 1, "b": 1, "c": 2}


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
        b"standard input names 0 records; a record that is in no pair is in no cluster: --ids FILE names all records, or give the sequences"
        in done.stderr
    )
    assert gpualign(*words, "--format", "uc", stdin=b"query\ttarget\tscore\n").stdout == b""
    (folder / "two.fa").write_text(">a\nACGT\n>b\nACGA\n")
    found = gpualign(*words, folder / "two.fa", stdin=b"query\ttarget\tscore\n").stdout
    assert clusters(found) == {"a": 1, "b": 2}
    refused = gpualign("tree", "--edges", "-", "--method", "mst", stdin=b"query\ttarget\tdistance\n", check=False)
    assert (refused.returncode, refused.stderr) == (
        2,
        b"gpualign: error: --edges -: a header and no pairs; a tree needs records\n",
    )


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
