"""Clones: `gpualign cluster` of a table of receptors writes that table with their clusters."""

import csv
import gzip
import io
import itertools
import re
import subprocess

import numpy as np
import pytest
from command import gpualign, gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualign as gp
from gpualign.core.common.errors import InputError

GENES = ("TRBV1*01", "TRBV1*02", "TRBV2*01", "TRBV1*01,TRBV2*01", "")
TITLES = ("sequence_id", "note", "v_call", "productive", "junction_aa", "more")
ROWS = st.lists(
    st.tuples(
        st.sampled_from(("", "x y", "ü", "-")),
        st.sampled_from(GENES),
        st.sampled_from(("T", "F", "")),
        st.text("CAS*", max_size=3),
        st.sampled_from(("", "end")),
    ),
    min_size=1,
    max_size=12,
)
WORDS = ("cluster", "-q", "--device", "cpu", "--max-distance", "1", "--hamming")


def text_of(rows, titles=TITLES, end="\n", delimiter="\t", first=0):
    lines = [titles, *((f"r{first + number}", *row) for number, row in enumerate(rows))]
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter, lineterminator=end).writerows(lines)
    return written.getvalue().encode()


def clones_of(rows, same):
    """Clone of each row, "" for rows without a productive sequence: connected rows, by a plain loop, numbered by their first rows."""
    kept = [k for k, row in enumerate(rows) if row[2] != "F" and row[3] and "*" not in row[3]]
    label = {k: k for k in kept}
    for i, j in itertools.combinations(kept, 2):
        one, other = rows[i], rows[j]
        genes = [{name.split("*")[0] for name in row[1].split(",")} - {""} for row in (one, other)]
        near = len(one[3]) == len(other[3]) and sum(a != b for a, b in zip(one[3], other[3], strict=True)) <= 1
        if near and (not same or genes[0] & genes[1]):
            low, high = sorted((label[i], label[j]))
            label = {k: low if value == high else value for k, value in label.items()}
    number = {first: str(k + 1) for k, first in enumerate(dict.fromkeys(label[k] for k in kept))}
    return [number[label[k]] if k in label else "" for k in range(len(rows))]


@settings(deadline=None, max_examples=60)
@given(ROWS, st.booleans(), st.sampled_from(("\n", "\r\n")), st.sampled_from(("\t", ",")), st.integers(0, 6))
def test_tables_keep_everything_and_get_clones(tmp_path_factory, rows, same, end, delimiter, place):
    """clone_id is a new last column, or replaces one anywhere but before the ids."""
    path = tmp_path_factory.mktemp("clones") / "a.tsv"
    clones = clones_of(rows, same)
    titles, with_old, wanted = [*TITLES], [list(row) for row in rows], [[*row] for row in rows]
    if place:
        titles.insert(place, "clone_id")
        for row in with_old:
            row.insert(place - 1, "old")
        for row, clone in zip(wanted, clones, strict=True):
            row.insert(place - 1, clone)
    else:
        wanted = [[*row, clone] for row, clone in zip(rows, clones, strict=True)]
    path.write_bytes(text_of(with_old, titles, end, delimiter))
    words = (*WORDS, "--sequence-column", "junction_aa", *(["--same", "v_call"] if same else []), path)
    if any(clones):
        assert gpualign_here(*words)[0] == text_of(wanted, titles if place else [*titles, "clone_id"], end, delimiter)
    else:
        with pytest.raises(InputError, match="without any productive sequence"):
            gpualign_here(*words)


def random_rows(rng, count):
    letters = (("".join(rng.choice(list("CASR"), 5))) for _ in range(count))
    return [("", str(rng.choice(GENES)), str(rng.choice(["T", "T", "F"])), text, "") for text in letters]


def test_pipes_compressed_files_and_lists(tmp_path, rng):
    rows = random_rows(rng, 60)
    wanted = text_of([[*row, clone] for row, clone in zip(rows, clones_of(rows, True), strict=True)], [*TITLES, "clone_id"])
    (tmp_path / "a.tsv").write_bytes(text_of(rows))
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(text_of(rows)))
    (tmp_path / "1.tsv").write_bytes(text_of(rows[:25]))
    (tmp_path / "2.tsv").write_bytes(text_of(rows[25:], first=25))
    (tmp_path / "list").write_text(f"{tmp_path}/1.tsv\n{tmp_path}/2.tsv\n")
    for source in ("a.tsv", "a.tsv.gz"):
        assert gpualign(*WORDS, "--same", "v_call", tmp_path / source).stdout == wanted
        command = f"cat {tmp_path / source} | gpualign {' '.join(WORDS)} --same v_call -"
        assert subprocess.run(["bash", "-c", command], capture_output=True, check=True).stdout == wanted
        assert gpualign(*WORDS, "--same", "v_call", "-", stdin=(tmp_path / source).read_bytes()).stdout == wanted
    assert gpualign(*WORDS, "--same", "v_call", f"@{tmp_path / 'list'}").stdout == wanted
    gpualign(*WORDS, "--same", "v_call", tmp_path / "a.tsv", "-o", tmp_path / "out.tsv.gz", "--uc", tmp_path / "x.uc")
    assert gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()) == wanted
    kept = sum(bool(clone) for clone in clones_of(rows, True))
    assert sum(line[:1] in b"SH" for line in (tmp_path / "x.uc").read_bytes().splitlines()) == kept
    plain = gpualign(*WORDS, "--same", "v_call", tmp_path / "a.tsv", "--format", "tsv").stdout.decode().splitlines()
    assert [line.split("\t")[:2] for line in plain[1:]] == [[f"r{k}", clone] for k, clone in enumerate(clones_of(rows, True)) if clone]


@pytest.mark.parametrize("method", ["complete", "greedy"])
def test_other_methods(tmp_path, rng, method):
    """Near pairs are those of --same whatever the method, as those of a list."""
    rows = random_rows(rng, 80)
    (tmp_path / "a.tsv").write_bytes(text_of(rows))
    words, order = ("--same", "v_call", tmp_path / "a.tsv"), ("--order", "input") if method == "greedy" else ()
    (tmp_path / "near.tsv").write_bytes(gpualign_here("nw", "-q", "--device", "cpu", "--max-distance", "1", "--hamming", *words)[0])
    found = gpualign_here(*WORDS, "--method", method, *order, "--format", "tsv", *words)[0]
    (tmp_path / "ids").write_text("".join(f"r{k}\n" for k, clone in enumerate(clones_of(rows, False)) if clone))
    by_list = ("cluster", "-q", "--max-distance", "1", "--method", method, "--edges", tmp_path / "near.tsv", "--ids", tmp_path / "ids")
    assert found == gpualign_here(*by_list, *order)[0]
    assert np.unique([row.split(b"\t")[1] for row in found.splitlines()[1:]]).size > 3


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["@list"], "2.tsv: its columns are not those of 1.tsv, and clusters are written as one table; cluster each file by itself"),
        (["a.fa", "--format", "airr"], "--format airr adds clusters to the tables of the records, and these are no tables; write tsv"),
        (
            ["1.tsv", "--method", "average", "--same", "v_call"],
            "takes the mean of all distances, and only near pairs have one",
        ),
        (["a.fa", "--same", "v_call"], "--same compares columns of a table, and a.fa is no table"),
        (["1.tsv", "--alleles"], "--alleles compares alleles of the genes in --same: give that too"),
        (["1.tsv", "-o", "1.tsv"], "the output 1.tsv is also an input"),
    ],
)
def test_refusals(tmp_path, monkeypatch, words, reason):
    monkeypatch.chdir(tmp_path)
    rows = [("", "TRBV1", "T", "CASF", ""), ("", "TRBV1", "T", "CASF", "")]
    (tmp_path / "1.tsv").write_bytes(text_of(rows))
    (tmp_path / "2.tsv").write_bytes(text_of(rows, [*TITLES[:-1], "other"], first=2))
    (tmp_path / "list").write_text("1.tsv\n2.tsv\n")
    (tmp_path / "a.fa").write_text(">a\nACGT\n>b\nACGT\n")
    before = (tmp_path / "1.tsv").read_bytes()
    done = gpualign("cluster", "--device", "cpu", "--edit", "--max-distance", "1", *words, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert reason in done.stderr.decode()
    assert (tmp_path / "1.tsv").read_bytes() == before


def test_clusters_do_not_replace_the_ids(tmp_path, monkeypatch):
    """tcrdist3 calls its column of ids clone_id."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dash.csv").write_text("clone_id,cdr3_b_aa\nmouse1,CASF\nmouse2,CASY\n")
    words = (*WORDS, "dash.csv", "--id-column", "clone_id", "--sequence-column", "cdr3_b_aa")
    for more in ((), ("--format", "airr")):
        with pytest.raises(InputError, match=r"the clusters would replace this column of dash\.csv"):
            gpualign_here(*words, *more)
    assert gpualign_here(*words, "--format", "tsv")[0].splitlines()[1] == b"mouse1\t1\t2\tmouse1\t0"


def test_a_table_that_changes_while_it_is_clustered(tmp_path, monkeypatch):
    """Nothing is written, whatever has changed."""
    from gpualign.core.clustering import table_writer

    rows = [("", "TRBV1", "T", "CASF", "")] * 3
    for changed in (rows[:2], [*rows, rows[0]], [("", "TRBV1", "F", "CASF", ""), *rows[1:]]):
        (tmp_path / "a.tsv").write_bytes(text_of(rows))
        table = table_writer.RecordTable

        def opened(*arguments, later=changed, original=table):
            return original(io.BytesIO(text_of(later)), *arguments[1:])

        monkeypatch.setattr(table_writer, "RecordTable", opened)
        with pytest.raises(Exception, match="has changed since it was read"):
            gpualign_here(*WORDS, tmp_path / "a.tsv", "-o", tmp_path / "out.tsv")
        monkeypatch.setattr(table_writer, "RecordTable", table)
        assert not (tmp_path / "out.tsv").exists()


def table_with_counts(path, counts, texts):
    rows = [f"r{k:02}\t{n}\t{text}\n" for k, (n, text) in enumerate(zip(counts, texts, strict=True))]
    path.write_text("".join(["sequence_id\tduplicate_count\tjunction_aa\n", *rows]))
    return path


def test_greedy_clusters_begin_with_the_largest_duplicate_count(tmp_path, rng):
    """The same clusters as of FASTA with `;size=N`, also for ties of lengths and for the pairs of a list."""
    counts = ["", "3.0", *map(str, rng.integers(1, 9, 38))]
    texts = ["".join(rng.choice(list("CAS"), rng.integers(4, 6))) for _ in counts]
    table = table_with_counts(tmp_path / "a.tsv", counts, texts)
    fasta = tmp_path / "a.fa"
    sizes = [int(float(n or 1)) for n in counts]
    fasta.write_text("".join(f">r{k:02};size={n}\n{text}\n" for k, (n, text) in enumerate(zip(sizes, texts, strict=True))))
    words = ("cluster", "-q", "--device", "cpu", "--edit", "--max-distance", "1", "--method", "greedy", "--format", "tsv")
    found = {}
    for order in ("size", "length", "input"):
        found[order] = gpualign_here(*words, "--order", order, table)[0].decode()
        of_fasta = gpualign_here(*words, "--order", order, "--alphabet", "protein", fasta)[0].decode()
        assert found[order] == re.sub(r";size=\d+", "", of_fasta)
    assert found["size"] != found["input"] != found["length"]
    near = tmp_path / "near.tsv"
    near.write_bytes(gpualign_here("nw", "-q", "--device", "cpu", "--edit", "--max-distance", "1", table)[0])
    by_list = ("cluster", "-q", "--edges", near, "--max-distance", "1", "--method", "greedy", "--order", "size", table)
    assert gpualign_here(*by_list)[0].decode() == found["size"]
    in_python = gp.cluster(table, scoring=gp.EDIT, max_distance=1, method="greedy", order="size")
    assert [f"{k + 1}" for k in in_python.labels.tolist()] == [line.split("\t")[1] for line in found["size"].splitlines()[1:]]


def test_counts_that_are_no_whole_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("cluster", "-q", "--device", "cpu", "--edit", "--max-distance", "1", "--method", "greedy", "--order", "size", "a.tsv")
    table_with_counts(tmp_path / "a.tsv", ["1", "many"], ["CAS", "CAS"])
    done = gpualign(*words, check=False)
    assert done.returncode == 2
    assert "a.tsv: record 'r01': expected a whole number in the column duplicate_count; found 'many'" in done.stderr.decode()
    (tmp_path / "a.tsv").write_text("sequence_id\tjunction_aa\nr0\tCAS\n")
    done = gpualign(*words, check=False)
    assert done.returncode == 2
    assert "no id has an abundance, such as 'a;size=12', and no column duplicate_count of a table has them" in done.stderr.decode()
