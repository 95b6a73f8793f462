"""Spellings of alignments in the formats of CLUSTAL and PHYLIP, each written from rows that are known."""

import io

from Bio import AlignIO
from Bio.Align import MultipleSeqAlignment
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord


def alignment(rng, ids, sites):
    return [(name, "".join(rng.choice(list("ACGTN-"), sites, p=[0.24, 0.24, 0.24, 0.24, 0.02, 0.02]))) for name in ids]


def as_fasta(rows):
    return "".join(f">{name}\n{letters}\n" for name, letters in rows)


def by_biopython(rows, name):
    records = MultipleSeqAlignment([SeqRecord(Seq(letters), id=name, annotations={"molecule_type": "DNA"}) for name, letters in rows])
    text = io.StringIO()
    AlignIO.write([records], text, name)
    return text.getvalue()


def in_blocks(rows, width, interleaved, separator=" "):
    """Relaxed PHYLIP in lines of `width` letters, in blocks of all rows or a row after another."""
    pieces = [[letters[a : a + width] for a in range(0, len(letters), width)] for _, letters in rows]
    names = [name for name, _ in rows]
    head = f"{len(rows)} {len(rows[0][1])}\n"
    if not interleaved:
        return head + "".join(f"{name}{separator}" + "\n".join(some) + "\n" for name, some in zip(names, pieces, strict=True))
    blocks = ["".join(f"{name}{separator}{some[0]}\n" for name, some in zip(names, pieces, strict=True))]
    blocks += ["".join(f"{some[k]}\n" for some in pieces) for k in range(1, len(pieces[0]))]
    return head + "\n".join(blocks)


SHORT, LONG = ["s1", "iso_2", "A.3"], ["a_rather_long_name", "another|name", "x"]


def spellings(rng):
    for ids, sites in ((SHORT, 40), (SHORT, 200), (LONG, 130)):
        rows = alignment(rng, ids, sites)
        formats = ["clustal", "phylip-relaxed"] + (["phylip", "phylip-sequential"] if ids is SHORT else [])
        for name in formats:
            yield f"{name} {sites}", rows, by_biopython(rows, name)
        for program in ("CLUSTAL W (1.83) multiple sequence alignment", "CLUSTAL O(1.2.4) multiple", "MUSCLE (3.8) multiple"):
            yield program, rows, program + by_biopython(rows, "clustal").partition("alignment")[2]
        for width, interleaved, separator in ((60, True, "  "), (60, False, " "), (1000, True, "\t"), (1000, False, "   ")):
            text = in_blocks(rows, width, interleaved, separator)
            yield f"blocks {width} {interleaved} {separator!r}", rows, text
            yield f"blocks {width} {interleaved} {separator!r}, said", rows, text.replace("\n", " I\n" if interleaved else "\tS \n", 1)


def distance(one, other):
    """Sites at which two rows have different nucleotides."""
    return sum(a != b for a, b in zip(one, other, strict=True) if a in "ACGT" and b in "ACGT")
