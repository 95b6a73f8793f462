"""`python tests/fuzz --help`."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:1] = [str(TESTS), str(TESTS / "helpers")]

if __name__ == "__main__":
    from fuzz.runner import main

    sys.exit(main())
