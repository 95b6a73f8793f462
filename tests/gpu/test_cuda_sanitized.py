"""The CUDA kernels on the host once more, under AddressSanitizer and UndefinedBehaviorSanitizer."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import LIMIT
from places import ROOT

# A few of the cases, every source file, both modes and every way back among them.
CASES = " or ".join(
    f"({case})"
    for case in (
        "global and linear and 16 and THREADS",
        "global and affine and 16 and CHAIN",
        "local and protein and THREADS",
        "test_paths and default and (THREADS and FREE or CHAIN and PENALISED)",
        "in_slices and PENALISED",
        "steps and mismatch and SLICES",
        "global and edit",
        "within_a_distance and 5",
        "coverage and above and 0.9375",
        "depend_on_the_lengths and 2.5",
        "bands and (64 or memory)",
        "too_short and 7",
    )
)


def library(name):
    found = subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    return found if Path(found).is_absolute() else None


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None or sys.platform != "linux", reason="needs g++ on Linux")
def test_no_kernel_reads_or_writes_out_of_bounds():
    runtimes = [library("libasan.so"), library("libubsan.so")]
    if None in runtimes:
        pytest.skip("this compiler has no sanitizer runtimes")
    environment = {
        **os.environ,
        "LD_PRELOAD": " ".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0",
        "GPUALIGN_TEST_SANITIZE": "address,undefined",
    }
    for variable in [v for v in environment if v.startswith("PYTEST_")]:
        del environment[variable]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    command += ["tests/alignment/test_cuda_kernels.py", "tests/alignment/test_cuda_paths.py", "tests/near_pairs/test_cuda_near.py"]
    done = subprocess.run(
        [*command, "-m", "not gpu", "-k", CASES], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout
    assert "ERROR: AddressSanitizer" not in done.stderr
