"""Spellings of tables of calls, each written from calls that are known: what is read has to be these, or the table is refused.

The distances that are expected are counted here, a pair and a site at a time, from the calls and not from any text.
"""

import csv
import io
from dataclasses import dataclass, field
from itertools import product

import numpy as np

DELIMITERS = {"tabs": "\t", "commas": ",", "semicolons": ";"}
ENDS = {"": "\n", "CRLF": "\r\n"}
MISSING = -1


@dataclass(frozen=True)
class Spelling:
    """text: of a table. words: options of the command. ids, calls: that it holds, MISSING for none, or None where it has to be refused.
    said: what has to be in the notes, or in the error."""

    name: str
    text: str
    ids: list[str] | None
    calls: np.ndarray | None
    words: tuple[str, ...] = ()
    said: tuple[str, ...] = field(default=())


def distances(calls):
    """Differing calls of each pair, by the definition; nan where nothing is compared."""
    count = len(calls)
    out = np.full((count, count), np.nan)
    for i, j in product(range(count), repeat=2):
        both = [(a, b) for a, b in zip(calls[i].tolist(), calls[j].tolist(), strict=True) if a != MISSING and b != MISSING]
        if both:
            out[i, j] = sum(a != b for a, b in both)
    return out


def written(rows, delimiter="\t", end="\n", quote=False):
    """Rows of cells as csv writes them; between tabs as they are."""
    if delimiter == "\t":
        return "".join("\t".join(row) + end for row in rows)
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL if quote else csv.QUOTE_MINIMAL).writerows(rows)
    return text.getvalue()


def framed(ids, titles, cells, corner="id", transpose=False):
    """Header and rows of cells[samples][sites]."""
    if transpose:
        return [[corner, *ids], *([title, *column] for title, column in zip(titles, zip(*cells, strict=True), strict=True))]
    return [[corner, *titles], *([name, *row] for name, row in zip(ids, cells, strict=True))]


def some_alleles(rng, samples=5, loci=6, most=400, missing=0.2):
    alleles = rng.integers(1, most, (3, loci))[rng.integers(0, 3, samples)]
    changed = rng.random(alleles.shape) < 0.4
    alleles[changed] = rng.integers(1, most, int(changed.sum()))
    alleles[rng.random(alleles.shape) < missing] = MISSING
    alleles[:, 0] = rng.integers(300, 350, samples)  # large ones, so that the table shows what it is
    return alleles


def ids_of(count):
    return [f"iso{k}" for k in range(count)]


def loci_of(count):
    return [f"locus_{k}" for k in range(1001, 1001 + count)]


# ---- decimals and thousands among alleles

DECIMAL = {"point": ".0", "comma": ",0", "two zeros": ",00", "two zeros after a point": ".00"}
SEVERAL_WITH_ZERO = ("7:0", "7/0", "7|0", "7;0", "0;7", "0/0", "7/0/3")
NO_ALLELES = ("5,7", "1,234", "7,000", "12,5", "5:7", "01:02", "1,2,3", "1,234,567", "7,5", "0,7", "5,07")


def decimal_tables(rng):
    for (form, zeros), (mark, delimiter), (end, newline), transpose in product(
        DECIMAL.items(), DELIMITERS.items(), ENDS.items(), (False, True)
    ):
        alleles = some_alleles(rng)
        gaps = (alleles == MISSING).any(axis=0)  # whose columns pandas makes floats
        cells = [
            ["" if a == MISSING else f"{a}{zeros if gap else ''}" for a, gap in zip(row.tolist(), gaps, strict=True)] for row in alleles
        ]
        rows = framed(ids_of(5), loci_of(6), cells, "FILE", transpose)
        words = ("--transpose",) if transpose else ()
        yield Spelling(f"decimals, {form}, {mark} {end} {transpose}", written(rows, delimiter, newline), ids_of(5), alleles, words)
    for zeros, other, (mark, delimiter), transpose, type_ in product(
        (",0", ",00"), ("", ".0", ",0 elsewhere"), DELIMITERS.items(), (False, True), ((), ("--type", "alleles"))
    ):
        cells = some_alleles(rng, missing=0).astype(str).tolist()
        cells[2][3] += zeros
        if other == ".0":
            for k, row in enumerate(cells):
                row[3] = row[3].partition(",")[0] + (zeros if transpose or k != 1 else other)
                row[4] += other
        elif other:
            for row in cells:
                row[1] += zeros
        rows = framed(ids_of(5), loci_of(6), cells, "FILE", transpose)
        words = (*type_, "--transpose") if transpose else type_
        name = f"mixed decimals {zeros} {other}, {mark} {transpose} {type_}"
        yield Spelling(name, written(rows, delimiter), None, None, words, said=("numbers with commas beside",))
    for cell, (mark, delimiter), type_ in product((*SEVERAL_WITH_ZERO, *NO_ALLELES), DELIMITERS.items(), ((), ("--type", "alleles"))):
        cells = some_alleles(rng, missing=0).astype(str).tolist()
        cells[2][3] = cell
        text = written(framed(ids_of(5), loci_of(6), cells, "FILE"), delimiter)
        yield Spelling(f"no allele {cell}, {mark} {type_}", text, None, None, type_, said=(f"'{cell}'",))


# ---- tables without a header

UNCERTAIN = (
    *("5", "~5", "5?", "~5?", "*5?", "-5", "*5", "INF-5", "inf-5", "INF-*5", "5;6", "5|6", "5/6", "5; 6", "5.0", "5,0"),
    *("LNF", "PLOT3", "NIPH", "ASM", "-", "?", ".", "N", "NA", "n/a", "None", "", "0"),
    *("deadbeef", "da39a3ee5e6b4b0d3255bfef95601890afd80709", "4294967295", "INF-deadbeef01"),
)
"""33 spellings of a cell."""
FIRST = ("A", "s", "strain", "#1", "sample", "isolate", "S1", "iso 1", "taxon", "genome", "1")


def headless_tables(rng):
    for cell, first, transpose, (mark, delimiter) in product(UNCERTAIN, FIRST, (False, True), DELIMITERS.items()):
        if cell == "5,0" and mark == "commas":
            continue
        alleles = some_alleles(rng, 4, 5, missing=0)
        cells = alleles.astype(str).tolist()
        cells[0][3] = cell
        rows = [[name, *row] for name, row in zip([first, "B", "C", "D"], cells, strict=True)]
        if transpose:
            rows = [[name, *column] for name, column in zip([first, *loci_of(4)], zip(*cells, strict=True), strict=True)]
        words = ("--transpose",) if transpose else ()
        name = f"headless, {cell!r}, {first}, {mark} {transpose}"
        yield Spelling(name, written(rows, delimiter), None, None, words, said=("--no-header",))


# ---- titles that are of no locus

TITLES = (
    *(
        "ST",
        "ST (MLST)",
        "cgMLST ST",
        "cgST",
        "CT",
        "Complex Type",
        "HC5",
        "HC10 (cgMLST)",
        "HC250",
        "CC",
        "ClonalComplex",
        "clonal_complex",
    ),
    *("Clonal Complex", "Sequence Type", "rST", "rMLST ST", "wgST", "MLST", "7-gene ST", "Lineage", "Sublineage", "clade", "phylogroup"),
    *("serotype", "Serovar", "SNP cluster", "cluster", "cluster_id", "Group", "profile_id", "LINcode", "Year", "year", "Collection Year"),
    *(
        "collection_date",
        "Year of isolation",
        "Month",
        "week",
        "Day",
        "Date",
        "country",
        "Region",
        "latitude",
        "Postcode",
        "age",
        "Age (years)",
    ),
    *(
        "Sex",
        "patient_id",
        "Patient",
        "ward",
        "Species",
        "Host",
        "Source Niche",
        "phenotype",
        "population",
        "N50",
        "contigs",
        "No. contigs",
    ),
    *(
        "# contigs",
        "Contig count",
        "Genome size",
        "Total length",
        "GC content",
        "Contig Number(>=200 bp)",
        "Low Quality Bases",
        "N50 (Assembled)",
        "Contig Count (Assembled)",
        "rST (Ribosomal MLST)",
        "age_yr",
        "pubmed_id",
        "GC (%)",
        "Coverage",
        "Mean coverage",
        "read count",
        "missing",
    ),
    *("Missing loci", "Good targets", "Perc. Good Targets", "% missing", "Unnamed: 0", "index", "No.", "#", "Isolate", "Sample ID"),
    *("Accession", "batch", "run_id", "version", "barcode"),
)
LOCI = (
    *("abcZ", "adk", "aroE", "fumC", "lat", "lon", "dam", "pat", "spa", "emm", "b0001", "SACOL0001", "NEIS0001", "lmo0001", "group_1234"),
    *("INNUENDO_wgMLST-00000001", "STMMW_00011", "Rv0001", "CC8_locus", "16S", "gyrB", "cluster_1234", "1", "A", "rs12"),
)


def titled_tables(rng):
    for title, (mark, delimiter), place in product(TITLES, DELIMITERS.items(), ("first", "last")):
        alleles = some_alleles(rng, 5, 6, missing=0.1)
        cells = [["0" if a == MISSING else str(a) for a in row] for row in alleles.tolist()]
        numbers = rng.integers(1000, 3000, 5).astype(str)
        at = 0 if place == "first" else 6
        titles = loci_of(6)
        titles.insert(at, title)
        for row, number in zip(cells, numbers, strict=True):
            row.insert(at, number)
        text = written(framed(ids_of(5), titles, cells, "id"), delimiter)
        yield Spelling(f"title {title}, {mark} {place}", text, ids_of(5), alleles, said=(repr(title), "left out", "--columns"))
        kept = np.insert(alleles, at, numbers.astype(int), axis=1)
        if mark == "tabs" and "," not in title:
            yield Spelling(f"title {title} wanted", text, ids_of(5), kept, ("--columns", ",".join(titles)))
            yield Spelling(f"title {title} ignored", text, ids_of(5), alleles, ("--ignore-columns", title))
    for title in LOCI:
        alleles = some_alleles(rng, 5, 6, missing=0)
        text = written(framed(ids_of(5), [*loci_of(5), title], alleles.astype(str).tolist(), "id"))
        yield Spelling(f"locus {title}", text, ids_of(5), alleles)


# ---- metadata and annotation beside genotypes

BESIDE_SITES = (
    ["chrom", "pos"],
    ["CHROM", "POS", "ID", "REF", "ALT"],
    ["alleles", "chrom", "pos", "strand", "assembly#", "center", "protLSID", "assayLSID", "panelLSID", "QCcode"],
    ["Chromosome", "Position (bp)"],
    ["CHR", "CM", "POS", "A1", "A2"],
)
SAMPLES = (["A1", "A2", "A3", "A4"], ["Reference", "alt1", "marker", "strain"], ["ref", "s1", "s2", "s3"], ["1", "2", "3", "4"])
CODED = {
    "genotypes": ("0 1 2", ()),
    "nucleotides": ("A C G", ()),
    "centred": ("-1 0 1", ("--type", "centred")),
    "dosages": ("0 1 4", ("--ploidy", "4")),
    "cross": ("A H B", ("--type", "abh")),
}


def annotated_tables(rng):
    for title, (coding, (cells, type_)) in product(TITLES[:: int(rng.integers(2, 5))], CODED.items()):
        mark = str(rng.choice(list(DELIMITERS)))
        delimiter = DELIMITERS[mark]
        codes = _genotypes(rng, 3, 4, 5)
        rows = [[cells.split()[code] for code in row] for row in codes.tolist()]
        at = int(rng.integers(0, 6))
        titles = [f"rs{k}" for k in range(101, 106)]
        titles.insert(at, title)
        for row, value in zip(rows, rng.choice(["2019", "DE", "7", "3.5", "ST11", "ACGT"], 4), strict=True):
            row.insert(at, str(value))
        text = written(framed(ids_of(4), titles, rows), delimiter)
        calls = np.where(codes == 2, 4, codes) if coding == "dosages" else codes
        name = f"{title} beside {coding}, {mark}"
        if title in SCHEMES and coding == "genotypes":
            yield Spelling(name, text, None, None, said=("--type alleles", "--type calls"))
            yield Spelling(name, text, ids_of(4), calls, ("--type", "calls"), said=(repr(title), "left out"))
        else:
            yield Spelling(name, text, ids_of(4), calls, type_, said=(repr(title), "left out", "--columns"))
        if "," not in title:
            yield Spelling(f"{name}, ignored", text, ids_of(4), calls, (*type_, "--ignore-columns", title))
    for beside, samples, (coding, (cells, type_)), (mark, delimiter) in product(BESIDE_SITES, SAMPLES, CODED.items(), DELIMITERS.items()):
        codes = _genotypes(rng, 3, 4, 5)
        rows = [["snp", *beside, *samples]]
        for k, column in enumerate(codes.T.tolist()):
            annotation = [
                {"chrom": "3", "pos": str(10 + k)}.get(title.lower()[:5], str(rng.choice(["7", "A", "A/C", "+", "12.5"])))
                for title in beside
            ]
            rows.append([f"rs{k + 100}", *annotation, *[cells.split()[code] for code in column]])
        if samples[0] == "A1" and "A1" in beside:
            continue
        calls = np.where(codes == 2, 4, codes) if coding == "dosages" else codes
        said = ("left out as annotation of sites",)
        words = ("--transpose", *type_)
        yield Spelling(f"{beside[0]} {samples[0]} {coding}, {mark}", written(rows, delimiter), samples, calls, words, said=said)
    for samples, (mark, delimiter) in product(SAMPLES, DELIMITERS.items()):
        codes = _genotypes(rng, 3, 4, 5)
        text = written(framed(samples, [f"rs{k}" for k in range(105)][100:], codes.astype(str).tolist(), "snp_id", True), delimiter)
        yield Spelling(f"samples {samples[0]}, {mark}", text, samples, codes, ("--transpose",))


SCHEMES = frozenset(
    title
    for title in TITLES
    if "ST" in title.replace("Isolate", "") or title.replace("_", " ").lower() in ("clonal complex", "clonalcomplex", "cc", "sequence type")
)
"""Titles that only tables of alleles have."""


# ---- codings of genotypes


def _genotypes(rng, kinds, samples=5, sites=9):
    """Codes 0 .. kinds - 1, each of which occurs."""
    codes = rng.integers(0, kinds, (samples, sites))
    codes[0, :kinds] = range(kinds)
    return codes


def coded_tables(rng):
    def table(cells, delimiter, transpose):
        return written(framed(ids_of(len(cells)), [f"m{k}" for k in range(101, 101 + len(cells[0]))], cells, "id", transpose), delimiter)

    for (mark, delimiter), transpose in product(DELIMITERS.items(), (False, True)):
        turned = ("--transpose",) if transpose else ()
        codes = _genotypes(rng, 3)
        holes = rng.random(codes.shape) < 0.2
        holes[0, :3] = False
        missing = np.where(holes, MISSING, codes)
        name = f"{mark} {transpose}"

        def spelled(words, hole="NA", codes=codes, holes=holes):
            return [[hole if absent else words[code] for code, absent in zip(*row, strict=True)] for row in zip(codes, holes, strict=True)]

        def yields(what, cells, calls=missing, words=(), said=(), turned=turned, delimiter=delimiter, name=name):
            ids = None if calls is None else ids_of(5)
            return Spelling(f"{what}, {name}", table(cells, delimiter, bool(turned)), ids, calls, (*turned, *words), said=said)

        for form in ("0 1 2", "0.0 1.0 2.0", "0,0 1,0 2,0"):
            if "," not in form or mark != "commas":
                yield yields(f"genotypes {form}", spelled(form.split()))
        if mark != "commas":
            once = spelled(("0", "1", "2"))
            once[0][1] = "1,0"  # its column and its row have other numbers
            once[1][1] = once[0][3] = "2"
            yield yields("a genotype 1,0", once, None, said=("numbers with commas beside",))
        for form in (("-1", "0", "1"), ("-1.0", "0.0", "1.0")):
            yield yields("centred", spelled(form), said=("--missing-code -1",))
            yield yields("centred, said", spelled(form), words=("--type", "centred"))
            as_missing = np.where(missing <= 0, MISSING, missing)
            yield yields("minus one missing", spelled(form), as_missing, ("--missing-code", "-1"))
        yield yields("minus one beside 2", spelled(("0", "1", "2"), "-1"))
        few = np.where(codes == 2, 0, codes)
        yield yields("minus one and 0", [["-1" if c else "0" for c in row] for row in few.tolist()], None, said=("--type centred",))
        for letters in ("AHB", "ahb"):
            yield yields("cross", spelled(tuple(letters), "-"), said=("--type calls",))
            yield yields("cross, said", spelled(tuple(letters), "-"), words=("--type", "abh"))
        two = np.where(codes == 1, 2, codes)
        yield yields("cross of lines", [["AXB"[c] for c in row] for row in two.tolist()], two)
        yield yields(
            "cross with C", [["C" if k == 3 else "AHB"[c] for k, c in enumerate(row)] for row in codes.tolist()], None, said=("--type",)
        )
        nine = spelled(("0", "1", "2"), "9")
        yield yields("nine is missing", nine, said=("9 is read as a missing call",))
        yield yields("nine is missing, said", nine, words=("--missing-code", "9"))
        alleles = np.where(holes, 9, np.where(codes == 0, MISSING, codes))
        yield yields("nine is an allele", nine, alleles, ("--type", "alleles"))
        for hole in ("3", "5"):
            with_hole = spelled(("0", "1", "2"), hole)
            yield yields(f"{hole} is missing", with_hole, None, said=("--type alleles", f"--missing-code {hole}"))
            yield yields(f"{hole} is missing, said", with_hole, words=("--missing-code", hole))
        for hole in ("99", "-99", "XX"):
            yield yields(f"{hole} is missing, said", spelled(("0", "1", "2"), hole), words=("--missing-code", f"{hole},QQ"))
        yield yields("99 is missing", spelled(("0", "1", "2"), "99"), None, said=("99",))
        only = np.where(codes == 1, 2, codes)
        without_one = [["9" if h else str(c) for c, h in zip(*row, strict=True)] for row in zip(only.tolist(), holes, strict=True)]
        yield yields("nine with 0 and 2", without_one, None, said=("--missing-code 9", "--type alleles"))
        for ploidy in (3, 4, 6, 8):
            dosages = _genotypes(rng, ploidy + 1)
            cells = dosages.astype(str).tolist()
            yield yields(f"ploidy {ploidy}", cells, None, said=(f"--ploidy {ploidy}", "--type alleles"))
            yield yields(f"ploidy {ploidy}, said", cells, dosages, ("--ploidy", str(ploidy)))
            yield yields(f"ploidy {ploidy} as alleles", cells, np.where(dosages == 0, MISSING, dosages), ("--type", "alleles"))
        haploid = _genotypes(rng, 2)
        yield yields("haploid", haploid.astype(str).tolist(), haploid, ("--ploidy", "1"))
        without_zero = _genotypes(rng, 6) + 1
        yield yields("alleles without a zero", without_zero.astype(str).tolist(), without_zero)
        yield yields("genotypes as pairs", spelled(("0/0", "0/1", "1/1")), None)
        strange = [["E" if k == 4 else "ACGT"[c] for k, c in enumerate(row)] for row in codes.tolist()]
        yield yields("letters that are no nucleotides", strange, None, said=("--all-letters", "--missing-code E"))
        nucleotides = _genotypes(rng, 4)
        yield yields("nucleotides", [["ACGT"[c] for c in row] for row in nucleotides.tolist()], nucleotides)
        with_codes = [["R" if k == 5 else "ACGT"[c] for k, c in enumerate(row)] for row in nucleotides.tolist()]
        known = nucleotides.copy()
        known[:, 5] = MISSING
        yield yields("nucleotides with a code", with_codes, known)


# ---- tables with columns and rows of nothing, exports of PLINK, and matrices


def other_tables(rng):
    for (mark, delimiter), quote, count in product(DELIMITERS.items(), (False, True), (1, 4)):
        alleles = some_alleles(rng, 4, 5, missing=0)
        rows = framed(ids_of(4), loci_of(5), alleles.astype(str).tolist(), "FILE")
        wide = [[*row, *[""] * count] for row in rows]
        long = [*wide, *[[""] * len(wide[0])] * count]
        inside = [[*row[:3], "", *row[3:]] for row in rows]
        for what, some in (("columns", wide), ("columns and rows", long), ("a column inside", inside)):
            text = written(some, delimiter, quote=quote)
            yield Spelling(f"empty {what}, {mark} {quote} {count}", text, ids_of(4), alleles, said=("empty column", "left out"))
        filled = [list(row) for row in wide]
        filled[2][-1] = "7"
        yield Spelling(f"a column without a title, {mark}", written(filled, delimiter), None, None, said=("without a title",))
    for separator, people in product((" ", "\t"), (("1", "2", "3", "4"), ("a", "b", "c", "d"))):
        codes = _genotypes(rng, 3, 4, 6)
        titles = ["FID", "IID", "PAT", "MAT", "SEX", "PHENOTYPE", *(f"rs{k}_A" for k in range(6))]
        head = [[f"f{name}", name, "0", "0", "1", "-9"] for name in people]
        rows = [titles, *([*one, *row] for one, row in zip(head, codes.astype(str).tolist(), strict=True))]
        yield Spelling(f"raw {separator!r} {people}", "".join(separator.join(row) + "\n" for row in rows), list(people), codes)
        both = [
            [x for pair in zip(row, [f"{t[:-2]}_HET" if i else str(int(t == "1")) for t in row], strict=True) for x in pair]
            for i, row in enumerate([titles[6:], *codes.astype(str).tolist()])
        ]
        both[0] = [x for title in titles[6:] for x in (title, f"{title[:-2]}_HET")]
        rows = [[*one, *row] for one, row in zip([titles[:6], *head], both, strict=True)]
        yield Spelling(f"raw AD {separator!r} {people}", "".join(separator.join(row) + "\n" for row in rows), list(people), codes)
        rows = [["CHR", "SNP", "(C)M", "POS", "COUNTED", "ALT", *(f"f{name}_{name}" for name in people)]]
        rows += [["1", f"rs{k}", "0", str(100 + k), "A", "G", *column] for k, column in enumerate(codes.T.astype(str).tolist())]
        text = "".join("\t".join(row) + "\n" for row in rows)
        yield Spelling(f"traw {people}", text, [f"f{name}_{name}" for name in people], codes)
    for (mark, delimiter), corner, decimals, names in product(
        DELIMITERS.items(), ("", "snp-dists 0.8.2", "id"), (False, True), (ids_of(4), ["1", "2", "3", "4"])
    ):
        values = rng.integers(1, 3 if corner == "id" else 40, (4, 4))  # one of zeros alone looks like no matrix
        values = np.triu(values, 1) + np.triu(values, 1).T
        cells = [[f"{v / 41:.6f}" if decimals else str(v) for v in row] for row in values.tolist()]
        text = written(framed(names, names, cells, corner), delimiter)
        yield Spelling(
            f"matrix, {mark} {corner!r} {decimals} {names[0]}",
            text,
            None,
            None,
            said=("a matrix", "gpualign tree", "cluster with --distances"),
        )
    yield Spelling("a list of pairs", "query\ttarget\tdistance\n1\t2\t2\n2\t3\t1\n", None, None, said=("a list of pairs",))
    yield Spelling(
        "a matrix of PHYLIP", "3\n1\t0\t1\t2\n2\t1\t0\t1\n3\t2\t1\t0\n", None, None, said=("a distance matrix in PHYLIP format",)
    )
    yield Spelling("a matrix of numbers", "0\t1\t2\n1\t0\t2\n2\t2\t0\n", None, None)
    yield Spelling("a tree", "((a:1,b:2):1,c:3);\n", None, None, said=("a tree",))


FAMILIES = {
    "decimals": decimal_tables,
    "headless": headless_tables,
    "titles": titled_tables,
    "annotation": annotated_tables,
    "codings": coded_tables,
    "others": other_tables,
}
