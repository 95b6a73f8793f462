"""What sentences, comments and tables of pages say of the result of a command is so, on small files under the names that pages use.

Each test names the page and the words, which must stand there: whoever changes the words sees the test that goes with them.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command import GPUALIGN, gpualign, gpualign_here, shell
from page_files import prepare
from places import ROOT

from gpualign.core.common.errors import InputError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder):
    """Runs a command as pages spell it, on files that are made where it needs them; the lines of its stdout, and its stderr."""

    def run(command, *, with_header=False):
        prepare(command, folder)
        _, *words = shlex.split(command)
        printed, said = gpualign_here(*words)
        lines = printed.decode().splitlines()
        return lines if with_header else lines[1:], said

    return run


def says(page, *sentences):
    """Fails unless the page has these sentences."""
    text = " ".join((ROOT / page).read_text().split())
    for sentence in sentences:
        assert " ".join(sentence.split()) in text, f"{page} does not say: {sentence}"


def records(name):
    """The ids of a FASTA file."""
    return re.findall(r"^>(\S+)", Path(name).read_text(), re.MULTILINE)


def ends(lines):
    """(query, target) of each row."""
    return [tuple(line.split("\t")[:2]) for line in lines]


def column(lines, k):
    return [float(line.split("\t")[k]) for line in lines]


# ---- which pairs


def test_one_file_each_record_with_every_later_one(run):
    says("docs/guide.md", "one file: each record with every later one", "also each record with itself")
    rows, _ = run("gpualign nw reads.fasta")
    names = records("reads.fasta")
    later = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    assert ends(rows) == later
    with_self, _ = run("gpualign nw --self reads.fasta")
    assert ends(with_self) == [(a, b) for i, a in enumerate(names) for b in names[i:]]


def test_two_files_every_query_with_every_target(run):
    says("docs/guide.md", "two files: every query with every target", "Rows come in input order")
    rows, _ = run("gpualign nw queries.fa targets.fa")
    assert ends(rows) == [(a, b) for a in records("queries.fa") for b in records("targets.fa")]


def test_added_records_are_compared_with_each_other_and_with_the_old_ones(run):
    says("docs/guide.md", "pairs within new.fa, and new.fa with old.fa")
    rows, _ = run("gpualign nw new.fa --add old.fa")
    new, old = records("new.fa"), records("old.fa")
    assert sorted(ends(rows)) == sorted([(a, b) for i, a in enumerate(new) for b in [*new[i + 1 :], *old]])


def test_groups_divide_the_table(run):
    says(
        "docs/pairs.md",
        "only pairs of different groups",
        "only pairs of the same group",
        "The rows that remain are the same, and in the same order, as without `--groups`.",
    )
    whole, _ = run("gpualign nw genes.fa")
    between, _ = run("gpualign nw genes.fa --groups samples.tsv --between")
    within, _ = run("gpualign nw genes.fa --groups samples.tsv --within")
    group = dict(line.split("\t") for line in Path("samples.tsv").read_text().splitlines()[1:])
    assert between == [row for row, (a, b) in zip(whole, ends(whole), strict=True) if group[a] != group[b]] != []
    assert within == [row for row, (a, b) in zip(whole, ends(whole), strict=True) if group[a] == group[b]] != []
    with pytest.raises(InputError, match="matri"):
        run("gpualign nw genes.fa --groups samples.tsv --between -o x.npy")


def test_a_list_of_files_is_one_set(run, folder):
    says("docs/input.md", "treats their records as one set, as if the files had been concatenated")
    prepare("ls genomes/*.fa", folder)
    files = sorted((folder / "genomes").iterdir())
    (folder / "files.txt").write_text("".join(f"{file}\n" for file in files))
    (folder / "joined.fa").write_text("".join(file.read_text() for file in files))
    assert run("gpualign nw @files.txt")[0] == run("gpualign nw joined.fa")[0] != []


def test_a_part_has_its_number_in_its_name_and_merging_gives_the_whole(run, folder):
    says("docs/cluster.md", "writes scores.tsv.1-of-3.part")
    for k in (1, 2, 3):
        run(f"gpualign nw genes.fasta -o scores.tsv --shard {k}/3")
    assert sorted(p.name for p in folder.glob("scores.*")) == [f"scores.tsv.{k}-of-3.part" for k in (1, 2, 3)]
    run("gpualign merge scores.tsv.1-of-3.part scores.tsv.2-of-3.part scores.tsv.3-of-3.part -o scores.tsv")
    run("gpualign nw genes.fasta -o whole.tsv")
    assert (folder / "scores.tsv").read_bytes() == (folder / "whole.tsv").read_bytes()


# ---- near pairs


def test_thresholds_lose_nothing(run):
    says("docs/near.md", "The output is, byte for byte, what you would get by computing every pair and dropping those that do not pass")
    says("docs/near.md", "pairs at most 45 edits apart")
    every, _ = run("gpualign nw genes.fasta --edit")
    near, _ = run("gpualign nw genes.fasta --edit --max-distance 45")
    assert near == [row for row, distance in zip(every, column(every, 2), strict=True) if distance <= 45]
    assert 0 < len(near) < len(every)


def test_a_list_of_new_records_with_old_ones(run):
    says("docs/near.md", "new records against old ones", "also with each other, in one list")
    against, _ = run("gpualign nw new.fasta old.fasta --edit --max-distance 3")
    added, _ = run("gpualign nw new.fasta --add old.fasta --edit --max-distance 3")
    alone, _ = run("gpualign nw new.fasta --edit --max-distance 3")
    assert against
    assert alone
    assert sorted(added) == sorted([*against, *alone])


def test_counts_are_the_neighbours_of_the_list(run):
    says("docs/near.md", "writes the number of neighbours of each record")
    near, _ = run("gpualign nw proteins.fasta --min-identity 0.8 --min-coverage 0.8")
    counts, _ = run("gpualign nw proteins.fasta --min-identity 0.8 --min-coverage 0.8 --format counts")
    names = [name for pair in ends(near) for name in pair]
    assert dict(ends(counts)) == {name: str(names.count(name)) for name in records("proteins.fasta")}
    assert names


# ---- search


def test_columns_of_searches(run):
    says("docs/search.md", "BLAST's twelve columns", "scores only", "every score, no hits")
    rows, _ = run("gpualign sw query.fa db.fa --max-evalue 1e-3 --format m8", with_header=True)
    assert rows
    assert {len(row.split("\t")) for row in rows} == {12}
    (header, *_), _ = run("gpualign sw query.fa db.fa --no-traceback --max-hits 500", with_header=True)
    assert {"score", "evalue"} <= set(header.split("\t"))
    assert not {"identity", "qstart", "cigar"} & set(header.split("\t"))
    run("gpualign sw a.fa b.fa --all -o scores.npy")
    assert np.load("scores.npy").shape == (len(records("a.fa")), len(records("b.fa")))


def test_selected_records_of_a_database(run):
    says("docs/search.md", "only the records listed, one id per line", "all but these")
    everything, _ = run("gpualign sw query.fa db.fa")
    selected, _ = run("gpualign sw query.fa db.fa --targets ids.txt")
    listed = Path("ids.txt").read_text().split()
    others, _ = run("gpualign sw query.fa db.gpa --exclude ids.txt")
    targets = {target for _, target in ends(everything)}
    assert {target for _, target in ends(selected)} == set(listed) < targets
    assert {target for _, target in ends(others)} == targets - set(listed)


def test_one_file_is_searched_with_itself(run):
    says("docs/search.md", "each record is compared with all others, and with `--self` also with itself")
    hits, _ = run("gpualign sw genes.fa")
    names = records("genes.fa")
    assert set(ends(hits)) == {(a, b) for a in names for b in names if a != b}
    with_self, _ = run("gpualign sw genes.fa --self")
    assert set(ends(with_self)) == {(a, b) for a in names for b in names}


def test_an_index_finds_the_same_hits(run, folder):
    says("docs/search.md", "finds the same hits")
    run("gpualign index swissprot.fasta.gz -o swissprot.gpa")
    assert run("gpualign sw query.fa swissprot.gpa")[0] == run("gpualign sw query.fa swissprot.fasta.gz")[0] != []


@pytest.mark.skipif(shutil.which("blastp") is None, reason="blastp is not installed")
@pytest.mark.parametrize(("composition", "statistics", "tolerance"), [("none --mask none", "0", 0.005), ("adjust", "2", 0.05)])
def test_evalues_are_those_of_blastp(run, composition, statistics, tolerance):
    """Of hits with the same score: blastp's heuristics end some alignments early."""
    says("docs/tasks/proteins.md", "96 % have E-values within 5 % of blastp's")
    says("docs/tasks/proteins.md", "With `--composition none --mask none`, alignments of the same score have the E-values of blastp")
    query, database = (str(ROOT / "data" / name) for name in ("proteins_query.fasta", "proteins_db.fasta"))
    rows, _ = run(f"gpualign sw {query} {database} --composition {composition} --max-evalue 1e-30 --fields query,target,score,evalue")
    options = ["-evalue", "1e-30", "-comp_based_stats", statistics, "-outfmt", "6 qseqid sseqid score evalue"]
    done = subprocess.run(["blastp", "-query", query, "-subject", database, *options], capture_output=True, text=True, check=True)
    table = done.stdout.splitlines()
    ours, theirs = (dict(zip(ends(lines), zip(column(lines, 2), column(lines, 3), strict=True), strict=True)) for lines in (rows, table))
    assert ours.keys() == theirs.keys()
    same = [pair for pair in ours if ours[pair][0] == theirs[pair][0]]
    assert len(same) > 10
    for pair in same:
        assert ours[pair][1] == pytest.approx(theirs[pair][1], rel=tolerance)


# ---- distances


def test_lists_of_distances(run):
    says("docs/distance.md", "every new sample with every old one", "also the new ones with each other, in one list")
    rows, _ = run("gpualign dist new.aln old.aln --format molten", with_header=True)
    new, old = records("new.aln"), records("old.aln")
    assert ends(rows) == [(a, b) for a in new for b in old]
    added, _ = run("gpualign dist new.aln --add old.aln --max-distance 12")
    assert sorted(ends(added)) == sorted([(a, b) for i, a in enumerate(new) for b in [*new[i + 1 :], *old]])


def test_clusters_of_a_list_are_those_of_the_run(run, folder):
    says("docs/distance.md", "`--clusters` writes the same file as `gpualign cluster` with the list of pairs")
    run("gpualign dist core.aln --max-distance 12 -o near.tsv --clusters at_once.tsv")
    run("gpualign cluster --edges near.tsv core.aln --degap --max-distance 12 -o clusters.tsv")
    assert (folder / "at_once.tsv").read_bytes() == (folder / "clusters.tsv").read_bytes()


def test_an_added_list_has_the_distances_of_all_samples(run, folder):
    says("docs/distance.md", "has the same distances as a run with `all.aln`")
    near, _ = run("gpualign dist core.aln --max-distance 12")
    more, _ = run("gpualign dist new.aln --add core.aln --max-distance 12")
    (folder / "all.aln").write_text((folder / "core.aln").read_text() + (folder / "new.aln").read_text())
    every, _ = run("gpualign dist all.aln --max-distance 12")

    def distances(rows):
        return sorted((*sorted(row.split("\t")[:2]), row.split("\t")[2]) for row in rows)

    assert distances([*near, *more]) == distances(every) != []


def test_samples_left_out_are_as_if_they_were_not_there(run, folder):
    says("docs/sites.md", "The output is the same as for an input without these samples.")
    left, _ = run("gpualign dist core.aln --exclude failed.txt", with_header=True)
    kept = re.sub(r">core_2\n.*\n", "", (folder / "core.aln").read_text())
    (folder / "kept.aln").write_text(kept)
    assert left == run("gpualign dist kept.aln", with_header=True)[0]
    assert len(left) == 4


def test_sites_left_out_are_in_the_summary(run):
    says("docs/sites.md", "Stderr reports how many sites each option has removed, and `--summary` has the same numbers")
    _, said = run("gpualign dist core.full.aln --mask repeats.bed --core 0.95 --summary run.json")
    results = json.loads(Path("run.json").read_text())["results"]
    removed = results["sites_left_out"]
    assert removed["mask"] == 20
    assert removed["core"] > 0
    for number in removed.values():
        assert re.search(rf"\b{number}\b", said)


# ---- the table of start.md


@pytest.mark.parametrize(
    ("sentence", "command", "holds"),
    [
        ("OTUs, close relatives", "cluster genes.fa --min-identity 0.97", lambda rows: len({row.split("\t")[1] for row in rows}) == 3),
        ("pairs that differ by a few letters", "nw reads.fa --edit --max-distance 3", lambda rows: rows and max(column(rows, 2)) <= 3),
        (
            "clones, neighbours",
            "cluster airr.tsv --hamming --max-distance 1 --same v_call,j_call",
            lambda rows: [row.split("\t")[-1] for row in rows] == ["1", "1", ""] * 2,
        ),
        ("all hits, with E-values", "sw query.fa db.fa --max-evalue 1e-3", lambda rows: rows and max(column(rows, 4)) <= 1e-3),
        ("a similarity network", "sw proteins.fa --max-evalue 1e-10", lambda rows: rows and max(column(rows, 4)) <= 1e-10),
        ("a SNP distance matrix", "dist core.aln", lambda rows: [len(row.split("\t")) for row in rows] == [5] * 4),
        ("relatives", "dist cohort.bed --metric king --min-kinship 0.0884", lambda rows: all(k >= 0.0884 for k in column(rows, 2))),
    ],
)
def test_which_command_gives_what(run, sentence, command, holds):
    rows = [line for line in (ROOT / "docs" / "start.md").read_text().splitlines() if f"`gpualign {command}" in line]
    assert any(sentence in row for row in rows)
    (shown,) = {code for row in rows for code in re.findall(rf"`(gpualign {re.escape(command)}[^`]*)`", row) if sentence in row}
    assert holds(run(shown)[0])


def test_each_read_is_aligned_to_one_reference(run, folder):
    says("docs/start.md", "each read aligned to the reference that it fits best, as SAM")
    run("gpualign nw reads.fa references.fa --end-gaps query --strand both --nearest 1 -o mapped.sam")
    lines = [line.split("\t") for line in (folder / "mapped.sam").read_text().splitlines() if not line.startswith("@")]
    assert [line[0] for line in lines] == records("reads.fa")
    assert all(line[2].startswith("references_") for line in lines)


def test_a_phylip_matrix_and_a_tree(run, folder):
    says("docs/start.md", "`gpualign nw genes.fa -o genes.phy`", "a tree (neighbour joining, UPGMA, spanning)")
    run("gpualign nw genes.fa -o genes.phy")
    assert (folder / "genes.phy").read_text().split()[0] == "6"
    run("gpualign tree distances.npy -o tree.nwk")
    assert (folder / "tree.nwk").read_text().strip().endswith(";")


# ---- how runs end


def test_a_summary_has_the_number_of_near_pairs(run, folder):
    says(
        "docs/formats/summary.md",
        "$ jq .results.pairs_kept near.json 6",
        '"results": {"sequences": 60, "pairs_kept": 6, "pairs": 1770, ...',
    )
    (folder / "data").symlink_to(ROOT / "data")
    run("gpualign nw data/16s_small.fasta --max-distance 0.03 --min-coverage 0.8 -o near.tsv --summary near.json")
    found = json.loads((folder / "near.json").read_text())["results"]
    assert [found[key] for key in ("sequences", "pairs_kept", "pairs")] == [60, 6, 1770]


def test_a_dry_run_writes_no_summary(run, folder):
    says("docs/formats/summary.md", "`--dry-run` writes none")
    run("gpualign nw genes.fa --dry-run --summary run.json")
    assert not (folder / "run.json").exists()


def test_exit_codes(folder):
    says("docs/running.md", "0 | done; also when the reader of a pipe stopped early", "1 | the run failed", "2 | bad usage or bad input")
    prepare("gpualign nw genes.fa", folder)
    assert gpualign("nw", "genes.fa", check=False, cwd=folder).returncode == 0
    assert gpualign("nw", "no_such_file.fa", check=False, cwd=folder).returncode == 2
    assert gpualign("nw", "genes.fa", "--no-such-option", check=False, cwd=folder).returncode == 2
    env = {"PATH": f"{Path(GPUALIGN).parent}:/usr/bin:/bin"}
    assert shell("gpualign nw --self genes.fa | head -n 1", cwd=folder, env={**os.environ, **env}).returncode == 0
    if Path("/dev/full").exists():
        assert shell("gpualign nw genes.fa > /dev/full", cwd=folder, env={**os.environ, **env}).returncode == 1
