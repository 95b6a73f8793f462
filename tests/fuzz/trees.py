"""Spellings of trees in Newick format: names, quotes, lengths, comments and blanks, each written from a tree that is known."""

from dataclasses import dataclass
from itertools import product

NAMES = (
    *("a", "A_b", "94", "a.b-c|d/e", "#1", "a*b", "é", "x\\y", "a\\", "\\'", "s@1", "p=q", "100%"),
    *("it's", "'94-A", "a'", "''", "'", "a''b", '"', 'a"b', '"a"', "a b", "a  b", "(A)1", "a,b", "a:b", "a;b", "[a]", "a[b]c"),
    *(">a", "a\tb", "1e5", "nan"),
)
"""34 names with everything that trees are known to trip over."""

QUOTES = ("needed", "single", "double", "bare")
LENGTHS = ("none", "1", "1.", ".5", "1e-05", "1E+2", " 0.25", "nan", "NaN", "-0.5")
COMMENTS = ("", "[&R] ", "[&U]", "[a comment; (with) signs]\n")
BLANKS = ("", " ", "\n")


@dataclass(frozen=True)
class Spelling:
    """text: of a file; names: of its leaves; lengths: of their branches."""

    text: str
    names: list[str]
    lengths: list[float]


def _quoted(name, how):
    """None where a name cannot be written so."""
    special = any(c in name for c in "()[],:;") or any(c.isspace() for c in name) or not name
    if how == "double":
        return '"' + name.replace('"', '""') + '"'
    if how == "bare":
        # A quote begins a quoted name, unless it is never closed; blanks inside are the name's, one by one.
        odd = any(c in name for c in "()[],:;\t") or "  " in name or name[0] in "'\""
        return None if odd else name
    if how == "single" or special or name[0] in "'\"":
        return "'" + name.replace("'", "''") + "'"
    return name


def _length(text):
    number = float(text)
    return 0.0 if number != number else number


def spellings():
    """Trees of three leaves, of which one has each of the names."""
    for name, how, length in product(NAMES, QUOTES, LENGTHS):
        own = _quoted(name, how)
        if own is None:
            continue
        behind = "" if length == "none" else f":{length}"
        text = f"({own}{behind},(second{behind},third{behind}){behind});"
        value = 1.0 if length == "none" else _length(length)
        if length in ("nan", "NaN"):
            value = 1.0  # no branch has a length
        yield Spelling(text, [name, "second", "third"], [value] * 3)
    for comment, blank, name in product(COMMENTS, BLANKS, ("a", "A b", "it's")):
        own = _quoted(name, "needed")
        parts = [comment, "(", own, blank, ":", blank, "1", comment, ",", blank, "(b", comment, ",", "c", blank, ")inner", ":2", ")", blank]
        yield Spelling("".join(parts) + ";" + blank, [name, "b", "c"], [1.0, 0.0, 0.0])
        yield Spelling("".join(parts), [name, "b", "c"], [1.0, 0.0, 0.0])
