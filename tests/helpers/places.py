"""Folders of the source tree, by name: a test file may then lie in any folder of `tests/`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"
DATA = ROOT / "data"
