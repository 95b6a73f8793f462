"""Readers of our own, small and slow, and the results that follow from what they read.

They say what the documented formats hold. `Refuse`: no such file may be accepted. `NoOpinion`: the text is outside of what these readers
know, so that only the manner of the answer is judged.
"""

import contextlib
import csv
import gzip
import json
import re
import zlib

import numpy as np
from distance_oracle import plain_distances
from oracle import global_score, local_score

MISSING = 255
_DNA = "ACGTRYKMSWBDHVN"
_PROTEIN = "ARNDCQEGHILKMFPSTWYVBZXUOJ*"
_SPACE = b" \t\r\n\x0b\x0c"


class Refuse(Exception):
    """The input is none that may be accepted."""


class NoOpinion(Exception):
    """The input is beyond this reader."""


def unpacked(data):
    if data.startswith(b"\x1f\x8b"):
        try:
            return gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise Refuse(str(error)) from None
    return data


def _named(title):
    words = title.decode("utf-8", "surrogateescape").split(None, 1)
    if not words:
        raise Refuse("a record without an id")
    return words[0]


def _lines(data):
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")


def _is_list(data):
    """Whether these are sequences without titles, a short line each."""
    lines = [line for line in (line.rstrip(b" ") for line in data.replace(b"\r", b"").split(b"\n")) if line]
    return len(lines) > 1 and all(re.fullmatch(rb"[A-Z*]{1,50}", line) for line in lines)


def sequences(data, alphabet, without_empty=False):
    """[(id, upper-case letters)] of FASTA or four-line FASTQ; a database may have records without letters, which are left out."""
    data = unpacked(data)
    if b"\0" in data[:4096]:
        raise Refuse("binary")
    if not data.isascii():
        raise NoOpinion
    body = data.lstrip()
    if body.startswith(b">"):
        found = [(record[0], b"".join(record[1:])) for record in _fasta(body)]
    elif body.startswith(b"@"):
        found = _fastq(body)
    elif _is_list(data):
        found = [(line, line) for line in data.split()]
    else:
        raise Refuse("neither FASTA nor FASTQ")
    letters = _DNA + "U" if alphabet == "dna" else _PROTEIN
    out = []
    for title, text in found:
        text = text.translate(None, _SPACE).upper()
        if not text and without_empty:
            continue
        if not text or set(text) - set(letters.encode()):
            raise Refuse("no letters, or letters of no alphabet")
        out.append((_named(title), text.replace(b"U", b"T").decode() if alphabet == "dna" else text.decode()))
    if len({name for name, _ in out}) < len(out):
        raise Refuse("repeated ids")
    return out


def _fasta(body):
    records = []
    for line in _lines(body):
        if line.startswith(b">"):
            records.append([line[1:]])
        else:
            if re.search(rb"[\x1c-\x1f]", line):
                raise NoOpinion  # white space to some, letters to none
            records[-1].append(line)
    return records


def _fastq(body):
    lines = _lines(body)
    while lines and not lines[-1].strip():
        lines.pop()
    out = []
    if len(lines) % 4:
        raise NoOpinion
    for title, text, plus, quality in zip(*[iter(lines)] * 4, strict=True):
        plain = title.startswith(b"@") and plus.startswith(b"+") and len(text) == len(quality) and plus[1:] in (b"", title[1:])
        if not plain or re.search(rb"\s", text + quality):
            raise NoOpinion
        out.append((title[1:], text))
    return out


def alignment(data):
    """(ids, codes uint8[samples][sites]) of aligned nucleotides."""
    data = unpacked(data)
    if re.search(rb"\r(?!\n)|[\x1c-\x1f]", data) or not data.isascii():
        raise NoOpinion
    body = data.lstrip()
    if not body.startswith(b">"):
        raise Refuse("no FASTA")
    ids, rows = [], []
    for title, *lines in _fasta(body):
        text = b"".join(lines).translate(None, _SPACE)
        if re.search(rb"[^A-Za-z*.?~-]", text):
            raise Refuse("a letter that no alignment has")
        ids.append(_named(title))
        rows.append(text.upper().replace(b"U", b"T"))
    if len({len(row) for row in rows}) > 1 or not rows[0]:
        raise Refuse("rows of several lengths, or of none")
    table = np.full(256, MISSING, np.uint8)
    table[list(b"ACGT")] = range(4)
    letters = b"".join(rows)
    if sum(letters.count(letter) for letter in b"EFILPQ") * 20 > len(letters):
        raise NoOpinion  # perhaps a protein
    return _samples(ids, table[np.array([list(row) for row in rows])])


def _samples(ids, codes):
    if len(set(ids)) < len(ids):
        raise Refuse("repeated ids")
    return ids, codes


_OF_ALLELES = re.compile(
    r"[3-9](\.0)?|[0-9]{2,}(\.0)?|[0-9a-f]{8,}|INF-.*|\*[0-9]+|P?LNF|PLOT[35]?|LOTSC|NIPH(EM)?|PAMA|ALM|ASM", re.IGNORECASE
)
"""Cells that make a table one of alleles, if there are enough of them."""

_NONE = {"", ".", "-", "?", "n", "na", "nan", "-1", "-9"}


def _cells(line, separator):
    """What csv has between quotes, and without blanks what it has outside; tables whose quotes are odd are nobody's."""
    line = line.rstrip("\r\n")
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    cell = rf'(?:"(?:[^"]|"")*"|[^"{separator}]*)'
    if separator == "\t" or not re.fullmatch(f"{cell}(?:{separator}{cell})*", line):
        raise NoOpinion
    found = next(csv.reader([line], delimiter=separator, strict=True))
    if any(cell != cell.strip() for cell in found[1:]):
        raise NoOpinion
    quoted = line.startswith('"')
    return [found[0] if quoted else found[0].strip(), *found[1:]]


def _separator(header, row):
    """Where several could be, the one that cuts both lines alike."""
    if "\t" in header:
        return "\t"
    marks = [mark for mark in ",;" if mark in header] or [","]
    if len(marks) == 1:
        return marks[0]
    fitting = []
    for mark in marks:
        with contextlib.suppress(NoOpinion):
            cells = len(_cells(header, mark))
            if cells > 1 and cells == len(_cells(row, mark)):
                fitting.append(mark)
    if len(fitting) != 1:
        raise NoOpinion
    return fitting[0]


def table(data):
    """(ids, codes) of a table of genotypes 0, 1, 2 or of letters, a row a sample."""
    data = unpacked(data)
    if re.search(rb"[\0\x0b\x0c\x1c-\x1f]|\r(?!\n)", data) or not data.isascii():
        raise NoOpinion
    lines = [line for line in data.split(b"\n") if line.strip(b"\r")]
    while lines and not lines[0].strip():
        lines.pop(0)
    named = re.fullmatch(rb'("?)sep=([\t,;])\1\r?', lines[0], re.IGNORECASE) if lines else None
    if named:
        lines.pop(0)
    while lines and not lines[0].strip():
        lines.pop(0)
    if len(lines) < 2:
        raise Refuse("no rows")
    separator = named[2].decode() if named else _separator(*(line.decode() for line in lines[:2]))
    header, *rows = (_cells(line.decode(), separator) for line in lines)
    if header[0].startswith((">", "@", "##")) or lines[0].lower().startswith((b"sep=", b'"sep=')):
        raise NoOpinion
    if any(_OF_ALLELES.fullmatch(cell) for row in rows for cell in row[1:]):
        raise NoOpinion  # it may be a table of alleles
    width = len(header) - 1 if len(rows[0]) == len(header) else len(header)
    codes, kind = [], None
    for row in rows:
        if len(row) != width + 1:
            raise Refuse("rows of several lengths")
        if not width:
            raise Refuse("no sites")
        words = [cell.lower() for cell in row[1:]]
        words = [word[:-2] if re.fullmatch(r"-?[0-9]\.0", word) else word for word in words]
        codes.append([])
        for word in words:
            if word in _NONE:
                codes[-1].append(MISSING)
                continue
            if word in ("*", "~"):
                raise NoOpinion  # missing among letters, as in alignments, and no call among numbers
            here = "number" if word in ("0", "1", "2") else "letter" if len(word) == 1 and word.isalpha() else None
            if here is None or here != (kind or here):
                raise Refuse(f"the call {word!r}")
            kind = here
            codes[-1].append(int(word) if here == "number" else "acgt".find(word.replace("u", "t")) % 256)
    return _samples([row[0] for row in rows], np.array(codes, np.uint8))


def variants(data):
    """(ids, codes) of plain or gzipped VCF in its simplest form."""
    try:
        lines = unpacked(data).decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise NoOpinion from None
    if lines.pop() != "" or not lines[0].startswith("##fileformat=VCFv4"):
        raise NoOpinion
    start = next((k for k, line in enumerate(lines) if not line.startswith("##")), len(lines))
    titles = lines[start].split("\t") if start < len(lines) else []
    fixed = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
    if (
        titles[:9] != fixed
        or "##contig=<ID=1>" not in lines[:start]
        or not any("ID=GT,Number=1,Type=String" in line for line in lines[:start])
    ):
        raise NoOpinion
    sites = []
    for line in lines[start + 1 :]:
        cells = line.split("\t")
        simple = len(cells) == len(titles) and cells[0] == "1" and cells[2:3] + cells[5:9] == [".", ".", ".", ".", "GT"]
        if not simple or not re.fullmatch(r"[1-9][0-9]{0,8}", cells[1]) or not re.fullmatch("[ACGT]+", cells[3]):
            raise NoOpinion
        most = 0 if cells[4] == "." else cells[4].count(",") + 1
        if most and not re.fullmatch("[ACGT]+(,[ACGT]+)*", cells[4]):
            raise NoOpinion
        sites.append([_genotype(cell, most) for cell in cells[9:]])
    if not sites or len(titles) < 10:
        raise Refuse("no records or no samples")
    return _samples(titles[9:], np.array(sites, np.uint8).T)


def _genotype(text, most):
    found = re.fullmatch(r"([0-9]|\.)(?:[/|]([0-9]|\.))?", text)
    if not found:
        raise NoOpinion
    alleles = [found[1], found[2] or found[1]]
    if any(allele != "." and int(allele) > most for allele in alleles):
        raise Refuse("an allele that the site has not")
    if "." in alleles:
        return MISSING
    lower, upper = sorted(map(int, alleles))
    return upper * (upper + 1) // 2 + lower


def fileset(bed, bim, fam):
    """(ids, codes) of a PLINK fileset."""
    if not (bim + fam).isascii() or re.search(rb"[\0\x0b\x0c\x1c-\x1f]|\r(?!\n)", bim + fam):
        raise NoOpinion
    people = [line.split() for line in fam.splitlines()]
    sites = [line.split() for line in bim.splitlines()]
    if any(len(p) < 2 for p in people) or any(len(s) < 6 for s in sites) or not people or not sites:
        raise Refuse("lines without columns")
    width = -(-len(people) // 4)
    if bed[:3] != b"\x6c\x1b\x01" or len(bed) != 3 + width * len(sites):
        raise Refuse("another size")
    packed = np.frombuffer(bed, np.uint8, offset=3).reshape(len(sites), width)
    two = (packed[:, :, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
    codes = np.array([2, MISSING, 1, 0], np.uint8)[two.reshape(len(sites), -1)[:, : len(people)]].T
    ids = [p[1].decode() for p in people]
    return _samples(ids if len(set(ids)) == len(ids) else [f"{p[0].decode()}_{p[1].decode()}" for p in people], codes)


def index(data):
    """[(id, letters)] of an index, in the order of the file that was indexed."""
    length = int.from_bytes(data[12:16], "little")
    about = json.loads(data[16 : 16 + length])
    at, parts = 4096, []
    for count, kind in ((about["records"], "<i8"),) * 3 + ((about["id_bytes"], "u1"), (about["letters"], "u1")):
        parts.append(np.frombuffer(data, kind, count, at))
        at += -(-parts[-1].nbytes // 4096) * 4096
    lengths, places, ends, ids, codes = parts
    letters = np.frombuffer((_DNA if about["alphabet"] == "dna" else _PROTEIN).encode(), np.uint8)[codes].tobytes().decode()
    out, start = [None] * len(lengths), 0
    for size, place, first, last in zip(lengths, places, [0, *ends[:-1]], ends, strict=True):
        out[place] = ids[first:last].tobytes().decode(), letters[start : start + size]
        start += size
    return out


# ---- results


def _codes(text):
    return np.frombuffer(text.encode(), np.uint8)


def score_table(queries, targets, costs, local=False, with_self=False, least=None):
    """What `nw`, and `sw --all`, write: a line a pair. costs: match, mismatch, gap open, gap extend, or None for edit distances;
    targets None: the pairs of one set."""
    match, mismatch, gap_open, gap_extend = costs or (0, -1, 1, 1)
    values = np.where(np.eye(128, dtype=bool), match, mismatch)
    measure = local_score if local else global_score
    lines = ["query\ttarget\tscore" if costs else "query\ttarget\tdistance"]
    for i, (query, text) in enumerate(queries):
        for target, other in queries[i if with_self else i + 1 :] if targets is None else targets:
            score = measure(_codes(text), _codes(other), values, gap_open, gap_extend)
            if least is None or score >= least:
                lines.append(f"{query}\t{target}\t{score if costs else -score}")
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def distance_table(ids, codes):
    """What `dist` writes: differing calls of all pairs of samples."""
    distances, _ = plain_distances(codes, len(codes), "hamming", "pairwise")
    lines = ["\t".join(["", *ids]), *("\t".join([name, *(f"{x:.0f}" for x in row)]) for name, row in zip(ids, distances, strict=True))]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def compare(found, expected):
    """What a judge says."""
    if found == expected:
        return ""
    for number, (one, other) in enumerate(zip(found.splitlines(), expected.splitlines(), strict=False), 1):
        if one != other:
            return f"line {number} is {one[:80]!r}, by the reference {other[:80]!r}"
    return f"{len(found.splitlines())} lines, by the reference {len(expected.splitlines())}"


def picture(content):
    return "" if content.startswith(b"\x89PNG\r\n") and content.endswith(b"IEND\xaeB`\x82") else "no whole PNG"
