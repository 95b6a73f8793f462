"""Tests are collected on a machine that lacks programs and packages which only some of them need, such as one that is lent with a GPU."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest
from places import ROOT

NEEDED = {"click", "hypothesis", "pytest", "pytest-xdist"}
"""What every test needs of the extra `test`."""

COLLECT = """
import sys
import pytest
for name in sys.argv[1:]:
    sys.modules[name] = None  # to import it is an error, as if it were not installed
sys.exit(pytest.main(["--collect-only", "-q", "-m", "gpu", "-p", "no:xdist", "-p", "no:cacheprovider"]))
"""


def named_by_the_extra():
    """Names of distributions, lower case and with hyphens."""
    extra = re.search(r"^test = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL).group(1)
    return {name.lower().replace("_", "-") for name in re.findall(r'^    "([\w-]+)', extra, re.MULTILINE)}


@pytest.mark.slow
def test_no_package_of_the_extra_is_needed_to_collect_tests_of_a_gpu():
    distributions = named_by_the_extra() - NEEDED | {"backports.zstd"}
    assert {"click-man", "pysam", "jinja2"} <= distributions
    blocked = {
        module
        for module, names in packages_distributions().items()
        if module.isidentifier() and distributions & {name.lower().replace("_", "-") for name in names}
    }
    done = subprocess.run([sys.executable, "-c", COLLECT, *blocked, "grimp"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(r"^\d+/\d+ tests collected", done.stdout, re.MULTILINE)
