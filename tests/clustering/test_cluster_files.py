"""Files with clusters, as the programs write them: their records, their representatives, and what is refused."""

import gzip
import io
import re

import pytest

from gpualign.core.clustering.cluster_files import ClusterFileKind, read_clusters
from gpualign.core.clustering.given_clusters import match_records
from gpualign.core.common.errors import InputError

IDS = ["a", "b;size=7", "c", "sp|P12345|C_HUMAN", "a_record_with_a_long_name_1", "another_record_with_a_long_name"]

TABLE = "id\tcluster\tsize\trepresentative\tdistance\na\t1\t2\tc\t3\nb;size=7\t2\t1\tb;size=7\t0\nc\t1\t2\tc\t0\n"
UC = (
    "S\t0\t16\t*\t*\t*\t*\t*\tc\t*\nS\t1\t16\t*\t*\t*\t*\t*\tb\t*\nH\t0\t15\t98.1\t+\t0\t0\t15MI\ta and more\tc\n"
    "C\t0\t2\t*\t*\t*\t*\t*\tc\t*\nC\t1\t1\t*\t*\t*\t*\t*\tb\t*\n"
)
CLSTR = (
    ">Cluster 0\n0\t297aa, >a... at 98.32%\n1\t300aa, >c... *\n>Cluster 1\n0\t290nt, >b;size=... *\n"
    "1\t290nt, >another_record_with... at 1:290:1:290/+/97.00%\n"
)
PAIRS = "c\tc\nc\ta\nP12345\tP12345\n"


def read(text, ids=IDS):
    return match_records(read_clusters(io.BytesIO(text if isinstance(text, bytes) else text.encode()), "x"), ids)


def clusters(text, ids=IDS):
    """The members of each cluster with the representative in front, by the names of the clusters."""
    found = read(text, ids)
    of = [None] * len(found.clusters) if found.representatives is None else found.representatives.tolist()
    members = [[ids[r] for r, label in enumerate(found.labels) if label == k and r != of[k]] for k in range(len(found.clusters))]
    return {name: [*([] if one is None else [ids[one]]), *own] for name, one, own in zip(found.clusters, of, members, strict=True)}


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (TABLE, ClusterFileKind.TABLE, {"1": ["c", "a"], "2": ["b;size=7"]}),
        (TABLE.replace("\t", ","), ClusterFileKind.TABLE, {"1": ["c", "a"], "2": ["b;size=7"]}),
        ("id\tcluster\nc\tx\na\tx\nb;size=7\ty\n", ClusterFileKind.TABLE, {"x": ["a", "c"], "y": ["b;size=7"]}),
        ("id\trepresentative\na\tc\nc\tc\n", ClusterFileKind.TABLE, {"c": ["c", "a"]}),
        ("sequence_id\tv_call\tclone_id\na\tV1\t2\nzz\tV1\t\nc\tV1\t2\n", ClusterFileKind.TABLE, {"2": ["a", "c"]}),
        (UC, ClusterFileKind.UC, {"0": ["c", "a"], "1": ["b;size=7"]}),
        (f"# uclust\n{UC}", ClusterFileKind.UC, {"0": ["c", "a"], "1": ["b;size=7"]}),
        (CLSTR, ClusterFileKind.CLSTR, {"0": ["c", "a"], "1": ["b;size=7", "another_record_with_a_long_name"]}),
        (PAIRS, ClusterFileKind.PAIRS, {"c": ["c", "a"], "P12345": ["sp|P12345|C_HUMAN"]}),
        ("c\ta\n", ClusterFileKind.PAIRS, {"c": ["c", "a"]}),  # without a line for the representative itself
    ],
)
@pytest.mark.parametrize("as_written", [True, False], ids=["plain", "from Windows, compressed"])
def test_formats(text, kind, expected, as_written):
    data = text.encode() if as_written else gzip.compress(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert read_clusters(io.BytesIO(data), "x").kind is kind
    assert clusters(data) == expected


def test_numbers_as_the_first_ids():
    assert clusters("12\t12\n12\tb1\nx13\tx13\n", ["12", "b1", "x13"]) == {"12": ["12", "b1"], "x13": ["x13"]}


@pytest.mark.parametrize("word", ["NA", "NaN", "None", "<NA>", ""])
def test_words_for_no_cluster(word):
    assert clusters(f"id\tcluster\na\t1\nc\t{word}\nb;size=7\t1\n") == {"1": ["a", "b;size=7"]}


def test_singletons_of_treecluster():
    text = "SequenceName\tClusterNumber\na\t-1\nb;size=7\t1\nsp|P12345|C_HUMAN\t1\nc\t-1\n"
    assert clusters(text) == {"-1 (a)": ["a"], "1": ["b;size=7", "sp|P12345|C_HUMAN"], "-1 (c)": ["c"]}


@pytest.mark.parametrize("titles", ["Taxon,Cluster", "ID,Cluster", "SequenceName,ClusterNumber"])
def test_titles_of_other_programs(titles):
    assert clusters(f"{titles}\na,1\nb;size=7,1\nc,2\n") == {"1": ["a", "b;size=7"], "2": ["c"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# made by x, y\nid,cluster\na,1\nc,2\n", {"1": ["a"], "2": ["c"]}),
        ("# made by x\nc\tc\nc\ta\n", {"c": ["c", "a"]}),
        ("#1\t#1\n#1\t#2\na\ta\n", {"#1": ["#1", "#2"], "a": ["a"]}),  # no comments
        ("#1\t#1\n#1\t#2\n", {"#1": ["#1", "#2"]}),
        ("#1\t#1\n#1\t#2\n\na\ta\n", {"#1": ["#1", "#2"], "a": ["a"]}),
        ("#1\t#1\n#1\t#2\nb_id\tb_id\n", {"#1": ["#1", "#2"], "b_id": ["b_id"]}),
        ("# made,\n# by,\nid,cluster\na,1\n", {"1": ["a"]}),
        ("#1 x\t#1 x\n#1 x\t#2 y\na\ta\n", {"#1 x": ["#1", "#2"], "a": ["a"]}),
    ],
)
def test_comments_above_clusters(text, expected):
    assert clusters(text, [*IDS, "#1", "#2", "b_id"]) == expected


def test_records_in_no_cluster():
    found = read(PAIRS)
    assert [IDS[r] for r in found.missing_records] == ["b;size=7", "a_record_with_a_long_name_1", "another_record_with_a_long_name"]
    assert found.representative_of.tolist() == [2, -1, 2, 3, -1, -1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x: empty file; expected a table with the columns id and cluster or representative, .uc"),
        ("\n\n", "x: empty file"),
        ("id\tcluster\n", "x: no clusters"),
        (">Cluster 0\n", "x: no clusters"),
        (b"DATA\0\0\0", "x: a binary file; expected"),
        (">a\nACGT\n", "x is FASTA; expected"),
        ("query\ttarget\tdistance\na\tb\t1\n", "x is a list of pairs; expected"),
        ("a\tb\tc\n", "x: line 1 is 'a, b, c'; expected"),
        ("id\tsize\tt5\na\t1\t1\n", "x: line 1 is 'id, size, t5'; expected"),
        ("id\tcluster\na\t1\nc\t1\t1\n", "x: line 3 has 3 columns; expected 2, as in line 1"),
        ("c\tc\nc\ta\tb\n", "x: line 2 has 3 columns; expected 2, as in line 1"),
        ("id\tcluster\na\t1\n\t1\n", "x: line 3 has an empty id"),
        (UC.replace("C\t1\t1\t*\t*\t*\t*\t*\tb", "C\t1\t1\tb"), "x: line 5 has 5 columns; expected the 10 of .uc"),
        (UC.replace("H\t0", "N\t0"), "x: line 3 begins with 'N'; expected S, H or C, as in .uc of clusters (a search writes others)"),
        (UC.replace("a and more\tc", "a\tb"), "x: lines 1 and 3 name 'c' and 'b' as the representative of cluster '0'; a cluster has one"),
        (CLSTR.replace("c... *", "c... at 98%"), "x: line 2: cluster '0' has no representative in the file"),
        (CLSTR.replace("98.32%", "98.32%\n1\t300aa c"), "x: line 3 is '1\\t300aa c'; expected a line such as"),
        (CLSTR.replace("at 98.32%", "*"), "x: lines 2 and 3 name 'a' and 'c' as the representative of cluster '0'"),
        ("id\tcluster\na\t1\nd\t1\n", "x: line 3 names 'd', which is not among the records"),
        ("c\tc\nd\td\n", "x: line 2 names 'd', which is not among the records"),
        ("id\tcluster\na\t1\nc\t1\na\t2\n", "x: 'a' is on lines 2 and 4; expected it once"),
        ("c\ta\na\tc\n", "x: line 1 names 'c' as the representative of cluster 'c', and line 2 puts it into cluster 'a'"),
        (
            "id\tcluster\trepresentative\na\t1\tc\nb;size=7\t2\tc\n",
            "of cluster '2', and line 2 puts it into cluster '1'",
        ),
    ],
)
def test_refused(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        read(text)


CUT = ["0123456789012345678_one", "0123456789012345678_two", "0123456789012345678"]


@pytest.mark.parametrize(
    ("ids", "rows", "message"),
    [
        (
            CUT[:2],
            [CUT[2]],
            "line 2: '0123456789012345678' may stand for several of the records; CD-HIT cuts ids",
        ),
        (CUT, [CUT[2]], "may stand for several of the records; CD-HIT cuts ids"),
        (
            CUT[1:],
            [CUT[2], CUT[2]],
            "is on lines 2 and 3; expected it once; CD-HIT cuts ids, unless it is run with -d 0",
        ),
        (["a;size=1", "a;size=2"], ["a"], "'a' may stand for several"),
    ],
)
def test_ids_that_cd_hit_has_cut(ids, rows, message):
    text = ">Cluster 0\n" + "".join(f"{k}\t9nt, >{name}... {'at +/99%' if k else '*'}\n" for k, name in enumerate(rows))
    with pytest.raises(InputError, match=re.escape(message)):
        read(text, ids)


def test_an_id_that_cd_hit_has_cut_and_that_fits_one_record():
    assert clusters(f">Cluster 0\n0\t9nt, >{CUT[2]}... *\n", [CUT[0], "a"]) == {"0": [CUT[0]]}


def test_ambiguous_parts_of_ids():
    with pytest.raises(InputError, match=r"line 1: 'sp' may stand for several of the records$"):
        read("sp\tsp\n", ["sp|A|x", "sp|B|y"])
