"""Recognises files in formats that no command reads. Pure."""

from __future__ import annotations

import re

from gpualign.core.common.errors import InputError

_TAR_MAGIC, _TAR_MAGIC_OFFSET = b"ustar", 257

_UNPACK_ADVICE = "unpack it first"
_OFFICE_ADVICE = "save it as plain text, or its sheet as CSV"
_READS_ADVICE = "write its reads as FASTA or FASTQ: samtools fasta {source}"
_SEQUENCES_ADVICE = "write it as FASTA, for instance with EMBOSS seqret"
_ROWS_ADVICE = "leave these out, for instance with seqkit grep -v -n -r -p '^(ss|sa|aa)_'"
_ALIGNMENT_ADVICE = "write the alignment as FASTA"
_DOWNLOAD_ADVICE = "a server may have sent it instead of the file; download the file again"
_PLAIN_TEXT_ADVICE = "save it as plain text"
_R_ADVICE = "write them as text in R, for instance with write.csv"
_TABLE_ADVICE = "write it as a table in text"
_OTHER_FILE_ADVICE = "expected a text file of sequences, calls, distances or a tree"

_CONTROL_CHARACTER = rb"[\x00-\x08\x0e-\x1f]"
"""Pattern of what follows the name of a binary format, which may also be the title of a table's column."""

_PIR_CODES = (b"P1", b"F1", b"DL", b"DC", b"RL", b"RC", b"N1", b"N3", b"XX")
"""Codes for the type of a sequence, which stand before each id."""

_PIR_TITLE_AND_LETTERS = rb"[^\r\n]*[\r\n]+([^>]*\*\s*(>|\Z)|[^\r\n>]*[0-9:;,()/][^\r\n>]*[\r\n])"
"""Pattern of what follows the code: a title, and * after the sequence, or a title with signs that no sequence has."""

_FORMATS: tuple[tuple[bytes, bytes, str, str], ...] = (
    (b"PK\x03\x04", rb".{26}(\[Content_Types\]|_rels/|docProps/|xl/|mimetype)", "an office document", _OFFICE_ADVICE),
    (b"PK\x03\x04", rb"(?!.{0,230}\.npy)", "a zip archive", f"{_UNPACK_ADVICE} (unzip -p FILE | gpualign ... -)"),
    (b"\xd0\xcf\x11\xe0", b"", "an office document", _OFFICE_ADVICE),
    (b"7z\xbc\xaf\x27\x1c", b"", "a 7z archive", _UNPACK_ADVICE),
    (b"Rar!\x1a", b"", "a RAR archive", _UNPACK_ADVICE),
    (b"\x1f\x9d", b"", "compressed with compress (.Z)", _UNPACK_ADVICE),
    (b"\x04\x22\x4d\x18", b"", "compressed with lz4", _UNPACK_ADVICE),
    (b"\x5d\x00\x00", b"", "compressed with lzma (.lzma)", _UNPACK_ADVICE),
    (b"@HD\t", b"", "SAM", _READS_ADVICE),
    (b"@SQ\t", b"", "SAM", _READS_ADVICE),
    (b"@RG\t", b"", "SAM", _READS_ADVICE),
    (b"@PG\t", b"", "SAM", _READS_ADVICE),
    (b"BAM\x01", b"", "BAM", _READS_ADVICE),
    (b"CRAM", _CONTROL_CHARACTER, "CRAM", _READS_ADVICE),
    *((b">%s;" % code, _PIR_TITLE_AND_LETTERS, "PIR, whose second lines are titles", _SEQUENCES_ADVICE) for code in _PIR_CODES),
    *((b">%s_" % row, rb"(pred|conf|dssp)\s", "a3m with rows of HH-suite about structure", _ROWS_ADVICE) for row in (b"ss", b"sa", b"aa")),
    (b"NCBI.sra", _CONTROL_CHARACTER, "an SRA archive", "write its reads as FASTQ: fasterq-dump {source}"),
    (b"LOCUS ", rb" *\S+ +[0-9]+ (bp|aa)", "a GenBank file", _SEQUENCES_ADVICE),
    (b"ID   ", rb"\S[^\n]* [0-9]+ (BP|AA)\.\s", "a file of EMBL or UniProt", _SEQUENCES_ADVICE),
    (b"##gff-version", b"", "GFF, which holds annotations", "its sequences, if it has any, are below ##FASTA"),
    (b"##maf", b"", "an alignment in MAF format", _ALIGNMENT_ADVICE),
    (b"#FormatVersion Mauve", b"", "an alignment in XMFA format", _ALIGNMENT_ADVICE),
    (b"version https://git-lfs", b"", "a pointer of Git LFS to a file", "fetch the file itself: git lfs pull"),
    (b"<!doctype", b"", "a web page", _DOWNLOAD_ADVICE),
    (b"<html", b"", "a web page", _DOWNLOAD_ADVICE),
    (b"<?xml", b"", "XML", _OTHER_FILE_ADVICE),
    (b"{", rb"\s*\"[^\"\n]*\"\s*:", "JSON", _OTHER_FILE_ADVICE),
    (b"[", rb"\s*\{\s*[\"}]", "JSON", _OTHER_FILE_ADVICE),
    (b"{\\rtf", b"", "a document in RTF format", _PLAIN_TEXT_ADVICE),
    (b"%PDF-", b"", "a PDF document", _PLAIN_TEXT_ADVICE),
    (b"\x89HDF", b"", "an HDF5 file", _OTHER_FILE_ADVICE),
    (b"RDX", b"[23]\n", "a file of R objects", _R_ADVICE),
    (b"X\n\x00\x00\x00", b"", "a file of R objects", _R_ADVICE),
    (b"PAR1", _CONTROL_CHARACTER, "a Parquet file", _TABLE_ADVICE),
    (b"ARROW1", _CONTROL_CHARACTER, "an Arrow file", _TABLE_ADVICE),
    (b"SQLite format 3", b"", "an SQLite database", _TABLE_ADVICE),
)
"""(first bytes, in lower case if they begin with "<"; pattern of what follows; name of the format; advice), the first that matches."""

_STARTS = tuple({start for start, *_ in _FORMATS})


def refuse_foreign_format(first: bytes, source: str) -> None:
    """Raise `InputError` if a file is in a format that no command reads.

    first: first bytes of the file, decompressed and without a byte order mark
    source: name of the file, for messages
    """
    if first[_TAR_MAGIC_OFFSET:].startswith(_TAR_MAGIC):
        raise InputError(f"{source} is a tar archive; {_UNPACK_ADVICE} (tar -xOf FILE | gpualign ... -)")
    text = first.lstrip()
    if text.startswith(b"<"):
        text = text.lower()
    if not text.startswith(_STARTS):
        return
    for start, pattern, name, advice in _FORMATS:
        if text.startswith(start) and re.match(pattern, text[len(start) :], re.DOTALL):
            raise InputError(f"{source} is {name}; {advice.format(source=source)}")
