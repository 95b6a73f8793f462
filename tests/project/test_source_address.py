"""The address of the source: [project.urls] of pyproject.toml names it as Repository, and other places have the same."""

import re
from importlib.metadata import metadata

import pytest
from places import ROOT

ADDRESS = dict(line.split(", ", 1) for line in metadata("gpualign").get_all("Project-URL") or []).get("Repository")
PLACES = ["README.md", "CITATION.cff", "packaging/README.md", "packaging/bioconda/meta.yaml"]


def is_named(address, text):
    """Return whether a text has the address; without one, whether it has no other address of gpualign."""
    return address in text if address else re.search(r"https?://[^\s<>()\"]*gpualign", text) is None


@pytest.mark.parametrize("place", PLACES)
def test_users_find_the_source(place):
    assert is_named(ADDRESS, (ROOT / place).read_text())


def test_an_address_that_is_missing_or_made_up_is_found():
    assert is_named("https://example.org/gpualign", "Source: <https://example.org/gpualign>")
    assert not is_named("https://example.org/gpualign", "Source: <https://example.com/gpualign>")
    assert is_named(None, "In the source folder: pip install .")
    assert not is_named(None, "git clone https://example.com/some/gpualign")
