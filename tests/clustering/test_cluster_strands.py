"""`gpualign cluster --strand both`: records and reverse complements of their relatives in one cluster, and what .uc says of them."""

import csv
import io

import numpy as np
import pytest
from Bio.Seq import Seq
from command import gpualign_here

from gpualign.core.common.errors import InputError


def turned(letters):
    return str(Seq(letters).reverse_complement())


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(3)
    first, second = ("".join(rng.choice(list("ACGT"), 80)) for _ in range(2))
    near = first[:30] + first[31:60] + "T" + first[60:]
    return {
        "long": first + "AC",
        "near": near,
        "back": turned(near),
        "other": second,
        "same": first + "AC",
        "other_back": turned(second),
        "edge": turned(first)[5:],
    }


@pytest.fixture(scope="module")
def file(records, tmp_path_factory):
    path = tmp_path_factory.mktemp("cluster") / "x.fa"
    path.write_text("".join(f">{name}\n{letters}\n" for name, letters in records.items()))
    return path


@pytest.mark.parametrize("method", ["single", "complete", "average", "greedy"])
def test_clusters(file, method):
    if method != "greedy":
        pytest.importorskip("scipy")
    words = ["cluster", "-q", file, "--edit", "--max-distance", 12, "--method", method]
    found = list(csv.DictReader(io.StringIO(gpualign_here(*words, "--strand", "both")[0].decode()), delimiter="\t"))
    assert {row["id"]: row["cluster"] for row in found} == {
        **dict.fromkeys(["long", "near", "back", "same", "edge"], "1"),
        **dict.fromkeys(["other", "other_back"], "2"),
    }
    plain = csv.DictReader(io.StringIO(gpualign_here(*words)[0].decode()), delimiter="\t")
    assert len({row["cluster"] for row in plain}) == 4


def test_uc_tells_the_strand_and_a_path_along_it(records, file):
    words = ["cluster", "-q", file, "--edit", "--max-distance", 12, "--method", "greedy", "--format", "uc", "--strand", "both"]
    for order in ("length", "input"):
        lines = [line.split("\t") for line in gpualign_here(*words, "--order", order)[0].decode().splitlines()]
        hits = {line[8]: line for line in lines if line[0] == "H"}
        assert {name: line[4] for name, line in hits.items()} == {
            **{"near": "+", "back": "-", "same": "+", "edge": "-"},
            "other_back": "-",
        }
        assert (hits["same"][7], hits["other_back"][7], hits["other_back"][3]) == ("=", "=", "100.0")
        for name in ("near", "back", "edge"):
            record = records[name] if hits[name][4] == "+" else turned(records[name])
            assert equal_letters(hits[name][7], record, records[hits[name][9]]) >= 74


def test_a_representative_behind_its_member(records, tmp_path):
    """The earlier record is what is turned; .uc turns the member, wherever it stands."""
    path = tmp_path / "x.fa"
    path.write_text(f">member\n{records['back'][3:]}\n>centroid\n{records['long']}\n")
    words = ["cluster", "-q", path, "--edit", "--max-distance", 12, "--method", "greedy", "--format", "uc", "--strand", "both"]
    hit = gpualign_here(*words)[0].decode().splitlines()[1].split("\t")
    assert (hit[4], hit[8], hit[9]) == ("-", "member", "centroid")
    assert equal_letters(hit[7], turned(records["back"][3:]), records["long"]) >= 74


def equal_letters(path, record, representative):
    """Equal letters in the columns of a path as .uc writes it; it must hold all letters of both."""
    import re

    at, equal = [0, 0], 0
    for count, kind in re.findall(r"(\d*)([MID])", path):
        for _ in range(int(count or 1)):
            equal += kind == "M" and record[at[0]] == representative[at[1]]
            at = [at[0] + (kind != "I"), at[1] + (kind != "D")]
    assert at == [len(record), len(representative)]
    return equal


def test_strands_are_of_alignments(file, tmp_path):
    (tmp_path / "edges.tsv").write_text("query\ttarget\tdistance\na\tb\t1\n")
    with pytest.raises(InputError, match="--strand applies to alignments; with --edges nothing is aligned"):
        gpualign_here("cluster", "--edges", tmp_path / "edges.tsv", "--max-distance", 1, "--strand", "both")
