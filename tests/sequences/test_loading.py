import bz2
import codecs
import gzip
import io
import lzma
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zstandard_codec import zstd

from gpualign.core.common.errors import InputError
from gpualign.core.files.decompression import estimated_text_bytes, open_decompressed
from gpualign.core.sequences.loading import encode_all, read_raw_records
from gpualign.core.sequences.string_column import StringColumn

FASTA = b">a first\nACGT\nAC\n>b\nGG\n"
MANY = b"".join(b">r%d\nACGT\n" % i for i in range(5000))


def test_a_byte_order_mark_is_no_text():
    for data in (FASTA, b"", b"x"):
        first, stream = open_decompressed(io.BytesIO(codecs.BOM_UTF8 + data), "x")
        assert first == stream.read() == data


def test_estimated_text_bytes(tmp_path):
    for data, expected in ((MANY, len(MANY)), (gzip.compress(MANY), 16 * len(gzip.compress(MANY))), (b"", 0)):
        (tmp_path / "x").write_bytes(data)
        with (tmp_path / "x").open("rb") as file:
            assert estimated_text_bytes(file) == expected
    assert estimated_text_bytes(io.BytesIO(MANY)) == 0


def test_no_room_is_set_aside_where_addresses_are_limited(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(gzip.compress(MANY))
    monkeypatch.setattr("resource.getrlimit", lambda which: (1 << 40, 1 << 40))
    with (tmp_path / "x").open("rb") as file:
        assert estimated_text_bytes(file) == 0


def read(data, **options):
    return read_raw_records(io.BytesIO(data), "x.fa", **options)


def test_letters_are_counted_while_they_are_read():
    """Of letters that are not as they were read nothing is known; neither is it of lists."""
    assert vars(read(FASTA).letter_kinds) == {"common_nucleotide_count": 8, "first_protein_record": -1, "first_dna_record": -1}
    assert vars(read(b">c\n\n" + FASTA + b">d\n\n>e\nFF\n", allow_empty=True).letter_kinds) == {
        "common_nucleotide_count": 8,
        "first_protein_record": 2,
        "first_dna_record": -1,
    }
    assert read(FASTA + b">c\nA-C\n", degap=True).letter_kinds is None
    assert read(b"ACD\nGG\n").letter_kinds is None


def letters_of(raw):
    return [text.encode() for text in raw.letters]


@pytest.mark.parametrize(
    "data",
    [
        FASTA,
        FASTA.replace(b"\n", b"\r\n"),
        FASTA.replace(b"\n", b"\r"),
        b"\n\n" + FASTA,
        b"\xef\xbb\xbf" + FASTA,
        gzip.compress(b"\xef\xbb\xbf\n@a first\nACGTAC\n+\nIIIIII\n@b\nGG\n+b\nII\n"),
        FASTA.rstrip(),
        FASTA.replace(b"ACGT\n", b"AC GT\t\n\n"),
        gzip.compress(FASTA),
        gzip.compress(FASTA[:9]) + gzip.compress(FASTA[9:]),  # members, as bgzip writes them
        b"@a first\nACGTAC\n+\nIIIIII\n@b\nGG\n+b\nII\n",
        b"\r\n@a\r\nACGTAC\r\n+\r\nIIIIII\r\n@b\r\nGG\r\n+\r\nII\r\n",
        gzip.compress(b"@a\nACGTAC\n+\n@@@@@@\n@b\nGG\n+\n>>\n"),
    ],
    ids=range(13),
)
def test_forms_of_the_same_records(data):
    raw = read(data)
    assert list(raw.ids) == ["a", "b"]
    assert letters_of(raw) == [b"ACGTAC", b"GG"]


class OneByteAtATime(io.RawIOBase):
    def __init__(self, data):
        self.data = data

    def readable(self):
        return True

    def read(self, size=-1):
        out, self.data = self.data[:1], self.data[1:]
        return out


COMPRESSED = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd.compress}


@pytest.mark.parametrize(("kind", "module"), [("bzip2", "bz2"), ("xz", "lzma"), ("zstd", zstd.__name__)])
def test_a_python_that_lacks_a_compression_says_so(monkeypatch, kind, module):
    packed = COMPRESSED[kind](b">a\nACGT\n")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf"x: compressed with {kind}; this Python cannot read that \(.*{module.split('.')[-1]}.*\)"):
        open_decompressed(io.BytesIO(packed), "x")


@pytest.mark.parametrize("pack", COMPRESSED.values(), ids=COMPRESSED)
def test_compressed_files_are_known_by_their_content(pack):
    for data in (pack(MANY), pack(MANY[:999]) + pack(MANY[999:])):
        raw = read(data)
        assert (len(raw.ids), raw.ids[4999], len(raw.letters.text)) == (5000, "r4999", 20000)


def test_gzip_without_its_faster_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "isal.igzip", None)
    assert list(read(gzip.compress(FASTA)).ids) == ["a", "b"]
    for data, message in ((gzip.compress(MANY)[:-9], "truncated gzip"), (gzip.compress(MANY)[:-8] + b"\xff" * 8, "damaged gzip")):
        with pytest.raises(InputError, match=message):
            read(data)


@pytest.mark.parametrize("data", [FASTA, gzip.compress(FASTA)], ids=["plain", "gzip"])
def test_slow_pipe(data):
    assert letters_of(read_raw_records(OneByteAtATime(data), "pipe")) == [b"ACGTAC", b"GG"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty file"),
        (b"\n \n", "empty file"),
        (gzip.compress(b""), "empty file"),
        (b"ACGT\n", "neither FASTA .* nor FASTQ .* starts with 'ACGT'"),
        (b">a\n>b\nAC\n", r"record 'a' \(number 1\) has no letters"),
        (b">a\nAC\n>b\n", r"record 'b' \(number 2\) has no letters"),
        (b"@a\n\n+\n\n", r"record 'a' \(number 1\) has no letters"),
        (b">\nAC\n", "record 1 has no id"),
        (b">a\nAC\n>b\nG\n>a\nT\n", "records 1 and 3 have the same id 'a'.*allow_duplicates"),
        (b"\x00\x01\x02", "a binary file"),
        (FASTA.decode().encode("utf-16"), "expected text in UTF-8, found UTF-16; convert it"),
        (codecs.BOM_UTF16_BE + FASTA.decode().encode("utf-16-be"), "expected text in UTF-8, found UTF-16"),
        (FASTA.decode().encode("utf-16-le"), r"found UTF-16; convert it \(iconv -f UTF-16LE -t UTF-8\)"),
        (FASTA.decode().encode("utf-16-be"), r"found UTF-16; convert it \(iconv -f UTF-16BE -t UTF-8\)"),
        (FASTA.decode().encode("utf-32"), r"found UTF-32; convert it \(iconv -f UTF-32LE -t UTF-8\)"),
        (gzip.compress(gzip.compress(FASTA)), "compressed twice; unpack it once"),
        (lzma.compress(FASTA, lzma.FORMAT_ALONE), r"x.fa is compressed with lzma \(.lzma\); unpack it first"),
        (b">a\nAC\x00GT\n", "a binary file"),
        (gzip.compress(MANY)[: len(gzip.compress(MANY)) // 2], "truncated gzip"),
        (gzip.compress(FASTA)[:15], "truncated gzip"),
        (gzip.compress(FASTA)[:-8] + b"\xff" * 8, "damaged gzip"),
        (bz2.compress(MANY)[:-9], "truncated bzip2 file"),
        (lzma.compress(MANY)[:100] + b"????" + lzma.compress(MANY)[104:], "damaged xz file"),
        (zstd.compress(MANY)[:8] + b"\xff" * 8 + zstd.compress(MANY)[16:], "damaged zstd file"),
        (b"PK\x03\x04", "a zip archive; unpack it first"),
        (b"@a\nACGT\n+\nIII\n", "bad FASTQ"),
        (b"@a\nACGT\n", "bad FASTQ"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refusals(data, message):
    with pytest.raises(InputError, match=message) as caught:
        read(data)
    assert "x.fa" in str(caught.value)


def test_duplicates_are_numbered_past_taken_ids():
    raw = read(b">a\nA\n>a\nC\n>a_2\nG\n>a\nT\n>b\nA\n>b\nA\n", allow_duplicates=True)
    assert list(raw.ids) == ["a", "a_3", "a_2", "a_4", "b", "b_2"]


def test_gaps_are_removed_and_counted():
    raw = read(b">a\n--AC-G\nT.\n>b\nAC\n>c\n-.\n", degap=True, allow_empty=True)
    assert letters_of(raw) == [b"ACGT", b"AC"]
    assert raw.empty_ids == ["c"]
    assert (raw.gaps.letter_count, raw.gaps.record_count) == (6, 2)
    assert letters_of(read(b">a\n--AC\n")) == [b"--AC"]


@pytest.mark.parametrize(
    ("letters", "message"),
    [
        (b"ACGT-ACGT", r"record 'a': '-' at position 5 is a gap"),
        (b"ACGT" * 20 + b"!", r"'!' at position 81"),
        (b"ACGT" * 20 + "é".encode(), "position 81"),
    ],
)
def test_letters_outside_the_alphabet(letters, message):
    with pytest.raises(InputError, match=message):
        encode_all([read(b">a\n" + letters + b"\n")], "auto")


def test_protein_letter_in_dna_hints_at_the_option():
    with pytest.raises(InputError, match=r"'E' at position 3 .*alphabet='protein'; unknown='n' reads it as N"):
        encode_all([read(b">a\nACEG\n")], "dna")


@given(st.lists(st.text("ACGTUNRYKMSWBDHVacgtun", min_size=1, max_size=50), min_size=1, max_size=8), st.integers(1, 30))
def test_round_trip(sequences, width):
    data = "".join(f">r{i} x\n" + "".join(s[k : k + width] + "\n" for k in range(0, len(s), width)) for i, s in enumerate(sequences))
    raw = read(data.encode())
    assert list(raw.letters) == sequences
    _, (encoded,) = encode_all([raw], "dna")
    assert list(encoded.lengths) == [len(s) for s in sequences]
    assert "".join("ACGTRYKMSWBDHVN"[c] for c in encoded.codes) == "".join(sequences).upper().replace("U", "T")


@pytest.mark.parametrize("longest", [4, 400])
def test_some_of_many_texts(rng, longest):
    """In any order, some of them several times; long ones are copied another way than short ones."""
    texts = ["".join(map(chr, rng.integers(65, 91, rng.integers(0, longest)))) for _ in range(50)]
    chosen = rng.integers(0, len(texts), 70)
    found = StringColumn.from_strings(texts).select(chosen)
    ends = pairwise(found.offsets.tolist())
    assert [found.text[a:b].tobytes().decode() for a, b in ends] == [texts[k] for k in chosen]
    assert len(StringColumn.from_strings(texts).select(chosen[:0]).text) == 0
