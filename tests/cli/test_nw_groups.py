"""`gpualign nw --groups --between|--within`: the rows of every pair without those of other groups, and the work of those left out."""

import re
from dataclasses import replace

import numpy as np
import pytest
from command import gpualign_here
from work import sequence_set

from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import InputError
from gpualign.core.execution.group_pairs import prepare_group_pairs
from gpualign.core.execution.runner import plan_task
from gpualign.core.planning.group_pairs import GroupPairSelector, pack_labels
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.cpu.alignment.engine import CpuEngine

COUNT = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Relatives in one file and some others in another; `groups.tsv`, by no order of the records, of both; `few.tsv` of two groups."""
    folder, rng = tmp_path_factory.mktemp("groups"), np.random.default_rng(4)
    founder, text = rng.choice(list("ACGT"), 30), {"one": "", "two": ""}
    names = []
    for number in range(COUNT + 9):
        record = founder.copy()
        record[rng.integers(0, 30, int(rng.integers(0, 5)))] = "A"
        letters = "".join(record)[: int(rng.integers(20, 31))]
        names.append(f"r{number}")
        text["one" if number < COUNT else "two"] += f">r{number}\n{letters if number % 4 else letters[::-1]}\n"
    for name, records in text.items():
        (folder / f"{name}.fa").write_text(records)
    for name, count in (("groups", 6), ("few", 2)):
        rows = [f"{record}\tg{rng.integers(0, count)}\n" for record in names]
        (folder / f"{name}.tsv").write_text("id\tgroup\n" + "".join(rng.permutation(rows)))
    return folder


def table(path):
    return dict(line.split("\t") for line in path.read_text().splitlines()[1:])


def rows(words):
    return gpualign_here("nw", "-q", *words)[0].decode().splitlines(keepends=True)


OPTIONS = {
    "scores": [],
    "paths": ["--fields", "query,target,score,identity,cigar,taln"],
    "self": ["--self"],
    "free ends": ["--end-gaps", "free", "--fields", "query,target,score,length"],
    "strands": ["--strand", "both", "--fields", "query,target,score,strand,cigar"],
    "edits": ["--edit", "--max-distance", "6"],
    "identity": ["--min-identity", "0.9", "--min-coverage", "0.9"],
    "bands": ["--memory", "70M", "--threads", "1"],
}


@pytest.mark.parametrize("which", ["within", "between"])
@pytest.mark.parametrize("groups", ["groups", "few"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("files", [("one",), ("one", "two"), ("two", "--add", "one")], ids=" ".join)
def test_rows(folder, options, which, groups, files):
    if "--self" in options and len(files) == 2:
        pytest.skip("of one file")
    words = [*options, *(name if name.startswith("-") else folder / f"{name}.fa" for name in files)]
    group = table(folder / f"{groups}.tsv")
    header, *every = rows(words)
    wanted = [line for line in every if (len({group[name] for name in line.split("\t")[:2]}) == 1) == (which == "within")]
    assert wanted
    assert len(wanted) < len(every)
    found = rows([*words, "--groups", folder / f"{groups}.tsv", f"--{which}"])
    assert found == [header, *wanted]


def test_nearest_are_those_of_the_pairs_that_are_wanted(folder):
    group = table(folder / "groups.tsv")
    _, *every = rows(["--edit", "--nearest", "1000", folder / "one.fa"])
    found = rows(["--edit", "--nearest", "2", "--between", "--groups", folder / "groups.tsv", folder / "one.fa"])[1:]
    parts = [line.split("\t") for line in every]
    for query in {part[0] for part in parts}:
        others = sorted((int(part[2]), int(part[1][1:])) for part in parts if part[0] == query and group[part[1]] != group[query])[:2]
        assert {int(line.split("\t")[1][1:]) for line in found if line.startswith(f"{query}\t")} == {number for _, number in others}


def test_csr_and_shares(folder, tmp_path):
    words = ["--within", "--groups", folder / "groups.tsv", folder / "one.fa"]
    wanted = rows(words)
    gpualign_here("nw", "-q", *words, "--format", "csr", "-o", tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as found:
        assert len(found["data"]) == len(wanted) - 1
    for share in (1, 2, 3):
        gpualign_here("nw", "-q", *words, "-o", tmp_path / "x.tsv", "--shard", f"{share}/3")
    parts = sorted(tmp_path.glob("*.part"))
    gpualign_here("merge", "-q", *parts, "-o", tmp_path / "x.tsv")
    assert (tmp_path / "x.tsv").read_text() == "".join(wanted)
    # A share by other groups is one of another job, whatever the table is called.
    other = tmp_path / "groups.tsv"
    other.write_text((folder / "groups.tsv").read_text().replace("\tg1", "\tg2"))
    gpualign_here("nw", "-q", "--within", "--groups", other, folder / "one.fa", "-o", tmp_path / "x.tsv", "--shard", "3/3")
    with pytest.raises(InputError):
        gpualign_here("merge", "-q", *parts, "-o", tmp_path / "y.tsv")


def test_what_a_run_says_it_does(folder):
    group = list(table(folder / "groups.tsv").items())
    lengths = dict(re.findall(r">(\w+)\n(\w+)", (folder / "one.fa").read_text()))
    known = [(name, g) for name, g in sorted(group, key=lambda item: int(item[0][1:])) if name in lengths]
    pairs = [(a, b) for i, (a, g) in enumerate(known) for b, h in known[i + 1 :] if g == h]
    cells = sum(len(lengths[a]) * len(lengths[b]) for a, b in pairs)
    words = ["nw", "--within", "--groups", folder / "groups.tsv", folder / "one.fa"]
    plan = dict(line.split(None, 1) for line in gpualign_here(*words, "--dry-run")[0].decode().splitlines())
    assert (plan["pairs"], plan["cells"]) == (f"{len(pairs):,}", f"{cells:,}")
    assert f"{COUNT} sequences, {len(pairs):,} pairs, {cells:.3g} cells" in gpualign_here(*words)[1]


class Recorded:
    """An engine's preparation that computes nothing, and keeps the tiles it is given."""

    hardware = kernel = "none"

    def __init__(self, prepared):
        self.task, self.limits, self.tiles = prepared.task, prepared.limits, []

    def run(self, tiles):
        self.tiles.extend(tiles)
        yield from ()


def shared_labels(rng, group_count):
    """Sets of two properties' labels for groups, as bits and as sets; a set may be empty, and labels fill more than one word."""
    sets = [[frozenset(rng.integers(0, count, rng.integers(0, 4)).tolist()) for _ in range(group_count)] for count in (3, 70)]
    return tuple(pack_labels(some, count) for some, count in zip(sets, (3, 70), strict=True)), sets


def agreement(sets):
    """Return a mask of the groups that share a label of each property, bool[groups][groups]."""
    return np.array([[all(some[g] & some[h] for some in sets) for h in range(len(sets[0]))] for g in range(len(sets[0]))])


@pytest.mark.parametrize("pairing", Pairing)
@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("labelled", [True, False])
def test_only_wanted_pairs_are_computed(pairing, within, exact, labelled):
    rng = np.random.default_rng(6)
    longest = 50_000 if exact else 50  # of long records each pair is worth a rectangle of its own
    sequences = sequence_set([np.zeros(n, np.uint8) for n in rng.integers(6000 if exact else 5, longest, COUNT)])
    own = rng.integers(0, 4, COUNT)
    labels, sets = shared_labels(rng, 4) if labelled else ((), [])
    groups = GroupPairSelector(own, own, within, labels)
    task = Task(sequences, sequences, make_scoring(DNA, ScoringOptions()))
    prepared = prepare_group_pairs(CpuEngine(1), task, Budget.from_total(1 << 30), groups)
    record = Recorded(prepared.inner)
    if exact:  # no vector is ever full of targets
        record.limits = replace(record.limits, lane_count=1000)
    object.__setattr__(prepared, "inner", record)
    empty = list(prepared.run(plan_task(prepared, pairing).tiles()))
    order = np.argsort(own, kind="stable")
    computed = np.zeros((COUNT, COUNT), dtype=int)
    for tile in record.tiles:
        computed[np.ix_(order[tile.query_start : tile.query_stop], tile.targets)] += 1
    above = np.arange(COUNT)[None, :] >= pairing.first_targets(np.arange(COUNT))[:, None]
    agree = agreement(sets) if labelled else np.eye(4, dtype=bool)
    of_groups = agree[own[:, None], own[None, :]] == within
    assert (computed[above & of_groups] == 1).all()
    assert not computed[~of_groups].any()
    assert computed.max() == 1
    if exact:
        assert not computed[~above].any()
    assert not any(result.tile.cells for result in empty)  # tiles without a wanted pair need no engine


def test_sums_are_those_of_plain_loops(rng):
    own, theirs = rng.integers(0, 4, 12), rng.integers(0, 5, 20)
    weights, firsts = rng.integers(1, 100, 20), np.sort(rng.integers(0, 21, 12))
    labels, sets = shared_labels(rng, 5)
    for agree, properties in ((np.eye(5, dtype=bool), ()), (agreement(sets), labels)):
        for within in (True, False):
            for first in (None, firsts):
                plain = [
                    sum(int(weights[j]) for j in range(0 if first is None else first[i], 20) if agree[own[i], theirs[j]] == within)
                    for i in range(12)
                ]
                groups = GroupPairSelector(own, theirs, within, properties)
                assert groups.weight_sums(weights, first).tolist() == plain
                mask = groups.selection_mask(np.arange(12)[:, None], np.arange(20)[None, :])
                assert (mask == (agree[own[:, None], theirs[None, :]] == within)).all()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--between"], "--between needs the group of each record: give --groups too"),
        (["--within"], "--within needs the group of each record: give --groups too"),
        (["--groups", "g.tsv"], "--groups chooses pairs with --between"),
        (["--groups", "g.tsv", "--between", "--within"], "--between and --within together select all pairs"),
        (["--groups", "g.tsv", "--between", "--format", "matrix"], "a matrix holds every pair, unless it is --format csr"),
        (["--groups", "g.tsv", "--within", "-o", "x.npy"], "a matrix holds every pair, unless it is --format csr"),
        (["--groups", "less.tsv", "--within"], "--groups less.tsv: 1 of 3 records have no group, 'c' the first"),
        (["--groups", "empty_cell.tsv", "--within"], "--groups empty_cell.tsv: 1 of 3 records have no group, 'b' the first"),
        (["--groups", "wide.tsv", "--within"], "--groups wide.tsv: 2 columns of groups, 'x', 'y'"),
        (["--groups", "other.tsv", "--within"], "none of its ids is one of the sequences, whose first is 'a'"),
        (["--groups", "none.tsv", "--within"], "none.tsv: no such file"),
        (["--groups", "g.tsv", "--within", "-o", "g.tsv"], "the output g.tsv is also an input"),
    ],
)
def test_refusals(tmp_path, monkeypatch, words, reason):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "one.fa": ">a\nACGT\n>b\nACGA\n>c\nACCA\n",
        "g.tsv": "a\tx\nb\tx\nc\ty\n",
        "less.tsv": "a\tx\nb\tx\n",
        "empty_cell.tsv": "a\tx\nb\t\nc\ty\n",
        "wide.tsv": "id\tx\ty\na\t1\t2\nb\t1\t2\nc\t1\t1\n",
        "other.tsv": "id\tx\nd\t1\n",
    }.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=re.escape(reason)):
        gpualign_here("nw", "one.fa", *words)


def test_no_such_pairs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.fa").write_text(">a\nACGT\n>b\nACGA\n")
    (tmp_path / "g.tsv").write_text("a\tx\nb\ty\n")
    found, messages = gpualign_here("nw", "one.fa", "--groups", "g.tsv", "--within")
    assert found == b"query\ttarget\tscore\n"
    assert "no two records are of the same group" in messages
    (tmp_path / "g.tsv").write_text("a\tx\nb\tx\n")
    assert "no two records are of different groups" in gpualign_here("nw", "one.fa", "--groups", "g.tsv", "--between")[1]
