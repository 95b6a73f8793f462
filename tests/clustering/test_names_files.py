"""Tables of names and logs of merges: what is written is read again, and what does not belong together is refused."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.clustering.names import ClusterNames, Merge
from gpualign.core.clustering.names_files import level_title, merge_line, read_merge_log, read_names, write_merge_log, write_names
from gpualign.core.common.errors import InputError

LEVELS = (12.0, 0.5)
IDS = st.text(st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1).filter(lambda name: name.strip() == name)


def written(write, *what):
    stream = io.BytesIO()
    write(stream, LEVELS, *what)
    return stream.getvalue()


def read(table, log):
    merges = read_merge_log(io.BytesIO(log), "x.log")
    return read_names(io.BytesIO(table), "x.tsv", LEVELS, merges, "x.log"), merges.lines


@st.composite
def names(draw):
    ids = draw(st.lists(IDS, min_size=1, max_size=6, unique=True))
    codes = np.array(draw(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=len(ids), max_size=len(ids)))).T
    return ClusterNames(ids, codes, codes.max(axis=1) + draw(st.integers(0, 2)))


@given(names(), st.lists(IDS, max_size=3))
def test_what_is_written_is_read(given, joined):
    lines = [merge_line(Merge(1, 2, 3, tuple(joined)), LEVELS, "2026-11-27")]
    table, log = written(write_names, given), written(write_merge_log, given, lines)
    found, found_lines = read(table, log)
    assert (list(found.ids), found.codes.tolist()) == (list(given.ids), given.codes.tolist())
    assert found.code_counts.tolist() == given.code_counts.tolist()
    assert list(found_lines) == lines
    (row,) = csv.reader([lines[0].split("\t")[4]])
    assert row == joined


def test_the_table_and_the_log():
    """The whole of both files."""
    given = ClusterNames(["a", "b c"], np.array([[1, 1], [1, 3]]), np.array([1, 3]))
    assert written(write_names, given).decode() == "id\taddress\tt12\tt0.5\na\t1.1\t1\t1\nb c\t1.3\t1\t3\n"
    lines = [merge_line(Merge(1, 1, 2, ("x", "y, z")), LEVELS, "2026-11-27")]
    header, *rest = written(write_merge_log, given, lines).decode().splitlines()
    assert header.startswith("# names: levels=12,0.5 codes=1,3 sha256=")
    assert rest == ["date\tlevel\tkept\tmerged\tsamples", '2026-11-27\t0.5\t1\t2\tx,"y, z"']


@pytest.mark.parametrize(("level", "title"), [(0.0, "t0"), (5.0, "t5"), (1e6, "t1000000"), (0.03, "t0.03"), (1e-7, "t1e-07")])
def test_titles_of_levels(level, title):
    assert level_title(level) == title


GIVEN = ClusterNames(["a", "b", "c"], np.array([[1, 1, 4], [1, 3, 5]]), np.array([4, 5]))
LINES = ["2026-11-20\t12\t1\t2\tb", "2026-11-27\t12\t1\t3\tc"]
TABLE, LOG = written(write_names, GIVEN), written(write_merge_log, GIVEN, LINES)


def test_rows_may_be_sorted_and_columns_added():
    """As by a spreadsheet, which may also save it between semicolons."""
    titles, *rows = TABLE.decode().splitlines()
    other = "\n".join([f"ward\t{titles}", *(f"w\t{row}" for row in reversed(rows)), ""])
    for text in (other, other.replace("\t", ";"), other.replace("\n", "\r\n")):
        assert read(text.encode(), LOG)[0].ids == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b"a\t1.1\t1\t1", b"a\t1.2\t1\t2", "does not belong to it"),
        (b"a\t1.1\t1\t1\n", b"", "does not belong to it"),
        (b"a\t1.1", b"d\t1.1", "does not belong to it"),
        (b"a\t1.1", b"b\t1.1", "'b' is on lines 2 and 3"),
        (b"\t1\t3\n", b"\t1\tx\n", "line 3: expected the number of a cluster, found 'x'"),
        (b"\t1\t3\n", b"\t1\n", "line 3 has 3 columns, the header has 4"),
        (b"t0.5", b"t0.6", "one column 't0.5'"),
        (b"t0.5", b"t12", "one column 't12'"),
        (b"id", b"name", "one column 'id'"),
        (TABLE, b"", "one column 'id'"),
    ],
)
def test_tables_that_are_refused(old, new, says):
    assert TABLE.count(old) == 1
    with pytest.raises(InputError, match=f"^x.tsv: .*{says}"):
        read(TABLE.replace(old, new), LOG)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (b"\n2026-11-27\t12\t1\t3\tc", b"", "x.tsv: x.log does not belong"),  # the merge of the last code, which is not in the table either
        (b"\t3\tc", b"\t3\td", "x.tsv: x.log does not belong"),
        (b"codes=4,5", b"codes=4,6", "x.tsv: x.log does not belong"),
        (b"codes=4,5", b"codes=4,5,6", "x.log: line 1 is damaged"),
        (b"codes=4,5", b"codes=4," + 5000 * b"5", "x.log: not a log of merges"),
        (b"levels=12,0.5", b"levels=12,0.6", "x.tsv: its names are those of levels='12,0.6', .*found levels='12,0.5'"),
        (b"levels=", b"", "x.log: not a log of merges"),
        (b"\t3\tc\n", b"\t", "x.log: line 4 is damaged"),
        (LOG, b"", "x.log: not a log of merges"),
        (LOG, b"2026-11-27 12:00:00 gpualign cluster: 5 records\n", "x.log: not a log of merges"),
    ],
)
def test_logs_that_are_refused(old, new, says):
    assert LOG.count(old) == 1
    with pytest.raises(InputError, match=f"^{says}"):
        read(TABLE, LOG.replace(old, new))
