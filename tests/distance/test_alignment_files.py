"""Alignments in regular files, which several threads read in chunks: the calls and the errors of a plain reading, however they are cut."""

import gzip
import io
import os
import tempfile

import numpy as np
import pytest
from command import gpualign
from hypothesis import given
from hypothesis import strategies as st
from sites import panels_of

from gpualign.core.common.errors import InputError, RunError
from gpualign.core.distance import _sites
from gpualign.core.distance.calls import MISSING, ComparedLetters, aligned_row_code_table
from gpualign.core.distance.count_recipe import NeededSites
from gpualign.core.distance.readers.alignment import AlignmentText, read_alignments
from gpualign.core.distance.tables.options import CallOptions
from gpualign.core.files.decompression import PlainText, estimated_text_bytes, plain_text
from gpualign.core.files.paths import open_input

GAPS = b"N-nRy.?"


@pytest.fixture(scope="module")
def scratch():
    with tempfile.TemporaryFile() as file:
        yield lambda: file


def rows_of_letters(rng, rows, sites, differing, missing):
    """Relatives of one row, in both cases, with runs of one sign for a missing call, and single ones."""
    letters = np.repeat(rng.choice(np.frombuffer(b"ACGT", np.uint8), (1, sites)), rows, axis=0)
    changed = rng.random(letters.shape) < differing
    letters[changed] = rng.choice(np.frombuffer(b"ACGTU", np.uint8), int(changed.sum()))
    for row in letters:
        if rng.random() < 0.2:
            row[:] |= 32
        some = rng.random(sites) < 0.01
        row[some] |= 32
        for _ in range(rng.poisson(missing)):
            start = rng.integers(0, sites)
            row[start : start + rng.integers(1, 40)] = rng.choice(list(GAPS))
    return letters


def as_text(rng, letters, width):
    """The rows as FASTA: line ends of both kinds, blank lines, white space in lines, titles with signs of records in them."""
    out = [rng.choice([b"", b"\n", b"\r\n \n"])]
    for k, row in enumerate(letters):
        end = rng.choice([b"\n", b"\r\n"])
        body = row.tobytes()
        lines = [body[i : i + width] for i in range(0, len(body), width)]
        if rng.random() < 0.2:
            place = rng.integers(0, len(lines))
            lines[place] = rng.choice([b" ", b"", b"\t"]) + lines[place][:3] + b" " + lines[place][3:]
        if rng.random() < 0.2:
            lines.insert(rng.integers(0, len(lines) + 1), b"")
        out.append(b"> " * (rng.random() < 0.1) or b">")
        out.append(b"r%d" % k + rng.choice([b"", b" a title", b" > >x\tr9"]) + end + end.join(lines))
        out.append(end if k < len(letters) - 1 else rng.choice([b"", end, end + end]))
    return b"".join(out)


def read_plainly(text):
    """(ids, codes) of a well-formed text, by what the standard library offers."""
    table = aligned_row_code_table(ComparedLetters.NUCLEOTIDES)
    ids, rows = [], []
    for line in text.split(b"\n"):
        if line.startswith(b">"):
            ids.append(line[1:].split()[0].decode())
            rows.append(b"")
        elif rows:
            rows[-1] += b"".join(line.split())
    return ids, table[np.array([list(row) for row in rows], np.uint8)]


def read_file(text, scratch, threads, memory=1 << 20, before=b"", chunk=1 << 20):
    """A source of a text in a file, behind what is not read."""
    with tempfile.TemporaryFile() as file:
        file.write(before + text)
        file.flush()
        plain = PlainText(file.fileno(), len(before), len(before) + len(text))
        return read_alignments([AlignmentText(io.BytesIO(b"not read"), "x.fa", plain)], CallOptions(), memory, scratch, threads, chunk)


def read_stream(text, scratch):
    return read_alignments([AlignmentText(io.BytesIO(text), "x.fa")], CallOptions(), 1 << 20, scratch)


def varying(codes):
    return np.array([len(set(column.tolist()) - {MISSING}) > 1 for column in codes.T])


@given(
    rows=st.integers(1, 30),
    sites=st.integers(1, 400),
    differing=st.sampled_from([0.0, 0.01, 0.3]),
    missing=st.sampled_from([0.0, 1.0, 20.0]),
    width=st.integers(1, 130),
    chunk=st.integers(1, 3000),
    threads=st.sampled_from([1, 2, 3, 40]),
    spill=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_chunks_of_a_file_give_the_calls_of_a_plain_reading(scratch, rows, sites, differing, missing, width, chunk, threads, spill, seed):
    rng = np.random.default_rng(seed)
    letters = rows_of_letters(rng, rows, sites, differing, missing)
    letters[: rng.integers(0, rows + 1), : rng.integers(0, sites + 1)] = ord("N")  # sites that early readers know nothing of
    text = as_text(rng, letters, width)
    ids, codes = read_plainly(text)
    found = read_file(text, scratch, threads, 30 * sites if spill else 1 << 20, chunk=chunk)
    for source in (found, read_stream(text, scratch)):
        assert source.samples.queries.ids == ids
        assert source.site_count == sites
        np.testing.assert_array_equal(source.calls_per_sample, (codes != MISSING).sum(axis=1))
        agree = (codes == codes[0]).all(axis=0) & (codes[0] != MISSING)
        everything, omitted = panels_of(source, panel_bytes=1)
        np.testing.assert_array_equal(everything, codes[:, ~agree])
        assert omitted.sites_by_code == {c: int((codes[0, agree] == c).sum()) for c in set(codes[0, agree].tolist())}
        np.testing.assert_array_equal(panels_of(source, NeededSites.DIFFERENCES)[0], codes[:, varying(codes)])
        rest = ~varying(codes) & (codes == MISSING).any(axis=0)
        compared = np.concatenate([codes[:, varying(codes)], np.where(codes[:, rest] == MISSING, MISSING, 0)], axis=1)
        np.testing.assert_array_equal(panels_of(source, NeededSites.COMPARED)[0], compared)


def test_readers_that_see_different_calls_first(scratch):
    """Sites of which the first record knows nothing: one reader sees other calls there than the other one, or missing ones alone."""
    rows = [b"NNNA", b"CCGA", b"CCGA", b"GCNN", b"GCNN"]
    text = b"".join(b">r%d\n%s\n" % (k, row) for k, row in enumerate(rows))
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.flush()
        scanner = _sites.AlignmentScanner(aligned_row_code_table(ComparedLetters.NUCLEOTIDES), scratch().fileno(), 1 << 20)
        record = len(text) // len(rows)
        assert scanner.begin(file.fileno(), 0, len(text), record, 2) == 2  # which reads the first record
        assert [scanner.read_some(reader) for reader in (0, 0, 1, 1, 0, 1)] == [True] * 4 + [False] * 2
        scanner.finish()
    codes = read_plainly(text)[1]
    assert np.flatnonzero(scanner.flags() & 1).tolist() == [0]
    assert np.flatnonzero(scanner.flags() & 2).tolist() == [0, 1, 2, 3]
    assert np.bincount(scanner.reference()[1:4]).tolist() == [1, 1, 1]
    found = np.empty_like(codes)
    _sites.AlignedSites(scanner, np.arange(4, dtype=np.uint32), False).fill(0, len(rows), found)
    np.testing.assert_array_equal(found, codes)


@given(
    what=st.sampled_from(["letter", "short", "long", "empty", "nameless", "end"]),
    count=st.integers(1, 3),
    chunk=st.integers(1, 700),
    threads=st.sampled_from([1, 2, 3, 40]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_first_error_of_a_file_is_the_one_of_a_stream(scratch, what, count, chunk, threads, seed):
    rng = np.random.default_rng(seed)
    records = [[b">r%d" % k, b"ACGTN" * 8] for k in range(40)]
    for k in rng.choice(np.arange(20, 40), count, replace=False):
        body = records[k][1]
        records[k] = {
            "letter": [records[k][0], body[:7] + b"1" + body[8:]],
            "short": [records[k][0], body[:-1]],
            "long": [records[k][0], body + b"A"],
            "empty": records[k][:1],
            "nameless": [b"> ", body],
            "end": records[k],
        }[what]
    text = b"".join(b"\n".join(record) + b"\n" for record in records) + b">last" * (what == "end")
    with pytest.raises(InputError) as expected:
        read_stream(text, scratch)
    with pytest.raises(InputError) as found:
        read_file(text, scratch, threads, chunk=chunk)
    assert str(found.value) == str(expected.value)
    assert str(found.value).startswith("x.fa: record ")


@pytest.mark.parametrize("text", [b"", b"\n\n", b"\n\n\nACGT\n>a\nACGT\n", b">a", b">\nA\n", b">a\n>b\nA\n", b">a\nA\n>b\nA\n>a\nA\n"])
@pytest.mark.parametrize("chunk", [1, 2, 1000])
def test_what_is_no_alignment(scratch, text, chunk):
    with pytest.raises(InputError) as expected:
        read_stream(text, scratch)
    with pytest.raises(InputError) as found:
        read_file(text, scratch, 3, before=b"ignored\n", chunk=chunk)
    assert str(found.value) == str(expected.value)


def test_two_files_are_read_by_the_same_threads(rng, scratch):
    letters = rows_of_letters(rng, 30, 120, 0.05, 1.0)
    texts = [b"".join(b">r%d\n%s\n" % (k, row.tobytes()) for k, row in enumerate(part)) for part in (letters[:20], letters[20:])]
    with tempfile.TemporaryFile() as one, tempfile.TemporaryFile() as other:
        inputs = []
        for file, text in zip((one, other), texts, strict=True):
            file.write(text)
            file.flush()
            inputs.append(AlignmentText(file, "x", PlainText(file.fileno(), 0, len(text))))
        source = read_alignments(inputs, CallOptions(), 1 << 20, scratch, 4, chunk_bytes=100)
    codes = aligned_row_code_table(ComparedLetters.NUCLEOTIDES)[letters]
    np.testing.assert_array_equal(panels_of(source, NeededSites.DIFFERENCES)[0], codes[:, varying(codes)])
    assert (len(source.samples.queries), len(source.samples.targets)) == (20, 10)


def test_records_of_the_second_file_are_numbered_from_its_first(scratch):
    texts = b">a\nACGT\n>b\nACGT\n", b">c\nACGT\n>d\nACG\n"
    inputs = [AlignmentText(io.BytesIO(text), f"{k}.fa") for k, text in enumerate(texts)]
    with pytest.raises(InputError, match=r"1\.fa: record 'd' \(number 2\) has 3 sites"):
        read_alignments(inputs, CallOptions(), 1 << 20, scratch)


def test_an_alignment_that_a_disk_fails_to_read_is_named(tmp_path, scratch):
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(RunError, match=r"x\.fa: cannot be read \(Is a directory\)"):
            read_alignments([AlignmentText(io.BytesIO(), "x.fa", PlainText(folder, 0, 8))], CallOptions(all_letters=True), 1 << 20, scratch)
    finally:
        os.close(folder)


def test_which_streams_are_plain_files(tmp_path, monkeypatch):
    path = tmp_path / "x.fa"
    path.write_bytes(b">a\nACGT\n")
    with open(path, "rb") as file:
        file.read(3)
        assert plain_text(file) == PlainText(file.fileno(), 3, 8)
        assert file.read() == b"ACGT\n"
        assert plain_text(file) is None  # nothing is left
    path.write_bytes(b"\xef\xbb\xbf>a\nACGT\n")
    with open(path, "rb") as file:
        assert plain_text(file) == PlainText(file.fileno(), 3, 11)
    with open_input(str(path)) as (file, _):  # as commands open it
        assert plain_text(file) == PlainText(file.fileno(), 3, 11)
        assert estimated_text_bytes(file) == 11
        monkeypatch.setattr(os, "pread", lambda *_: os.read(-1, 1))
        assert plain_text(file) is None  # the stream tells why
        monkeypatch.undo()
    (tmp_path / "x.gz").write_bytes(gzip.compress(b">a\nACGT\n"))
    with open(tmp_path / "x.gz", "rb") as file, gzip.open(file) as unpacked:
        assert plain_text(file) is None
        assert plain_text(unpacked) is None
        assert unpacked.read(3) == b">a\n"
        assert plain_text(unpacked) is None
    reading, writing = os.pipe()
    with open(reading, "rb") as pipe, open(writing, "wb"):
        assert plain_text(pipe) is None
    assert plain_text(io.BytesIO(b">a\nACGT\n")) is None


def test_files_pipes_and_gzip_give_the_same_bytes(tmp_path, rng):
    letters = rows_of_letters(rng, 60, 50_000, 0.001, 2.0)  # more than one chunk
    text = b"".join(b">r%d\n%s\n" % (k, row.tobytes()) for k, row in enumerate(letters))
    (tmp_path / "x.fa").write_bytes(text)
    (tmp_path / "x.fa.gz").write_bytes(gzip.compress(text, 1))
    expected = gpualign("dist", "-q", "x.fa", "--threads", "1", cwd=tmp_path).stdout
    assert expected.count(b"\n") == 61
    assert gpualign("dist", "-q", "x.fa", cwd=tmp_path).stdout == expected
    assert gpualign("dist", "-q", "x.fa.gz", cwd=tmp_path).stdout == expected
    assert gpualign("dist", "-q", "-", cwd=tmp_path, stdin=text).stdout == expected
