"""Recognises the kind of a file from its first bytes. Pure."""

from __future__ import annotations

import re
import string
from enum import Enum

from gpualign.core.files.delimiters import delimiter_of
from gpualign.core.files.paths import INDEX_MAGIC, SAMPLE_SET_MAGIC
from gpualign.core.files.plink_text import is_ped, is_tped

PLINK_MAGIC = b"\x6c\x1b"
"""First bytes of PLINK .bed and .pgen files."""

_CLUSTAL_HEADER = re.compile(rb"(CLUSTAL|MUSCLE \(|PROBCONS |MSAPROBS |Kalign )")
"""Pattern of the first words of files in CLUSTAL format. These words differ between programs."""

_PHYLIP_HEADER = re.compile(rb"[ \t]*0*[1-9][0-9]*[ \t]+[0-9]+([ \t]+[IS])?[ \t]*")
_MIN_LETTERS_OF_ONE_ROW = 10
"""Number of letters in the line of a single row, such as a new sample, that no cell of a table has."""
_RECORD_COUNT_LINE = re.compile(rb"[ \t]*0*([2-9]|[1-9][0-9]+)[ \t]*")
_NUMBER = re.compile(rb"[0-9]+")
_GAP_CHARACTERS = re.compile(rb"[-?.]+")
_LETTER = re.compile(rb"[A-Za-z]")
_NEWICK_START = re.compile(rb"(\[[^]]*\]\s*)*\(")
_UC_START = re.compile(rb"(#[^\n]*\n)*S\t[0-9]+\t[0-9]+\t\*\t")
"""Pattern of the first row of clusters in .uc format."""

_CLSTR_START = re.compile(rb">Cluster [0-9]+\r?\n[0-9]+\t[0-9]+(aa|nt), >")
"""Pattern of the first cluster in CD-HIT's .clstr format."""

_CLUSTER_TITLES = [b"id", b"cluster", b"size", b"representative", b"distance"]
"""Titles of the tables of clusters that gpualign writes, at least three of them."""

OTHER_PAIR_TITLES = frozenset(
    (("id1", "id2"), ("source", "target"), ("sample1", "sample2"), ("item1", "item2"), ("var1", "var2"), ("level_0", "level_1"))
)
"""First titles of lists of pairs of HIV-TRACE and MicrobeTrace, of Gephi and Cytoscape, of SKA, of R (broom, melt) and pandas (stack), in
lower case."""
_PAIR_VALUE_TITLES = {"distance", "identity", "weight", "value"}
_NEWICK_END = re.compile(rb"\)[^(),;]*;$")


class FileKind(Enum):
    """Kinds of file, each with the name used in messages."""

    FASTA = "FASTA"
    FASTQ = "FASTQ"
    VCF = "VCF"
    VCF_WITHOUT_VERSION = "VCF without its first line, ##fileformat=VCFv4.2"
    BCF = "BCF"
    PLINK = "a PLINK fileset"
    PED = "a PLINK .ped file"
    TPED = "a PLINK .tped file"
    CLUSTAL = "an alignment in CLUSTAL format"
    PHYLIP = "an alignment in PHYLIP format"
    STOCKHOLM = "an alignment in Stockholm format"
    NEXUS = "a NEXUS file"
    MSF = "an alignment in MSF format"
    MEGA = "a MEGA file"
    PHYLIP_MATRIX = "a distance matrix in PHYLIP format"
    NEWICK = "a tree in Newick format"
    PAIRS = "a list of pairs"
    CLUSTERS = "a list of clusters"
    NEIGHBOUR_COUNTS = "a list of numbers of neighbours"
    NUMPY = "a NumPy matrix"
    SAMPLE_SET = "a set of samples"
    INDEX = "an index of sequences"


CONVERSIONS = {
    FileKind.STOCKHOLM: "write the alignment as FASTA, for instance with esl-reformat afa",
    FileKind.NEXUS: "write its alignment as FASTA",
    FileKind.MSF: "write the alignment as FASTA",
    FileKind.MEGA: "write its alignment as FASTA",
}
"""Advice on kinds of file whose sequences no command reads."""


def kind_of(start: bytes) -> FileKind | None:
    """Return a file's kind, recognised from its first (decompressed) bytes; None for a table, any other binary file, or an empty file.

    A table whose first id looks like the start of a different format is still recognised as a table, because FASTA has a sequence below its
    first header and Newick contains no tabs.
    """
    if start.startswith(PLINK_MAGIC):
        return FileKind.PLINK
    if start.startswith(SAMPLE_SET_MAGIC):
        return FileKind.SAMPLE_SET
    if start.startswith(INDEX_MAGIC) and b"\0" in start:
        return FileKind.INDEX
    if start.startswith(b"BCF"):
        return FileKind.BCF
    if start.startswith(b"\x93NUMPY") or (start.startswith(b"PK\3\4") and _first_zip_member(start).endswith(b".npy")):
        return FileKind.NUMPY
    if b"\0" in start:
        return None
    body = start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \r\n\v\f")
    lines = [line.rstrip(b"\r") for line in body.split(b"\n", 3)]
    first, second = lines[0], next((line for line in lines[1:] if line.strip()), b"")
    if _CLSTR_START.match(body) or _UC_START.match(body):
        return FileKind.CLUSTERS
    if first.startswith(b">") and not _is_row_of_header(first, second):
        return FileKind.FASTA
    if first.startswith(b"@") and b"\n+" in body and not _is_row_of_header(first, second):
        return FileKind.FASTQ
    if body.removeprefix(b'"').startswith(b"##fileformat=VCF"):  # the reader of VCF refuses quotes that a spreadsheet has written
        return FileKind.VCF
    if re.search(rb"^#CHROM\tPOS\tID\tREF\tALT", body, re.MULTILINE):
        return FileKind.VCF_WITHOUT_VERSION
    if _CLUSTAL_HEADER.match(first) and not _is_row_of_header(first, second):
        return FileKind.CLUSTAL
    if first.startswith(b"# STOCKHOLM"):
        return FileKind.STOCKHOLM
    if first.upper().startswith(b"#NEXUS"):
        return FileKind.NEXUS
    if first.lower().startswith(b"#mega"):
        return FileKind.MEGA
    if first.startswith((b"!!NA_MULTIPLE", b"!!AA_MULTIPLE", b"PileUp")):
        return FileKind.MSF
    if _PHYLIP_HEADER.fullmatch(first) and _is_phylip_row(first, second):
        return FileKind.PHYLIP
    is_header = first.startswith(b"\t") and _is_row_of_header(first, second)  # of a column whose title is a number
    if _RECORD_COUNT_LINE.fullmatch(first) and second and not _NUMBER.fullmatch(second.strip()) and not is_header:
        return FileKind.PHYLIP_MATRIX
    ends_as_tree = b";" in body or b"\n" not in body.strip()
    is_row = b"\t" in first or (not _NEWICK_END.search(first) and _is_row_of_header(first, second))
    if _NEWICK_START.match(body) and ends_as_tree and not is_row:
        return FileKind.NEWICK
    titles = _cells(first, second)
    if _names_pairs(titles):
        return FileKind.PAIRS
    if len(titles) >= 3 and titles == _CLUSTER_TITLES[: len(titles)]:
        return FileKind.CLUSTERS
    if titles == [b"query", b"neighbours"]:
        return FileKind.NEIGHBOUR_COUNTS
    return FileKind.PED if is_ped(body) else FileKind.TPED if is_tped(body) else None


def _first_zip_member(start: bytes) -> bytes:
    """Return the name of the first file in a zip archive, given the first bytes of the archive."""
    length = int.from_bytes(start[26:28], "little")
    return start[30 : 30 + length]


def _names_pairs(titles: list[bytes]) -> bool:
    """Return whether these are the titles of a list of pairs."""
    names = [title.decode("utf-8", "replace").lower() for title in titles]
    if tuple(names[:2]) not in OTHER_PAIR_TITLES:
        return {"query", "target"} <= set(names)
    is_series = len({name.rstrip(string.digits) for name in names}) == 1  # of samples: sample1, sample2, sample3
    return (len(names) == 3 and not is_series) or not _PAIR_VALUE_TITLES.isdisjoint(names)


def _cells(first: bytes, second: bytes) -> list[bytes]:
    """Return the cells of a file's first line, split at the delimiter that fits both lines."""
    delimiter = delimiter_of(first, second).encode()
    return [cell.strip(b'" ') for cell in first.split(delimiter)]


def _is_phylip_row(counts: bytes, second: bytes) -> bool:
    """Return whether the second line of a file contains letters of an alignment in PHYLIP format.

    counts: the first line of the file. If the second line is not part of an alignment, the first line is the header of a table, with two
        titles that happen to be numbers
    second: the second line
    """
    _, *parts = second.split() or [b""]
    letters, sites = b"".join(parts) or second.strip(), int(counts.split()[1])
    titles, cells = counts.strip().count(b"\t"), second.strip().count(b"\t")
    if int(counts.split()[0]) == 1:
        are_cells = bool(parts) and all(len(part) == 1 for part in parts)
        if are_cells or (len(letters) != sites and len(letters) < _MIN_LETTERS_OF_ONE_ROW):
            return False
    if not (_LETTER.search(letters) or _GAP_CHARACTERS.fullmatch(letters) or (len(letters) == sites > 1 and len(parts) < sites)):
        return False
    return titles == 0 or (cells <= titles and len(letters) > 1)


def _is_row_of_header(header: bytes, row: bytes) -> bool:
    """Return whether `row` has as many cells as expected below the header, and is therefore not part of a sequence."""
    delimiter = delimiter_of(header, row).encode()
    if delimiter == b" " or delimiter not in row:
        return False
    return row.count(delimiter) - header.count(delimiter) in (0, 1)
