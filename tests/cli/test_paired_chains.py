"""Cells whose chains of two loci are both near: `nw --locus TRB --and TRA`."""

import itertools

import numpy as np
import pytest
from cells import CELLS, TITLES, chains_of, edits, hamming, near_pairs, rows_of, write
from command import gpualign, gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.core.common.errors import InputError

CPU = ("nw", "-q", "--device", "cpu")


def found_by(*words):
    lines = gpualign_here(*CPU, "--locus", "TRB", "--and", "TRA", *words)[0].decode().splitlines()
    assert lines[0] == "query\ttarget\tdistance\tdistance_TRB\tdistance_TRA"
    return lines[1:]


@settings(deadline=None, max_examples=50)
@given(CELLS, st.sampled_from([("--hamming", hamming), ("--edit", edits)]), st.integers(0, 2), st.booleans(), st.booleans(), st.randoms())
def test_pairs_are_those_of_a_plain_loop(tmp_path_factory, cells, metric, limit, same, with_self, shuffler):
    rows = rows_of(cells, shuffler)
    rows.append(("", "TRB", "TRBV1", "CAF"))  # of no cell
    path = write(tmp_path_factory.mktemp("cells") / "a.tsv", rows)
    words = [metric[0], "--max-distance", str(limit), *(["--same", "v_call"] if same else []), *(["--self"] if with_self else [])]
    chains = list(chains_of(rows).items())
    pairs = itertools.combinations_with_replacement(chains, 2) if with_self else itertools.combinations(chains, 2)
    if not chains:
        with pytest.raises(InputError, match="no cell has chains of both TRB and TRA"):
            found_by(*words, path)
        return
    assert found_by(*words, path) == near_pairs(pairs, metric[1], limit, same)


@settings(deadline=None, max_examples=20)
@given(CELLS, CELLS, st.booleans(), st.randoms())
def test_two_tables(tmp_path_factory, cells, others, same, shuffler):
    rows, other_rows = rows_of(cells, shuffler), rows_of(others, shuffler, "d")
    folder = tmp_path_factory.mktemp("cells")
    chains, other_chains = chains_of(rows).items(), chains_of(other_rows).items()
    if not rows or not other_rows or not chains or not other_chains:
        return
    words = ["--edit", "--max-distance", "1", *(["--same", "v_call"] if same else [])]
    found = found_by(*words, write(folder / "a.tsv", rows), write(folder / "b.tsv", other_rows))
    assert found == near_pairs(itertools.product(chains, other_chains), edits, 1, same)


@pytest.mark.parametrize("limit", [0, 9, 30])
def test_the_limit_of_tcrdist_is_of_the_sum(tmp_path, rng, limit):
    """Distances of chains are those of a run for each locus."""
    texts = ["CASS" + "".join(rng.choice(list("DEKW"), rng.integers(3, 5))) + "QYF" for _ in range(12)]
    rows = [(f"c{k}", locus, "", str(rng.choice(texts))) for k in range(40) for locus in rng.choice(["TRB", "TRA"], 3)]
    distinct = sorted(set(texts))
    (tmp_path / "texts").write_text("".join(f">{text}\n{text}\n" for text in distinct))
    words = ("--tcrdist", "--alphabet", "protein", "--max-distance", "100", tmp_path / "texts")
    lines = [line.split("\t") for line in gpualign_here(*CPU, *words)[0].decode().splitlines()[1:]]
    known = {(one, other): int(distance) for one, other, distance in lines}
    known |= {(other, one): distance for (one, other), distance in known.items()} | {(text, text): 0 for text in distinct}
    wanted = near_pairs(
        itertools.combinations(chains_of(rows).items(), 2), lambda a, b: known.get((a, b), 999), limit, same=False, max_sum=limit
    )
    assert found_by("--tcrdist", "--max-distance", str(limit), write(tmp_path / "a.tsv", rows)) == wanted
    assert limit == 0 or len(wanted) > 2


def test_other_formats_have_the_same_pairs(tmp_path, rng):
    rows = [(f"c{k // 2}", "TRA" if k % 2 else "TRB", "", "C" + "".join(rng.choice(list("AS"), 3))) for k in range(60)]
    path = write(tmp_path / "a.tsv", rows)
    words = (*CPU, "--locus", "TRB", "--and", "TRA", "--hamming", "--max-distance", "1", path)
    pairs = [line.split("\t") for line in gpualign_here(*words)[0].decode().splitlines()[1:]]
    numbers = np.array([[int(cell[1:]) for cell in pair[:2]] + [int(pair[2])] for pair in pairs])
    csv = gpualign_here(*words, "--format", "csv", "--fields", "distance_TRA,target,query")[0].decode().splitlines()
    assert csv == ["distance_TRA,target,query", *(f"{pair[4]},{pair[1]},{pair[0]}" for pair in pairs)]
    counts = gpualign_here(*words, "--format", "counts")[0].decode().splitlines()
    neighbours = np.bincount(numbers[:, :2].ravel(), minlength=30)
    assert counts == ["query\tneighbours", *(f"c{cell}\t{count}" for cell, count in enumerate(neighbours.tolist()))]
    gpualign_here(*words, "--format", "csr", "-o", tmp_path / "a.npz")
    matrix = np.load(tmp_path / "a.npz")
    assert matrix["ids"].tolist() == [f"c{cell}" for cell in range(30)]
    assert matrix["indices"].tolist() == numbers[:, 1].tolist()
    assert matrix["data"].tolist() == (numbers[:, 2] + 1).tolist()
    assert np.diff(matrix["indptr"]).tolist() == np.bincount(numbers[:, 0], minlength=30).tolist()
    nearest = [line.split("\t") for line in gpualign_here(*words, "--nearest", "1")[0].decode().splitlines()[1:]]
    both_ways = [*pairs, *([pair[1], pair[0], *pair[2:]] for pair in pairs)]
    wanted = {}
    for pair in sorted(both_ways, key=lambda pair: (int(pair[0][1:]), int(pair[2]), int(pair[1][1:]))):
        wanted.setdefault(pair[0], pair)
    assert nearest == list(wanted.values())
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    gpualign_here(*words, "-o", tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet").to_pydict()
    assert list(map(list, zip(*table.values(), strict=True))) == [[*pair[:2], *map(int, pair[2:])] for pair in pairs]


def test_notes_and_plan(tmp_path):
    rows = [("a", "TRB", "", "CAS"), ("a", "TRA", "", "CAS"), ("b", "TRB", "", "CAS"), ("c", "TRA", "", "CAS"), ("", "TRA", "", "CAS")]
    words = ("nw", "--device", "cpu", "--locus", "TRB", "--and", "TRA", "--hamming", "--max-distance", "1")
    told = gpualign_here(*words, write(tmp_path / "a.tsv", rows))[1]
    assert "1 cell has chains of both TRB and TRA; left out 1 without TRB and 1 without TRA and 1 chain without a cell" in told
    assert "one cell makes no pairs" in told
    plan = gpualign_here(*words, "--dry-run", "--memory", "32M", tmp_path / "a.tsv")[0].decode()
    assert "TRB        1 chains, 1 distinct" in plan
    assert "up to 1,048,5" in plan  # half of the memory beside the sequences, 16 bytes for each
    assert "near pairs of distinct chains, 16 bytes each: 16.0 MiB" in plan


def test_light_chains_of_two_loci_and_cells_of_cell_ranger(tmp_path):
    (tmp_path / "a.csv").write_text(
        "barcode,contig_id,chain,v_gene,cdr3\nx,1,IGH,IGHV1,CAR\nx,2,IGK,IGKV1,CQQ\ny,3,IGH,IGHV1,CAR\ny,4,IGL,IGLV1,CQQ\nz,5,IGH,IGHV1,CAR\n"
    )
    words = (*CPU, "--hamming", "--max-distance", "0", "--id-column", "contig_id", "--sequence-column", "cdr3", "--alphabet", "protein")
    found = gpualign_here(*words, "--locus", "IGH", "--and", "IGK,IGL", tmp_path / "a.csv")[0].decode()
    assert found == "query\ttarget\tdistance\tdistance_IGH\tdistance_IGK_IGL\nx\ty\t0\t0\t0\n"


def test_cells_of_several_files(tmp_path):
    rows = [("a", "TRB", "", "CAS"), ("a", "TRA", "", "CAS")]
    for number in (1, 2):
        lines = [TITLES, *((f"r{number}{k}", *row) for k, row in enumerate(rows))]
        (tmp_path / f"{number}.tsv").write_text("".join("\t".join(cells) + "\n" for cells in lines))
    (tmp_path / "list").write_text(f"{tmp_path}/1.tsv\n{tmp_path}/2.tsv\n")
    with pytest.raises(InputError, match=r"2\.tsv: cell 'a' is in .*1\.tsv too; if the files are of different cells, number"):
        found_by("--hamming", "--max-distance", "0", f"@{tmp_path}/list")
    assert found_by("--hamming", "--max-distance", "0", "--allow-duplicates", f"@{tmp_path}/list") == ["a\ta_2\t0\t0\t0"]


def test_little_memory(tmp_path, rng):
    rows = [(f"c{k // 2}", "TRA" if k % 2 else "TRB", "", "C" + "".join(rng.choice(list("ASDEF"), 6))) for k in range(6000)]
    path = write(tmp_path / "a.tsv", rows)
    done = gpualign(*CPU, "--locus", "TRB", "--and", "TRA", "--hamming", "--max-distance", "6", "--memory", "4M", path, check=False)
    assert done.returncode == 1
    assert "pairs of different TRB chains are near, whose list has" in done.stderr.decode()


JOINED = ["a.tsv", "--locus", "TRB", "--and", "TRA", "--hamming", "--max-distance", "1"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ["a.tsv", "--and", "TRA", "--hamming", "--max-distance", "1"],
            "--and TRA asks for a second chain of the cells; name the first",
        ),
        (["a.tsv", "--locus", "TRB", "--and", "TRB", "--edit", "--max-distance", "1"], "--and TRB: TRB is in --locus too"),
        (["a.tsv", "--locus", "TRB", "--and", "TRA"], "give --hamming, --edit or --tcrdist, and --max-distance"),
        (["a.tsv", "--locus", "TRB", "--and", "TRA", "--edit"], "give --hamming, --edit or --tcrdist, and --max-distance"),
        (["a.fa", *JOINED[1:]], "--locus chooses rows of a table of receptors, and a.fa is not such a table"),
        (["b.tsv", *JOINED[1:]], "b.tsv: no column is called cell_id or barcode, which says which chains are of the same cell"),
        (["c.tsv", *JOINED[1:]], "c.tsv: no cell has chains of both TRB and TRA"),
        ([*JOINED, "--min-identity", "0.9"], "it cannot be combined with --min-identity"),
        ([*JOINED, "--format", "paf"], "--and TRA writes pairs of cells, which have no alignments; choose tsv, csv"),
        (
            [*JOINED, "--fields", "query,score"],
            "no column is called 'score'; there are query, target, distance, distance_TRB",
        ),
        ([*JOINED, "--resume", "-o", "x.tsv"], "--and TRA joins the pairs of two runs; it cannot be combined with --resume"),
        ([*JOINED, "--shard", "1/2", "-o", "x.tsv"], "it cannot be combined with --shard"),
        ([*JOINED, "--add", "a.tsv"], "it cannot be combined with --add"),
        ([*JOINED, "--groups", "g.tsv", "--within"], "it cannot be combined with --groups"),
        ([*JOINED, "-o", "x.npy"], "a matrix holds every pair"),
    ],
)
def test_refusals(tmp_path, monkeypatch, words, reason):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.tsv", [("a", "TRB", "", "CAS"), ("a", "TRA", "", "CAS")])
    write(tmp_path / "c.tsv", [("a", "TRB", "", "CAS"), ("b", "TRA", "", "CAS")])
    (tmp_path / "b.tsv").write_text("sequence_id\tlocus\tjunction_aa\na\tTRB\tCAS\nb\tTRA\tCAS\n")
    (tmp_path / "a.fa").write_text(">a\nACGT\n>b\nACGT\n")
    (tmp_path / "g.tsv").write_text("r0\tx\nr1\tx\n")
    done = gpualign("nw", "--device", "cpu", *words, check=False)
    assert done.returncode == 2
    assert reason in done.stderr.decode()
    assert not (tmp_path / "x.tsv").exists()
