"""Tables that can be read in two ways, in every spelling: refused, and read as each option says."""

from itertools import product

import numpy as np

from fuzz import tables
from fuzz.tables import DELIMITERS, ENDS, MISSING, Spelling, framed, ids_of, some_alleles, written

SITES = [f"rs{k}" for k in range(101, 108)]


def _genotypes(rng, kinds=3):
    """Codes 0 .. kinds - 1 of five samples, each of which the second has."""
    codes = rng.integers(0, kinds, (5, len(SITES)))
    codes[1, :kinds] = range(kinds)
    return codes


def _without_calls(rng, text):
    """A first sample without a call, and no header."""
    for word, words in (("NA", ()), ("-", ()), ("?", ()), ("-9", ()), (".", ()), ("nan", ()), ("XX", ("--missing-code", "XX"))):
        codes = _genotypes(rng)
        codes[0] = MISSING
        cells = [[word if code < 0 else str(code) for code in row] for row in codes.tolist()]
        first = text([[name, *row] for name, row in zip(ids_of(5), cells, strict=True)])
        yield Spelling(f"no header, {word}", first, None, None, words, said=("--no-header",))
        yield Spelling(f"no header, {word}, said", first, ids_of(5), codes, (*words, "--no-header"))


def _crosses(rng, table):
    """A, H and B, and one other letter."""
    for letter in "UXMGNEuxg":
        codes = _genotypes(rng)
        cells = np.array(list("AHB"))[codes]
        cells[2, 3], codes[2, 3] = letter, MISSING
        if letter == "N":
            yield Spelling("cross with N", table(cells), ids_of(5), codes, said=("only A, B and H",))
            continue
        yield Spelling(
            f"cross with {letter}", table(cells), None, None, said=("--type abh", "--missing-code " + letter.upper(), "--type calls")
        )
        yield Spelling(f"cross with {letter}, said", table(cells), ids_of(5), codes, ("--type", "abh", "--missing-code", letter))


def _numbers(rng, table):
    """Genotypes beside a column or a code of other numbers."""
    for number in ("77", "88", "123", "999"):
        codes = _genotypes(rng)
        cells = codes.astype(str).astype(object)
        cells[2, 3], codes[2, 3] = number, MISSING
        yield Spelling(f"code {number}", table(cells), None, None, said=(f"--missing-code {number}", "--type alleles"))
        yield Spelling(f"code {number}, said", table(cells), ids_of(5), codes, ("--missing-code", number))
        alleles = np.where(codes == 0, MISSING, codes)
        alleles[2, 3] = int(number)
        yield Spelling(f"code {number}, an allele", table(cells), ids_of(5), alleles, ("--type", "alleles"))
    codes = _genotypes(rng, 5)
    cells = codes.astype(str).astype(object)
    cells[2, 3], codes[2, 3] = "99", MISSING
    yield Spelling("dosages with 99", table(cells), None, None, said=("--ploidy 4 and --missing-code 99",))
    yield Spelling("dosages with 99, said", table(cells), ids_of(5), codes, ("--ploidy", "4", "--missing-code", "99"))


def _traits(rng, table, transpose):
    codes = _genotypes(rng)
    heights = rng.integers(150, 190, 5).astype(str)
    cells = np.insert(codes.astype(str).astype(object), 2, heights, axis=1)
    titles = [*SITES[:2], "tallness", *SITES[2:]]
    text = table(cells, titles)
    yield Spelling(
        "a trait", text, None, None, said=("'tallness'", "--type alleles", "delete such rows" if transpose else "--ignore-columns")
    )
    if not transpose:
        yield Spelling("a trait, ignored", text, ids_of(5), codes, ("--ignore-columns", "tallness"))


def _small_schemes(rng, table):
    """Alleles below 10 with words for missing ones that only tables of alleles have."""
    for word in ("5;7", "7?", "~7", "LNF", "X", "None", "3;4;5"):
        alleles = rng.integers(1, 10, (5, len(SITES)))
        alleles[0, :2] = 8, 9
        cells = alleles.astype(str).astype(object)
        cells[2, 3], alleles[2, 3] = word, MISSING
        yield Spelling(f"alleles with {word}", table(cells), ids_of(5), alleles, said=("read as alleles",))


def ambiguous_tables(rng):
    for (mark, delimiter), (end, line_end), transpose in product(DELIMITERS.items(), ENDS.items(), (False, True)):
        turned = ("--transpose",) if transpose else ()

        def text(rows, delimiter=delimiter, line_end=line_end):
            return written(rows, delimiter, line_end)

        def table(cells, titles=SITES, text=text, transpose=transpose):
            return text(framed(ids_of(5), titles, np.asarray(cells).tolist(), "id", transpose))

        found = [*_crosses(rng, table), *_numbers(rng, table), *_traits(rng, table, transpose), *_small_schemes(rng, table)]
        if not transpose:
            found += [*_without_calls(rng, text), *_longer_rows(rng, text), *_matrices(rng, text), *_rows_of_sites(rng, text)]
        for one in found:
            where = f"{one.name}, {mark} {end}{' transposed' if transpose else ''}"
            yield Spelling(where, one.text, one.ids, one.calls, (*turned, *one.words), one.said)


def _longer_rows(rng, text):
    """A delimiter at the end of rows alone."""
    for corner in ("id", "line", "sample", "strain"):
        header, *rows = framed(ids_of(5), SITES, _genotypes(rng).astype(str).tolist(), corner)
        yield Spelling(
            f"longer rows under {corner}",
            text([header, *([*row, ""] for row in rows)]),
            None,
            None,
            said=("one cell more than the header",),
        )


def _matrices(rng, text):
    """Distances, whose ids R or names of files have changed on one side."""
    points = rng.integers(0, 30, 6)
    cells = abs(points[:, None] - points).astype(str).tolist()
    ids = ["1A", "B-2", "c.3", "D 4", "e_5", "6"]
    for name, changed in (
        ("R", ["X1A", "B.2", "c.3", "D.4", "e_5", "X6"]),
        ("files", [f"{one}.fasta" for one in ids]),
        ("cases", [one.upper() for one in ids]),
        ("other", list("uvwxyz")),
    ):
        said = ("a matrix",) if name != "other" else ("may be a matrix", "--type calls", "--type alleles")
        yield Spelling(f"matrix, ids of {name}", text(framed(ids, changed, cells, "")), None, None, said=said)


def _rows_of_sites(rng, text):
    """Samples in columns, read without --transpose."""
    codes = _genotypes(rng)
    header, *rows = framed(ids_of(5), SITES, codes.astype(str).tolist(), "marker", True)
    lines = [[header[0], "chrom", "pos", *header[1:]], *([row[0], "3", str(k), *row[1:]] for k, row in enumerate(rows, 10))]
    yield Spelling("rows of sites", text(lines), None, None, said=("'chrom', 'pos'", "--transpose"))
    yield Spelling("rows of sites, said", text(lines), ids_of(5), codes, ("--transpose",))
    alleles = some_alleles(rng, 5, 7)
    numbered = [f"L{k}" for k in range(47, 54)]  # L50 is metadata by itself
    cells = [["LNF" if allele == MISSING else str(allele) for allele in row] for row in alleles.tolist()]
    yield Spelling("numbered sites", text(framed(ids_of(5), numbered, cells)), ids_of(5), alleles)


FAMILIES = {**tables.FAMILIES, "two readings": ambiguous_tables}
