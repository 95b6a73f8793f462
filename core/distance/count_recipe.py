"""Recipes: which counts are computed for a panel of sites, and from which bit planes. Pure.

A plane holds one bit per call: whether the call's code is in a given set. All counts for a pair of samples x, y come from three operations
on planes, summed over sites:

    DIFFER  popcount(((p0(x) ^ p0(y)) | (p1(x) ^ p1(y)) | ...) & m(x) & m(y))      p: planes of the code's bits, m: called
    AND     popcount(l0(x) & r0(y)) + popcount(l1(x) & r1(y)) + ...                l, r: planes of a term's two sides
    RELATE  the sum of the terms for the two genotypes at sites where both have calls (grm.py), from the planes for one second allele, for
            two second alleles, and for calls

DIFFER takes fewer steps on processors with fast logic operations; binary tensor cores support only AND, with one plane per code. If a site
may have thousands of different calls, like the alleles of a locus, DIFFER is used everywhere, because it needs only one plane per code bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.calls import MISSING, NUCLEOTIDES, alleles_of

PlaneCodes = frozenset[int]

MAX_BIALLELIC_CODE = 2
"""Largest genotype code without a third allele."""


class Measure(Enum):
    """Counts for a pair, in addition to the sites at which both samples have calls.

    DIFFERENCES: sites with different calls. ALLELES: differing alleles (|a - b| for counts a, b of one allele). SUBSTITUTIONS: equal
    bases, transitions of each kind, and how often A, C and G occur in the two samples. KINSHIP: sites at which the query, the target or
    both are heterozygous, and sites with opposite homozygotes. RELATIONSHIP: not a count, but the sum of standardised genotype products.
    """

    DIFFERENCES = "differences"
    ALLELES = "alleles"
    SUBSTITUTIONS = "substitutions"
    KINSHIP = "kinship"
    RELATIONSHIP = "relationship"


class NeededSites(Enum):
    """Sites on which the counts of a run depend.

    DIFFERENCES: only sites at which calls differ
    COMPARED: in addition, the number of other sites at which both samples have calls
    CALLS: the calls at every site
    """

    DIFFERENCES = "differences"
    COMPARED = "compared"
    CALLS = "calls"


@dataclass(frozen=True)
class CountRequest:
    """The counts that a run needs.

    measure: what is counted for each pair
    counts_compared_sites: whether the sites at which both samples have calls are counted too
    selected_pairs_only: whether counts are needed only for pairs that a rule selects (pair_selection.py)
    multiallelic: whether a site may have any number of different calls, so that each plane holds one bit of the codes; otherwise, a site
        has few different calls
    """

    measure: Measure
    counts_compared_sites: bool
    selected_pairs_only: bool = False
    multiallelic: bool = False

    @property
    def needed_sites(self) -> NeededSites:
        """Sites on which the counts depend, and which must therefore be examined."""
        if self.measure in (Measure.SUBSTITUTIONS, Measure.KINSHIP, Measure.RELATIONSHIP):
            return NeededSites.CALLS
        return NeededSites.COMPARED if self.counts_compared_sites else NeededSites.DIFFERENCES

    def separates_biallelic(self, used_codes: frozenset[int]) -> bool:
        """True if sites with two alleles are better counted separately from the remaining sites, which need more planes."""
        return self.measure is Measure.ALLELES and max(used_codes - {MISSING}, default=0) > MAX_BIALLELIC_CODE


class Operation(Enum):
    """Operation on planes, as defined in the module docstring."""

    DIFFER = "differ"
    AND = "and"
    RELATE = "relate"


@dataclass(frozen=True)
class Term:
    """Part of a recipe that adds `weight` times the result of an operation to a count matrix.

    count_name: name of the matrix
    operation: the operation on planes
    left, right: indices of the planes for the first and second sample
    mask: index of the plane that marks the calls that are present; None: no call is missing
    weight: factor for the result
    """

    count_name: str
    operation: Operation
    left: tuple[int, ...]
    right: tuple[int, ...]
    mask: int | None = None
    weight: int = 1


@dataclass(frozen=True)
class PanelRecipe:
    """Recipe for a panel: its planes, and how counts are computed from the planes.

    planes: the codes that each plane marks; empty if each plane holds one bit of the codes
    terms: the operations on planes
    constants: (count name, amount that each site adds to the count for every pair)
    """

    planes: tuple[PlaneCodes, ...]
    terms: tuple[Term, ...]
    constants: tuple[tuple[str, int], ...] = ()


COUNT_NAMES_BY_MEASURE = {
    Measure.DIFFERENCES: ("differences",),
    Measure.ALLELES: ("alleles",),
    Measure.SUBSTITUTIONS: ("matches", "ag", "ct", "a", "c", "g"),
    Measure.KINSHIP: ("ibs0", "both_het", "query_het", "target_het"),
    Measure.RELATIONSHIP: ("products",),
}
"""Names of the count matrices for each measure, in addition to `compared`."""


def count_names(request: CountRequest, products_only: bool) -> tuple[str, ...]:
    """Return the names of the count matrices that a run's recipes fill. products_only: whether recipes use only `Operation.AND`."""
    if request.measure is Measure.DIFFERENCES and products_only:
        return "compared", "matches"
    names = COUNT_NAMES_BY_MEASURE[request.measure]
    return ("compared", *names) if request.counts_compared_sites or request.measure is Measure.SUBSTITUTIONS else names


def count_bytes(name: str) -> int:
    """Return the memory per pair for a matrix of this count, in bytes. A sum has 64 bits, and takes as much again when it is converted to a
    float."""
    return 16 if name in COUNT_NAMES_BY_MEASURE[Measure.RELATIONSHIP] else 4


def counts_of_agreeing_site(measure: Measure, code: int) -> dict[str, int]:
    """Return the amounts that a site at which all samples have the call `code` adds to the counts of every pair, keyed by count name."""
    added = {"compared": 1, "matches": 1}
    if measure is Measure.SUBSTITUTIONS and (base := NUCLEOTIDES[code].lower()) in COUNT_NAMES_BY_MEASURE[measure]:
        added[base] = 2  # one of each sample
    if measure is Measure.KINSHIP and _non_first_allele_count(code) == 1:
        added |= {"both_het": 1, "query_het": 1, "target_het": 1}
    return added


def restrict_counts(recipe: PanelRecipe, names: tuple[str, ...]) -> PanelRecipe:
    """Return the recipe with only the counts that `names` lists."""
    terms = tuple(term for term in recipe.terms if term.count_name in names)
    return PanelRecipe(recipe.planes, terms, tuple((name, weight) for name, weight in recipe.constants if name in names))


class _PlaneNumbering:
    """Assigns numbers to planes. Planes with the same codes get the same number."""

    def __init__(self) -> None:
        self.planes: dict[PlaneCodes, int] = {}

    def add(self, codes: Iterable[int]) -> int:
        """Return the number of the plane for these codes, adding a plane if none has the same codes."""
        return self.planes.setdefault(frozenset(codes), len(self.planes))


def make_recipe(request: CountRequest, used_codes: frozenset[int], products_only: bool) -> PanelRecipe:
    """Return the recipe for a panel.

    used_codes: codes that occur, including MISSING if calls are missing
    products_only: whether to use only `Operation.AND`
    """
    calls = sorted(used_codes - {MISSING})
    missing = MISSING in used_codes
    planes = _PlaneNumbering()
    names = count_names(request, products_only)
    terms: list[Term] = []
    constants: list[tuple[str, int]] = []
    if not calls:
        return PanelRecipe((), ())
    if "compared" in names:
        if missing:
            called = planes.add(calls)
            terms.append(Term("compared", Operation.AND, (called,), (called,)))
        else:
            constants.append(("compared", 1))
    if request.measure is Measure.DIFFERENCES:
        terms += _match_terms(calls, planes) if products_only else _difference_terms(calls, missing, planes)
    elif request.measure is Measure.ALLELES:
        terms += _allele_terms(calls, missing, products_only, planes)
    elif request.measure is Measure.KINSHIP:
        terms += _kinship_terms(calls, planes)
    elif request.measure is Measure.RELATIONSHIP:
        terms += _relationship_terms(calls, missing, planes)
    else:
        terms += _substitution_terms(calls, planes)
    return PanelRecipe(tuple(planes.planes), tuple(terms), tuple(constants))


def make_code_recipe(request: CountRequest, bits: int, has_missing: bool) -> PanelRecipe:
    """Return the recipe for a panel of arbitrary codes: planes 0 to bits - 1 hold the bits of the codes. If `has_missing` is true, plane
    number `bits` marks the calls that are present."""
    called = bits if has_missing else None
    terms: list[Term] = []
    if request.counts_compared_sites and called is not None:
        terms.append(Term("compared", Operation.AND, (called,), (called,)))
    if bits:
        terms.append(Term("differences", Operation.DIFFER, tuple(range(bits)), tuple(range(bits)), called))
    return PanelRecipe((), tuple(terms), (("compared", 1),) if request.counts_compared_sites and not has_missing else ())


def _match_terms(calls: list[int], planes: _PlaneNumbering) -> list[Term]:
    """Return the term that counts equal calls. It uses one plane for each of the calls that occur."""
    of_codes = tuple(planes.add([code]) for code in calls)
    return [Term("matches", Operation.AND, of_codes, of_codes)]


def _difference_terms(calls: list[int], has_missing: bool, planes: _PlaneNumbering) -> list[Term]:
    """Return the term that counts different calls, or an empty list if only one call occurs. The calls are numbered from 0, and the term
    uses one plane for each bit of these numbers."""
    if len(calls) == 1:
        return []
    bits = (len(calls) - 1).bit_length()
    of_bits = tuple(planes.add(call for number, call in enumerate(calls) if number >> bit & 1) for bit in range(bits))
    return [Term("differences", Operation.DIFFER, of_bits, of_bits, planes.add(calls) if has_missing else None)]


def _allele_terms(calls: list[int], has_missing: bool, products_only: bool, planes: _PlaneNumbering) -> list[Term]:
    """Return the terms that count differing alleles. If two samples have a and b copies of an allele, the difference is counted in two
    steps: |a - b| = [a >= 1 xor b >= 1] + [a >= 2 xor b >= 2].

    With more than two alleles, the steps of all alleles add up to twice the number of differing alleles; with two, the steps of the second
    allele alone add up to this number. The matrix therefore counts in half alleles, because a panel may have more than two alleles.
    """
    counts = {code: alleles_of(code) for code in calls}
    highest = max(upper for _, upper in counts.values())
    several = highest > 1
    terms: list[Term] = []
    for allele in range(highest + 1) if several else [1]:
        for copies in (1, 2):
            step = [code for code in calls if counts[code].count(allele) >= copies]
            if not step or len(step) == len(calls):
                continue
            plane = planes.add(step)
            weight = 1 if several else 2
            if not products_only:
                terms.append(Term("alleles", Operation.DIFFER, (plane,), (plane,), planes.add(calls) if has_missing else None, weight))
                continue
            called = planes.add(calls)
            terms.append(Term("alleles", Operation.AND, (plane, called), (called, plane), weight=weight))
            terms.append(Term("alleles", Operation.AND, (plane,), (plane,), weight=-2 * weight))
    return terms


def _substitution_terms(calls: list[int], planes: _PlaneNumbering) -> list[Term]:
    """Return the terms for TN93. `a`, `c` and `g` count the occurrences of a base in both samples together, at sites where both have
    calls."""
    base = {letter: planes.add([code]) for code, letter in enumerate(NUCLEOTIDES)}
    called = planes.add(calls)
    terms = [Term("matches", Operation.AND, tuple(base.values()), tuple(base.values()))]
    terms += [
        Term(one + other, Operation.AND, (base[one.upper()], base[other.upper()]), (base[other.upper()], base[one.upper()]))
        for one, other in ("ag", "ct")
    ]
    terms += [Term(letter, Operation.AND, (base[letter.upper()], called), (called, base[letter.upper()])) for letter in "acg"]
    return terms


def _non_first_allele_count(code: int) -> int:
    """Return how many of the two alleles of a genotype differ from the first allele of the site. As in plink2, all alleles except the first
    count as one allele."""
    return sum(allele > 0 for allele in alleles_of(code))


def _kinship_terms(calls: list[int], planes: _PlaneNumbering) -> list[Term]:
    """Return the terms for KING. At sites where both samples have calls, the terms count opposite homozygotes, and sites at which the
    query, the target, or both are heterozygous."""
    of_counts = [[code for code in calls if _non_first_allele_count(code) == count] for count in range(3)]
    terms: list[Term] = []
    if of_counts[0] and of_counts[2]:
        first, second = planes.add(of_counts[0]), planes.add(of_counts[2])
        terms.append(Term("ibs0", Operation.AND, (first, second), (second, first)))
    if of_counts[1]:
        het, called = planes.add(of_counts[1]), planes.add(calls)
        terms.append(Term("both_het", Operation.AND, (het,), (het,)))
        terms.append(Term("query_het", Operation.AND, (het,), (called,)))
        terms.append(Term("target_het", Operation.AND, (called,), (het,)))
    return terms


def _relationship_terms(calls: list[int], has_missing: bool, planes: _PlaneNumbering) -> list[Term]:
    """Return the term for the metric grm, or an empty list if only the first allele occurs. The term uses one plane for calls with one
    second allele, and one for calls with two."""
    one, two = ([code for code in calls if _non_first_allele_count(code) == count] for count in (1, 2))
    if not one and not two:
        return []  # all alleles are the first one
    alleles = planes.add(one), planes.add(two)
    return [Term("products", Operation.RELATE, alleles, alleles, planes.add(calls) if has_missing else None)]
