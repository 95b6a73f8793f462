"""The documentation as a site: `pip install '.[docs]'`, then `sphinx-build -c docs . site`.

The source folder is the root, so that links to benchmarks/ and CHANGELOG.md are the same on the site and beside the code.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import gpualign

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tests" / "helpers"))
from examples import examples  # noqa: E402  (the parser of the tests, so that both run the same commands)

project = "gpualign"
author = "The gpualign developers"
copyright = "2026, The gpualign developers"
release = version = gpualign.__version__
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "benchmarks/**",
    "data/README.md",
    "packaging/README.md",
    "tests/README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
]
exclude_patterns = [".*", "build", "dist", "site", "docs/pictures/*.txt"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3  # targets of links such as search.md#e-values
highlight_language = "text"  # of indented blocks: commands and tables
html_theme = "furo"
html_title = f"gpualign {release}"
html_copy_source = False
linkcheck_timeout = 20

PICTURES = HERE / "pictures"
"""Made by the build and not kept; pages name them as pictures/NAME, tasks as ../pictures/NAME."""


DRAWN = ("gallery.md", "tasks/receptors.md")
"""Pages that show pictures."""


def draw(app: Sphinx) -> None:
    """Runs the commands of pages, in a folder that has data/, so that their pictures are what these commands draw."""
    if app.builder.format != "html":
        return
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir()
    data = PICTURES / "data"
    data.symlink_to(ROOT / "data")
    for page in DRAWN:
        for command, _ in examples(HERE / page):
            done = subprocess.run(["bash", "-c", f"set -eo pipefail; {command}"], cwd=PICTURES, capture_output=True, text=True)
            if done.returncode:
                raise ExtensionError(f"{page}: {command} ended with {done.returncode}: {done.stderr}")
    data.unlink()


def lead_to_index(app: Sphinx, error: Exception | None) -> None:
    """The first page of a site is looked for in its root."""
    if app.builder.format == "html" and error is None:
        Path(app.outdir, "index.html").write_text('<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html">\n')


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", draw)
    app.connect("build-finished", lead_to_index)
