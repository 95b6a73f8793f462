"""The CUDA kernels on the host once more, under AddressSanitizer and UndefinedBehaviorSanitizer, and under ThreadSanitizer."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import LIMIT
from places import ROOT

BOUNDS = {
    "global and linear and 16 and one_thread": 1,
    "chains_of_several_strips and global and affine and 16 and 12": 1,
    "local and protein and affine and one_thread": 1,
    "test_paths and default and (one_thread and FREE or several_strips and 12 and PENALISED)": 2,
    "in_slices and PENALISED": 1,
    "steps and mismatch and sliced": 1,
    "global and edit and chain_edit and not protein": 1,
    "within_a_distance and 5": 2,
    "coverage and above and 0.9375": 1,
    "depend_on_the_lengths and 2.5": 2,
    "bands and (64 or memory)": 2,
    "too_short and 7-3": 1,
    "every_parity_of_bands and host": 1,
    "very_different_lengths": 1,
}
"""A few of the cases, every source file of alignments and near pairs, both modes and every way back among them: expressions of pytest's -k,
and how many tests each selects at least, so that a test that gets another name is missed."""

BOUNDS_FILES = [
    *(f"tests/alignment/test_cuda_{name}.py" for name in ("kernels", "paths", "listed_pairs", "sliced_bands")),
    "tests/near_pairs/test_cuda_near.py",
]

FLAGS = {"few_pairs_of_several_strips": 2}
"""Blocks that hand each other carries by flags."""


def library(name):
    """Return the path of a runtime of g++, or None if it has none."""
    found = subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    return found if Path(found).is_absolute() else None


def selects(expression, name):
    """Return whether an expression of pytest's -k, made of words alone, selects a test."""
    words = re.sub(r"[\w.-]+", lambda m: m[0] if m[0] in ("and", "or", "not") else str(m[0].lower() in name.lower()), expression)
    return eval(words)


def run_sanitized(sanitizers, libraries, options, files, least):
    """Run the tests that the expressions select with kernels under sanitizers. least: how many tests each expression selects at least"""
    runtimes = [library(name) for name in libraries]
    if None in runtimes:
        pytest.skip("this compiler has no sanitizer runtimes")
    environment = {**os.environ, "LD_PRELOAD": " ".join(runtimes), "GPUALIGN_TEST_SANITIZE": sanitizers, **options}
    for variable in [v for v in environment if v.startswith("PYTEST_")]:
        del environment[variable]
    if subprocess.run([sys.executable, "-c", ""], env=environment, capture_output=True, check=False).returncode:
        pytest.skip("this system does not let Python run with the sanitizers")
    command = [sys.executable, "-m", "pytest", "-q", "-rp", "--capture=sys", "-p", "no:xdist", "-p", "no:cacheprovider"]
    command += [*files, "-m", "not gpu", "-k", " or ".join(f"({expression})" for expression in least)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Sanitizer" not in done.stderr
    passed = [line.removeprefix("PASSED ") for line in done.stdout.splitlines() if line.startswith("PASSED ")]
    for expression, count in least.items():
        assert sum(selects(expression, name) for name in passed) >= count, expression


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("g++") is None or sys.platform != "linux", reason="needs g++ on Linux"),
]


def test_no_kernel_reads_or_writes_out_of_bounds():
    options = {"ASAN_OPTIONS": "detect_leaks=0"}
    run_sanitized("address,undefined", ["libasan.so", "libubsan.so"], options, BOUNDS_FILES, BOUNDS)


def test_flags_order_what_blocks_hand_down():
    """Blocks at the same time, under ThreadSanitizer: only a flag that is released and acquired makes one block's carries another's."""
    run_sanitized("thread", ["libtsan.so"], {"TSAN_OPTIONS": "halt_on_error=1"}, ["tests/gpu/test_blocks_at_once.py"], FLAGS)
