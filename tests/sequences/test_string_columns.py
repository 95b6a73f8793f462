"""Columns of strings as one array of bytes, as lines and as an array of NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.sequences.string_column import StringColumn

STRINGS = st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=12), max_size=20)


@given(STRINGS, st.integers(0, 3), st.integers(0, 20))
def test_any_strings(strings, start, stop):
    """Also of a part, before and after which the bytes go on."""
    column = StringColumn.from_strings(strings)[start:stop]
    expected = strings[start:stop]
    assert column.lines.tobytes() == "".join(f"{one}\n" for one in expected).encode()
    array = column.to_array()
    assert array.dtype == np.array(expected, dtype=np.str_).dtype
    assert array.tolist() == expected


@pytest.mark.parametrize("text", [b"caf\xe9", b"\xff"])
def test_bytes_that_are_no_utf8(text):
    column = StringColumn.from_bytes([b"a", text])
    assert column.lines.tobytes() == b"a\n" + text + b"\n"
    assert [one.encode("utf-8", "surrogateescape") for one in column.to_array().tolist()] == [b"a", text]
