"""Nucleotides that are searched as proteins: reading them, beside proteins or alone, and their six frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences.alphabet import DNA, PROTEIN, Alphabet
from gpualign.core.sequences.database_index import open_index
from gpualign.core.sequences.loading import RawRecords, count_letters, encode_all
from gpualign.core.sequences.sequence_set import SequenceSet, join_sets
from gpualign.core.sequences.strands_frames import BOTH as BOTH_STRANDS
from gpualign.core.sequences.strands_frames import QueryTargetFrames, make_frames, untranslated
from gpualign.core.sequences.translation import CODON, codon_table
from gpualign.jobs.reporter import SILENT, Reporter
from gpualign.jobs.sequence_loading import Inputs, Opened, ReadOptions, mask_lower, note_stops, read_set

QUERY, TARGET, BOTH = "query", "target", "both"

_TRANSLATED = {QUERY: (True, False), TARGET: (False, True), BOTH: (True, True)}
"""Whether queries are, and whether targets are."""

_SIDES = ("queries", "targets")


def read_translated(
    opened: Iterable[Iterable[Opened]], which: str, options: ReadOptions, index: str | None = None, notes: Reporter = SILENT
) -> Inputs:
    """Read queries and targets, or of one file both, of which `which` are nucleotides and the others proteins; both stay as they are until
    `translate_inputs`. index: the targets, in place of a second file.

    options.alphabet: "dna" or "protein" where what looks otherwise is that nevertheless. Raises `InputError`.
    """
    raw = []
    for side, files in enumerate(opened):
        of_side = options.unknown == ("n" if alphabet_of(side, which) is DNA else "x")
        raw.append(read_set(files, options if of_side else replace(options, unknown=None), side > 0, notes))
    masked = mask_lower(chain(*raw), options, notes)
    sets = [encode_side(one, side, which, options.alphabet, masked) for side, one in enumerate(raw)]
    if index is not None:
        sets.append(_indexed(index, which))
    note_stops((one for side, one in enumerate(sets) if alphabet_of(side, which) is PROTEIN), notes)
    return inputs_of_sides(sets, which, masked)


def inputs_of_sides(sets: list[SequenceSet], which: str, masked: bool = False) -> Inputs:
    """Of queries and targets, or of one set. masked: as in `Inputs`. Raises `InputError` where one set would be both nucleotides and
    proteins."""
    if len(sets) == 1 and which != BOTH:
        this, both = parameter("translate", which), parameter("translate", BOTH)
        raise InputError(f"{this} compares nucleotides with proteins, in two files; {both} compares one with itself")
    return Inputs(sets[0], sets[-1], PROTEIN, parameter("translate", which), masked=masked)


def alphabet_of(side: int, which: str) -> Alphabet:
    """That of the queries (side 0) or the targets (side 1) with this choice of what is translated."""
    return DNA if _TRANSLATED[which][side] else PROTEIN


def encode_side(raw: Sequence[RawRecords], side: int, which: str, alphabet: str = "auto", masked: bool = False) -> SequenceSet:
    """Encode queries (side 0) or targets (side 1), of a file or several, in the alphabet that they have with this choice of what is
    translated. masked: letters in lower case as N or X. Raises `InputError` where they look otherwise, unless `alphabet` says that they
    are."""
    found = count_letters(raw)
    if alphabet_of(side, which) is DNA:
        protein = found.protein
        if protein is None and alphabet != DNA.name and found.alphabet() is PROTEIN:
            protein = raw[0].source
        if protein is not None:
            hint = "" if found.protein else f"; if they are nucleotides, say {parameter('alphabet', 'dna')}"
            raise InputError(f"{protein} looks like protein, and {_wants(which, side, DNA)}{hint}")
        return join_sets(encode_all(raw, DNA.name, masked)[1])
    dna = found.dna or (raw[0].source if found.protein is None and found.alphabet() is DNA else None)
    if dna is not None and alphabet != PROTEIN.name:
        hint = f"if they are proteins, say {parameter('alphabet', 'protein')}"
        raise InputError(f"{dna} looks like DNA, and {_wants(which, side, PROTEIN)}; {hint}")
    return join_sets(encode_all(raw, PROTEIN.name, masked)[1])


def _wants(which: str, side: int, alphabet: Alphabet) -> str:
    """What to say where one side is not what it was said to be."""
    found = tuple(translated != (k == side) for k, translated in enumerate(_TRANSLATED[which]))
    other = next((name for name, sides in _TRANSLATED.items() if sides == found), None)
    hint = f"proteins are searched in proteins without {parameter('translate')}"
    if other is not None:
        hint = f"{parameter('translate', other)} is for such files"
    return f"{parameter('translate', which)} reads the {_SIDES[side]} as {alphabet.name}: {hint}"


def _indexed(index: str, which: str) -> SequenceSet:
    targets, alphabet = open_index(index)
    wanted = alphabet_of(1, which)
    if alphabet is not wanted:
        raise InputError(f"{index} is an index of {alphabet.name}, and {parameter('translate', which)} wants targets of {wanted.name}")
    return targets


@dataclass(frozen=True)
class Translated:
    """given: inputs as they were read, of which some are nucleotides; searched: proteins in their place; sides: what these are."""

    given: Inputs
    searched: Inputs
    sides: QueryTargetFrames

    @property
    def held(self) -> int:
        """Bytes of nucleotides that are kept beside their translations."""
        of_queries = self.given.queries.nbytes if self.sides.queries.translated else 0
        return of_queries + (self.given.targets.nbytes if self.sides.targets.translated and not self.given.one_set else 0)


def translate_inputs(inputs: Inputs, which: str, code: int, strand: str | None, notes: Reporter = SILENT) -> Translated:
    """Translate in all frames or, queries, in those of a strand. Targets that are shorter than a codon are left out.

    code: a number of NCBI's genetic codes. Raises `InputError` for other numbers, for a strand of queries that are proteins, and for
    queries that are shorter than a codon.
    """
    if strand is not None and not _TRANSLATED[which][0]:
        raise InputError(f"{parameter('strand')} is about the queries, which are proteins with {parameter('translate', which)}")
    table = codon_table(code)
    queries = inputs.queries
    if _TRANSLATED[which][0] and len(short := np.flatnonzero(queries.lengths < CODON)):
        record, letters = queries.ids[int(short[0])], int(queries.lengths[short[0]])
        raise InputError(
            f"{queries.source}: record {record!r} has {letters} of the {CODON} letters of a codon and cannot be translated; leave it out"
        )
    given = inputs if inputs.one_set or not _TRANSLATED[which][1] else replace(inputs, targets=_long_enough(inputs.targets, notes))
    of_queries, of_targets = (
        make_frames(sequences, table, of_strand) if translated else untranslated(sequences)
        for sequences, translated, of_strand in zip(
            (given.queries, given.targets), _TRANSLATED[which], (strand or BOTH_STRANDS, BOTH_STRANDS), strict=True
        )
    )
    what = " and ".join(side for side, translated in zip(_SIDES, _TRANSLATED[which], strict=True) if translated)
    searched = Inputs(of_queries.sequences, of_targets.sequences, PROTEIN, f"{what} translated by genetic code {code}")
    return Translated(given, searched, QueryTargetFrames(of_queries, of_targets))


def _long_enough(targets: SequenceSet, notes: Reporter) -> SequenceSet:
    """Targets of a codon or more."""
    kept = np.flatnonzero(targets.lengths >= CODON)
    short = len(targets) - len(kept)
    if not short:
        return targets
    if not len(kept):
        raise InputError(f"{targets.source}: no record has the {CODON} letters of a codon")
    first = targets.ids[int(np.argmin(targets.lengths >= CODON))]
    who = f"record {first!r}, which is" if short == 1 else f"{short:,} records, {first!r} the first, which are"
    notes.note(f"{targets.source}: left out {who} shorter than a codon")
    return replace(targets.select(kept), places=None if targets.places is None else targets.places[kept])
