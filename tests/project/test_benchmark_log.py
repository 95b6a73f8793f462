"""Each entry of the benchmark log has an id of its own, and each id that a file cites is that of an entry."""

import re
from collections import Counter

import pytest
from places import ROOT

FOLDERS = ("api", "benchmarks", "cli", "core", "cpu", "cuda_src", "docs", "gpu", "jobs", "papers", "tests")
LOG = ROOT / "benchmarks" / "log"
TEXT = {".py", ".cpp", ".hpp", ".cu", ".cuh", ".md"}
FILES = sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in TEXT) + sorted(ROOT.glob("*.md"))
LETTERS = dict(re.findall(r"^\| (\w) \| \[.*\]\((\w+\.md)\) \|$", (LOG / "README.md").read_text(), re.MULTILINE))
ID = re.compile(rf"\b[{''.join(LETTERS)}]-\d{{3}}\b")


def entries_and_the_rest(page: str) -> tuple[list[str], list[str]]:
    """Return the ids of a page of the log, and the first lines of its entries without one.

    In a table of entries, a row without an id belongs to the row above. A table without a column of ids belongs to the paragraph above,
    which is an entry, or else each of its rows begins with the ids that it sums up, or says what a word means. A paragraph that begins with
    "*Learnt:*" belongs to the entry above, which is a paragraph as well. A paragraph below a heading, or above a table or a list of
    entries, may introduce them.
    """
    ids, without, has_owner = [], [], False
    blocks = page.strip().split("\n\n")
    for before, block, following in zip(["", *blocks], blocks, [*blocks[1:], ""], strict=False):
        lines, starts = block.split("\n"), list[str]()
        if block.startswith("| id |"):
            starts = [line for index, line in enumerate(lines[2:]) if index == 0 or not line.startswith("| | ")]
        elif block.startswith("| entry |"):
            without += [line[:80] for line in lines[2:] if not re.match(rf"\| {ID.pattern}(, {ID.pattern})* \|", line)]
        elif block.startswith(("#", "| word |")):
            has_owner = False
        elif block.startswith(("|", "*Learnt:*")):
            without += [] if has_owner else [lines[0][:80]]
        else:
            has_owner = re.match(rf"{ID.pattern}: ", block) is not None
            introduces = following.startswith(("|", "- ")) or (before.startswith("#") and re.match(rf"{ID.pattern}: ", following))
            starts = [] if introduces and not has_owner and not block.startswith("- ") else re.split(r"\n(?=- )", block)
        for start in starts:
            found = re.match(rf"(?:\| |- )?({ID.pattern})(?: \||:) ", start)
            ids.append(found[1]) if found else without.append(start[:80])
        has_owner = has_owner and not block.startswith(("| id |", "| entry |"))
    return ids, without


@pytest.mark.parametrize(("letter", "name"), LETTERS.items())
def test_entries_of_a_page_have_ids_of_its_letter_each_once(letter, name):
    ids, without = entries_and_the_rest((LOG / name).read_text())
    assert without == []
    assert {each[0] for each in ids} == {letter}
    assert [each for each, count in Counter(ids).items() if count > 1] == []


def test_every_page_has_a_letter():
    assert sorted(LETTERS.values()) == sorted(p.name for p in LOG.glob("*.md") if p.name != "README.md")


def test_every_id_that_a_file_cites_is_that_of_an_entry():
    known = {each for name in LETTERS.values() for each in entries_and_the_rest((LOG / name).read_text())[0]}
    cited = {(str(p.relative_to(ROOT)), each) for p in FILES for each in ID.findall(p.read_text())}
    assert {place for place, each in cited if each in known} >= {"cpu/alignment/src/pairs.cpp", "gpu/near_pairs/kernels.py"}
    assert sorted(place for place in cited if place[1] not in known) == []


def test_comments_cite_the_log_by_id():
    sources = [p for p in FILES if p.suffix != ".md" and p.name != "test_benchmark_log.py"]
    assert [str(p) for p in sources if re.search(rf"benchmarks/log(?!: {ID.pattern})", p.read_text())] == []
    assert [str(p) for p in FILES if p.name != "test_benchmark_log.py" and "LOG.md" in p.read_text().replace("CHANGELOG.md", "")] == []


@pytest.mark.parametrize(
    ("page", "without"),
    [
        ("# Title\n\nC-001: a\nb\n", []),
        ("# Title\n\nHow.\n\n| id | a |\n|---|---|\n| C-001 | b |\n| C-002 | b |", []),
        ("How.\n\n- C-001: a\n  b\n- C-002: c", []),
        ("# Title\n\nNo id\n", ["No id"]),
        ("| id | a |\n|---|---|\n| C-001 | b |\n| no id |", ["| no id |"]),
        ("How.\n\n- C-001: a\n- no id", ["- no id"]),
        ("| id | a |\n|---|---|\n| C-001 | b |\n| | c |", []),
        ("| id | a |\n|---|---|\n| | b |\n| C-001 | c |", ["| | b |"]),
        ("C-001: How.\n\n| a | b |\n|---|---|\n| 1 | 2 |", []),
        ("How.\n\n| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |"]),
        ("C-001: a\n\n| b | c |\n|---|---|\n| 1 | 2 |\n\n| d |\n|---|\n| 1 |\n\nC-002: d", []),
        ("# Title\n\n| b | c |\n|---|---|\n| 1 | 2 |", ["| b | c |"]),
        ("C-001: a\n\n*Learnt:* b\n\n| c |\n|---|\n| 1 |\n\n*Learnt:* d", []),
        ("# Title\n\nHow.\n\n| word | a |\n|---|---|\n| b | c |", []),
        ("# Title\n\n*Learnt:* b", ["*Learnt:* b"]),
        ("C-001: a\n\n# Title\n\n*Learnt:* b", ["*Learnt:* b"]),
        ("How.\n\n| id | a |\n|---|---|\n| C-001 | b |\n\n*Learnt:* c", ["*Learnt:* c"]),
        ("# Title\n\nHow.\n\nC-001: a\n\nC-002: b", []),
        ("# Title\n\nC-001: a\n\nNo id\n\nC-002: b", ["No id"]),
        ("How.\n\n| entry | a |\n|---|---|\n| C-001, C-002 | 2 |\n| one | 2 |", ["| one | 2 |"]),
    ],
)
def test_an_entry_without_an_id_is_found(page, without):
    assert entries_and_the_rest(page)[1] == without
