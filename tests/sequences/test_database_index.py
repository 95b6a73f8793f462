"""Indexes: what goes in comes out; what is damaged is refused; building keeps little in memory."""

import errno
import gzip
import io
import json
import mmap
import pickle
import tracemalloc
import zlib
from tempfile import TemporaryFile

import numpy as np
import pytest
from command import gpualign, gpualign_here
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.common.errors import InputError, RunError
from gpualign.core.files.paths import is_index
from gpualign.core.sequences import database_index as index
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.core.sequences.database_index import IndexBuilder, open_index

FASTA = b">long one\nMKVLAARNDW\n>b\nMKV\n\n>none\n>c x\nmkva\n>d\nAAA\n"


def build(path, text, alphabet="auto", allow_duplicates=False):
    with IndexBuilder("db.fa", path.parent, TemporaryFile, allow_duplicates) as builder:
        chosen = builder.read(io.BytesIO(text), alphabet)
        with path.open("w+b") as file:
            built = builder.write(file)
    return built, chosen


def content(sequences, alphabet):
    """(id, letters) in the order of the file that was indexed."""
    letters = np.frombuffer(alphabet.letters.encode(), dtype=np.uint8)
    texts = [letters[sequences.codes[a:b]].tobytes().decode() for a, b in zip(sequences.offsets[:-1], sequences.offsets[1:], strict=True)]
    return [(sequences.ids[i], texts[i]) for i in np.argsort(sequences.file_positions)]


def test_round_trip(tmp_path):
    path = tmp_path / "db.gpa"
    built, chosen = build(path, FASTA)
    assert chosen is PROTEIN
    assert (built.record_count, built.letter_count, built.empty_ids) == (4, 20, ["none"])
    assert is_index(str(path))
    sequences, alphabet = open_index(str(path))
    assert alphabet is PROTEIN
    assert content(sequences, alphabet) == [("long", "MKVLAARNDW"), ("b", "MKV"), ("c", "MKVA"), ("d", "AAA")]
    assert sequences.lengths.tolist() == [3, 3, 4, 10]
    assert list(sequences.ids) == ["b", "d", "c", "long"]  # of equal lengths in the order of the file
    assert sequences.file_positions.tolist() == [1, 3, 2, 0]
    np.testing.assert_array_equal(sequences.code_counts, np.bincount(sequences.codes, minlength=256))


words = st.text("ACGTN", min_size=1, max_size=30)


@given(st.lists(words, min_size=1, max_size=20), st.integers(1, 40))
def test_any_records_in_any_batches(tmp_path_factory, texts, batch):
    path = tmp_path_factory.mktemp("index") / "x.gpa"
    fasta = "".join(f">s{i}\u00e9 {i}\n{text}\n" for i, text in enumerate(texts))
    before, index.BATCH_LETTERS = index.BATCH_LETTERS, batch
    try:
        build(path, gzip.compress(fasta.encode()), "dna")
    finally:
        index.BATCH_LETTERS = before
    sequences, alphabet = open_index(str(path))
    assert content(sequences, alphabet) == [(f"s{i}\u00e9", text) for i, text in enumerate(texts)]


def test_repeated_ids(tmp_path):
    text = b">a\nACGT\n>none\n>b\nAC\n>a\nACG\n>a_2\nA\n>a\nAC\n"
    with pytest.raises(InputError, match=r"db.fa: records 1 and 4 have the same id 'a'"):
        build(tmp_path / "x.gpa", text)
    build(tmp_path / "x.gpa", text, allow_duplicates=True)
    assert [name for name, _ in content(*open_index(str(tmp_path / "x.gpa")))] == ["a", "b", "a_3", "a_2", "a_4"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "db.fa: empty file"),
        (b">a\n>b\n", "db.fa: no records with letters"),
        (b">a\nACGT\n>b\nAC-GT\n", "db.fa: record 'b': '-' at position 3 is a gap"),
        (b">a\nACGTACGTAC\n>b\nACG!\n", "db.fa: record 'b': '!' at position 4"),
        (b">a\nAC\n>\nAC\n", "db.fa: record 2 has no id"),
    ],
)
def test_bad_databases(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        build(tmp_path / "x.gpa", text)


def checked(header):
    """A header with the right checksum."""
    length = int.from_bytes(header[12:16], "little")
    return header[: 16 + length] + zlib.crc32(header[: 16 + length]).to_bytes(4, "little") + header[20 + length :]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda b: b[:100], "the index is truncated: expected a header of 4,096 bytes, found 100"),
        (lambda b: b[:-1], "the index is truncated: expected"),
        (lambda b: b + b"x", "the index is too long"),
        (lambda b: b[:30] + b"\0" + b[31:], "the index is damaged: the checksum of its header is wrong"),
        (lambda b: b[:12] + b"\xff\xff\xff\xff" + b[16:], "the index is damaged: the checksum of its header is wrong"),
        (lambda b: b[:8] + b"\x07\0\0\0" + b[12:], r"an index of version 7; this gpualign reads version 1 \(it was made by a newer"),
        (lambda b: b[:8] + b"\0\0\0\0" + b[12:], r"an index of version 0; this gpualign reads version 1 \(build it again"),
        (lambda b: b[:4096] + bytes([b[4096] ^ 1]) + b[4097:], "the index is damaged: the checksum of the bytes from 4,096 on is wrong"),
        (lambda b: b[:-3] + bytes([b[-3] ^ 1]) + b[-2:], "the index is damaged: the checksum of the bytes from 4,096 on is wrong"),
    ],
)
def test_damage_is_told(tmp_path, damage, message):
    path = tmp_path / "x.gpa"
    build(path, FASTA)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=f"x.gpa: .*{message}" if not message.startswith("an") else f"x.gpa: {message}"):
        open_index(str(path))


def test_any_changed_byte_is_noticed(tmp_path):
    path = tmp_path / "x.gpa"
    build(path, FASTA)
    good = path.read_bytes()
    sections = index._IndexLayout(4, 20, len("longbcd")).sections()
    for start, length, _ in sections.values():
        for at in {start, start + length - 1}:
            path.write_bytes(good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1 :])
            with pytest.raises(InputError, match="damaged"):
                open_index(str(path))


def parts_of(data):
    """(description, everything behind the header) of an index."""
    return json.loads(data[16 : 16 + int.from_bytes(data[12:16], "little")]), data[4096:]


def forged(description, body):
    """An index with right checksums, whatever it says; description: an object, or its text as bytes. body: of one checked part."""
    text = description if isinstance(description, bytes) else json.dumps(description).encode()
    header = b"gpualign" + (1).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text
    header += zlib.crc32(header).to_bytes(4, "little")
    return header.ljust(4096, b"\0") + body[:-4] + zlib.crc32(body[:-4]).to_bytes(4, "little")


DESCRIPTIONS = [
    (b"", "its header holds no description"),
    (b"[" * 4000, "its header holds no description"),
    (b"\xff\xfe\xfd", "its header holds no description"),
    (b"[]", "its header names no alphabet"),
    ({"alphabet": "rna"}, "its header names no alphabet"),
    ({"alphabet": ["dna"]}, "its header names no alphabet"),
    ({"alphabet": "dna"}, "has no valid counts of the 15 letters"),
    ({"records": None}, "has no valid numbers of records"),
    ({"records": 4.0}, "has no valid numbers of records"),
    ({"records": True}, "has no valid numbers of records"),
    ({"records": 0}, "has no valid numbers of records"),
    ({"records": -4}, "has no valid numbers of records"),
    ({"letters": "20"}, "has no valid numbers of records"),
    ({"letters": 3}, "has no valid numbers of records"),
    ({"letters": 19}, "the counts in its header add up to 20 letters; expected 19"),
    ({"letters": 10**30, "counts": [10**30] + [0] * 26}, "the index is truncated"),
    ({"records": 2**61, "letters": 2**62, "id_bytes": 2**62, "counts": [2**62] + [0] * 26}, "the index is truncated"),
    ({"id_bytes": 5000}, "the index is truncated"),
    ({"id_bytes": 8}, "the ends of its ids"),
    ({"counts": [20]}, "has no valid counts of the 27 letters"),
    ({"counts": [20] + [0] * 300}, "has no valid counts of the 27 letters"),
    ({"counts": [21, -1] + [0] * 25}, "has no valid counts of the 27 letters"),
    ({"counts": [20.0] + [0] * 26}, "has no valid counts of the 27 letters"),
    ({"counts": [20] + [0] * 26}, "a letter has code 19; the highest code that its header counts is 0"),
]


@pytest.mark.parametrize(("changed", "message"), DESCRIPTIONS, ids=range(len(DESCRIPTIONS)))
def test_headers_that_contradict_themselves(tmp_path, changed, message):
    path = tmp_path / "x.gpa"
    build(path, FASTA)
    description, body = parts_of(path.read_bytes())
    path.write_bytes(forged(changed if isinstance(changed, bytes) else {**description, **changed}, body))
    with pytest.raises(InputError, match=f"x.gpa: .*{message}.*build it again"):
        open_index(str(path))


@pytest.mark.parametrize("min_records", [1, 100], ids=["three threads", "one thread"])
@pytest.mark.parametrize(
    ("section", "numbers", "message"),
    [
        ("lengths", [3, 3, 10, 4], "the lengths of its records"),
        ("lengths", [0, 3, 4, 13], "the lengths of its records"),
        ("lengths", [3, 3, 4, 11], "the lengths of its records"),
        ("lengths", [-3, 3, 4, 16], "the lengths of its records"),
        ("lengths", [20, 2**62, 2**63 - 1, 2**63 - 1], "the lengths of its records"),
        ("lengths", [2**62] * 4, "the lengths of its records"),
        ("places", [1, 3, 2, 1], "the places of its records"),
        ("places", [1, 3, 2, 4], "the places of its records"),
        ("places", [1, 3, 2, -4], "the places of its records"),
        ("id_ends", [1, 2, 3, 8], "the ends of its ids"),
        ("id_ends", [1, 2, 2, 7], "the ends of its ids"),
        ("id_ends", [0, 2, 3, 7], "the ends of its ids"),
        ("id_ends", [-1, 2, 3, 7], "the ends of its ids"),
        ("ids", list(b"bdclon\t"), "an id holds white space"),
        ("ids", list(b"       "), "an id holds white space"),
        ("codes", [0] * 19 + [27], "a letter has code 27"),
        ("codes", [255] * 20, "a letter has code 255"),
    ],
)
def test_sections_that_contradict_the_header(tmp_path, monkeypatch, section, numbers, message, min_records):
    monkeypatch.setattr(index, "_MIN_RECORDS_FOR_THREADS", min_records)
    path = tmp_path / "x.gpa"
    build(path, FASTA)
    description, body = parts_of(path.read_bytes())
    start, length, dtype = index._IndexLayout(4, 20, 7).sections()[section]
    changed = np.array(numbers, dtype=dtype).tobytes()
    assert len(changed) == length
    path.write_bytes(forged(description, body[: start - 4096] + changed + body[start - 4096 + length :]))
    with pytest.raises(InputError, match=f"x.gpa: the index is damaged: {message}.*; build it again"):
        open_index(str(path))


def test_forged_indexes_are_refused_or_whole(tmp_path, rng):
    """Random changes under right checksums."""
    path = tmp_path / "x.gpa"
    build(path, FASTA)
    description, body = parts_of(path.read_bytes())
    sections = index._IndexLayout(4, 20, 7).sections()
    odd = [None, True, -1, 0, 1, 3, 4, 7, 20, 2**31, 2**63 - 1, 2**63, 10**40, 4.0, float("nan"), "dna", "protein", "4", [], {}]
    messages = []
    for _ in range(300):
        told, changed = {**description, "counts": list(description["counts"])}, bytearray(body)
        if rng.random() < 0.6:
            told[str(rng.choice(list(told)))] = odd[rng.integers(len(odd))]
        if isinstance(told["counts"], list) and told["counts"] and rng.random() < 0.3:
            told["counts"][rng.integers(27)] = odd[rng.integers(len(odd))]
        for _ in range(rng.integers(3)):
            start, length, _ = sections[str(rng.choice(["lengths", "places", "id_ends", "ids", "codes"]))]
            at = start - 4096 + rng.integers(length)
            changed[at] = rng.choice([0, 1, 2, 3, 4, 127, 255, rng.integers(256)])
        path.write_bytes(forged(told, bytes(changed)))
        try:
            found, alphabet = open_index(str(path))
        except InputError as error:
            messages.append(str(error))
            continue
        assert found.offsets[0] == 0
        assert found.offsets[-1] == len(found.codes) == found.code_counts.sum()
        assert (np.diff(found.offsets) > 0).all()
        assert sorted(found.file_positions) == list(range(len(found.ids))) == list(range(len(found)))
        assert all(found.ids)
        assert found.codes.max() <= found.used_codes[-1] < len(alphabet)
    assert all(message.startswith(f"{path}: the index is ") for message in messages)
    assert 0 < len(messages) < 300


def test_a_forged_database_is_bad_input(tmp_path):
    (tmp_path / "q.fa").write_text(">q\nMKVLAARNDW\n")
    build(tmp_path / "x.gpa", FASTA)
    description, body = parts_of((tmp_path / "x.gpa").read_bytes())
    del description["id_bytes"]
    (tmp_path / "x.gpa").write_bytes(forged(description, body))
    done = gpualign("sw", "q.fa", "x.gpa", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr.decode().startswith("gpualign: error: x.gpa: the index is damaged: its header has no valid numbers")


def test_a_system_that_refuses_advice(tmp_path, monkeypatch):
    class Unadvisable(mmap.mmap):
        def madvise(self, *_):
            raise OSError(errno.ENOSYS, "Function not implemented")

    build(path := tmp_path / "x.gpa", FASTA)
    expected = content(*open_index(str(path)))
    monkeypatch.setattr(index.mmap, "mmap", Unadvisable)
    monkeypatch.setattr(index.os, "posix_fadvise", Unadvisable.madvise, raising=False)
    monkeypatch.setattr(index.os, "POSIX_FADV_DONTNEED", 4, raising=False)
    monkeypatch.setattr(index, "free_memory", lambda: 4096)
    assert content(*open_index(str(path))) == expected


@pytest.mark.parametrize("maps", [0, 1])
def test_a_limit_of_the_address_space(tmp_path, monkeypatch, maps):
    """One map is enough, though each takes as many addresses as the index has bytes."""
    build(path := tmp_path / "x.gpa", FASTA)
    expected = content(*open_index(str(path)))
    left, map_file = iter(range(maps)), mmap.mmap

    def limited_mmap(*words, **options):
        if next(left, None) is None:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")
        return map_file(*words, **options)

    monkeypatch.setattr(index.mmap, "mmap", limited_mmap)
    if maps:
        assert content(*open_index(str(path))) == expected
        return
    with pytest.raises(RunError, match=r"x.gpa: the index cannot be mapped into memory: Cannot allocate memory; .* \(ulimit -v\)"):
        open_index(str(path))


def test_memory_does_not_grow_with_the_letters(tmp_path):
    def peak(records):
        line = b"ACGTTGCA" * 2000
        stream = io.BufferedReader(_Repeated(b">s%06d\n" + line + b"\n", records))
        tracemalloc.start()
        with IndexBuilder("db.fa", tmp_path, TemporaryFile) as builder:
            builder.read(stream, "dna")
            with (tmp_path / "x.gpa").open("w+b") as file:
                built = builder.write(file)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert built.letter_count == records * 16_000
        return found

    few, many = peak(2000), peak(5000)  # 32 and 80 MB of letters
    assert many < few + 2_000_000


class _Repeated(io.RawIOBase):
    """Numbered records, made as they are read."""

    def __init__(self, record, count):
        self._record, self._count, self._next, self._left = record, count, 0, b""

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self._left and self._next < self._count:
            self._left = self._record % self._next
            self._next += 1
        part, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


@pytest.mark.slow
def test_command(tmp_path, small_16s):
    done = gpualign("index", small_16s, "-o", "db.gpa", cwd=tmp_path)
    assert done.stderr.decode().startswith("gpualign index: 60 dna records, 8")
    sequences, alphabet = open_index(str(tmp_path / "db.gpa"))
    assert alphabet is DNA
    assert len(sequences) == 60
    assert [p.name for p in tmp_path.iterdir()] == ["db.gpa"]


def test_tables_and_lists_are_told(tmp_path):
    (tmp_path / "airr.tsv").write_text("sequence_id\tjunction_aa\nx\tCATGCATGNCTTG\ny\tCASS*GT\n")
    (tmp_path / "list.txt").write_text("ACGT\nACGG\n")
    done = gpualign("index", "airr.tsv", "-o", "x.gpa", cwd=tmp_path)
    assert "airr.tsv: a table; 1 sequence of the column junction_aa; left out 1 of 2 rows" in done.stderr.decode()
    assert open_index(str(tmp_path / "x.gpa"))[1] is PROTEIN  # by the title of the column
    done = gpualign("index", "list.txt", "-o", "x.gpa", cwd=tmp_path)
    assert "list.txt: a list of 2 sequences, one per line" in done.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["no.fa", "-o", "x.gpa"], 2, "no.fa: no such file"),
        (["bad.fa", "-o", "x.gpa"], 2, "bad.fa: record 'a': '!'"),
        (["bad.fa", "-o", "-"], 2, "-o -: an index must be a regular file"),
        (["good.fa", "-o", "x.tsv"], 2, "-o x.tsv: an index is not .tsv; end the name in .gpa, or for a set of samples in .gps"),
        (["good.fa", "-o", "x.FASTA"], 2, "-o x.FASTA: an index is not .FASTA"),
        (["good.fa", "-o", "no/x.gpa"], 1, "cannot write no/x.gpa"),
        (["good.fa"], 2, "give one of -o FILE"),
        (
            ["@list", "-o", "x.gpa"],
            2,
            "one file; to join several: cat FILES | gpualign index - -o x.gpa",
        ),
    ],
)
def test_refusals_leave_nothing(tmp_path, arguments, code, message):
    (tmp_path / "bad.fa").write_text(">a\nAC!\n")
    (tmp_path / "good.fa").write_text(">a\nACG\n")
    done = gpualign("index", *arguments, cwd=tmp_path, check=False)
    assert done.returncode == code
    assert message in done.stderr.decode()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.fa", "good.fa"]


def test_letters_of_an_index_are_sent_to_other_processes_once(tmp_path, rng):
    letters = "".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 50_000))
    (tmp_path / "db.fa").write_text(f">a\n{letters}\n>b\nMK\n")
    gpualign_here("index", tmp_path / "db.fa", "-o", tmp_path / "db.gpa")
    targets, _ = open_index(str(tmp_path / "db.gpa"))
    assert targets.scattered.is_mapped
    pickled = pickle.dumps(targets)
    assert len(pickled) < 60_000
    copy = pickle.loads(pickled)
    np.testing.assert_array_equal(copy.codes, targets.codes)
    assert not copy.is_mapped
    assert copy.scattered is copy
