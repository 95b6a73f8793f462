"""What a run loads, and that it loads nothing that it has no use for: imports are most of a short run."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import GPUALIGN, LIMIT, gpualign, shell
from places import DATA

from gpualign.cli.main import COMMAND_NAMES
from gpualign.core.common.arrays import distinct

SEQUENCES, PROTEINS, DATABASE, CALLS = (
    DATA / name for name in ("16s_small.fasta", "proteins_query.fasta", "proteins_db.fasta", "snps.tsv")
)

# Each takes as long as some modules of ours together; most come unseen, with others: numpy.ma with np.unique(), np.isin() and
# np.setdiff1d(), all of the web with Biopython's readers.
LARGE = {
    *("Bio", "cyvcf2", "matplotlib", "mpl_toolkits", "pandas", "pyarrow", "scipy", "tqdm"),
    *("numpy.ctypeslib", "numpy.f2py", "numpy.fft", "numpy.ma", "numpy.polynomial", "numpy.random", "numpy.testing"),
    *("asyncio", "email", "http", "multiprocessing", "socket", "sqlite3", "ssl", "unittest", "urllib.request", "xml"),
}
# Smaller ones, and of ours, that every pair of `nw` by scores has no use for.
SMALL = {
    *("concurrent.futures", "hashlib", "importlib.resources", "json", "logging", "random", "subprocess", "tempfile"),
    *(
        "gpualign.core.clustering",
        "gpualign.core.distance",
        "gpualign.core.sequences.database_index",
        "gpualign.core.alignment.hits",
        "gpualign.jobs.near_pairs",
    ),
    *(
        "gpualign.core.scoring.edit_bounds",
        "gpualign.core.scoring.evalues",
        "gpualign.cpu.alignment.local_recipe",
        "gpualign.cpu.alignment.path_recipe",
        "gpualign.gpu.runtime.kernel_cache",
    ),
    *("click.shell_completion", "gpualign.core.planning.group_pairs", "gpualign.core.execution.group_pairs", "gpualign.core.output.memory"),
}
# What rows to standard output have no use for: matrices, and names that files take when they are complete.
OF_FILES = {
    *(() if sys.version_info >= (3, 13) else ("glob",)),  # from then on pathlib loads it
    *("gpualign.jobs.output.stale_files", "gpualign.jobs.output.commit", "gpualign.core.files.journal"),
    *(
        "gpualign.jobs.output.matrices",
        "gpualign.core.output.matrix",
        "gpualign.core.output.matrix_files",
        "gpualign.core.output.mirroring",
    ),
}

RUN = """
import atexit, os, sys
names = set(sys.modules)
atexit.register(lambda: print("loaded", *sorted(set(sys.modules) - names), file=sys.stderr))
sys.argv = ["gpualign", *sys.argv[1:]]
from gpualign.cli.entry_point import main
main()
"""


def run(code, *arguments):
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    return done


def loaded_by(*arguments):
    """Modules that a command has loaded when it ends."""
    return set(run(RUN, *arguments).stderr.splitlines()[-1].split())


@functools.cache
def loaded_anyway():
    """By the libraries that every run needs; it depends on their releases."""
    return set(run("import click, numpy, sys; print(*sys.modules)").stdout.split())


def among(loaded, unwanted):
    """Those of the modules that are loaded, themselves or one within, beyond what is loaded anyway."""
    names = loaded - loaded_anyway()
    return sorted(module for module in unwanted if any(name == module or name.startswith(f"{module}.") for name in names))


@pytest.mark.parametrize("output", ["-", "x.tsv", "x.npy"])
def test_nw_loads_what_it_needs(tmp_path, output):
    loaded = loaded_by("nw", SEQUENCES, "--device", "cpu", "-o", output if output == "-" else tmp_path / output)
    assert "gpualign.cpu.alignment._kernels" in loaded
    assert among(loaded, LARGE | SMALL | (OF_FILES if output == "-" else set())) == []


def test_a_search_loads_what_it_needs():
    loaded = loaded_by("sw", PROTEINS, DATABASE, "--device", "cpu", "--threads", 1)
    assert "gpualign.core.alignment.hits" in loaded
    not_yet = {"click.shell_completion", "concurrent.futures", "gpualign.core.sequences.database_index", "json", "logging"}
    every_pair = {"gpualign.jobs.output.pairs", "gpualign.core.planning.group_pairs", "gpualign.core.execution.group_pairs"}
    assert among(loaded, LARGE | OF_FILES | every_pair | not_yet) == []


@pytest.mark.parametrize(
    ("needed", "arguments"),
    [
        ("gpualign.core.scoring.edit_bounds", ["nw", SEQUENCES, "--max-distance", "0.03"]),
        ("gpualign.core.alignment.hits", ["sw", PROTEINS, DATABASE]),
        ("gpualign.core.alignment.hits", ["sw", SEQUENCES, SEQUENCES, "--matrix", "NUC.4.4", "--evalue", "none"]),
        ("gpualign.core.distance", ["dist", CALLS]),
        ("gpualign.core.sequences.database_index", ["index", DATABASE]),
    ],
    ids=lambda value: " ".join(Path(part).name for part in value) if isinstance(value, list) else "",
)
def test_commands_load_no_large_library(tmp_path, needed, arguments):
    loaded = loaded_by(*arguments, "-o", tmp_path / ("x.gpa" if arguments[0] == "index" else "x.tsv"))
    assert among(loaded, {needed}) == [needed]
    assert among(loaded, LARGE) == []


@pytest.mark.parametrize("arguments", [["nw", SEQUENCES], ["sw", PROTEINS, DATABASE], ["dist", CALLS]], ids=lambda words: words[0])
def test_what_serves_parts_and_pictures_alone_is_loaded_for_those(tmp_path, arguments):
    loaded = loaded_by(*arguments, "--device", "cpu", "-o", tmp_path / "x.tsv")
    parts, pictures = (
        {"gpualign.jobs.output.shard_file", "json", "zipfile"},
        {"gpualign.jobs.plotting.figure", "gpualign.jobs.plotting.heatmap", "gpualign.jobs.plotting.output"},
    )
    assert among(loaded, parts | pictures) == []
    assert parts <= loaded_by(*arguments, "--device", "cpu", "-o", tmp_path / "x.tsv", "--shard", "1/2")


def test_a_command_does_not_load_the_others():
    commands = {f"gpualign.cli.commands.{name}" for name in COMMAND_NAMES}
    assert set(among(loaded_by("nw", "--help"), commands)) == {"gpualign.cli.commands.nw"}
    assert set(among(loaded_by("--help"), commands)) == commands


def test_a_command_that_there_is_none_of_suggests_one():
    done = gpualign("clustre", check=False)
    assert done.returncode == 2
    assert b"; did you mean cluster?" in done.stderr


def test_distinct_values(rng):
    for size in (0, 1, 2, 1000):
        values = rng.integers(-50, 50, size)
        np.testing.assert_array_equal(distinct(values), np.unique(values))


ENDING = """
import os, sys
class Told:
    def __init__(self, text):
        self.text = text
    def __del__(self, write=os.write):
        write(2, self.text)
%s
sys.told = Told(b"torn down;")
sys.argv = ["gpualign", *sys.argv[1:]]
from gpualign.cli import entry_point as start
register = start.atexit.register
def registered(end):
    start.atexit.register = register
    register(end)
    register(os.write, 2, b"called;")
start.atexit.register = registered
start.main()
"""


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("", b"called;"),
        ("sys.modules['mpi4py'] = os", b"called;torn down;"),
        ("import atexit; atexit.register(os.write, 2, b'the first;')", b"the first;torn down;"),
    ],
    ids=["alone", "with a library that has an end", "with a function that was there before"],
)
@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["nw", "no.fa", "-q"], 2)], ids=["good", "bad"])
def test_ends_without_taking_modules_apart(tmp_path, before, told, arguments, code):
    done = subprocess.run([sys.executable, "-c", ENDING % before, *arguments], capture_output=True, timeout=LIMIT, cwd=tmp_path)
    assert done.returncode == code
    assert done.stderr.endswith(told)
    assert (b"torn down" in done.stderr) == (b"torn down" in told)
    assert done.stdout.startswith(b"gpualign, version") == (code == 0)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no list of a process's threads")
@pytest.mark.parametrize(
    ("given", "threads"), [(None, 1), ("2", min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1))]
)
def test_blas_starts_no_threads_unless_asked_to(given, threads):
    set_variable = "os.environ.pop('OPENBLAS_NUM_THREADS', None)" if given is None else f"os.environ['OPENBLAS_NUM_THREADS'] = '{given}'"
    # A thread of ours that has ended may be listed for a moment yet.
    wait = f"[time.sleep(0.01) for _ in range(500) if len(os.listdir('/proc/self/task')) != {threads}]"
    count = f"atexit.register(lambda: ({wait}, print(len(os.listdir('/proc/self/task')), file=sys.stderr)))"
    code = f"import atexit, os, time\n{set_variable}\n{RUN.replace('sys.argv = ', f'{count}; sys.argv = ')}"
    libraries = run("import numpy; print(numpy.show_config(mode='dicts')['Build Dependencies']['blas']['name'])").stdout
    if "openblas" not in libraries:
        pytest.skip("NumPy was built with another BLAS")
    done = run(code, "nw", SEQUENCES, "-q", "--threads", "1", "-o", os.devnull, "--format", "tsv")
    assert int(done.stderr.splitlines()[0]) == threads


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of the address space is Linux's")
@pytest.mark.parametrize(
    ("kib", "command", "library"),
    [
        (400_000, "nw -q x.fa -o x.arrow", "pyarrow"),
        (400_000, "nw -q x.fa -o x.parquet", "pyarrow"),
        (200_000, "tree x.npy", "scipy"),
        (265_000, "plot x.npy -o x.png", "matplotlib"),
        (200_000, "cluster x.fa --edit --max-distance 1", "scipy"),
    ],
)
def test_a_limit_that_leaves_no_room_for_a_library(tmp_path, kib, command, library):
    """pyarrow would end the process, and scipy wait forever."""
    pytest.importorskip(library)
    (tmp_path / "x.fa").write_text(">a\nACGT\n>b\nACGA\n")
    np.save(tmp_path / "x.npy", np.zeros((2, 2)))
    (tmp_path / "x.ids.txt").write_text("a\nb\n")
    done = shell(f"ulimit -v {kib}; {GPUALIGN} {command}", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert f"gpualign: error: {library} needs " in done.stderr.decode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.fa", "x.ids.txt", "x.npy"]
