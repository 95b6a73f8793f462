"""Alignments of the members of clusters with their representatives."""

from __future__ import annotations

import re
from dataclasses import field

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.ambiguity import find_ambiguous
from gpualign.core.alignment.task import Detail, EndGaps, Mode, Task
from gpualign.core.clustering.clusters import Clustering
from gpualign.core.common.arrays import Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.both_strands import is_better
from gpualign.core.near_pairs.deduplication import DuplicateGroups
from gpualign.core.results.blocks import PairBlock
from gpualign.core.sequences.strands_frames import MINUS, make_strands
from gpualign.cpu.alignment.single_pair import PairAligner
from gpualign.jobs.devices.memory import default_memory

_SWAPPED = str.maketrans("ID", "DI")
_RUN = re.compile(r"\d*[A-Z]")
_ONE = re.compile(r"(?<!\d)1(?=[A-Z])")


@dataclass(frozen=True)
class MemberAlignments:
    """Alignments of records with the representatives of their clusters.

    identities: float64[count], of each record with its representative, nan for representatives
    cigars: text[count]; M, I for letters of the representative alone and D for those of the record alone, a 1 left out; = if both are
        equal, * for representatives
    is_reverse_complement: bool[count], True if the reverse complement of the record is aligned; the cigar is then along that
    """

    identities: Reals = field(repr=False)
    cigars: list[str] = field(repr=False)
    is_reverse_complement: npt.NDArray[np.bool_] = field(repr=False)


def align_members(task: Task, groups: DuplicateGroups, clustering: Clustering, definition: int, memory: int | None) -> MemberAlignments:
    """Align each record with its representative, the earlier of the two as query, as when all pairs are aligned; by the better strand if
    the task is for both. Of equal records (`groups`), the first is aligned.

    definition: of identities

    Raises `RunError` if a pair takes more than the memory.
    """
    aligner = PairAligner(task.scoring, task.alphabet, Mode.GLOBAL, EndGaps.PENALISED, (memory or default_memory()) // 2)
    records = np.arange(len(task.queries))
    of = clustering.representatives[clustering.labels]
    identities, cigars, is_reverse_complement = np.full(len(records), np.nan), ["*"] * len(records), np.zeros(len(records), dtype=np.bool_)
    done: dict[tuple[int, int], tuple[float, str, bool]] = {}
    firsts = groups.firsts[groups.of]
    for record, representative in zip(records[of != records].tolist(), of[of != records].tolist(), strict=True):
        pair = int(firsts[record]), int(firsts[representative])
        if pair not in done:
            done[pair] = _align(task, aligner, *pair, definition)
        identities[record], cigars[record], is_reverse_complement[record] = done[pair]
    return MemberAlignments(identities, cigars, is_reverse_complement)


def _align(task: Task, aligner: PairAligner, record: int, representative: int, definition: int) -> tuple[float, str, bool]:
    """Return (identity, CIGAR, whether the reverse complement is aligned) of a record and its representative."""
    query, target = (task.queries.select(np.array([k])) for k in sorted((record, representative)))
    if np.array_equal(query.codes, target.codes):
        return 1.0, "=", False
    alignment = aligner.align(query.codes, target.codes)
    is_reverse_complement = False
    if task.both_strands:
        reverse_complement = make_strands(query, task.alphabet, MINUS).sequences
        other = aligner.align(reverse_complement.codes, target.codes)
        is_reverse_complement = bool(is_better(task.scoring, other.scores, alignment.scores)[0, 0])
        if is_reverse_complement:
            query, alignment = reverse_complement, other
    rule = None if task.ambiguous is None else find_ambiguous(task.ambiguous.rule, task.alphabet, query, target)
    pair = Task(query, target, task.scoring, Mode.GLOBAL, Detail.PATH, alphabet=task.alphabet, ambiguous=rule)
    block = PairBlock(pair, definition, alignment)
    identity = float(block.identity_fraction[0, 0])
    cigar = _ONE.sub("", block.path_text((0, 0), "cigar_m"))
    if is_reverse_complement and np.array_equal(query.codes, target.codes):
        return identity, "=", True
    if representative > record:
        return identity, cigar.translate(_SWAPPED), is_reverse_complement
    # The representative is the query. Reversing the CIGAR turns both records, so the representative keeps its direction.
    return identity, "".join(_RUN.findall(cigar)[::-1]) if is_reverse_complement else cigar, is_reverse_complement
