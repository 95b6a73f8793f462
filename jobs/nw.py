"""Global alignment (Needleman-Wunsch) of every pair."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpualign.core.engine import Detail, EndGaps, Engine, Task
from gpualign.core.plan import Pairing
from gpualign.core.scoring import Scoring, ScoringOptions, make_scoring
from gpualign.jobs.engines import AUTO, Resources, pick_global_engine
from gpualign.jobs.inputs import Inputs
from gpualign.jobs.notes import UNHEARD, Notes
from gpualign.jobs.pairs import PairsJob, prepare_pairs


@dataclass(frozen=True)
class NwOptions:
    """scoring: options, or a scoring that is made; detail: what of each alignment is wanted; pairing: which pairs, for one set; kernel,
    transfer, host_traceback: of Li 2014."""

    scoring: ScoringOptions | Scoring = field(default_factory=ScoringOptions)
    end_gaps: EndGaps = EndGaps.PENALISED
    detail: Detail = Detail.SCORE
    pairing: Pairing = Pairing.ABOVE
    resources: Resources = field(default_factory=Resources)
    kernel: str = AUTO
    transfer: str | None = None
    host_traceback: bool = False


def prepare(inputs: Inputs, options: NwOptions, notes: Notes = UNHEARD, engine: Engine | None = None) -> PairsJob:
    """engine: instead of the one that the options ask for.

    Raises `InputError` for a scoring that the sequences do not fit, `RunError` where memory or a device is missing.
    """
    o = options
    scoring = o.scoring
    if isinstance(scoring, ScoringOptions):
        scoring = make_scoring(inputs.alphabet, scoring, [inputs.queries, inputs.targets])
    notes.note(f"{inputs.alphabet.name} ({inputs.how}), {scoring.name}")
    task = Task(inputs.queries, inputs.targets, scoring, detail=o.detail, end_gaps=o.end_gaps, alphabet=inputs.alphabet)
    if engine is None:
        engine = pick_global_engine(o.resources, notes, o.host_traceback, o.kernel, o.transfer)
    pairing = o.pairing if inputs.one_set else Pairing.ALL
    return prepare_pairs(task, pairing, engine, o.resources.memory, notes, f"{scoring.name}; ")
