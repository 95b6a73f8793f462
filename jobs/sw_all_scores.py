"""Local scores of all pairs, in file order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpualign.core.execution.engine import Engine
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.masking import NONE
from gpualign.core.sequences.strands_frames import PLUS, make_strands
from gpualign.jobs.devices.selection import pick_sw_engine
from gpualign.jobs.every_pair import EveryPairJob, prepare_every_pair
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter
from gpualign.jobs.search_masking import MaskingMethods, mask_task
from gpualign.jobs.sequence_loading import Inputs
from gpualign.jobs.sw import SwOptions, check_strand_and_masks, make_local_task


def prepare(
    inputs: Inputs, options: SwOptions, pairing: Pairing, reporter: Reporter = SILENT_REPORTER, engine: Engine | None = None
) -> EveryPairJob:
    """Plan the scoring of all pairs. pairing: which pairs to score within one set. Other parameters and errors as in
    `gpualign.jobs.sw.prepare`."""
    o = options
    inputs.finish_check()
    task = make_local_task(inputs, o.scoring, reporter)
    check_strand_and_masks(task, o.strand, o)
    if engine is None:
        engine = pick_sw_engine(o.resources, reporter, o.kernel)
    methods = MaskingMethods(o.mask or NONE, o.mask_target or NONE)
    task = mask_task(task, methods, reporter, already_masked=inputs.is_masked, threads=o.resources.host_threads)
    targets = task.targets
    if targets.known_file_positions is not None:  # an index, in order of length
        targets = targets.select(np.argsort(targets.known_file_positions))
    chosen = Pairing.ALL
    if (o.strand or PLUS) == PLUS:
        task = replace(task, queries=targets if inputs.one_set else task.queries, targets=targets)
        if inputs.one_set:
            chosen = pairing
    else:  # the score of i's reverse complement with j is that of j's with i only for most matrices
        task = replace(task, queries=make_strands(task.queries, task.alphabet, o.strand or PLUS).sequences, targets=targets)
    return prepare_every_pair(task, chosen, engine, o.resources, reporter)
