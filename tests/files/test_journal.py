"""Journals: where a run goes on, after whatever ended the one before; and text packed in members."""

import gzip
import io
import json
import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.common.errors import InputError, command_line_message
from gpualign.core.files.file_pieces import StridedRange
from gpualign.core.files.journal import (
    LAYOUT_VERSION,
    CompleteOutput,
    FileChecksum,
    FinishedFile,
    Mark,
    RunIdentity,
    chain_checks,
    completion_line,
    header_line,
    mark_line,
    process_line,
    read_journal,
    sync_line,
)
from gpualign.core.output.bgzf import MEMBER_TEXT_BYTES, BgzfWriter
from gpualign.core.output.resumable_files import GzipTextFile, TextFile

ONE = RunIdentity("1.0", "nw", {"match": 5}, "abc", 100)


def journal(*lines):
    return chain_checks(header_line(ONE) + b"".join(lines), "")[0]


def plain(rows, size):
    return mark_line(Mark(rows, {"": (size, size, size)}, {"": FileChecksum(size, StridedRange(size - 2, 2), 17)}))


def test_a_run_goes_on_behind_the_last_mark():
    raw = journal(process_line("boot"), plain(0, 7), plain(10, 50), plain(20, 90))
    identity, found = read_journal(raw, "j", "boot")
    assert identity == ONE
    assert (found.rows, dict(found.files), found.journal_bytes) == (20, {"": (90, 90, 0)}, len(raw))
    assert found.sums == {"": [FileChecksum(size, StridedRange(size - 2, 2), 17) for size in (7, 50, 90)]}


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_line_that_was_cut_off_does_not_count(cut):
    whole = journal(process_line("boot"), plain(10, 50))
    raw = journal(process_line("boot"), plain(10, 50), plain(20, 90))[:-cut]
    found = read_journal(raw, "j", "boot")[1]
    assert (found.rows, found.journal_bytes) == (10, len(whole))


@pytest.mark.parametrize("boot", ["other", None])
def test_of_another_boot_only_what_was_synced_is_trusted(boot):
    begun = process_line("boot"), plain(10, 50), plain(15, 60)
    sure = journal(*begun)
    for later in (sync_line(15) + plain(20, 90), plain(20, 90) + sync_line(15), plain(20, 90) + sync_line(15) + plain(30, 99)):
        found = read_journal(journal(*begun, later), "j", boot)[1]
        assert (found.rows, found.journal_bytes, found.synced_rows) == (15, len(sure), 15)
    assert read_journal(journal(process_line("boot"), plain(10, 50)), "j", boot)[1] is None
    assert read_journal(journal(process_line(None), plain(10, 50)), "j", None)[1] is None


def test_marks_after_a_crash_count_by_the_boot_they_were_made_in():
    raw = journal(process_line("old"), plain(10, 50), sync_line(10), process_line("new"), plain(20, 90))
    assert read_journal(raw, "j", "new")[1].rows == 20
    assert read_journal(raw, "j", "old")[1].rows == 10


def test_packed_text_goes_on_from_rows_that_are_safe():
    """The last mark has 90 of text, 64 of them in whole members: rows go on from the one before, whose text ended at 50."""
    marks = [Mark(0, {"": (0, 0, 7)}), Mark(10, {"": (20, 32, 50)}), Mark(20, {"": (40, 64, 90)})]
    raw = journal(process_line("boot"), *map(mark_line, marks))
    found = read_journal(raw, "j", "boot")[1]
    assert (found.rows, dict(found.files)) == (10, {"": (40, 64, 14)})


ENDING = completion_line([FinishedFile(".x.ids.txt.12345678.part", "x.ids.txt", 5, 17), FinishedFile("x.npy.rows.part", None, 0, 0)])


@pytest.mark.parametrize("boot", ["boot", "other", None])
def test_a_complete_output_is_complete_in_any_boot(boot):
    """What its last line says was on the disk before."""
    identity, found = read_journal(journal(process_line("boot"), plain(10, 50), ENDING), "j", boot)
    assert identity == ONE
    assert found == CompleteOutput(
        [FinishedFile(".x.ids.txt.12345678.part", "x.ids.txt", 5, 17), FinishedFile("x.npy.rows.part", None, 0, 0)]
    )


@pytest.mark.parametrize("cut", [1, 2, 10, len(ENDING) - 1])
def test_a_last_line_that_was_cut_off_does_not_count(cut):
    whole = journal(process_line("boot"), plain(10, 50))
    found = read_journal(journal(process_line("boot"), plain(10, 50), ENDING)[:-cut], "j", "boot")[1]
    assert (found.rows, found.journal_bytes) == (10, len(whole))


SUMS = [
    *(b"1", b"[]", b"[9, 0, 9, 1, 0, 0]", b"[9, 0, 9, 1, 0, 0, -1]", b"[9, 0, 9, 1, 0, 0, 1.0]", b"[9, 0, 9, 1, 0, 0, 1, 1]"),
    *(b"[9, 1, 9, 1, 0, 0, 1]", b"[9, 0, 3, 3, 2, 2, 1]", b"[99, 0, 9, 3, 2, 3, 1]", b"[9, 0, 0, 1e9, 0, 0, 1]"),
    *(b"[9999999, 0, 9999999, 1, 0, 0, 1]", b"[9, 0, 0, 99999999, 0, 0, 1]"),
]
"""Of files, that are none."""


@pytest.mark.parametrize(
    "damage",
    [
        ENDING + plain(20, 90),
        b'{"complete": 1}\n',
        b'{"complete": [["a", "b", 1]]}\n',
        b'{"complete": [["a", "b", 1, -1]]}\n',
        b'{"complete": [["a", 2, 1, 1]]}\n',
        b'{"complete": [[null, null, 1, 1]]}\n',
        b'{"rows": -1, "files": {}, "sums": {}, "counts": {}}\n',
        b'{"synced": true}\n',
        b'{"synced": -1}\n',
        b'{"rows": 1}\n',
        b"[]\n",
        b'{"rows": 1, "files": {"": [1]}, "sums": {}, "counts": {}}\n',
        b'{"rows": 1.5, "files": {}, "sums": {}, "counts": {}}\n',
        b'{"rows": true, "files": {}, "sums": {}, "counts": {}}\n',
        b'{"rows": 1, "files": {"": [1e999, 1, 1]}, "sums": {}, "counts": {}}\n',
        b'{"rows": 1, "files": {"": [1, 1, "1"]}, "sums": {}, "counts": {}}\n',
        b'{"rows": 1, "files": {}, "sums": {}, "counts": {}}\n{"rows": 2, "files": {"": [5, 2, 3]}, "sums": {}, "counts": {}}\n',
        b'{"rows": 1, "files": {}}\n',
        b'{"rows": 1, "files": {}, "sums": {}}\n',
        b'{"rows": 1, "files": {}, "sums": {}, "counts": {"hits": -1}}\n',
        b'{"rows": 1, "files": {}, "sums": {}, "counts": 1}\n',
        b'{"rows": 101, "files": {}, "sums": {}, "counts": {}}\n',
        *(b'{"rows": 1, "files": {}, "sums": {"": %b}, "counts": {}}\n' % numbers for numbers in SUMS),
        b"[" * 100_000 + b"\n",
    ],
)
def test_damage_is_refused(damage):
    with pytest.raises(InputError, match="damaged"):
        read_journal(journal(process_line("boot"), damage), "j", "boot")


WHOLE = (process_line("boot"), plain(0, 7), plain(10, 50), sync_line(10), plain(20, 90))


@given(st.data())
def test_a_journal_that_was_changed_anywhere_is_refused(data):
    """Or it ends before the change, where that has taken the end of the last line."""
    lines = (*WHOLE, *([ENDING] if data.draw(st.booleans()) else []))
    raw = bytearray(journal(*lines))
    at = data.draw(st.integers(len(b'{"gpualign journal": 2'), len(raw) - 1))
    raw[at] = data.draw(st.integers(0, 255).filter(lambda byte: byte != raw[at]))
    try:
        found = read_journal(bytes(raw), "j", "boot")
    except InputError:
        return
    assert at == len(raw) - 1
    assert found == read_journal(journal(*lines[:-1]), "j", "boot")


def test_lines_that_were_taken_out_turned_or_repeated_are_refused():
    lines = journal(*WHOLE).splitlines(keepends=True)
    for changed in (lines[:2] + lines[3:], [*lines[:2], lines[3], lines[2], *lines[4:]], [*lines[:3], lines[2], *lines[3:]]):
        with pytest.raises(InputError, match="damaged"):
            read_journal(b"".join(changed), "j", "boot")


@pytest.mark.parametrize("layout", [LAYOUT_VERSION - 1, LAYOUT_VERSION + 1])
def test_another_layout_is_refused(layout):
    head = header_line(ONE).replace(b"%d" % LAYOUT_VERSION, b"%d" % layout, 1)
    with pytest.raises(InputError, match=f"expected a journal of layout {LAYOUT_VERSION}, .* found layout {layout}"):
        read_journal(chain_checks(head, "")[0], "x.journal", None)


def test_a_journal_goes_on():
    raw = journal(*WHOLE)
    found = read_journal(raw, "j", "boot")[1]
    assert found.journal_bytes == len(raw)
    more, check = chain_checks(process_line("boot") + plain(30, 99), found.last_check)
    assert read_journal(raw + more, "j", "boot")[1].rows == 30
    assert read_journal(raw + more, "j", "boot")[1].last_check == check


@pytest.mark.parametrize("changed", [{"options": ["a"]}, {"rows": "9"}, {"version": 1}, {"input": None}, {"more": 1}])
def test_an_identity_of_other_types_is_refused(changed):
    head = json.loads(header_line(ONE)) | changed
    with pytest.raises(InputError, match="damaged"):
        read_journal(chain_checks(json.dumps(head).encode() + b"\n", "")[0], "j", "boot")


@pytest.mark.parametrize("length", [0, 1, 10, 60])
def test_a_journal_that_had_only_been_opened(length):
    assert read_journal(header_line(ONE)[:length], "j", "boot") == (None, None)


@pytest.mark.parametrize("raw", [b"text", b"\0\0", b'{"gpualign part": 1', b"\n"])
def test_what_does_not_begin_like_a_journal_is_refused(raw):
    with pytest.raises(InputError, match="damaged"):
        read_journal(raw, "j", "boot")


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (RunIdentity("2.0", "nw", {"match": 5}, "abc", 100), "it was started by gpualign 2.0, and this is 1.0"),
        (RunIdentity("1.0", "sw", {"match": 5}, "abc", 100), "it was started by gpualign sw"),
        (RunIdentity("1.0", "nw", {"match": 4, "edit": True}, "abc", 100), "started with --edit, with --match 4;"),
        (RunIdentity("1.0", "nw", {}, "abc", 100), "started without --match;"),
        (RunIdentity("1.0", "nw", {"match": 5}, "abd", 100), "started with other input"),
        (RunIdentity("1.0", "nw", {"match": 5}, "abc", 99), "started with other input"),
    ],
)
def test_another_run_is_named(other, said):
    with pytest.raises(InputError) as refused:
        ONE.check(other, "j")
    assert re.match(f"j: .*{said}", command_line_message(refused.value.message))
    ONE.check(ONE, "j")


TEXTS = st.lists(
    st.integers(0, 3 * MEMBER_TEXT_BYTES).flatmap(
        lambda n: st.builds(lambda a, b: (bytes([a, b, 10]) * n)[:n], *[st.integers(32, 126)] * 2)
    )
)


@given(TEXTS, st.randoms(use_true_random=False))
def test_packed_text_is_gzip_whatever_is_written_at_a_time(texts, random):
    text = b"".join(texts)
    found = []
    for pieces in (texts, [text]):
        file = io.BytesIO()
        packed = BgzfWriter(file, threads=2)
        for piece in pieces:
            packed.write(piece)
        assert packed.written_text_bytes == len(text) // MEMBER_TEXT_BYTES * MEMBER_TEXT_BYTES
        assert packed.written_bytes == len(file.getvalue())
        packed.finish()
        found.append(file.getvalue())
    assert gzip.decompress(found[0]) == text
    assert found[0] == found[1]


@given(TEXTS, st.randoms(use_true_random=False), st.sampled_from([TextFile, partial(GzipTextFile, threads=2)]))
def test_text_that_a_run_goes_on_with_is_that_of_one_run(texts, random, kind):
    """It writes its header again, which is in the file, and text from any place before what the file has for sure."""
    text = b"".join(texts)
    header = random.randint(0, min(len(text), 100))

    def write(growing, start, stop):
        growing.write(text[: header // 2])
        growing.write(text[header // 2 : header])
        growing.header_written()
        assert growing.header_bytes == header
        middle = random.randint(start, stop)
        growing.write(text[start:middle])
        growing.write(text[middle:stop])
        assert growing.resume_position()[2] == stop

    write(whole := kind(expected := io.BytesIO(), None), header, len(text))
    whole.finish()
    write(first := kind(file := io.BytesIO(), None), header, random.randint(header, len(text)))
    size, held, _ = first.resume_position()
    file.truncate(size)
    file.seek(size)
    again = random.randint(min(header, held), held)
    write(rest := kind(file, (size, held, held - again)), again, len(text))
    rest.finish()
    assert file.getvalue() == expected.getvalue()
