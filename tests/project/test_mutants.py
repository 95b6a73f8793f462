"""The list of mutants fits the sources; tests/mutants.py looks which of them the tests see."""

import ast

import pytest
from mutant_list import MUTANTS
from places import ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.title)
def test_a_mutant_can_be_made(mutant):
    path = ROOT / mutant.file
    changed = mutant.applied_to(path.read_text())
    assert changed != path.read_text()
    if path.suffix == ".py":
        ast.parse(changed)
    assert all((ROOT / word.partition("::")[0]).exists() for word in mutant.tests.split() if word.startswith("tests/"))


def test_titles_differ():
    assert len({mutant.title for mutant in MUTANTS}) == len(MUTANTS)
