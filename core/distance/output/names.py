"""Replaces sample-id characters that have a special meaning in an output format."""

from __future__ import annotations

import re
from dataclasses import replace

from gpualign.core.common.errors import InputError
from gpualign.core.distance.calls import Samples, make_samples
from gpualign.core.sequences.ids import SampleNames

CHARACTERS_REPLACED_BY_FORMAT = {
    "phylip": re.compile(r"\s"),  # programs that read it end names at the first blank
    "mega": re.compile(r"[\s;\[\]#\"!]"),
}


def samples_with_writable_ids(format: str, samples: Samples) -> tuple[Samples, list[tuple[str, str]]]:
    """Return (samples with ids that can be written in the format; the changed ids, each as (id, id as written)).

    Raises `InputError` if replacing characters would make two ids in one input equal.

    format: one of the formats in `CHARACTERS_REPLACED_BY_FORMAT`
    """
    queries, changed = _writable_ids(format, samples.queries)
    if samples.is_one_set:
        return (make_samples(queries) if changed else samples), changed
    targets, also = _writable_ids(format, samples.targets)
    return replace(samples, queries=SampleNames(queries), targets=SampleNames(targets)), changed + also


def _writable_ids(format: str, names: SampleNames) -> tuple[list[str], list[tuple[str, str]]]:
    """Return (ids that can be written in the format; the changed ids, each as (id, id as written))."""
    first: dict[str, str] = {}
    written = [CHARACTERS_REPLACED_BY_FORMAT[format].sub("_", name) for name in names.ids]
    for name, other in zip(written, names.ids, strict=True):
        if first.setdefault(name, other) != other:
            raise InputError(
                f"{format} does not allow some characters: ids {first[name]!r} and {other!r} would both be {name!r}; rename one of them"
            )
    return written, [(name, other) for name, other in zip(names.ids, written, strict=True) if name != other]
