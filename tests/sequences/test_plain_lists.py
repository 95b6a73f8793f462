"""Plain lists of short sequences, one a line."""

import gzip
import io

import numpy as np
import pytest
from command import gpualign_here

from gpualign.core.common.errors import InputError
from gpualign.core.sequences.loading import read_raw_records

PEPTIDES = ["CASSLGTEAFF", "CASSLGTEAFY", "CASSPGTEAFF", "CAWSVGQETQYF", "CASSL*TEAFF"]


def read(data, **options):
    return read_raw_records(io.BytesIO(data), "x", **options)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n"])
@pytest.mark.parametrize("last", [b"", b"\n"])
def test_a_line_is_a_record_and_its_id(end, last):
    data = end.join(one.encode() for one in PEPTIDES) + last
    for packed in (data, gzip.compress(data)):
        raw = read(packed, with_descriptions=True)
        assert list(raw.ids) == list(raw.letters) == PEPTIDES
        assert list(raw.descriptions) == [""] * 5
        assert raw.is_plain_list
    assert not read(b">a\nCASSL\n").is_plain_list


@pytest.mark.parametrize("data", [b"CASSLG \nCASSLA\n", b"CASSLG\nCASSLA  ", b"CASSLG \r\nCASSLA \r\n", b"CASSLG\n \nCASSLA\n"])
def test_blanks_after_a_sequence_do_not_matter(data):
    assert list(read(data).ids) == ["CASSLG", "CASSLA"]


def test_many(rng):
    """More than is looked at to tell what a file is."""
    many = sorted({"".join(rng.choice(list("ACDEFGHIKL"), rng.integers(8, 20))) for _ in range(60_000)})
    data = "\n".join(many).encode()
    assert len(data) > 700_000
    assert list(read(data).ids) == many
    for place in (0, 400_000, len(data) - 1):
        spoilt = np.frombuffer(data, dtype=np.uint8).copy()
        spoilt[place] = ord("1")
        with pytest.raises(InputError, match="neither FASTA"):
            read(spoilt.tobytes())


@pytest.mark.parametrize(
    "data",
    [
        b"CASSLG\n",
        b"cdr3\nCASSLG\n",
        b"CASSLG\ncasslg\n",
        b"CASSLG\t1\nCASSLA\t2\n",
        b"CASSLG, CASSLA\n",
        b"CASS LG\nCASSLA\n",
        b"CASS-G\nCASSLA\n",
        b"ACGT" * 15 + b"\n" + b"ACGT" * 15 + b"\nACGT\n",
        b"CASSLG\n>b\nCASSLA\n",
        "CASSLG\n\u00c4\n".encode(),
    ],
    ids=range(10),
)
def test_all_else_is_refused(data):
    with pytest.raises(InputError, match="neither FASTA"):
        read(data)


@pytest.mark.parametrize("title", ["PEPTIDE", "SEQUENCE", "EPITOPES"])
def test_a_title_is_no_sequence(title):
    for data in (f"{title}\nCASSL\nCASSA\n", f"\r\n{title}\r\nCASSL"):
        with pytest.raises(InputError, match=f"'{title}' in the first line may be the title of the list; delete it, or"):
            read(data.encode())
    assert list(read(f"CASSL\n{title}\n".encode()).ids) == ["CASSL", title]


@pytest.mark.parametrize("title", ["SGRNA", "GUIDE", "GUIDES", "DNA", "X", "AA", "CELLTYPE", "LIBRARYOLIGOS"])
def test_a_title_above_dna_is_no_sequence(title):
    with pytest.raises(InputError, match=f"'{title}' in the first line may be the title"):
        read(f"{title}\nACGTACGTACGTACGTACGT\nACGTACGTACGTACGTACGA\n".encode())


def test_short_words_are_peptides_among_short_ones():
    short = ["AA", "NA", "VH"], ["AG", "NA", "AC", "AGC"], ["AA", "AAC", "AACC", "GATA"], ["DNA", "RGD", "NGR"], ["CELL", "ACNAGT", "GAT"]
    masked = ["ACGTXXXXACGTACG", "ACGTACGTACGTACG"], ["GGIACIGGITGAACIGT", "ACGTACGTACGTACG"], ["ACGTRYK", "ACGTACGT"], ["GUIDEA", "ACGT"]
    for lines in (*short, *masked):
        assert list(read("\n".join(lines).encode()).ids) == lines


def test_missing_sequences_are_named():
    with pytest.raises(InputError, match=r"'NA' \(sequence 2\) may stand for a missing sequence; delete it"):
        read(b"CASSL\nNA\nCASSA\n")


def test_repeated_ones():
    with pytest.raises(InputError, match=r"records 1 and 3 have the same id 'CASSL'; .* allow_duplicates"):
        read(b"CASSL\nCASSA\nCASSL\n")
    raw = read(b"CASSL\nCASSA\nCASSL\n", allow_duplicates=True)
    assert list(raw.ids) == ["CASSL", "CASSA", "CASSL_2"]
    assert list(raw.letters) == ["CASSL", "CASSA", "CASSL"]


def test_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.txt").write_text("\n".join(PEPTIDES))
    (tmp_path / "list.fa").write_text("".join(f">{one}\n{one}\n" for one in PEPTIDES))
    gpualign_here("index", "-q", "list.txt", "-o", "list.gpa")
    gpualign_here("index", "-q", "list.fa", "-o", "same.gpa")
    assert (tmp_path / "list.gpa").read_bytes() == (tmp_path / "same.gpa").read_bytes()
    for words in (["nw", "--edit", "--max-distance", "2"], ["sw", "--min-score", "10"], ["cluster", "--edit", "--max-distance", "1"]):
        told, said = gpualign_here(*words, "list.txt")
        assert told == gpualign_here(*words, "list.fa")[0]
        assert "list.txt: a list of 5 sequences, one per line, which are their own ids" in said
