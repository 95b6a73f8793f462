"""What separates the cells of tables, and what is in quotes."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.files.delimiters import delimiter_of
from gpualign.core.files.quoting import cell_text, replace_quoted_delimiters


@given(st.lists(st.text('a",;1 ', max_size=6), min_size=2, max_size=25), st.booleans(), st.sampled_from(",;"))
def test_lines_in_quotes_are_those_of_csv(cells, everything, mark):
    text = io.StringIO()
    csv.writer(text, delimiter=mark, quoting=csv.QUOTE_ALL if everything else csv.QUOTE_MINIMAL, lineterminator="\n").writerow(cells)
    [line] = replace_quoted_delimiters(iter([text.getvalue().encode()]), mark, "x", 1)
    found = [cell_text(cell) for cell in line.rstrip(b"\n").split(mark.encode())]
    read = next(csv.reader([text.getvalue()], delimiter=mark, strict=True))
    assert found == [cell if everything or '"' in cell or mark in cell else cell.strip() for cell in read]


@pytest.mark.parametrize("letters_left", range(14))
def test_quotes_of_a_line_of_megabytes(letters_left):
    """Wherever a megabyte ends in it: in quotes, between two of them, and beside a delimiter."""
    quoted, long = '"q",' * 20, "x" * ((1 << 20) - letters_left - 80)
    [line] = replace_quoted_delimiters(iter([f'{quoted}{long}"a""b,c","""",d\n'.encode()]), ",", "x", 1)
    assert line == f'{quoted}{long}"a""b,c","""",d\n'.encode()  # these quotes are within a cell
    [line] = replace_quoted_delimiters(iter([f'{quoted}{long[3:]},"","a""b,c","""",d\n'.encode()]), ",", "x", 1)
    assert [cell_text(cell) for cell in line.rstrip(b"\n").split(b",")] == [*["q"] * 20, long[3:], "", 'a"b,c', '"', "d"]


@given(st.lists(st.text('a",; ', max_size=6), min_size=2, max_size=5), st.sampled_from(",;"))
def test_the_delimiter_of_a_table_is_found_as_csv_writes_it(header, mark):
    text = io.StringIO()
    rows = csv.writer(text, delimiter=mark, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    rows.writerows([header, range(len(header))])
    assert delimiter_of(*text.getvalue().encode().splitlines()) == mark


@pytest.mark.parametrize(
    ("header", "row", "mark"),
    [
        ('id;a,b;"c""d"', '"s;0";A;A;G,0', ";"),  # either cuts both lines alike; but by commas a cell would have quotes inside
        ('id,a;b,"c;d"', '"s,0",A,A;G', ","),
        ('id;a,b;"c"', "s;0,5;1", ";"),
        ("id;a,b;c", "s;0,5;1", ","),
        ("S1;1,0", "S2;2,0", ";"),
        ("S1;1,0,2", "S2;2,0,3", ","),
        ("id a b", "S1 0,0 1,0", " "),
        ("my id", "S1,0", ","),
        ('"id";"a,b";"c"\r\n', '"s";"0,5";"1"\r\n', ";"),
    ],
)
def test_no_cell_has_quotes_inside(header, row, mark):
    assert delimiter_of(header.encode(), row.encode()) == mark
