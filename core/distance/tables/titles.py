"""Recognises titles of table columns that are not sites.

A title is recognised from its words: `ST (MLST)`, `ClonalComplex` and `collection_year` consist of metadata words, and so does `Date of
isolation`. Words that are also genes (lat, lon, dam, mat) are not in the lists. Words such as gene or core count only in combination with
more words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count, takewhile

_METADATA_WORD_LIST = """
st sts mlst mlva cgmlst wgmlst rmlst cgrst cgst rst wgst ct cc cg sl ebg eburst clonal clone clade subclade lineage sublineage sequencetype
complextype clonalcomplex clonalgroup cplx profile allelicprofile lincode hiercc phylogroup pathotype serotype serogroup serovar biotype
ribotype toxinotype pulsotype subtype genotype haplotype cluster clusters subcluster group subgroup type scheme schema barcode uberstrain

year years yr month months week weeks day days date epiweek isoweek time timepoint visit country countries
region state province county city town location locality continent latitude longitude address hospital ward clinic postcode district
zipcode zip

species subspecies genus organism taxon host source niche sex gender age patient patients case outcome disease status phenotype pheno
trait population pop subpop superpop superpopulation breed family father mother sire affected affection diagnosis treatment control smoking
twin class label cohort batch block plot tray plate lane well run library instrument platform project bioproject
biosample study accession accessions pmid outbreak farm herd flock animal animals season quarter taxid isolate isolates
strain sample samples specimen name names alias aliases id ids iid fid uid uuid file filename path sender
submitter curator datestamp experiment owner lab laboratory institution comment comments note notes remark remarks description details
version release index
row rank number numero número no nr nº count counts

contigs scaffolds length size coverage depth reads gc completeness contamination quality qc n50 l50 n90 l90 n75 l75 missing called
uncalled mismatches differences distance identity score confidence percent percentage pct nmiss
total sum mean average avg median
pubmlst enterobase rowid snpaddress
jahr monat plz datum alter jaar année annee anio año ano anno fecha edad pays país год дата 年份 年
"""
_METADATA_WORDS = frozenset(_METADATA_WORD_LIST.split())
"""Words that form a metadata title on their own: typing schemes, time and place, people and objects, assemblies and their calls."""

CHEWBBACA_MISSING_WORDS = ("LNF", "PLNF", "PLOT", "PLOT3", "PLOT5", "LOT", "LOTSC", "NIPH", "NIPHEM", "NIPL", "PAMA", "ALM", "ASM")
"""What chewBBACA writes for a locus without a valid allele."""

_CALLER_STATISTICS = frozenset(("EXC", "INF", *CHEWBBACA_MISSING_WORDS))
"""Titles of the columns in which chewBBACA counts the loci of each kind for a sample."""

_NUMBERED_WORD_PATTERN = re.compile(r"(?:pheno|phenotype|trait|covar|covariate)[0-9]+")
"""Pattern of metadata words that programs number, such as PHENO1 (PLINK 2)."""

_PEDIGREE_TITLES = frozenset(("pat", "mat", "father", "mother", "sire", "dam"))
_MAX_PEDIGREE_COLUMNS = 12
_FAMILY_TITLES = frozenset(("fid", "iid", "#fid", "#iid"))
"""Titles of columns of parents, some of which are also genes, and titles of ids: beside these, the former are parents."""

_FIELD_TRIAL_TITLES = frozenset(("block", "plot", "tray"))
_SNP_ADDRESS_TITLES = frozenset(("t250", "t100", "t50", "t25", "t10", "t5", "t2", "t0"))
_SNP_ADDRESS_PATTERN = re.compile("t[0-9]+")
"""Titles of the levels of SNP addresses, and the pattern of titles: if others match it, all of them number sites."""

_COMBINED_WORD_LIST = """
of the in at per by for and to from not min max perc data info detail values gene genes genome core whole
sequence seq loci locus allele alleles allelic target targets good best top found closest nearest neighbor neighbour assembly contig
scaffold bp kb mb miss
consensus actg af multiple code complex level lower upper original received collection collected isolation isolated sampling sampled
receipt report reported submission creation import sequencing sequenced entry entered birth new novel old alternative secondary previous
current largest longest shortest n nb
num lfd phage value grand insert approximate approximated estimated ambiguous virulence resistance kleborate matches perfect case super
achtman oxford oxf pasteur pas warwick ncbi tax iso point
snp snps spa emm sccmec capsule antigen o h k typing
assembled ribosomal pubmed low high quality
clinical public private biological post room bed floor postal home travel epi outbreak serial user upload uploaded last first update updated
predicted matching lin
read pair base bases content ratio rate fraction share threshold snv snvs match matched phred
q30
"""
_COMBINED_WORDS = frozenset(_COMBINED_WORD_LIST.split())
"""Words that form a metadata title only in combination with more words."""

_HIERARCHICAL_CLUSTER_PATTERN = re.compile(r"(hiercc )?hc ?[0-9]+( .*)?")
"""Pattern of titles for the levels of HierCC, EnteroBase's hierarchical clustering."""

_LINKAGES = "(?:single|complete|average|weighted|ward)[-_ ]"
_PARTITION_PATTERN = re.compile(rf"(?:mst[-_ ]|{_LINKAGES}(?=[0-9]+x))[0-9]+(?:x[0-9]+(?:\.[0-9]+)?)?|mlst[-_ ][0-9]{{1,2}}", re.IGNORECASE)
"""Pattern of titles of clusterings at a threshold (`MST-7x1.0`, ReporTree), and of MLST schemes by their number of genes (`MLST-7`)."""

_ADDITION_PATTERN = re.compile(r"^X\.{1,2}(?=[A-Za-z])|(?<=.)(?:\.[0-9]|[._][xy]| ?\([^()]*\))$")
"""Pattern of what programs add to titles. R writes `X.contigs` for `# contigs`; pandas and R write `ST.1`, `ST_x` or `ST.y` if two tables
have the title; databases write the scheme in brackets."""

_LIMIT_SIGNS = frozenset("<>")
"""Signs in titles such as `contigs >= 500`, whose number is not part of a name."""

_NO_TITLE_PATTERN = re.compile(r"X\.[0-9]+|\.\.\.[0-9]+")
"""Pattern of what R writes for columns without a title."""

_DEFAULT_TITLE_PATTERN = re.compile("X|V[0-9]+|(?:Column|Spalte|Colonne|Columna|Coluna|Colonna|Kolom)[0-9]+")
_DEFAULT_TITLE_LETTERS = frozenset("XVCSK")
"""Pattern of further titles for columns without one, and their first letters, which decide most titles at once."""

_DATE_WORD_PATTERN = re.compile(r"[a-z]{3,}(date|year)")
_CASE_PARTS_PATTERN = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_TOKEN_PATTERN = re.compile(r"[^\W_]+")
SITE_NAME_PATTERN = re.compile(rf"(?!hc|unnamed|mst[-_ ]|{_LINKAGES}[0-9]+x)[^(<>]*[0-9]{{3}}", re.IGNORECASE)
"""Pattern of titles that contain a longer number than metadata titles do. It is a quick test for titles of sites."""

_NUMBER_PATTERN = re.compile(r"[0-9]+")
_MIN_CONSECUTIVE_NUMBERS = 10

_EXACT_TITLES = frozenset(("#", "%", "N°", "n°", "№", "DST", "SBT", "SIT"))
"""Metadata titles without words (# for a number, % for a percentage), and words that are genes unless they are in capitals."""
_SITE_COLUMN_WORD_LIST = """
chr chrom chromosome contig scaffold pos position bp cm centimorgan morgan ref reference alt alternate alternative alleles allele a1 a2
allele1 allele2
callrate call rate counted qual filter info format strand maf snp snps rs rsid marker variant id assembly
center protlsid assaylsid panellsid panel qccode
gene locus
"""
_SITE_COLUMN_WORDS = frozenset(_SITE_COLUMN_WORD_LIST.split())
"""Words in titles of columns that describe a site, next to the columns with its calls. Some are also sample names."""

_UNAMBIGUOUS_SITE_WORDS = frozenset(
    ("chr", "chrom", "chromosome", "pos", "position", "cm", "centimorgan", "alleles", "strand", "qual", "filter")
)
"""Words in titles of columns that describe a site, limited to words that cannot be sample names."""


_FIRST_NUMBERED_PATTERN = re.compile(r"#? ?\[1\].+")
_NUMBERED_PATTERN = re.compile(r"\[[0-9]+\].+")
_COLUMN_NUMBER_PATTERN = re.compile(r"\[[0-9]+\]")
_FORMAT_TAG_PATTERN = re.compile(r"(?<=.):[A-Za-z_][A-Za-z0-9_.]*$")
"""Patterns of the titles that `bcftools query -H` writes, `#[1]CHROM` and `[3]A:GT`, and of their parts."""

_WELL_WORDS = frozenset(("a1", "a2"))
_WELL_PATTERN = re.compile(r"[A-Ha-h]0?[0-9]{1,2}")
_REFERENCE_WORDS = frozenset(("ref", "reference"))
_ALTERNATIVE_WORDS = frozenset(("alt", "alternate", "alternative"))
_ALLELE_WORDS = _REFERENCE_WORDS | _ALTERNATIVE_WORDS | {"counted", "a1", "a2", "allele1", "allele2"}
_PLACE_WORDS = frozenset(("chr", "chrom", "chromosome", "contig", "scaffold", "pos", "position", "bp"))


SITE_TITLES = frozenset(
    ("gene", "genes", "marker", "markers", "locus", "loci", "snp", "snps", "site", "sites", "variant", "variants", "rs", "rsid", "pos")
)
"""Titles of the first column, in lower case and without punctuation, that show that rows are sites."""


def is_metadata_title(title: str) -> bool:
    """Return whether a title is known not to belong to a site or locus."""
    if SITE_NAME_PATTERN.match(title):
        return False
    if _NO_TITLE_PATTERN.fullmatch(title):
        return True
    title = _ADDITION_PATTERN.sub("", title)
    words = _title_words(title)
    if not words or title in _EXACT_TITLES:
        return title in _EXACT_TITLES
    if _PARTITION_PATTERN.fullmatch(title):
        return True
    if words[0] == "unnamed" or _HIERARCHICAL_CLUSTER_PATTERN.fullmatch(" ".join(words)):  # pandas writes unnamed
        return True
    metadata = [
        word for word in words if word in _METADATA_WORDS or _DATE_WORD_PATTERN.fullmatch(word) or _NUMBERED_WORD_PATTERN.fullmatch(word)
    ]
    combined = [word for word in words if word in _COMBINED_WORDS]
    numbers = [] if _LIMIT_SIGNS.intersection(title) else [word for word in words if word.isdecimal()]
    if len(metadata) + len(combined) + sum(map(str.isdecimal, words)) < len(words):
        return False
    if numbers:  # names of genes are words with a number: group_1234
        return bool(metadata) and len(metadata) + len(combined) > 1
    return bool(metadata) or len(combined) > 1


def metadata_columns_beside(header: Sequence[str]) -> list[int]:
    """Return the indices of columns whose titles are metadata only beside certain other titles.

    These are parents (`PAT`, `sire`) beside ids of families or individuals, as PLINK's files have them; `X` beside `X.1`, as R calls
    columns without a title; numbers of loci found (`EXC`) and inferred (`INF`) with those of the other kinds; several levels of SNP
    addresses (`t250`) or several principal components (`PC1`); and `Rep` beside other titles of field trials.
    """
    lower, titles = [title.lower() for title in header[:_MAX_PEDIGREE_COLUMNS]], set(header)
    found = [] if _FAMILY_TITLES.isdisjoint(lower) else [k for k, title in enumerate(lower) if title in _PEDIGREE_TITLES]
    if {"X", "X.1"} <= titles:
        found.append(header.index("X"))
    if {"EXC", "INF"} <= titles:
        found += [k for k, title in enumerate(header) if title in _CALLER_STATISTICS]
    if not _FIELD_TRIAL_TITLES.isdisjoint(lower):
        found += [k for k, title in enumerate(lower) if title == "rep"]
    series = _numbered_metadata(titles)
    return found + [k for k, title in enumerate(header) if title in series] if series else found


def _numbered_metadata(titles: set[str]) -> set[str]:
    """Return the titles that are levels of SNP addresses, or principal components."""
    series = set(_SNP_ADDRESS_TITLES & titles)
    if len(series) < 2 or any(_SNP_ADDRESS_PATTERN.fullmatch(title) for title in titles - series):
        series = set()
    if {"PC1", "PC2"} <= titles:
        series |= set(takewhile(titles.__contains__, map("PC{}".format, count(1))))
    return series


def default_titles(titles: Sequence[str]) -> list[int]:
    """Return the indices of titles that R and spreadsheets give to columns without one, and which may also be names of sites."""
    matches = _DEFAULT_TITLE_PATTERN.fullmatch
    return [k for k, title in enumerate(titles) if title[:1] in _DEFAULT_TITLE_LETTERS and matches(title)]


def title_stem(title: str) -> str:
    """Return a title with each number replaced by #."""
    return _NUMBER_PATTERN.sub("#", title)


def serial_stems(metadata_titles: Iterable[str], titles: Iterable[str]) -> frozenset[str]:
    """Return the stems (`title_stem`) of titles that look like metadata but are numbered sites.

    Titles with the same stem are numbered sites if some of them do not look like metadata, or if they have ten or more consecutive numbers.

    metadata_titles: titles that look like metadata
    titles: all titles of the table
    """
    stems = {title_stem(title) for title in metadata_titles if _NUMBER_PATTERN.search(title)}
    numbers: dict[str, set[int]] = {stem: set() for stem in stems}
    sites: set[str] = set()
    for title in titles if stems else ():
        if (stem := title_stem(title)) in stems:
            if not is_metadata_title(title):
                sites.add(stem)
            numbers[stem].add(int(_NUMBER_PATTERN.findall(title)[-1]))
    sites |= {stem for stem, some in numbers.items() if len(some) >= _MIN_CONSECUTIVE_NUMBERS and max(some) - min(some) == len(some) - 1}
    return frozenset(sites)


def is_numbered_header(header: Sequence[str]) -> bool:
    """Return whether `bcftools query -H` wrote the titles, which it numbers. Its tables have a row per site."""
    first, *others = header
    return bool(others) and _FIRST_NUMBERED_PATTERN.fullmatch(first) is not None and all(map(_NUMBERED_PATTERN.fullmatch, others))


def split_numbered_header(header: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return (titles without the numbers and tags of `bcftools query -H`; indices of the columns that describe the site, without the first
    one). If some titles have a tag (`A:GT`), they are the samples, and all others describe the site."""
    plain = [_COLUMN_NUMBER_PATTERN.sub("", title) for title in header]
    titles = [plain[0], *(_FORMAT_TAG_PATTERN.sub("", title) for title in plain[1:])]
    untagged = [k for k in range(1, len(titles)) if titles[k] == plain[k]]
    return titles, untagged if len(untagged) < len(titles) - 1 else list(range(1, annotation_column_count(titles)))


def annotation_column_count(header: Sequence[str]) -> int:
    """Return how many columns at the start of a table with a row per site describe the site, including the first column.

    If a title can mean nothing else (`chrom`, `pos`), or if both `ref` and `alt` occur, the result counts all leading columns whose titles
    may describe a site; otherwise it is 1. A `ref` without `alt` is taken for a sample.
    """
    # The second title decides for most tables, which may have a million titles.
    if len(header) < 2 or not _SITE_COLUMN_WORDS.issuperset(_title_words(header[1])):
        return 1
    titles = [frozenset(_title_words(title)) for title in header]
    known = _SITE_COLUMN_WORDS
    if not any(some and some <= _ALTERNATIVE_WORDS for some in titles):
        known -= _REFERENCE_WORDS
    if any(_WELL_PATTERN.fullmatch(title) and title.lower() not in _WELL_WORDS for title in header):  # A1 is also a well, and so a sample
        known -= _WELL_WORDS
    width, words = 1, titles[0]
    while width < len(titles) and titles[width] and titles[width] <= known:
        if not (titles[width].isdisjoint(_REFERENCE_WORDS) or words.isdisjoint(_REFERENCE_WORDS)):
            break  # a second reference is a sample
        words |= titles[width]
        width += 1
    proven = not words.isdisjoint(_UNAMBIGUOUS_SITE_WORDS) or not (
        words.isdisjoint(_REFERENCE_WORDS) or words.isdisjoint(_ALTERNATIVE_WORDS)
    )
    return width if proven else 1


def place_and_allele_columns(header: Sequence[str], columns: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return (indices of the columns with the chromosome and the position of a site; indices of the two columns with its alleles, the
    allele that PLINK counts last, or none). columns: indices of the columns that describe sites, without the first one"""
    words = {k: "".join(_title_words(header[k])) for k in (0, *columns)}
    alleles = sorted((k for k in words if words[k] in _ALLELE_WORDS), key=lambda k: words[k] == "counted")
    return tuple(k for k in words if words[k] in _PLACE_WORDS), tuple(alleles) if len(alleles) == 2 else ()


def _title_words(title: str) -> list[str]:
    """Return the words in a title, in lower case: `ClonalComplex` and `clonal_complex` have two words each."""
    words = []
    for token in _TOKEN_PATTERN.findall(title):
        known = token.lower()
        whole = known in _METADATA_WORDS or known in _COMBINED_WORDS or known in _SITE_COLUMN_WORDS
        words += [known] if whole else [word.lower() for word in _CASE_PARTS_PATTERN.findall(token)]
    return words
