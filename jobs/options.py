"""Options that several analyses share. A field holds the option of the same name, as given by the user. Each option is checked here only by
itself, not against the other options of an analysis.

Commands check thresholds before their other imports, so modules that take long to load are imported where they are used.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.near_pairs.implied_bounds import identity_bounds
from gpualign.core.scoring.listed_distances import UNEQUAL_LENGTHS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gpualign.core.results.filter import Filter
    from gpualign.core.scoring.scoring import Scoring, ScoringOptions
    from gpualign.core.sequences.alphabet import Alphabet
    from gpualign.core.sequences.record_tables import TableColumns


@dataclass(frozen=True)
class Shard:
    """Shard `number` (1-based) of the `count` shards of a job."""

    number: int
    count: int

    def part_path(self, output: Path) -> Path:
        """Return the path of the part file for `output`."""
        return output.with_name(f"{output.name}.{self.number}-of-{self.count}.part")


@dataclass(frozen=True)
class OutputOptions:
    """Where and how results are written; None: not given.

    output: file; "-": standard output
    format: output format; None: the file name determines it
    fields: columns of a table, comma-separated
    value: "score", "identity" or "distance", in the cells of a matrix
    condensed: whether a one-set matrix is written as a vector of the pairs i < j
    plot: file for a picture of the matrix
    resume: whether the output of an earlier run is resumed
    shard: shard to compute in this run; None: the whole job
    """

    output: str = "-"
    format: str | None = None
    fields: str | None = None
    value: str | None = None
    condensed: bool = False
    plot: str | None = None
    resume: bool = False
    shard: Shard | None = None


CLUSTER_MIN_COVERAGE = 0.8
"""Minimum coverage of near pairs in clusters if the user gives none: the default of MMseqs2."""


NO_SIDES_IN_CLUSTERS = "near pairs of a cluster have no query and no target"
"""Reason why only the coverage of both sequences, or of the shorter, can be required in clusters."""


@dataclass(frozen=True)
class PairThresholds:
    """Thresholds that pairs must pass; None: not given.

    min_score: minimum score
    min_identity: minimum identity, a fraction
    min_coverage: minimum fraction of a sequence's letters that are aligned to letters of the other
    max_distance: maximum 1 - identity, or number of edits
    nearest: number of pairs to keep per query, nearest first
    coverage_of: sequence to which `min_coverage` applies: "both" (as None), "query", "target" or "shorter"
    """

    min_score: int | None = None
    min_identity: float | None = None
    min_coverage: float | None = None
    max_distance: float | None = None
    nearest: int | None = None
    coverage_of: str | None = None

    def make_filter(self, edit: bool, same_set: bool = False) -> Filter:
        """Return the conditions for pairs.

        edit: whether scores are edit distances, and `max_distance` is a number of edits
        same_set: whether query i and target i are the same record

        Raises `InputError` for thresholds out of range, for a minimum score if scores are edit distances, and for `coverage_of` without a
        minimum coverage.
        """
        from gpualign.core.alignment.coverage import CoveredSequence
        from gpualign.core.common.parameter_fractions import check_fraction
        from gpualign.core.results.filter import Filter

        if edit and self.min_score is not None:
            raise InputError(
                f"{parameter('min_score')} cannot be combined with {parameter('edit')}; for distances give {parameter('max_distance')}"
            )
        self.check_fractions()
        if self.coverage_of is not None and self.min_coverage is None:
            coverage = parameter("min_coverage")
            raise InputError(f"{parameter('coverage_of')} says to which sequence {coverage} applies; give also {coverage}, say 0.8")
        max_edits, max_distance = None, self.max_distance
        if edit and max_distance is not None:
            check_distance(max_distance, must_be_whole=True)
            max_edits, max_distance = min(int(max_distance), UNEQUAL_LENGTHS - 1), None
        if max_distance is not None and max_distance > 1 and float(max_distance).is_integer():
            edits, percent = f"at most {max_distance:g} edits add {parameter('edit')}", f"{max_distance:g} % is {max_distance / 100:g}"
            raise InputError(
                f"{parameter('max_distance')} is 1 - identity, from 0 to 1; found {max_distance:g}: for {edits}; {percent};"
                " gpualign dist counts the SNPs of aligned sequences"
            )
        check_fraction("max_distance", max_distance, meaning=f"1 - identity, unless {parameter('edit')} counts letters,")
        return Filter(
            min_score=self.min_score,
            max_score=max_edits,
            min_identity=self.min_identity,
            max_distance=max_distance,
            min_coverage=self.min_coverage,
            coverage_of=CoveredSequence(self.coverage_of or CoveredSequence.BOTH),
            nearest_count=self.nearest,
            one_set=same_set and self.nearest is not None,
        )

    def with_cluster_coverage(self, edit: bool, definition: int) -> PairThresholds:
        """Return the thresholds, with `CLUSTER_MIN_COVERAGE` if no coverage was given and a threshold applies to an identity that leaves
        out end gaps. A coverage of 0 becomes None, and so does `coverage_of` then.

        edit: as for `make_filter`
        definition: identity definition
        """
        by_identity = self.min_identity is not None or (not edit and self.max_distance is not None)
        coverage = self.min_coverage
        if coverage is None and by_identity and definition in (0, 2):
            coverage = CLUSTER_MIN_COVERAGE
        return replace(self, min_coverage=coverage or None, coverage_of=None if coverage == 0 else self.coverage_of)

    def check_fractions(self) -> None:
        """Raise `InputError` for a minimum identity or coverage that is not a fraction."""
        from gpualign.core.common.parameter_fractions import check_fraction

        check_fraction("min_identity", self.min_identity)
        check_fraction("min_coverage", self.min_coverage)

    def bounds_edits(self, edit: bool, definition: int, free_ends: bool) -> bool:
        """Return whether the thresholds can exclude pairs before alignment. Needs no sequences; the bound itself is computed later, by
        `core.near_pairs.thresholds.edit_bound`.

        edit: whether scores are edit distances
        definition: number of the identity definition
        free_ends: whether end gaps cost nothing
        """
        by_score = self.min_score is not None or (edit and self.max_distance is not None)
        by_identity = self.min_identity is not None or (not edit and self.max_distance is not None)
        bounds = identity_bounds(definition, free_ends, bool(self.min_coverage)) if by_identity else ()
        return bool(bounds) or (by_score and not (edit and free_ends))


def check_distance(value: float | None, must_be_whole: bool = False) -> None:
    """Raise `InputError` for a maximum distance that is negative or infinite. must_be_whole: whether distances are whole numbers,
    as those of edits are."""
    if value is not None and not (0 <= value < math.inf and (not must_be_whole or value == int(value))):
        raise InputError(f"{parameter('max_distance')}: expected {'a whole number, ' if must_be_whole else ''}0 or more; found {value:g}")


def check_with_self(with_self: bool, one_set: bool) -> None:
    """Raise `InputError` if records are to be compared with themselves in a run that compares two files."""
    if with_self and not one_set:
        raise InputError(f"{parameter('self')} is for one file; two files are compared record by record anyway")


def check_strand(strand: str | None, alphabet: Alphabet) -> None:
    """Raise `InputError` if strands are requested for an alphabet that has none."""
    if strand is not None and alphabet.name != "dna":
        raise InputError(f"{parameter('strand')} is for DNA; these are {alphabet.name} sequences")


def check_loci(columns: TableColumns, scoring: ScoringOptions | Scoring, thresholds: PairThresholds, strand: str | None) -> None:
    """Raise `InputError` for loci that cannot be paired, and for options that do not go with pairs of cells."""
    if not columns.and_locus:
        return
    name = parameter("and", ",".join(columns.and_locus))
    if not columns.locus:
        raise InputError(f"{name} asks for a second chain of the cells; name the first with {parameter('locus')}")
    if shared := [locus for locus in columns.and_locus if locus in columns.locus]:
        raise InputError(f"{name}: {shared[0]} is in {parameter('locus')} too; the two chains of a cell are of different loci")
    if not scoring.edit or thresholds.max_distance is None:
        raise InputError(
            f"{name} joins pairs within a distance: give {parameter('hamming')}, {parameter('edit')} or {parameter('tcrdist')}, and"
            f" {parameter('max_distance')}"
        )
    for other in ("min_identity", "min_coverage", "min_score"):
        if getattr(thresholds, other) is not None:
            raise InputError(f"{name} joins pairs within a distance; it cannot be combined with {parameter(other)}")
    if strand == "both":
        raise InputError(f"{name} compares chains as they are; it cannot be combined with {parameter('strand', strand)}")


def check_same_columns(same: Sequence[str], alleles: bool, has_groups: bool) -> None:
    """Raise `InputError` for options that contradict each other.

    same: columns in which records must agree
    alleles: whether alleles must agree
    has_groups: whether groups of records are given in addition
    """
    if alleles and not same:
        raise InputError(f"{parameter('alleles')} compares alleles of the genes in {parameter('same')}: give that too")
    if same and has_groups:
        raise InputError(f"{parameter('same')} and {parameter('groups')} both choose the pairs; give one of them")
