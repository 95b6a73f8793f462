"""Options of commands: each fills one field of one dataclass, or is an argument of the command's function; none is forgotten."""

import inspect
from dataclasses import fields, is_dataclass

import pytest
from command import gpualign_here

from gpualign.cli.main import COMMAND_NAMES, cli
from gpualign.cli.options import params as filling
from gpualign.core.distance.tables.options import CallOptions
from gpualign.jobs.cluster import ClusterOptions
from gpualign.jobs.dist import DistOptions
from gpualign.jobs.nw import NwOptions
from gpualign.jobs.options import PairThresholds
from gpualign.jobs.plotting.figure import Style
from gpualign.jobs.sequence_loading import ReadOptions
from gpualign.jobs.sw import SwOptions

OPTIONS = {"nw": NwOptions, "sw": SwOptions, "cluster": ClusterOptions, "dist": DistOptions, "index": ReadOptions, "plot": Style}
ALSO = {"index": CallOptions}
"""Options of a second kind of output: --allow-duplicates is of both."""
PLAN = ["x.fa", "--dry-run", "--device", "cpu"]
WORDS = {
    **dict.fromkeys(OPTIONS, PLAN),
    "cluster": [*PLAN, "--min-identity", "0.9", "--method", "greedy"],
    "index": ["x.fa", "-o", "x.gpa"],
    "plot": ["x.tsv", "-o", "x.png", "--value", "distance"],
}

# Fields that a run sets and no option does.
DECIDED = {
    *("keep_descriptions", "executor", "reserved_bytes", "spare_threads", "worker_threads", "workers_per_machine"),
    *("rereads_tables", "keep_text"),  # `cluster` by the format that it writes
    "reads_abundances",  # `cluster` by the order of the records
    "reads_v_calls",  # by --v-genes
    *("beside_set", "compared_letters", "known_cells", "known_hashes"),  # by the set to which samples are added
    *("added", "missing_codes", "gaps_missing"),  # `dist` says so of --add, of the list of --missing-code and of --missing
}
# Options that `dist` reads from files after it has started.
READ_LATER = {
    "dist": {"columns", "ignore_columns", "regions", "mask", "core", "maf", "exclude", "min_called"},
    "index": {"columns", "ignore_columns"},
}


def field_names(options):
    """Names of all fields, also of the dataclasses in it."""
    names = []
    for field in fields(options):
        names += field_names(field.default_factory) if is_dataclass(field.default_factory) else [field.name]
    return names


def arguments_of(command):
    """Names of the command's arguments that its function takes itself, and of the others."""
    named = [name for name, one in inspect.signature(command.callback).parameters.items() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    return set(named), {one.name for one in command.params} - set(named)


def test_every_command_that_passes_options_on_is_tried():
    passing = {name for name in COMMAND_NAMES if arguments_of(cli.commands[name])[1]}
    assert passing == set(OPTIONS)


@pytest.mark.parametrize("name", OPTIONS)
def test_each_option_fills_one_field(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fa").write_text(">a\nACGTACGTAC\n>b\nACGTACGAAC\n")
    (tmp_path / "x.tsv").write_text("id\ta\tb\na\t0\t1\nb\t1\t0\n")
    filled, fill = [], filling.build_options

    def recording(options, params, **given):
        if options is OPTIONS[name]:
            filled.append((set(params), set(given)))
        return fill(options, params, **given)

    monkeypatch.setattr(filling, "build_options", recording)
    gpualign_here(name, *WORDS[name])
    [(passed, given)] = filled
    named, others = arguments_of(cli.commands[name])
    of_options = field_names(OPTIONS[name])
    assert passed == others
    assert len(of_options) == len(set(of_options))
    if name in ALSO:
        of_options += field_names(ALSO[name])
    assert others <= set(of_options)
    assert named & set(of_options) == (given & named) | READ_LATER.get(name, set())
    assert given <= set(of_options)


def test_each_field_has_an_option():
    known = {one.name.rstrip("_") for name in OPTIONS for one in cli.commands[name].params}
    without = {field for options in OPTIONS.values() for field in field_names(options)} - known
    assert without == DECIDED


def test_values_reach_fields_of_any_depth():
    options = filling.build_options(ClusterOptions, {"min_identity": 0.5, "method": "greedy", "unknown": "n", "other": 1}, matrix="M")
    assert options.method == "greedy"
    assert options.alignment_options.thresholds == PairThresholds(min_identity=0.5)
    assert (options.alignment_options.read_options.unknown, options.alignment_options.scoring.matrix) == ("n", "M")
    assert options.order is None
