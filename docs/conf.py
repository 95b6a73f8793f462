"""The documentation as a site: `pip install '.[docs]'`, then `sphinx-build -c docs . site`.

The source folder is the root, so that links to benchmarks/ and CHANGELOG.md are the same on the site and beside the code.
"""

import re
import shutil
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import gpualign

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tests" / "helpers"))
sys.path.insert(0, str(HERE))
from columns import columns  # noqa: E402
from examples import examples  # noqa: E402  (the parser of the tests, so that both run the same commands)

project = "gpualign"
author = "The gpualign developers"
copyright = "2026, The gpualign developers, MIT license"
release = version = gpualign.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
default_role = "code"  # of `names` in docstrings
python_maximum_signature_line_length = 80
nitpick_ignore_regex = [("py:.*", ".*")]  # types of NumPy and of modules that are not public have no page here
root_doc = "docs/start"
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
myst_heading_anchors = 3  # targets of links such as evalues.md#which-e-value-to-ask-for
highlight_language = "text"  # of indented blocks: commands and tables
html_theme = "furo"
html_title = f"gpualign {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = html_logo = "static/icon.svg"
html_copy_source = False
linkcheck_timeout = 20

ADDRESSES = dict(line.split(", ", 1) for line in metadata("gpualign").get_all("Project-URL") or [])
"""[project.urls] of pyproject.toml, the one place for the address of the source."""
if "Repository" in ADDRESSES:
    html_theme_options = {"source_repository": ADDRESSES["Repository"], "source_branch": "main", "source_directory": ""}

PICTURES = HERE / "pictures"
"""Made by the build and not kept; pages name them as pictures/NAME, tasks as ../pictures/NAME."""


DRAWN = ("gallery.md", "tasks/receptors.md", "tasks/trees.md")
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


CONTENTS = {root_doc: "contents.txt", "docs/formats/README": "formats/contents.txt", "docs/speed": "results.txt"}
"""Tables of contents of the site, by the page that each one ends."""


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Adds the tables of contents, which would be raw text where a page is read as a file."""
    if page in CONTENTS:
        source[0] += "\n" + (HERE / CONTENTS[page]).read_text()


def show_columns(app: Sphinx, page: nodes.document) -> None:
    """Lines up what commands print: pages have its tabs."""
    for block in page.findall(nodes.literal_block):
        if "\t" in (text := block.astext()):
            block.rawsource = columns(text)
            block[:] = [nodes.Text(block.rawsource)]


def frame_pictures(app: Sphinx, page: nodes.document) -> None:
    """Makes figures, which lead to the whole picture, of the pictures that commands draw. A paragraph right below one is its caption."""
    for paragraph in list(page.findall(nodes.paragraph)):
        picture = paragraph[0] if len(paragraph) == 1 else None
        if isinstance(picture, nodes.image) and "pictures/" in picture["uri"]:
            below = paragraph.next_node(descend=False, siblings=True)
            picture["width"] = "100%"  # only pictures of a set width lead to the whole one; site.css sets it back
            figure = nodes.figure("", picture)
            if isinstance(below, nodes.paragraph):
                below.parent.remove(below)
                figure += nodes.caption("", "", *below.children)
            page.set_id(figure)
            paragraph.replace_self(figure)


def list_arguments(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Makes the lines `argument: meaning` of a docstring items of a list, and the values that they quote code."""
    shown: list[str] = []
    for line in lines:
        if not re.match(r"\s*(>>>|\.\.\.)", line):
            line = re.sub(r'`[^`]*`|"[^"]+"', lambda found: f"`{found[0].strip('`')}`", line)
        if argument := re.match(r"((?:\w+, )*\w+): (?=\S)", line):
            if shown and shown[-1] and not shown[-1].startswith((" ", "* ")):
                shown.append("")
            shown.append(f"* **{argument[1]}**: {line[argument.end() :]}")
        elif line.startswith("    ") and shown and shown[-1].startswith(("* ", "  ")):
            shown.append(f"  {line.strip()}")
        else:
            shown.append(line)
    lines[:] = shown


def lead_to_start(app: Sphinx, error: Exception | None) -> None:
    """The first page of a site is looked for in its root."""
    if app.builder.format == "html" and error is None:
        Path(app.outdir, "index.html").write_text('<!doctype html><meta http-equiv="refresh" content="0; url=docs/start.html">\n')


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", draw)
    app.connect("source-read", add_contents)
    app.connect("doctree-read", show_columns)
    app.connect("doctree-read", frame_pictures)
    app.connect("autodoc-process-docstring", list_arguments)
    app.connect("build-finished", lead_to_start)
