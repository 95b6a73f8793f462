"""Checks that tests detect mistakes of one line: python tests/mutants.py [WORD...]

Each mutant in tests/helpers/mutant_list.py, or each whose title contains all of the words, is applied to a copy of the source tree, and the
tests named in its entry are run there. A mutant is killed if they fail. If one survives without a reason in the list, a test is missing,
and the exit code is 1. Extensions are those of the installation, so only tests that compile C++ themselves can kill mutants of C++ files.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from mutant_list import MUTANTS, Mutant  # noqa: E402

LIMIT = 300  # seconds; a mutant that hangs is killed too
COPIED = [
    "pyproject.toml",
    ".ci",
    "api",
    "cli",
    "papers",
    "jobs",
    "core",
    "cpu",
    "cuda_src",
    "gpu",
    "tests",
    "packaging",
    "benchmarks",
    "data",
]
WITHOUT_EDITABLE = "import sys\nsys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != 'ScikitBuildRedirectingFinder']\n"


def copy_tree(folder: Path) -> dict[str, str]:
    """Copy the sources to a folder, and return the environment in which Python finds gpualign there."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    for stub in (stub for stub in folder.rglob("_*.pyi") if stub.stem != "__init__"):
        spec = find_spec(".".join(["gpualign", *stub.relative_to(folder).with_suffix("").parts]))
        assert spec is not None
        assert spec.origin is not None
        shutil.copy(spec.origin, stub.parent)
    (folder / "import").mkdir()
    subprocess.run([folder / ".ci" / "mapped_tree", folder / "import"], check=True)
    (folder / "import" / "sitecustomize.py").write_text(WITHOUT_EDITABLE)
    return {**os.environ, "PYTHONPATH": str(folder / "import"), "GPUALIGN_TEST_DATA": str(folder / "none")}


def is_killed(mutant: Mutant, folder: Path, environment: dict[str, str]) -> bool:
    """Return whether the mutant's tests fail or crash in the copy of the tree. Restores the copy."""
    path = folder / mutant.file
    text = path.read_text()
    path.write_text(mutant.applied_to(text))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--random-seed", "1", *shlex.split(mutant.tests)]
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(text)
    if done.returncode < 0:  # the mutant crashed the process
        return True
    if done.returncode not in (0, 1):
        raise SystemExit(f"{mutant.title}: {mutant.tests} cannot be run\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 1


def main(words: list[str]) -> int:
    """Print a line for each mutant; return 1 if one survives without a reason."""
    survivors = 0
    with tempfile.TemporaryDirectory() as name:
        environment = copy_tree(Path(name))
        for mutant in (m for m in MUTANTS if all(word in m.title for word in words)):
            start = time.monotonic()
            killed = is_killed(mutant, Path(name), environment)
            survivors += not killed and not mutant.survives
            verdict = "killed" if killed else f"SURVIVES: {mutant.survives or 'no test sees it'}"
            print(f"{time.monotonic() - start:4.0f} s  {mutant.title}: {verdict}", flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
