"""Inputs of a translated search, in which nucleotides are searched as proteins: reads queries and targets, one or both of which are
nucleotides, and translates the nucleotides in six frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences.alphabet import DNA, PROTEIN, Alphabet
from gpualign.core.sequences.database_index import open_unchecked_index
from gpualign.core.sequences.index_check import IndexCheck
from gpualign.core.sequences.loading import RawRecords, count_letters, encode_all
from gpualign.core.sequences.sequence_set import SequenceSet, join_sets
from gpualign.core.sequences.strands_frames import BOTH as BOTH_STRANDS
from gpualign.core.sequences.strands_frames import QueryTargetFrames, make_frames, untranslated_frames
from gpualign.core.sequences.translation import CODON_LENGTH, codon_table
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter
from gpualign.jobs.sequence_loading import Inputs, ReadOptions, read_set, report_stop_codons, should_mask_lower

QUERY_SIDE, TARGET_SIDE, BOTH_SIDES = "query", "target", "both"

_IS_TRANSLATED = {QUERY_SIDE: (True, False), TARGET_SIDE: (False, True), BOTH_SIDES: (True, True)}
"""Pairs of flags for each choice: whether it translates the queries, and the targets."""

_SIDE_NAMES = ("queries", "targets")


def read_translated(
    sets: Iterable[Sequence[str]],
    translated_sets: str,
    options: ReadOptions,
    index: str | None = None,
    reporter: Reporter = SILENT_REPORTER,
    threads: int = 1,
) -> Inputs:
    """Read queries and targets, or one file for both. The sets named by `translated_sets` are nucleotides, the others proteins. Nothing is
    translated until `translate_inputs`.

    sets: the paths of the files of each set; "-" is standard input
    index: index of the targets, instead of a second file
    options: options for reading; if `options.alphabet` is "dna" or "protein", sequences that look different are accepted
    threads: maximum number of threads

    Raises `InputError` for invalid files, and for sequences that do not have the alphabet of their set.
    """
    raw = []
    for side, paths in enumerate(sets):
        of_side = options.unknown == ("n" if alphabet_of_set(side, translated_sets) is DNA else "x")
        raw.append(read_set(paths, options if of_side else replace(options, unknown=None), side > 0, reporter, threads))
    masked = should_mask_lower(chain(*raw), options, reporter)
    encoded = [encode_translated_set(one, side, translated_sets, options.alphabet, masked, threads) for side, one in enumerate(raw)]
    check = None
    if index is not None:
        targets, check = _open_database(index, translated_sets, threads)
        encoded.append(targets)
    report_stop_codons((one for side, one in enumerate(encoded) if alphabet_of_set(side, translated_sets) is PROTEIN), reporter)
    return replace(make_inputs(encoded, translated_sets, masked), index_check=check)


def make_inputs(sets: list[SequenceSet], translated_sets: str, is_masked: bool = False) -> Inputs:
    """Return the inputs for queries and targets, or for one set. is_masked: whether lower-case letters were read as N or X.

    Raises `InputError` if one set would have to be both nucleotides and proteins.
    """
    if len(sets) == 1 and translated_sets != BOTH_SIDES:
        this, both = parameter("translate", translated_sets), parameter("translate", BOTH_SIDES)
        raise InputError(f"{this} compares nucleotides with proteins, in two files; {both} compares one with itself")
    return Inputs(sets[0], sets[-1], PROTEIN, parameter("translate", translated_sets), is_masked=is_masked)


def alphabet_of_set(set_index: int, translated_sets: str) -> Alphabet:
    """Return the alphabet of the queries (`set_index` 0) or the targets (1), given which sets are translated (`translated_sets`)."""
    return DNA if _IS_TRANSLATED[translated_sets][set_index] else PROTEIN


def encode_translated_set(
    raw: Sequence[RawRecords], set_index: int, translated_sets: str, alphabet: str = "auto", is_masked: bool = False, threads: int = 1
) -> SequenceSet:
    """Encode the queries (`set_index` 0) or the targets (1), from one or several files, in the alphabet that the search needs for this set,
    given which sets are translated (`translated_sets`).

    is_masked: whether lower-case letters are read as N or X
    threads: maximum number of threads

    Raises `InputError` if the sequences appear to use a different alphabet, unless `alphabet` names the required one.
    """
    letters = count_letters(raw)
    if alphabet_of_set(set_index, translated_sets) is DNA:
        protein = letters.first_protein_record
        if protein is None and alphabet != DNA.name and letters.alphabet() is PROTEIN:
            protein = _first_file_of(raw, PROTEIN)
        if protein is not None:
            if letters.first_dna_record is None:
                letters.alphabet()  # may be DNA in which letters are masked
            hint = "" if letters.first_protein_record else f"; if they are nucleotides, add {parameter('alphabet', 'dna')}"
            raise InputError(f"{protein} looks like protein, and {_other_alphabet_message(translated_sets, set_index, DNA)}{hint}")
        return join_sets(encode_all(raw, DNA.name, is_masked, threads)[1])
    dna = letters.first_dna_record
    if dna is None and letters.first_protein_record is None and letters.alphabet() is DNA:
        dna = _first_file_of(raw, DNA)
    if dna is not None and alphabet != PROTEIN.name:
        hint = f"if they are proteins, add {parameter('alphabet', 'protein')}"
        raise InputError(f"{dna} looks like DNA, and {_other_alphabet_message(translated_sets, set_index, PROTEIN)}; {hint}")
    return join_sets(encode_all(raw, PROTEIN.name, is_masked, threads)[1])


def _first_file_of(raw: Sequence[RawRecords], alphabet: Alphabet) -> str:
    """Return the name of the first file whose own letters are of this alphabet. The letters of all files together must be."""
    return next(one.source for one in raw if count_letters([one]).alphabet() is alphabet)


def _other_alphabet_message(translated_sets: str, side: int, alphabet: Alphabet) -> str:
    """Return the error message for a set whose sequences appear not to be in `alphabet`, which `translated_sets` requires.

    side: 0 for the queries, 1 for the targets
    """
    actual = tuple(translated != (k == side) for k, translated in enumerate(_IS_TRANSLATED[translated_sets]))
    other = next((name for name, sides in _IS_TRANSLATED.items() if sides == actual), None)
    hint = f"proteins are searched in proteins without {parameter('translate')}"
    if other is not None:
        hint = f"{parameter('translate', other)} is for such files"
    return f"{parameter('translate', translated_sets)} reads the {_SIDE_NAMES[side]} as {alphabet.name}: {hint}"


def _open_database(index: str, translated_sets: str, threads: int) -> tuple[SequenceSet, IndexCheck]:
    """Return (targets, their check). The check is still running only if no letter is needed before the search."""
    targets, alphabet, check = open_unchecked_index(index, threads)
    expected = alphabet_of_set(1, translated_sets)
    if alphabet is not expected:
        raise InputError(
            f"{index} is an index of {alphabet.name}, and {parameter('translate', translated_sets)} expects targets of {expected.name}"
        )
    if alphabet is DNA or targets.code_counts[PROTEIN.letters.index("*")]:  # they are translated, or stop codons are reported
        check.finish()
    return targets, check


@dataclass(frozen=True)
class TranslatedInputs:
    """Inputs of a translated search, before and after translation.

    original: inputs as read, some of them nucleotides
    searched: the same inputs with nucleotides replaced by proteins
    frames: frames of the queries and targets in `searched`
    """

    original: Inputs
    searched: Inputs
    frames: QueryTargetFrames

    @property
    def held_bytes(self) -> int:
        """Number of bytes of nucleotides that are kept in addition to their translations."""
        of_queries = self.original.queries.nbytes if self.frames.queries.is_translated else 0
        return of_queries + (self.original.targets.nbytes if self.frames.targets.is_translated and not self.original.one_set else 0)


def translate_inputs(
    inputs: Inputs, translated_sets: str, genetic_code: int, strand: str | None, reporter: Reporter = SILENT_REPORTER
) -> TranslatedInputs:
    """Translate all frames, or only the frames of one strand for queries. Targets shorter than a codon are left out.

    genetic_code: NCBI genetic code number

    Raises `InputError` for an invalid number, for a strand if the queries are proteins, and for queries shorter than a codon.
    """
    if strand is not None and not _IS_TRANSLATED[translated_sets][0]:
        raise InputError(f"{parameter('strand')} is about the queries, which are proteins with {parameter('translate', translated_sets)}")
    table = codon_table(genetic_code)
    queries = inputs.queries
    if _IS_TRANSLATED[translated_sets][0] and len(short := np.flatnonzero(queries.lengths < CODON_LENGTH)):
        first = int(short[0])
        raise InputError(
            f"{queries.file_of(first)}: record {queries.ids[first]!r} has {int(queries.lengths[first])} of the {CODON_LENGTH} letters of a"
            f" codon and cannot be translated; leave it out"
        )
    original = (
        inputs
        if inputs.one_set or not _IS_TRANSLATED[translated_sets][1]
        else replace(inputs, targets=_drop_short_targets(inputs.targets, reporter))
    )
    of_queries, of_targets = (
        make_frames(sequences, table, of_strand) if translated else untranslated_frames(sequences)
        for sequences, translated, of_strand in zip(
            (original.queries, original.targets), _IS_TRANSLATED[translated_sets], (strand or BOTH_STRANDS, BOTH_STRANDS), strict=True
        )
    )
    what = " and ".join(side for side, translated in zip(_SIDE_NAMES, _IS_TRANSLATED[translated_sets], strict=True) if translated)
    searched = Inputs(of_queries.sequences, of_targets.sequences, PROTEIN, f"{what} translated by genetic code {genetic_code}")
    return TranslatedInputs(original, searched, QueryTargetFrames(of_queries, of_targets))


def _drop_short_targets(targets: SequenceSet, reporter: Reporter) -> SequenceSet:
    """Return the targets that have at least one codon; report how many are too short."""
    long_enough = np.flatnonzero(targets.lengths >= CODON_LENGTH)
    short = len(targets) - len(long_enough)
    if not short:
        return targets
    if not len(long_enough):
        raise InputError(f"{targets.source}: no record has the {CODON_LENGTH} letters of a codon")
    at = int(np.argmin(targets.lengths >= CODON_LENGTH))
    first = targets.ids[at]
    if short == 1:
        reporter.note(f"{targets.file_of(at)}: left out record {first!r}, which is shorter than a codon")
    else:
        where = f" of {targets.file_of(at)}" if len(targets.files) > 1 else ""
        reporter.note(f"{targets.source}: left out {short:,} records, {first!r}{where} the first, which are shorter than a codon")
    return targets.keep(long_enough)
