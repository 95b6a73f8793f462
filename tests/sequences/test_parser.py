"""The scanner of FASTA and FASTQ beside Biopython's parsers, which say what a file holds."""

import io
import re
from itertools import pairwise

import numpy as np
import pytest
from Bio.SeqIO.FastaIO import SimpleFastaParser
from Bio.SeqIO.QualityIO import FastqGeneralIterator
from hypothesis import example, given
from hypothesis import strategies as st

from gpualign.core.common.errors import InputError
from gpualign.core.sequences import _records
from gpualign.core.sequences import parser as records
from gpualign.core.sequences.alphabet import LETTER_KIND_DEFINITIONS
from gpualign.core.sequences.parser import read_records
from gpualign.core.sequences.string_column import StringColumn, join_columns

CHUNKS = [1, 2, 3, 7, 16, 61, 4 << 20]

# What separates lines and words, here and elsewhere, and what is no UTF-8.
PIECES = [
    b">",
    b"@",
    b"+",
    b"\n",
    b"\n>",
    b"\n@",
    b"\n+\n",
    b"\r\n",
    b"\r",
    b" ",
    b"\t",
    b"\x0b",
    b"\x0c",
    b"\x1c",
    b"\x1f",
    b"\x7f",
    b"\0",
]
PIECES += ["é".encode(), "\x85".encode(), "\xa0".encode(), "\u2003".encode(), "\u2028".encode(), b"\xff", b"\xe2", b"\x80"]
PIECES += [b"A", b"ACGT", b"acgtn", b"a", b"name", b"-", b"*", b"A" * 17, b"CG" * 40, b"I" * 4]
texts = st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join)


def by_biopython(data, parse):
    """(id, letters) of each record, as text of Python's has them."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="surrogateescape")
    found = []
    for title, letters, *_ in parse(text):
        letters = letters.encode("utf-8", "surrogateescape").translate(None, b" \t\r\n\x0b\x0c")
        found.append(((title.split(None, 1) or [""])[0], letters.decode("utf-8", "surrogateescape")))
    return found


@pytest.mark.parametrize("letters", [None, 1, 40])
@given(text=texts, end=st.sampled_from([b"\n", b"\r\n", b"\r", b"A", b" ", b""]))
def test_a_last_line_without_an_end_is_told(letters, text, end):
    """By the last part alone, whatever the scanner leaves to Biopython."""
    data = b">a\nACGT\n" + text + end
    try:
        *parts, last = read_records(io.BytesIO(data), "x", letters)
    except InputError:
        return
    assert not any(part.is_unterminated for part in parts)
    assert last.is_unterminated == (data[-1:] not in (b"\n", b"\r"))


def scanned(data, chunk, letters=None):
    before, records.CHUNK_BYTES = records.CHUNK_BYTES, chunk
    try:
        parts = list(read_records(io.BytesIO(data), "x", letters))
    finally:
        records.CHUNK_BYTES = before
    for part in parts:
        of_all = _records.count_kinds(part.letters.text, part.letters.offsets, *LETTER_KIND_DEFINITIONS)
        assert (
            part.letter_kinds.common_nucleotide_count,
            part.letter_kinds.first_protein_record,
            part.letter_kinds.first_dna_record,
        ) == of_all
    ids, bodies = (join_columns([getattr(part, name) for part in parts]) for name in ("ids", "letters"))
    return list(zip(ids, bodies, strict=True))


@given(texts, st.sampled_from(CHUNKS), st.sampled_from([None, 1, 20]))
@example(b"a\r>b\nAC\n>c\nA", 4 << 20, None)
@example(b"a\r\nAC\r\nG\r", 7, None)
@example(b"a\nAC\r>b\rG\n>c\nA", 3, None)
@example(b"a \x1fb\nAC \n>\x85\n", 3, None)
@example(b"a\n" + b"A" * 15 + b"\x1f\n" + b"A" * 16 + b" \n", 3, None)
def test_fasta(rest, chunk, letters):
    data = b">" + rest
    if b"\0" not in data:
        assert scanned(data, chunk, letters) == by_biopython(data, SimpleFastaParser)


fastq_records = st.tuples(
    st.sampled_from([b"a", b"b x", b"c\tx", b"", "é".encode()]), st.integers(0, 40), st.booleans(), st.sampled_from(b"@+>I")
).map(lambda r: b"@" + r[0] + b"\n" + (b"ACGT" * 10)[: r[1]] + b"\n+" + (r[0] if r[2] else b"") + b"\n" + bytes([r[3]]) * r[1] + b"\n")


@given(st.lists(fastq_records, min_size=1, max_size=5).map(b"".join), texts, st.sampled_from(CHUNKS), st.booleans())
@example(b"@a\nAC\nGT\n+\nII\nII\n@b\nA\n+\nI\n", b"", 3, False)
@example(b"@a\nAC\n+\n@I\n@b\nA\n+\nI", b"", 3, False)
def test_fastq(ordinary, rest, chunk, windows):
    """Whole records first; then anything, which is refused by both or read alike."""
    data = (ordinary + rest).replace(b"\n", b"\r\n" if windows else b"\n")
    if b"\0" in data:
        return
    good = []

    def parse(text):
        for record in FastqGeneralIterator(text):
            good.append(record)
            yield record

    try:
        expected, refused = by_biopython(data, parse), False
    except ValueError:
        expected, refused = None, True
    if not refused:
        assert scanned(data, chunk, 10) == expected
    else:
        with pytest.raises(InputError, match=f"x: bad FASTQ: record {len(good) + 1}: "):
            scanned(data, chunk, 10)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (b"@r x\nACGTACGT\n+\nIIIIIII\n@s\nACGTACGT\n+\nIIIIIIII\n", "'r' has 8 letters and 7 qualities"),
        (b"@r\r\nAC\r\n+\r\nIII\r\n", "'r' has 2 letters and 3 qualities"),
        (b"@r\nACGT\n+\n", "'r' has 4 letters and 0 qualities"),
        (b"@r\nAC GT\n+\nIIII\n", "Whitespace is not allowed in the sequence."),
        (b"@r\nACGT\n", "End of file without quality information."),
        (b"@r\nAC\n+s\nII\n", "Sequence and quality captions differ."),
        (b"@r\nAC\nGT\n+\nII\nI\n@s\nA\n+\nI\n", "Lengths of sequence and quality values differs for r"),
    ],
)
@pytest.mark.parametrize("before", [0, 3])
def test_what_is_wrong_with_fastq(bad, message, before):
    with pytest.raises(InputError, match=f"x: bad FASTQ: record {before + 1}: {re.escape(message)}"):
        scanned(b"@a\nACGT\n+\nIIII\n" * before + bad, 4 << 20, 5)


@pytest.mark.parametrize("data", [b"  >a\nAC\n>b\nA\n", b"\n\t>a\nAC\n", b" @a\nA\n+\nI\n"])
def test_a_record_that_does_not_begin_its_line_is_not_passed_over(data):
    with pytest.raises(InputError, match=r"x: white space before the first '[>@]'"):
        scanned(data, 16)


@pytest.mark.parametrize("chunk", range(1, 40))
def test_line_ends_of_windows_at_the_edges_of_what_is_read(chunk):
    data = b">a x\r\nACGT\r\nAC\r\n\r\n>b\r\nG\r"
    for end in (b"", b"\n", b"\n\r\n"):
        assert scanned(data + end, chunk) == [("a", "ACGTAC"), ("b", "G")]
        fastq = b"@a x\r\nACGT\r\n+\r\nIIII\r\n@b\r\nG\r\n+b\r\n@\r" + end
        assert scanned(fastq, chunk) == [("a", "ACGT"), ("b", "G")]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (">a ééé\nAC GT\nacgt\n>b|1.2\t\x1f\r\nAC*-\r\n\r\n".encode(), [("a", "ACGTacgt"), ("b|1.2", "AC*-")]),
        ("@a é\nAC\n+a é\n@I\n@b\nA\n+\n!".encode(), [("a", "AC"), ("b", "A")]),
    ],
)
def test_ordinary_records_need_no_other_reader(data, found):
    """Titles may hold what they like behind their first words."""
    scanner = _records.RecordScanner(data.startswith(b"@"), 1 << 10)
    assert scanner.feed(np.frombuffer(data, dtype=np.uint8), True) == (len(data), len(data))  # nothing is left to it
    assert scanned(data, 5) == found


def test_memory_that_there_is_none_of_is_not_reserved():
    scanner = _records.RecordScanner(False, 1 << 60)
    data = np.frombuffer(b">a\nACGT\n", dtype=np.uint8)
    assert scanner.feed(data, True) == (8, 8)
    assert scanner.take()[1][0].tobytes() == b"ACGT"


@given(st.lists(st.binary(max_size=5), min_size=1, max_size=40))
def test_repeated_strings(strings):
    column = StringColumn.from_bytes(strings)
    expected = [[k, strings.index(one)] for k, one in enumerate(strings) if strings.index(one) < k]
    assert _records.repeated(column.text, column.offsets).tolist() == expected


@given(st.lists(st.integers(0, 1200), min_size=1, max_size=40), st.booleans())
def test_repeated_strings_that_nearly_ascend(numbers, distinct):
    """By length and bytes, as names with numbers do; equal neighbours do not."""
    names = [f"r{number}" for number in sorted(set(numbers) if distinct else numbers)]
    column = StringColumn.from_strings(names)
    expected = [[k, names.index(one)] for k, one in enumerate(names) if names.index(one) < k]
    assert _records.repeated(column.text, column.offsets).tolist() == expected


@given(st.binary(max_size=70), st.integers(0, 7))
def test_counts_codes(data, start):
    codes = np.frombuffer(data, dtype=np.uint8)[start:]
    np.testing.assert_array_equal(_records.count_codes(codes), np.bincount(codes, minlength=256))


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(1, 9000)), max_size=6))
def test_finds_codes(runs):
    codes = np.concatenate([np.empty(0, dtype=np.uint8), *(np.full(count, code, dtype=np.uint8) for code, count in runs)])
    assert _records.find_codes(codes).tolist() == sorted({code for code, _ in runs})


@pytest.mark.parametrize("rare", [0, 5 << 20, (13 << 20) - 1])
def test_finds_codes_in_parts_of_several_threads(rare):
    codes = np.full(13 << 20, 3, dtype=np.uint8)
    codes[rare] = 200
    assert _records.find_codes(codes, 4).tolist() == [3, 200]


@pytest.mark.parametrize("threads", [1, 3])
def test_counts_in_records(rng, threads):
    lengths = rng.integers(0, 9, 3000)
    offsets, codes = np.concatenate([[0], np.cumsum(lengths)]), rng.integers(0, 256, lengths.sum(), dtype=np.uint8)
    is_counted = rng.random(256) < 0.3
    expected = [is_counted[codes[start:stop]].sum() for start, stop in pairwise(offsets.tolist())]
    assert _records.count_in_records(codes, offsets, is_counted, threads).tolist() == expected
    assert _records.count_in_records(codes[:0], offsets[:1], is_counted, threads).tolist() == []
    counted = np.flatnonzero(is_counted).astype(np.uint8)
    expected = [[int((codes[a:b] == code).sum()) for code in counted] for a, b in pairwise(offsets.tolist())]
    found = _records.count_codes_in_records(codes, offsets, counted, threads)
    assert found.dtype == np.uint32
    assert found.shape == (len(offsets) - 1, len(counted))
    assert found.tolist() == expected


@pytest.mark.parametrize("longest", [0, 20_000])
def test_repeated_strings_of_many(rng, longest):
    """In many parts of their hashes, for which several threads are worth their start; also if most letters are in a few strings."""
    numbers = rng.integers(0, 150_000, 200_000)
    lengths = np.zeros(150_000, dtype=np.int64)
    lengths[rng.integers(0, 150_000, 500)] = longest
    column = StringColumn.from_strings([f"{number}{'x' * lengths[number]}" for number in numbers])
    _, firsts, of = np.unique(numbers, return_index=True, return_inverse=True)
    again = np.flatnonzero(firsts[of] != np.arange(len(numbers)))
    for threads in (1, 2, 3, 16):
        np.testing.assert_array_equal(_records.repeated(column.text, column.offsets, threads), np.stack((again, firsts[of[again]]), axis=1))


def test_repeated_strings_that_ascend_but_once():
    """Where one thread's strings end, or anywhere else."""
    names = [f"r{number:06}" for number in range(300_000)]
    for at in range(1, 300_000, 37_499):
        column = StringColumn.from_strings([*names[:at], names[at - 1], *names[at:]])
        assert _records.repeated(column.text, column.offsets, 4).tolist() == [[at, at - 1]]


@pytest.mark.parametrize("longest", [0, 60_000])
def test_several_threads_gather_alike(rng, longest):
    """Also if most letters are in a few strings, and if strings are empty."""
    lengths = rng.integers(0, 300, 100_000)
    lengths[rng.integers(0, 100_000, 200)] += longest
    offsets = np.append(0, np.cumsum(lengths))
    text = rng.integers(0, 256, offsets[-1]).astype(np.uint8)
    picked = np.sort(rng.integers(0, 100_000, 90_000))
    picked[:1000] = picked[500]
    copied, ends = _records.gather(text, offsets, picked)
    assert copied.tobytes() == b"".join(text[offsets[k] : offsets[k + 1]].tobytes() for k in picked)
    for threads in (2, 3, 16):
        for one, other in zip(_records.gather(text, offsets, picked, threads), (copied, ends), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("bad", [[], [0], [9_999_999], [5_000_000], [6_000_000, 3_333_333], [2_499_999, 2_500_000]])
def test_several_threads_encode_alike(rng, bad):
    letters = rng.integers(0, 200, 10_000_000).astype(np.uint8)
    letters[bad] = 200
    table = np.append(rng.permutation(200), [255] * 56).astype(np.uint8)
    first = min(bad, default=-1)
    expected = table[letters if first < 0 else letters[:first]]
    for threads in (1, 2, 3, 16):
        codes = letters.copy()
        assert _records.encode(codes, table, 255, codes, threads) == first
        np.testing.assert_array_equal(codes[: len(expected)], expected)
        assert first < 0 or codes[first] == 200  # for the message


def test_offsets_that_do_not_fit_are_refused():
    text = np.zeros(4, dtype=np.uint8)
    for offsets in ([0, 5], [0, 3, 2], [-1, 2], []):
        with pytest.raises(ValueError, match="offsets"):
            _records.repeated(text, np.array(offsets, dtype=np.int64))


@given(st.lists(st.text(max_size=4), max_size=12), st.integers(-14, 14), st.integers(-14, 14), st.sampled_from([1, 2, -1, -3]))
def test_a_column_is_a_sequence_of_its_strings(strings, start, stop, step):
    column = StringColumn.from_strings(strings)
    assert list(column) == strings
    assert [column[k] for k in range(-len(strings), len(strings))] == strings * 2
    part = column[start:stop:step]
    assert list(part) == strings[start:stop:step]
    assert list(part.without_margins()) == list(part)
    assert len(part.without_margins().text) == part.offsets[-1] - part.offsets[0]
    assert list(part.select(np.arange(len(part))[::-1])) == strings[start:stop:step][::-1]
    assert list(join_columns([part, column, part])) == [*strings[start:stop:step], *strings, *strings[start:stop:step]]


@given(st.data())
def test_gathers_strings_of_a_column(data):
    strings = data.draw(st.lists(st.binary(max_size=100), min_size=1, max_size=30))
    picked = data.draw(st.lists(st.integers(0, len(strings) - 1), max_size=60))
    if data.draw(st.booleans()):  # neighbours
        picked = sorted(set(picked))
    column = StringColumn.from_bytes([b"before", *strings, b"behind"])[1:-1]
    found = column.select(np.array(picked, dtype=np.int64))
    assert [found.text[a:b].tobytes() for a, b in zip(found.offsets[:-1], found.offsets[1:], strict=True)] == [strings[k] for k in picked]
    assert found.text.flags.writeable
    assert len(found.text) == found.offsets[-1]


def test_gathers_many_strings(rng):
    """More than a large page of memory, of which most are neighbours."""
    lengths = rng.integers(0, 300, 40_000)
    column = StringColumn(rng.integers(0, 256, lengths.sum(), dtype=np.uint8), np.concatenate(([0], np.cumsum(lengths))))
    picked = np.flatnonzero(rng.random(40_000) < 0.95)
    places = np.repeat(np.isin(np.arange(40_000), picked), lengths)
    found = column.select(picked)
    assert (found.text == column.text[places]).all()
    assert (found.lengths == lengths[picked]).all()


def test_strings_that_are_not_there_are_refused():
    text = np.zeros(4, dtype=np.uint8)
    for picked in ([2], [-1], [0, 5]):
        with pytest.raises(IndexError, match="no such string"):
            _records.gather(text, np.array([0, 2, 4]), np.array(picked))
    for offsets in ([0, 5], [3, 2], [-1, 2]):
        with pytest.raises(ValueError, match="offsets"):
            _records.gather(text, np.array(offsets), np.array([0]))
    with pytest.raises(IndexError):
        _records.gather(text, np.array([], dtype=np.int64), np.array([0]))
