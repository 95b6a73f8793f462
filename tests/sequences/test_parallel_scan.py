"""Files that several threads scan piece by piece hold what one scanner finds in them, however they are divided."""

import os
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpualign.core.common.errors import InputError
from gpualign.core.sequences import parser as records
from gpualign.core.sequences._records import RecordScanner
from gpualign.core.sequences.alphabet import DNA, INVALID_CODE, LETTER_KIND_DEFINITIONS, PROTEIN
from gpualign.core.sequences.loading import encode_all, read_raw_records
from gpualign.core.sequences.parser import read_records

# Ordinary and unusual records, and what could be taken for the beginning of one.
TITLES = st.sampled_from([b"a", b"b x>y", b"c\t>z ", b"", b" d", b">e", "é".encode(), b"f \xff", b"g\x1f", b"h@"])
LINES = st.sampled_from([b"ACGT", b"ACGT" * 13, b"", b"acgtn", b"MKVLEF", b"A>C", b" >A", b"A C\t", b"-.", b"A\rC", b"\xe9", b"+", b"@"])
ENDS = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"\r"])
fasta = st.lists(
    st.tuples(TITLES, ENDS, st.lists(st.tuples(LINES, ENDS).map(b"".join), max_size=4).map(b"".join)).map(lambda r: b">" + b"".join(r)),
    min_size=1,
    max_size=12,
).map(b"".join)
# Lines of qualities may begin like any other line.
FASTQ_RECORDS = st.tuples(
    st.sampled_from([b"a", b"b @x", b"", "é".encode()]), st.integers(0, 30), st.sampled_from(b"@+>I"), st.sampled_from([b"\n", b"\r\n"])
).map(lambda r: r[3].join([b"@" + r[0], (b"ACGTN" * 6)[: r[1]], b"+", bytes([r[2]]) * r[1], b""]))
fastq = st.lists(FASTQ_RECORDS | FASTQ_RECORDS | st.sampled_from([b"@x\nAC\nGT\n+\nII\nII\n", b"@y\nA\n"]), min_size=1, max_size=12).map(
    b"".join
)


@pytest.fixture
def small_pieces(monkeypatch):
    """A boundary of pieces at any place of a record: hypothesis needs files of a few hundred bytes."""
    for name in ("CHUNK_BYTES", "PIECE_BYTES", "MIN_THREAD_BYTES"):
        monkeypatch.setattr(records, name, 64)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("scan") / "x"


def everything(path, piece, threads):
    """All that reading a file says, or what is wrong with it."""
    before = records.CHUNK_BYTES, records.PIECE_BYTES, records.MIN_THREAD_BYTES
    records.CHUNK_BYTES, records.PIECE_BYTES, records.MIN_THREAD_BYTES = piece, piece, piece
    try:
        with open(path, "rb") as stream:
            (found,) = read_records(stream, "x", with_descriptions=True, threads=threads)
            at_end = stream.read()
        with open(path, "rb") as stream:
            raw = read_raw_records(stream, "x", allow_duplicates=True, allow_empty=True, encode_eagerly=True, threads=threads)
        alphabet, (sequences,) = encode_all([raw], "auto")
    except InputError as error:
        return str(error)
    finally:
        records.CHUNK_BYTES, records.PIECE_BYTES, records.MIN_THREAD_BYTES = before
    columns = [list(column) for column in (found.ids, found.letters, found.descriptions, sequences.ids)]
    return *columns, found.letter_kinds, found.is_unterminated, alphabet, sequences.codes.tolist(), sequences.offsets.tolist(), at_end


@given(fasta | fastq, st.integers(1, 300), st.sampled_from([2, 3, 16]))
@example(b">a\nACGT\n" * 40, 7, 3)
@example(b">a\n" + b"ACGT" * 50 + b"\n>b\nAC>\n>c\nAC\n" * 9, 8, 2)
@example(b">a\nACGT" * 13 + b"\n>b\nacgt\n" + b">c\nACGT\n" * 20, 16, 3)
@example(b"@a\nAC\n+\n@@\n" * 30, 5, 2)
@example(b"# a\n\n>a\nACGT\n" + b">b\nAC\n" * 20, 6, 2)
@example(b"\xef\xbb\xbf\n>a\nACGT\n" + b">b\nAC\n" * 20 + b">c", 6, 2)
def test_pieces_of_any_size(path, text, piece, threads):
    path.write_bytes(text)
    assert everything(path, piece, threads) == everything(path, 1 << 20, 1)


@given(st.lists(st.integers(0, 60), min_size=2, max_size=40), st.booleans(), st.integers(1, 400), st.integers(1, 4), st.data())
def test_ordinary_records_are_all_scanned_but_the_last(path, lengths, is_fastq, piece, threads, data):
    """And a record that is not ordinary ends the scan, which may go on behind it."""
    letters = [b"ACGT" * 15] * len(lengths)
    odd = data.draw(st.none() | st.integers(1, len(lengths) - 1))
    lines = [
        b"@r%d x\n%s\n+\n%s\n" % (k, one[: n or 1], b"@" * (n or 1)) if is_fastq else b">r%d x\n%s\n%s\n" % (k, one[:n], one[n:][:n])
        for k, (one, n) in enumerate(zip(letters, lengths, strict=True))
    ]
    if odd is not None:
        lines[odd] = lines[odd].replace(b"r", b"\xc3\xa9", 1)
    path.write_bytes(b"".join(lines))
    scanner, (descriptor, size) = RecordScanner(is_fastq, 0, True), (os.open(path, os.O_RDONLY), path.stat().st_size)
    try:
        place, blocked, kinds = scanner.scan_file(descriptor, 0, size, *LETTER_KIND_DEFINITIONS, None, INVALID_CODE, piece, threads)
    finally:
        os.close(descriptor)
    assert blocked
    stop = len(lines) - 1 if odd is None else odd
    if place != sum(map(len, lines[:stop])):  # records that are too long for their pieces are left to the caller
        assert 4 * max(map(len, lines)) > piece
        stop = np.cumsum([0, *map(len, lines)]).tolist().index(place)
    alone = RecordScanner(is_fastq, 0, True)
    alone.feed(np.frombuffer(b"".join(lines[:stop]), dtype=np.uint8), True)
    assert kinds == alone.count_kinds(*LETTER_KIND_DEFINITIONS)
    assert scanner.records == alone.records == stop
    for column, expected in zip(scanner.take(), alone.take(), strict=True):
        for one, other in zip(column, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("table", "letters"), [(DNA, b"ACGTN"), (PROTEIN, b"MKVLA")])
@pytest.mark.parametrize("lower", [None, 0, 700])
def test_letters_are_encoded_up_to_the_first_one_that_a_code_does_not_tell(path, table, letters, lower):
    body = bytearray(letters * 200)
    if lower is not None:
        body[lower] = ord("a")
    path.write_bytes(b"".join(b">r%d\n%s\n" % (k, body[k : k + 10]) for k in range(0, 1000, 10)) + b">last\nA\n")
    scanner, descriptor = RecordScanner(False, 0), os.open(path, os.O_RDONLY)
    try:
        size = path.stat().st_size
        scanner.scan_file(descriptor, 0, size, *LETTER_KIND_DEFINITIONS, table.upper_case_encoding, INVALID_CODE, 64, 3)
    finally:
        os.close(descriptor)
    codes = scanner.encode(table.upper_case_encoding, INVALID_CODE)
    assert codes == (1000 if lower is None else lower)
    found = scanner.take()[1][0]
    np.testing.assert_array_equal(found[:codes], table.encoding[list(body)][:codes])
    assert found[codes:].tobytes() == body[codes:]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b">a%d\nACGT\n", "records 151 and 301 have the same id 'odd'"),
        (b"@a%d\nACGT\n+\n@+I>\n", "bad FASTQ: record 301: 'odd' has 2 letters and 1 qualities"),
    ],
)
@pytest.mark.usefixtures("small_pieces")
def test_messages_name_the_record(path, text, message):
    lines = [text % k for k in range(400)]
    lines[150] = text.replace(b"a%d", b"odd")
    lines[300] = lines[150] if text[:1] == b">" else b"@odd\nAC\n+\nI\n"
    path.write_bytes(b"".join(lines))
    with open(path, "rb") as stream, pytest.raises(InputError, match=re.escape(message)):
        read_raw_records(stream, "x", threads=3)


@pytest.mark.usefixtures("small_pieces")
def test_a_file_that_has_become_shorter_is_read_to_its_end(path, monkeypatch):
    path.write_bytes(b">a\nACGT\n" * 100)
    with open(path, "rb") as stream:
        location = records.plain_text(stream)
        os.truncate(path, 400)
        monkeypatch.setattr(records, "plain_text", lambda _: location)
        (found,) = read_records(stream, "x", threads=2)
    assert list(found.letters) == ["ACGT"] * 50


@pytest.mark.parametrize(("pieces", "threads"), [(2, []), (3, [2]), (6, [5]), (40, [16])])
@pytest.mark.usefixtures("small_pieces")
def test_small_files_start_few_threads(path, pieces, threads, monkeypatch):
    calls = []

    class Watched(RecordScanner):
        def scan_file(self, *arguments):
            calls.append(arguments[-1])
            return super().scan_file(*arguments)

    monkeypatch.setattr(records, "RecordScanner", Watched)
    path.write_bytes(b">a\nACGT\n" * 8 * pieces)
    with open(path, "rb") as stream:
        (found,) = read_records(stream, "x", threads=16)
    assert len(found) == 8 * pieces
    assert calls == threads


def test_nothing_to_scan_is_refused(path):
    path.write_bytes(b">a\n")
    with open(path, "rb") as stream, pytest.raises(ValueError, match="nothing to scan"):
        RecordScanner(False, 0).scan_file(stream.fileno(), 0, 0, *LETTER_KIND_DEFINITIONS, None, INVALID_CODE, 1, 1)
