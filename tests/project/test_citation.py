"""CITATION.cff, --citation, the page about citing and the Galaxy tools say the same."""

import re
import textwrap
from xml.etree import ElementTree

import pytest
from command import gpualign
from places import ROOT

from gpualign import __version__

yaml = pytest.importorskip("yaml", reason="needs PyYAML")


@pytest.fixture(scope="module")
def printed():
    return gpualign("--citation").stdout.decode()


@pytest.fixture(scope="module")
def cff():
    return yaml.safe_load((ROOT / "CITATION.cff").read_text())


def entries(text):
    """(kind, fields) of each entry of BibTeX."""
    for kind, body in re.findall(r"^@(\w+)\{\w+,\n(.*?)\n\}$", text, re.MULTILINE | re.DOTALL):
        yield kind, dict(re.findall(r"^  (\w+) *= \{(.*)\},?$", body, re.MULTILINE))


def as_bibtex(work):
    """A reference of CITATION.cff as kind and fields of BibTeX."""
    fields = {
        "author": " and ".join(
            f"{{{one['name']}}}" if "name" in one else f"{one['family-names']}, {one['given-names']}" for one in work["authors"]
        ),
        "title": work["title"],
        "version": work.get("version"),
        "journal": work.get("journal"),
        "booktitle": work.get("collection-title"),
        "year": work.get("year"),
        "volume": work.get("volume"),
        "number": work.get("issue"),
        "pages": f"{work['start']}--{work['end']}" if "start" in work else None,
        "doi": work.get("doi"),
        "note": work.get("notes"),
    }
    kinds = {"conference-paper": "inproceedings", "generic": "misc"}
    return kinds.get(work["type"], work["type"]), {name: str(value) for name, value in fields.items() if value is not None}


def test_the_same_works_in_both(printed, cff):
    assert list(entries(printed)) == [as_bibtex(work) for work in (cff["preferred-citation"], *cff["references"])]
    assert len(cff["references"]) == 3
    assert cff["version"] == __version__


def test_the_file_cites_what_it_describes(cff):
    cited = cff["preferred-citation"]
    assert {name: cited[name] for name in ("type", "title", "authors", "version")} == {name: cff[name] for name in cited if name != "year"}


def test_the_page_and_the_galaxy_tools_cite_it_too(printed):
    macros = ElementTree.parse(ROOT / "packaging" / "galaxy" / "macros.xml")
    galaxy = macros.findtext(".//citation[@type='bibtex']").replace("@TOOL_VERSION@", __version__)
    page = (ROOT / "docs" / "citing.md").read_text()
    shown = textwrap.dedent(re.search(r"^    @software.*?^    \}$", page, re.MULTILINE | re.DOTALL)[0])
    assert list(entries(shown)) == list(entries(galaxy)) == list(entries(printed))[:1]


def test_the_text_names_each_work(printed, cff):
    text = " ".join(printed.partition("BibTeX:")[0].split())
    for work in (cff["preferred-citation"], *cff["references"]):
        assert work["title"] in text
        people = [one.get("name") or one["family-names"] for one in work["authors"]]
        assert all(name in text for name in people)
        assert str(work.get("doi", "")) in text
        assert f"({work['year']})" in text
    assert f"Version {__version__}." in text
