"""The site shows tables of outputs in columns, and its first page leads to every other one."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st
from places import ROOT

import gpualign


def _module(path):
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


columns = _module(ROOT / "docs" / "columns.py").columns


def test_a_table_between_other_lines():
    printed = "$ gpualign nw x.fa\nquery\ttarget\tscore\na\tlong name\t7\n...\nbcdefgh\ta\t-12\ngpualign nw: 3 sequences"
    shown = "$ gpualign nw x.fa\nquery    target     score\na        long name  7\n...\nbcdefgh  a          -12\ngpualign nw: 3 sequences"
    assert columns(printed) == shown


def test_a_first_column_without_a_title():
    assert columns("\ta\tbc\na\t0\t1\nbc\t1\t0") == "    a  bc\na   0  1\nbc  1  0"


def test_text_without_tabs_stays_as_it_is():
    assert columns("$ cat x  \n\n...\nyes") == "$ cat x  \n\n...\nyes"


@given(st.lists(st.lists(st.text("abc|.1", min_size=1, max_size=9), min_size=2, max_size=5), min_size=1, max_size=6))
def test_cells_begin_where_those_above_begin(rows):
    shown = [re.findall(r"\S+ *", line) for line in columns("\n".join("\t".join(row) for row in rows)).split("\n")]
    assert [[cell.rstrip() for cell in line] for line in shown] == rows
    starts = [[0, *accumulate(map(len, line[:-1]))] for line in shown]
    longest = max(starts, key=len)
    assert all(line == longest[: len(line)] for line in starts)
    assert all(cell.endswith("  ") for line in shown for cell in line[:-1])


def test_the_first_page_lists_every_page_once():
    text = (ROOT / "docs" / "contents.txt").read_text()
    listed = [name for block in re.findall(r"```\{toctree\}\n(?::[^\n]*\n)+\n(.*?)```", text, re.DOTALL) for name in block.split()]
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in (ROOT / "docs").rglob("*.md")} - {"start"}
    tasks = {page for page in pages if page.startswith("tasks/")}
    formats = {page for page in pages if page.startswith("formats/")} - {"formats/README"}
    assert sorted(name for name in listed if not name.startswith("/")) == sorted({*(pages - tasks - formats), "tasks/*"})


def test_pages_are_plain_markdown():
    """Sphinx's markup would be raw text where a page is read as a file."""
    pages = {page.name for page in (ROOT / "docs").rglob("*.md") if "```{" in page.read_text()}
    assert pages == {"api.md"}


def test_every_public_name_is_in_the_python_reference():
    text = (ROOT / "docs" / "api.md").read_text()
    named = set(re.findall(r"^\.\. auto\w+:: (\w+)", text, re.MULTILINE)) | set(re.findall(r"`gpualign\.([A-Z_]+)`", text))
    assert named == set(gpualign.__all__) - {"__version__"}
