"""Global alignments of every pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path as FilePath
from typing import Any, cast

import numpy as np

from gpualign._files import new_file
from gpualign._results import Matrix, Pairs, Table
from gpualign._running import LOG, Progress, Reporter, resources
from gpualign._scoring import Scoring, checked_scoring
from gpualign._sequences import Path, Source, inputs_of
from gpualign.core.engine import Detail, EndGaps
from gpualign.core.errors import InputError
from gpualign.core.fields import parse_fields
from gpualign.core.identity import DEFAULT, DEFINITIONS
from gpualign.core.plan import Pairing
from gpualign.core.sinks.matrix import MatrixSink, Value
from gpualign.core.sinks.matrix_files import NpyArray
from gpualign.core.sinks.memory import MemoryArray
from gpualign.core.sinks.pairs import Filter
from gpualign.jobs.near import near_pairs
from gpualign.jobs.nw import NwOptions, prepare
from gpualign.jobs.pairs import PairsJob


def nw(
    seqs: Source,
    targets: Source | None = None,
    scoring: Scoring | None = None,
    value: str = "score",
    *,
    end_gaps: str = "penalised",
    identity_def: int = DEFAULT,
    out: Path | None = None,
    device: str = "auto",
    threads: int | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
) -> Matrix:
    """Align every pair globally (Needleman-Wunsch), and return a value of each: what `gpualign nw -o FILE.npy` writes.

    seqs: one set, compared with itself, or the queries of `targets`. value: "score" (with `gpualign.EDIT` the edit distance), "identity"
    or "distance", which is 1 - identity. end_gaps: "penalised", "free", "query" or "target"; identity_def: vsearch's numbers, 0 to 4. out:
    the matrix goes to this .npy file and is mapped from it. device: "auto", "cpu", "cuda", "cuda:0", ...; threads: of the CPU; memory:
    bytes for work beside the sequences and the matrix; progress: called with DP cells done and in all.

    Raises `InputError` for bad input, `RunError` where a device or memory fails.

    >>> nw(["ACGT", "AGT"], scoring=Scoring(match=2, mismatch=-1, gap=1)).values.tolist()
    [[8, 5], [5, 6]]
    """
    if value not in ("score", "identity", "distance"):
        raise InputError(f"value {value!r}: score, identity or distance is wanted")
    kept = Value(value, _checked_definition(identity_def))
    job = _job(seqs, targets, scoring, end_gaps, kept.detail, Pairing.ABOVE_OR_EQUAL, device, threads, memory)
    if out is None:
        sink = MatrixSink(MemoryArray, job.task, kept)
        job.run(sink, _reporter(job, progress))
        values = sink.matrix.values
    else:
        path = FilePath(out)
        with new_file(path) as stream:
            job.run(MatrixSink(partial(NpyArray, stream), job.task, kept), _reporter(job, progress))
        values = np.load(path, mmap_mode="r")
    one_set = job.task.targets is job.task.queries
    return Matrix(values, list(job.task.queries.ids), list(job.task.targets.ids), value, one_set)


def pairs(
    seqs: Source,
    targets: Source | None = None,
    scoring: Scoring | None = None,
    *,
    max_distance: float | None = None,
    min_identity: float | None = None,
    min_score: int | None = None,
    end_gaps: str = "penalised",
    identity_def: int = DEFAULT,
    device: str = "auto",
    threads: int | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
) -> Pairs:
    """Align every pair globally, and return those that pass one threshold, with the value that it is of.

    max_distance: 1 - identity, with `gpualign.EDIT` the edit distance; min_identity; min_score. Of one set each pair comes once, i < j.
    Other arguments and errors as for `nw`.

    >>> found = pairs(["ACGT", "AGT", "TTTT"], scoring=Scoring(edit=True), max_distance=1)
    >>> list(found)
    [('0', '1', 1)]
    """
    chosen = checked_scoring(scoring)
    thresholds = {"max_distance": max_distance, "min_identity": min_identity, "min_score": min_score}
    given = [name for name, one in thresholds.items() if one is not None]
    if len(given) != 1:
        found = f"; found {' and '.join(given)}" if given else ""
        raise InputError(f"pairs wants one threshold, {', '.join(thresholds)}{found}")
    if chosen.edit and min_score is not None:
        raise InputError("min_score does not go with edit distances; give max_distance")
    if not chosen.edit and any(not 0 <= one <= 1 for one in (max_distance, min_identity) if one is not None):
        raise InputError(f"{given[0]} is a fraction from 0 to 1")
    if max_distance is not None and chosen.edit:
        filter = Filter(most_score=int(max_distance))
    else:
        filter = Filter(min_score, None, min_identity, max_distance)
    detail = Detail.STATISTICS if filter.by_identity else Detail.SCORE
    job = _job(seqs, targets, chosen, end_gaps, detail, Pairing.ABOVE, device, threads, memory)
    i, j, values = near_pairs(job, filter, _checked_definition(identity_def), _reporter(job, progress))
    return Pairs(i, j, values, list(job.task.queries.ids), list(job.task.targets.ids))


def iter_pairs(
    seqs: Source,
    targets: Source | None = None,
    scoring: Scoring | None = None,
    *,
    fields: Sequence[str] = ("query", "target", "score"),
    batch: int = 10_000,
    min_score: int | None = None,
    min_identity: float | None = None,
    end_gaps: str = "penalised",
    identity_def: int = DEFAULT,
    device: str = "auto",
    threads: int | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Table]:
    """Align every pair globally and yield tables of up to `batch` of them, in input order, within the memory of a few.

    fields: columns as `gpualign nw --fields` has them, identity, cigar and so on among them. Closing the iterator stops all workers. Other
    arguments and errors as for `nw`; bad arguments are told at once.

    >>> for table in iter_pairs(["ACGT", "AGT"], fields=["query", "target", "cigar"]):
    ...     print(list(table))
    [{'query': '0', 'target': '1', 'cigar': '1=1I2='}]
    """
    columns = parse_fields(",".join(fields))
    if batch < 1:
        raise InputError(f"batch {batch}: 1 or more is wanted")
    filter = Filter(min_score, None, min_identity)
    details = [column.detail for column in columns] + ([Detail.STATISTICS] if filter.by_identity else [])
    detail = max(details, key=list(Detail).index)
    job = _job(seqs, targets, scoring, end_gaps, detail, Pairing.ABOVE, device, threads, memory)
    blocks = job.blocks(_checked_definition(identity_def), _reporter(job, progress))

    def tables() -> Iterator[Table]:
        held: dict[str, Any] = {}
        with closing(cast("Any", blocks)):
            for block in blocks:
                keep = filter.keeps(block)
                found = {column.name: column.take(block, keep) for column in columns}
                held = {name: _joined(held[name], part) for name, part in found.items()} if held else found
                while len(next(iter(held.values()))) >= batch:
                    yield Table({name: part[:batch] for name, part in held.items()})
                    held = {name: part[batch:] for name, part in held.items()}
        if held and len(next(iter(held.values()))):
            yield Table(held)

    return tables()


def _joined(one: Any, other: Any) -> Any:
    return one + other if isinstance(one, list) else np.concatenate((one, other))


def _checked_definition(number: int) -> int:
    if number not in DEFINITIONS:
        raise InputError(f"identity_def {number}: a number from 0 to 4 is wanted")
    return number


def _job(
    seqs: Source,
    targets: Source | None,
    scoring: Scoring | None,
    end_gaps: str,
    detail: Detail,
    pairing: Pairing,
    device: str,
    threads: int | None,
    memory: int | None,
) -> PairsJob:
    if end_gaps not in (names := [one.value for one in EndGaps]):
        raise InputError(f"end_gaps {end_gaps!r}: {', '.join(names)} are known")
    wanted = resources(device, threads, memory)
    options = NwOptions(checked_scoring(scoring).options(), EndGaps(end_gaps), detail, pairing, wanted)
    return prepare(inputs_of(seqs, targets), options, LOG)


def _reporter(job: PairsJob, progress: Progress | None) -> Reporter:
    reporter = Reporter(progress)
    reporter.expect(job.plan.cells)
    return reporter
