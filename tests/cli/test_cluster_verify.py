"""`gpualign cluster --verify`: what breaks a threshold in clusters of this and of other programs, and --fix."""

import itertools
import json
import shutil
import subprocess

import pytest
from cluster_command import clusters, refused, rows
from command import gpualign, gpualign_here

GENES = ">a\nACGTACGTACGTACGT\n>b\nACGTACGTACGAACGT\n>c\nACGTACGTACGAACGA\n>d\nTTTTTTTTTTTTTTTTT\n>e\nACGTACGTACGTACGT\n"
"""a to b 1, b to c 1, a to c 2, e equals a."""
EDITS = ["genes.fa", "--edit", "--max-distance", "1"]
HEADER = "problem\tcluster\tid\tother_cluster\tother\tdistance\n"
THRESHOLD = ["--min-identity", "0.97"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "genes.fa").write_text(GENES)
    (tmp_path / "pairs.tsv").write_text("a\ta\na\tb\na\tc\nd\td\ne\te\n")
    (tmp_path / "right.tsv").write_text("b\ta\nb\tb\nb\tc\nb\te\nd\td\n")
    return tmp_path


def verify(folder, *words):
    done = gpualign("cluster", *words, cwd=folder)
    return done.stdout.decode(), done.stderr.decode()


def test_what_is_listed(folder):
    listed, said = verify(folder, *EDITS, "--verify", "pairs.tsv")
    assert listed == f"{HEADER}far\ta\tc\ta\ta\t2\nnear\ta\ta\te\te\t0\n"
    assert "pairs.tsv: two columns, representatives and members, verified as by --method greedy" in said
    assert "5 records, 4 near pairs, 3 clusters; problems: 1 far, 1 near, 0 missing" in said


def test_clusters_without_problems(folder):
    listed, said = verify(folder, *EDITS, "--verify", "right.tsv")
    assert listed == HEADER
    assert "problems: 0 far, 0 near, 0 missing" in said


def test_a_table_of_this_program_is_verified_as_it_was_made(folder):
    pytest.importorskip("scipy")
    for method in ("single", "greedy"):
        gpualign("cluster", *EDITS, "--method", method, "-o", f"{method}.tsv", cwd=folder)
    assert verify(folder, *EDITS, "--verify", "single.tsv")[0] == HEADER
    assert verify(folder, *EDITS, "--verify", "greedy.tsv", "--method", "greedy")[0] == HEADER
    assert verify(folder, *EDITS, "--verify", "greedy.tsv")[0] == f"{HEADER}joined\t1\tb\t2\tc\t1\n"


def test_connections(folder):
    pytest.importorskip("scipy")
    (folder / "clusters.csv").write_text("id,cluster\na,x\nd,x\nb,y\nc,y\n")
    listed, said = verify(folder, *EDITS, "--verify", "clusters.csv")
    assert listed == f"{HEADER}split\tx\td\tx\ta\tnan\njoined\tx\ta\ty\tb\t1\nmissing\t\te\t\t\tnan\n"
    assert "clusters.csv: a table, verified as by --method single" in said
    assert "problems: 1 split, 1 joined, 1 missing" in said


def test_fixed_clusters(folder):
    fixed, said = verify(folder, *EDITS, "--verify", "pairs.tsv", "--fix")
    assert clusters(fixed.encode()) == {"a": 1, "b": 1, "c": 2, "d": 3, "e": 1}
    assert "3 clusters: 2 singletons, the largest of 3, 2 records changed" in said
    (folder / "fixed.tsv").write_text(fixed)
    assert verify(folder, *EDITS, "--verify", "fixed.tsv", "--method", "greedy")[0] == HEADER


def test_fixed_clusters_of_a_right_file_are_its_own(folder):
    fixed, said = verify(folder, *EDITS, "--verify", "right.tsv", "--fix", "--representatives", "otus.fa", "--uc", "otus.uc")
    assert {row["id"]: row["representative"] for row in rows(fixed.encode())} == {"a": "b", "b": "b", "c": "b", "d": "d", "e": "b"}
    assert "0 records changed" in said
    assert (folder / "otus.fa").read_text() == ">b\nACGTACGTACGAACGT\n>d\nTTTTTTTTTTTTTTTTT\n"
    assert verify(folder, *EDITS, "--verify", "otus.uc")[0] == HEADER


def test_the_order_of_new_representatives(folder):
    (folder / "genes.fa").write_text(">r\nCCCCCCCCCC\n>x;size=1\nACGTACGT\n>y;size=9\nACGTACGA\n")
    (folder / "one.tsv").write_text("r\tr\nr\tx;size=1\nr\ty;size=9\n")
    chosen = [
        [row["representative"] for row in rows(verify(folder, *EDITS, "--verify", "one.tsv", "--fix", *words)[0].encode())]
        for words in ([], ["--order", "size"], ["--order", "input"])
    ]
    assert chosen == [["r", "y;size=9", "y;size=9"]] * 2 + [["r", "x;size=1", "x;size=1"]]


# ---- distances from files


def test_a_list_of_pairs_has_the_records_of_the_clusters(folder):
    (folder / "near.tsv").write_text("query\ttarget\tdistance\na\tb\t1\nb\tc\t1\na\tc\t2\na\te\t0\n")
    words = ["--edges", "near.tsv", "--max-distance", "1"]
    expected = verify(folder, *EDITS, "--verify", "pairs.tsv")[0]
    assert verify(folder, *words, "--verify", "pairs.tsv")[0] == expected
    (folder / "ids.txt").write_text("a\nb\nc\nd\ne\nf\n")
    assert verify(folder, *words, "--verify", "pairs.tsv", "--ids", "ids.txt")[0] == f"{expected}missing\t\tf\t\t\tnan\n"
    (folder / "near.tsv").write_text("query\ttarget\tdistance\na\tz\t1\n")
    assert "near.tsv: line 2 names 'z', which is not among the given records; --ids FILE or SEQS must name all" in refused(
        [*words, "--verify", "pairs.tsv"], folder
    )


def test_a_matrix(folder):
    gpualign("nw", "genes.fa", "--edit", "--value", "distance", "-o", "m.npz", cwd=folder)
    words = ["--distances", "m.npz", "--max-distance", "1", "--edit"]
    assert verify(folder, *words, "--verify", "pairs.tsv")[0] == verify(folder, *EDITS, "--verify", "pairs.tsv")[0]


def test_receptors(tmp_path):
    """Clones of a table are read from the table itself; receptors with other genes are far, at no distance."""
    table = ["sequence_id\tv_call\tjunction_aa\tproductive", "a\tV1\tCASSF\tT", "b\tV1\tCASTF\tT", "c\tV2\tCASSF\tT", "d\tV1\tCAS*F\tF"]
    (tmp_path / "airr.tsv").write_text("\n".join([*table, ""]))
    words = ["airr.tsv", "--hamming", "--max-distance", "1", "--same", "v_call", "--method", "greedy"]
    gpualign("cluster", *words, "-o", "clones.tsv", cwd=tmp_path)
    (tmp_path / "pairs.tsv").write_text("a\tc\nb\tb\n")
    assert verify(tmp_path, *words, "--verify", "pairs.tsv")[0] == f"{HEADER}far\ta\tc\ta\ta\tnan\nnear\ta\ta\tb\tb\t1\n"
    assert (tmp_path / "clones.tsv").read_text().splitlines()[-1] == "d\tV1\tCAS*F\tF\t"
    pytest.importorskip("scipy")
    words[-1] = "single"
    assert verify(tmp_path, *words, "--verify", "clones.tsv")[0] == HEADER
    assert verify(tmp_path, *words[:-1], "greedy", "--verify", "pairs.tsv", "--fix")[0].splitlines()[1:] == [
        "a\tV1\tCASSF\tT\t1",
        "b\tV1\tCASTF\tT\t1",
        "c\tV2\tCASSF\tT\t2",
        "d\tV1\tCAS*F\tF\t",
    ]


# ---- clusters of other programs


def genes_with_relatives(path, rng):
    """Families of genes around the threshold of 97 %, two of them with ambiguity letters, and some equal ones."""
    records = []
    for family in range(8):
        ancestor = rng.integers(0, 4, 240)
        for member in range(7):
            letters = ancestor.copy()
            places = rng.choice(240, int(rng.choice([0, 2, 4, 6, 8])), replace=False)
            letters[places] = rng.integers(0, 4, len(places))
            text = "".join("ACGT"[code] for code in letters)
            records.append((f"fam{family}_{member};size={member + 1}", f"N{text[1:]}" if member == 5 else text[: 240 - 10 * (member == 6)]))
    path.write_text("".join(f">{name} of family\n{text}\n" for name, text in records))
    return [name for name, _ in records]


def with_vsearch(folder):
    subprocess.run(["vsearch", "--cluster_fast", "genes.fa", "--id", "0.97", "--uc", "x.uc", "--quiet"], cwd=folder, check=True)
    return "x.uc"


def with_cd_hit(folder):
    words = ["cd-hit-est", "-i", "genes.fa", "-o", "x", "-c", "0.97", "-T", "1"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return "x.clstr"


def with_mmseqs(folder):
    words = ["mmseqs", "easy-cluster", "genes.fa", "x", "scratch", "--min-seq-id", "0.97", "-c", "0.8", "--threads", "1"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return "x_cluster.tsv"


def representatives_in(path):
    """The representative of each record, read in another way than by the program."""
    lines = path.read_text().splitlines()
    if path.suffix == ".uc":
        cells = [line.split("\t") for line in lines]
        return {row[8]: row[8] if row[0] == "S" else row[9] for row in cells if row[0] != "C"}
    if path.suffix == ".tsv":
        return {member: representative for representative, member in (line.split("\t") for line in lines)}
    found = {}
    for cluster in path.read_text().split(">Cluster ")[1:]:
        names = {row.split(">")[1].split("...")[0]: row.endswith("*") for row in cluster.splitlines()[1:]}
        found |= dict.fromkeys(names, next(name for name, is_first in names.items() if is_first))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "make"),
    [("vsearch", with_vsearch), ("cd-hit-est", with_cd_hit), ("mmseqs", with_mmseqs)],
    ids=["vsearch", "cd-hit", "mmseqs"],
)
def test_clusters_of_other_programs(tmp_path, rng, program, make):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    names = genes_with_relatives(tmp_path / "genes.fa", rng)
    found = make(tmp_path)
    for words in ([], ["--strand", "both"], ["--min-coverage", "0"], ["--ambiguous", "unequal"]):
        compare_with_all_pairs(tmp_path, names, found, words)


def compare_with_all_pairs(tmp_path, names, found, words):
    """The problems of a file beside the identities and coverages of all pairs, as nw writes them."""
    of = representatives_in(tmp_path / found)
    fields = ["--fields", "query,target,identity,coverage"]
    listed = gpualign("nw", "genes.fa", *[word for word in words if word not in ("--min-coverage", "0")], *fields, cwd=tmp_path).stdout
    pairs = {frozenset((row["query"], row["target"])): (float(row["identity"]), float(row["coverage"])) for row in rows(listed)}
    least = 0 if "--min-coverage" in words else 0.8

    def is_near(one, other):
        identity, coverage = pairs[frozenset((one, other))]
        return identity >= 0.97 and coverage >= least

    listed, said = verify(tmp_path, "genes.fa", *THRESHOLD, *words, "--verify", found)
    problems = rows(listed.encode())
    far = [(name, of[name]) for name in names if name in of and of[name] != name and not is_near(name, of[name])]
    assert [(row["id"], row["other"]) for row in problems if row["problem"] == "far"] == far
    for row in problems:
        if row["problem"] != "missing":
            assert float(row["distance"]) == pytest.approx(1 - pairs[frozenset((row["id"], row["other"]))][0], abs=2e-6)
    chosen = [name for name in names if name in set(of.values())]
    near = {(one, other) for one, other in itertools.combinations(chosen, 2) if is_near(one, other)}
    assert {(row["id"], row["other"]) for row in problems if row["problem"] == "near"} == near
    assert [row["id"] for row in problems if row["problem"] == "missing"] == [name for name in names if name not in of]
    assert f"{len(far)} far, {len(near)} near" in said
    verify(tmp_path, "genes.fa", *THRESHOLD, *words, "--verify", found, "--fix", "-o", "fixed.uc")
    assert verify(tmp_path, "genes.fa", *THRESHOLD, *words, "--verify", "fixed.uc")[0] == HEADER


def test_far_members_by_edits(small_16s, tmp_path):
    """Distances beyond the threshold are those that nw finds."""
    distance = {(row["query"], row["target"]): row["distance"] for row in rows(gpualign_here("nw", small_16s, "--edit")[0])}
    ids = list(dict.fromkeys(name for pair in distance for name in pair))
    (tmp_path / "one.tsv").write_text("".join(f"{ids[7]}\t{name}\n" for name in ids))
    listed = rows(gpualign_here("cluster", small_16s, "--edit", "--max-distance", 300, "--verify", tmp_path / "one.tsv")[0])
    assert len(listed) > 10
    for row in listed:
        pair = sorted((ids.index(row["id"]), 7))
        assert row["distance"] == distance[ids[pair[0]], ids[pair[1]]]
        assert int(row["distance"]) > 300


# ---- the rest of the command line


def test_the_summary_and_a_dry_run(folder):
    verify(folder, *EDITS, "--verify", "pairs.tsv", "--summary", "run.json", "-o", "problems.tsv")
    summary = json.loads((folder / "run.json").read_text())
    assert summary["results"] == {"sequences": 5, "pairs": 10, "near_pairs": 4, "far": 1, "near": 1, "missing": 0}
    assert [one["path"] for one in summary["inputs"]] == ["genes.fa", "pairs.tsv"]
    verify(folder, *EDITS, "--verify", "pairs.tsv", "--fix", "--summary", "run.json", "-o", "fixed.tsv")
    assert json.loads((folder / "run.json").read_text())["results"]["changed"] == 2
    assert "output     a row for each problem" in verify(folder, *EDITS, "--verify", "pairs.tsv", "--dry-run")[0]


def test_standard_input_and_compression(folder):
    expected = verify(folder, *EDITS, "--verify", "pairs.tsv")[0]
    done = gpualign("cluster", *EDITS, "--verify", "-", stdin=(folder / "pairs.tsv").read_bytes(), cwd=folder)
    assert done.stdout.decode() == expected
    verify(folder, *EDITS, "--verify", "pairs.tsv", "-o", "problems.tsv.gz")
    assert subprocess.run(["gzip", "-dc", "problems.tsv.gz"], cwd=folder, capture_output=True, check=True).stdout.decode() == expected


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--verify", "none.tsv"], "none.tsv: no such file"),
        (["--verify", "genes.fa"], "genes.fa is FASTA; expected a table with the columns id and cluster or representative"),
        (["--verify", "empty"], "empty: empty file; expected"),
        (["--verify", "binary"], "binary: a binary file; expected"),
        (["--verify", "unknown.tsv"], "unknown.tsv: line 2 names 'zz', which is not among the records"),
        (["--verify", "twice.tsv"], "twice.tsv: 'b' is on lines 2 and 4; expected it once"),
        (["--verify", "-", "-"], "Got unexpected extra argument"),
        (["--fix"], "--fix changes the clusters of --verify; give that too"),
        (
            ["--verify", "ids.tsv", "--method", "greedy"],
            "ids.tsv has no representatives, which --method greedy needs; --method single checks",
        ),
        (
            ["--verify", "ids.tsv", "--fix"],
            "--fix changes only clusters with representatives; for new clusters of --method single, leave out --verify and --fix",
        ),
        (["--verify", "pairs.tsv", "--method", "complete"], "it cannot be combined with --method complete"),
        (
            ["--verify", "pairs.tsv", "--order", "size"],
            "it cannot be combined with --order, unless --fix is given",
        ),
        (["--verify", "pairs.tsv", "--uc", "x.uc"], "it cannot be combined with --uc, unless --fix is given"),
        (
            ["--verify", "pairs.tsv", "--linkage-report", "x.tsv"],
            "it cannot be combined with --linkage-report",
        ),
        (["--verify", "pairs.tsv", "-o", "x.csv"], "--verify lists problems of clusters as tsv; found csv"),
        (["--verify", "pairs.tsv", "-o", "pairs.tsv"], "the output pairs.tsv is also an input"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_refused(folder, words, says):
    (folder / "empty").write_bytes(b"")
    (folder / "binary").write_bytes(b"\0\1\2")
    (folder / "unknown.tsv").write_text("a\ta\na\tzz\n")
    (folder / "twice.tsv").write_text("a\ta\na\tb\nc\tc\nc\tb\n")
    (folder / "ids.tsv").write_text("id\tcluster\na\t1\nb\t1\n")
    assert says in refused([*EDITS, *words], folder)


def test_cells_and_levels_are_refused(folder):
    assert "--verify lists problems of clusters; it cannot be combined with --levels" in refused(
        ["genes.fa", "--edit", "--levels", "2,1", "--verify", "pairs.tsv"], folder
    )
    words = ["genes.fa", "--hamming", "--max-distance", "1", "--locus", "TRB", "--and", "TRA", "--verify", "pairs.tsv"]
    assert "--verify is about clusters of records; it cannot be combined with --and TRA" in refused(words, folder)
