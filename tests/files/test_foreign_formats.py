"""Files in formats that no command reads are named by every command."""

import gzip
import io
import tarfile
import zipfile

import numpy as np
import pytest
from command import gpualign_here

from gpualign.core.common.errors import InputError
from gpualign.core.files.foreign_formats import refuse_foreign_format


def zip_of(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, ">a\nACGT\n")
    return file.getvalue()


def tar_of(name):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    return file.getvalue()


FOREIGN = {
    "SAM": b"@HD\tVN:1.6\n@SQ\tSN:a\tLN:5\nr1\t0\ta\t1\t60\t5M\t*\t0\t0\tACGTA\tIIIII\n",
    "BAM": gzip.compress(b"BAM\1\0\0\0\0\0\0\0\0"),
    "CRAM": b"CRAM\3\0samples",
    "an SRA archive": b"NCBI.sra\5\3\x19\x88",
    "a GenBank file": b"LOCUS       SCU49845     5028 bp    DNA             PLN       21-JUN-1999\nDEFINITION  TCP1-beta gene\n",
    "a file of EMBL or UniProt": b"ID   X56734; SV 1; linear; mRNA; STD; PLN; 1859 BP.\nXX\nAC   X56734;\n",
    "GFF": b"##gff-version 3\nchr1\tx\tgene\t1\t5\t.\t+\t.\tID=a\n",
    "an alignment in MAF format": b"##maf version=1\na score=1\ns hg.chr1 10 5 + 100 ACGTA\ns mm.chr1 10 5 + 100 ACGTC\n",
    "an alignment in XMFA format": b"#FormatVersion Mauve1\n#Sequence1File a.fa\n> 1:1-5 + a.fa\nACGTA\n=\n",
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "a web page": b"\n<!DOCTYPE html>\n<html>\n<head><title>404 Not Found</title></head>\n",
    "XML": b'<?xml version="1.0"?>\n<Error><Code>NoSuchKey</Code></Error>\n',
    "JSON": b'{"a": [1, 2, 3],\n "b": 4}\n',
    "a document in RTF format": b"{\\rtf1\\ansi\n>a\\\nACGT}\n",
    "a PDF document": b"%PDF-1.4\n%\xe2\xe3\n1 0 obj\n",
    "an HDF5 file": b"\x89HDF\r\n\x1a\n\0\0\0",
    "a file of R objects": gzip.compress(b"RDX3\nX\n\0\0\0\3"),
    "a Parquet file": b"PAR1\x15\x04\x15\x10",
    "an SQLite database": b"SQLite format 3\0\x10\0",
    "a tar archive": gzip.compress(tar_of("a.fa")),
    "a zip archive": zip_of("a.fa"),
    "an office document": zip_of("[Content_Types].xml", "xl/workbook.xml"),
    "compressed with lz4": b"\x04\x22\x4d\x18\x64\x40",
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize(
    "command",
    [
        "nw x",
        "sw good x",
        "index x -o y.gpa",
        "cluster x --min-identity 0.9",
        "dist x",
        "tree x",
        "plot x -o y.png",
        "cluster --edges x --max-distance 1",
        "cluster good --min-identity 0.9 --verify x",
    ],
)
def test_foreign_formats_are_named(tmp_path, monkeypatch, name, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_bytes(FOREIGN[name])
    (tmp_path / "good").write_text(">a\nACGTACGT\n>b\nACGTACGA\n")
    with pytest.raises(InputError, match=f"^x is {name}"):
        gpualign_here(*command.split())
    assert {path.name for path in tmp_path.iterdir()} == {"x", "good"}


@pytest.mark.parametrize(
    "text",
    [
        "PAR1\tL1\nA\t1\nB\t2\n",
        "ID   L1   L2\nA    1    2\nB    1    3\n",
        "LOCUS L1 L2\nA 1 2\nB 1 3\n",
        "CRAM\tL1\nA\t1\nB\t2\n",
        "{x}\tL1\nA\t1\nB\t2\n",
        "[1]\tL1\nA\t1\nB\t2\n",
        "<1>\tL1\nA\t1\nB\t2\n",
    ],
)
def test_titles_that_begin_like_another_format_are_titles(tmp_path, text):
    (tmp_path / "x").write_text(text)
    assert gpualign_here("dist", tmp_path / "x")[0] == b"\tA\tB\nA\t0\t1\nB\t1\t0\n"


@pytest.mark.parametrize(
    "text", [b"", b">a\nACGT\n", b"@a\nACGT\n+\nIIII\n", b"(a:1,b:2);", b"[&R] (a:1,b:2);", b"\ta\tb\na\t0\t1\n", b"\n\n"]
)
def test_other_files_are_not_refused(text):
    refuse_foreign_format(text, "x")


def test_archives_of_arrays_are_matrices(tmp_path):
    """However long the name of the first array is."""
    np.savez(tmp_path / "x.npz", **{"a" * 200: np.array([[0, 1], [1, 0]])})
    assert gpualign_here("tree", tmp_path / "x.npz")[0] == b"(1:0.5,2:0.5);\n"
