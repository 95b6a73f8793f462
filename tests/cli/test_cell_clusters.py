"""Clones of cells that are near by both chains: `cluster --locus TRB --and TRA`."""

import itertools

import pytest
from cells import CELLS, TITLES, chains_of, hamming, near_pairs, rows_of, write
from command import gpualign, gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st

CPU = ("cluster", "-q", "--device", "cpu", "--hamming", "--max-distance", "1", "--locus", "TRB", "--and", "TRA")


def clones_of(rows, same):
    """{cell: clone} by single linkage, numbered by the first chains of the cells."""
    chains = chains_of(rows)
    label = {cell: k for k, cell in enumerate(chains)}
    for line in near_pairs(itertools.combinations(chains.items(), 2), hamming, 1, same):
        low, high = sorted(label[cell] for cell in line.split("\t")[:2])
        label = {cell: low if value == high else value for cell, value in label.items()}
    number = {value: k + 1 for k, value in enumerate(dict.fromkeys(label.values()))}
    return {cell: number[value] for cell, value in label.items()}


@settings(deadline=None, max_examples=50)
@given(CELLS, st.booleans(), st.randoms())
def test_clones_are_those_of_a_plain_loop(tmp_path_factory, cells, same, shuffler):
    """All rows of a cell have its clone, those of other loci too; rows of other cells and of none have an empty one."""
    rows = rows_of(cells, shuffler)
    rows.append(("", "TRB", "TRBV1", "CAF"))
    clones = clones_of(rows, same)
    if not clones:
        return
    path = write(tmp_path_factory.mktemp("cells") / "a.tsv", rows)
    words = (*CPU, *(["--same", "v_call"] if same else []), path)
    found = gpualign_here(*words)[0].decode().splitlines()
    lines = path.read_text().splitlines()
    assert found == [f"{lines[0]}\tclone_id", *(f"{line}\t{clones.get(row[0], '')}" for line, row in zip(lines[1:], rows, strict=True))]
    table = [line.split("\t") for line in gpualign_here(*words, "--format", "tsv")[0].decode().splitlines()[1:]]
    assert [(row[0], int(row[1])) for row in table] == list(clones.items())


@pytest.mark.parametrize("method", ["single", "complete", "greedy"])
def test_methods_are_those_of_a_list_of_near_pairs(tmp_path, rng, method):
    """Distances are sums. Linkages treat cells with equal chains like others, and greedy clustering keeps them together."""
    texts = ["C" + "".join(letters) for letters in itertools.product("AS", repeat=3 if method != "greedy" else 4)]
    pairs = [tuple(rng.choice(texts, 2)) for _ in range(60)]
    if method == "greedy":
        pairs = [pair for k, pair in enumerate(itertools.product(texts, repeat=2)) if k % 4 == 1][:60]
    rows = [(f"c{k}", locus, "", str(text)) for k, pair in enumerate(pairs) for locus, text in zip(("TRB", "TRA"), pair, strict=True)]
    path = write(tmp_path / "a.tsv", rows)
    near = tmp_path / "near.tsv"
    near.write_bytes(gpualign_here("nw", *CPU[1:], path)[0])
    (tmp_path / "ids").write_text("".join(f"c{k}\n" for k in range(60)))
    found = gpualign_here(*CPU, "--method", method, "--format", "tsv", path)[0]
    order = ("--order", "input") if method == "greedy" else ()
    by_list = ("cluster", "-q", "--edges", near, "--ids", tmp_path / "ids", "--max-distance", "2", "--method", method, *order)
    assert found == gpualign_here(*by_list)[0]


def test_cells_of_several_files(tmp_path):
    for number, letters in ((1, "CAS"), (2, "CAF")):
        rows = [("a", "TRB", "", letters), ("a", "TRA", "", letters), (f"b{number}", "TRA", "", letters)]
        lines = [TITLES, *((f"r{number}{k}", *row) for k, row in enumerate(rows))]
        (tmp_path / f"{number}.tsv").write_text("".join("\t".join(cells) + "\n" for cells in lines))
    (tmp_path / "list").write_text(f"{tmp_path}/1.tsv\n{tmp_path}/2.tsv\n")
    words = [word if word != "1" else "0" for word in CPU]
    lines = gpualign_here(*words, "--allow-duplicates", f"@{tmp_path}/list")[0].decode().splitlines()
    assert [line.split("\t")[-1] for line in lines] == ["clone_id", "1", "1", "", "2", "2", ""]


def test_summary_and_plan(tmp_path):
    import json

    rows = [(cell, locus, "", "CAS") for cell in "abc" for locus in ("TRB", "TRA")]
    path = write(tmp_path / "a.tsv", rows)
    assert gpualign(*CPU, "--summary", tmp_path / "s.json", path).returncode == 0
    summary = json.loads((tmp_path / "s.json").read_text())
    assert [summary["results"][name] for name in ("sequences", "pairs", "near_pairs", "clusters")] == [3, 3, 3, 1]
    plan = gpualign_here(*CPU, "--dry-run", path)[0].decode()
    assert "cells      3\ndistinct   1\npairs      3\n" in plan


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--and", "TRA"], "--and TRA asks for a second chain of the cells; name the first with --locus"),
        (["--locus", "TRA", "--and", "TRA"], "--and TRA: TRA is in --locus too"),
        (["--locus", "TRB", "--and", "TRA", "--method", "average"], "only near pairs have one"),
        (["--locus", "TRB", "--and", "TRA", "--method", "greedy", "--order", "size"], "it cannot be combined with --order size"),
        (
            ["--locus", "TRB", "--and", "TRA", "--uc", "x.uc"],
            "--and TRA clusters cells, which are no sequences",
        ),
        (["--locus", "TRB", "--and", "TRA", "--representatives", "x.fa"], "it cannot be combined with fasta"),
        (["--locus", "TRB", "--and", "TRA", "--strand", "both"], "it cannot be combined with --strand both"),
    ],
)
def test_refusals(tmp_path, monkeypatch, words, reason):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.tsv", [("a", "TRB", "", "CAS"), ("a", "TRA", "", "CAS")])
    done = gpualign("cluster", "--device", "cpu", "--edit", "--max-distance", "1", "a.tsv", *words, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert reason in done.stderr.decode()
    done = gpualign("cluster", "--edges", "e.tsv", "--and", "TRA", "--max-distance", "1", check=False)
    assert "--and applies to alignments; with --edges nothing is aligned" in done.stderr.decode()
