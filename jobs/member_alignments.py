"""Alignments between cluster members and their representatives."""

from __future__ import annotations

import re
from dataclasses import field

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.ambiguity import count_ambiguity
from gpualign.core.alignment.task import Detail, EndGaps, Mode, Task
from gpualign.core.clustering.clusters import Clustering
from gpualign.core.common.arrays import Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.both_strands import is_minus_better
from gpualign.core.near_pairs.deduplication import DuplicateGroups
from gpualign.core.results.blocks import RectangleBlock
from gpualign.core.sequences.strands_frames import MINUS, make_strands
from gpualign.cpu.alignment.single_pair import SinglePairAligner
from gpualign.jobs.devices.memory import default_memory

_GAP_SWAP_TABLE = str.maketrans("ID", "DI")
_RUN_PATTERN = re.compile(r"\d*[A-Z]")
_UNIT_LENGTH_PATTERN = re.compile(r"(?<!\d)1(?=[A-Z])")


@dataclass(frozen=True)
class MemberAlignments:
    """Alignments between records and their cluster representatives.

    identities: float64[records], identity between each record and its representative; NaN for representatives
    cigars: CIGAR of each record, with runs of M (letters of both), I (letters only in the representative) and D (letters only in the
        record), in which a count of 1 is omitted; "=" if the two are equal, "*" for representatives
    is_reverse_complement: bool[records], True if the reverse complement of the record is aligned; the CIGAR then follows the reverse
        complement
    """

    identities: Reals = field(repr=False)
    cigars: list[str] = field(repr=False)
    is_reverse_complement: npt.NDArray[np.bool_] = field(repr=False)


def align_members(
    task: Task, groups: DuplicateGroups, clustering: Clustering, identity_definition: int, memory: int | None
) -> MemberAlignments:
    """Align each record with its representative, with the earlier record as query (as in an all-pairs run). If the task covers both
    strands, the better one is chosen. Of identical records (`groups`), the first is aligned.

    identity_definition: number of the identity definition (core/alignment/identity.py)
    memory: memory limit, in bytes; None: the default

    Raises `RunError` if a pair needs more than `memory`.
    """
    pair_memory = (memory or default_memory()) // 2
    aligner = SinglePairAligner(task.scoring.of_alignments, task.alphabet, Mode.GLOBAL, EndGaps.PENALISED, pair_memory)
    records = np.arange(len(task.queries))
    of = clustering.representatives[clustering.labels]
    identities, cigars, is_reverse_complement = np.full(len(records), np.nan), ["*"] * len(records), np.zeros(len(records), dtype=np.bool_)
    done: dict[tuple[int, int], tuple[float, str, bool]] = {}
    firsts = groups.first_records[groups.group_of]
    for record, representative in zip(records[of != records].tolist(), of[of != records].tolist(), strict=True):
        pair = int(firsts[record]), int(firsts[representative])
        if pair not in done:
            done[pair] = _align_to_representative(task, aligner, *pair, identity_definition)
        identities[record], cigars[record], is_reverse_complement[record] = done[pair]
    return MemberAlignments(identities, cigars, is_reverse_complement)


def _align_to_representative(
    task: Task, aligner: SinglePairAligner, record: int, representative: int, identity_definition: int
) -> tuple[float, str, bool]:
    """Return (identity, CIGAR, whether the reverse complement is aligned) for a record and its representative, given by their
    numbers."""
    query, target = (task.queries.select(np.array([k])) for k in sorted((record, representative)))
    if np.array_equal(query.codes, target.codes):
        return 1.0, "=", False
    alignment = aligner.align(query.codes, target.codes)
    is_reverse_complement = False
    if task.both_strands:
        reverse_complement = make_strands(query, task.alphabet, MINUS).sequences
        other = aligner.align(reverse_complement.codes, target.codes)
        is_reverse_complement = bool(is_minus_better(task.scoring, other.scores, alignment.scores)[0, 0])
        if is_reverse_complement:
            query, alignment = reverse_complement, other
    rule = None if task.ambiguity is None else count_ambiguity(task.ambiguity.rule, task.alphabet, query, target, 1)
    pair = Task(query, target, task.scoring, Mode.GLOBAL, Detail.PATH, alphabet=task.alphabet, ambiguity=rule)
    block = RectangleBlock(pair, identity_definition, alignment)
    identity = float(block.identity_fraction[0, 0])
    cigar = _UNIT_LENGTH_PATTERN.sub("", block.path_text((0, 0), "cigar_m"))
    if is_reverse_complement and np.array_equal(query.codes, target.codes):
        return identity, "=", True
    if representative > record:
        return identity, cigar.translate(_GAP_SWAP_TABLE), is_reverse_complement
    # The representative is the query. Reversing the CIGAR turns both records, so the representative keeps its direction.
    return identity, "".join(_RUN_PATTERN.findall(cigar)[::-1]) if is_reverse_complement else cigar, is_reverse_complement
