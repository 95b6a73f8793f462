"""Made-up tables of cells with several chains, and their near pairs by plain loops."""

import itertools

import numpy as np
from hypothesis import strategies as st
from oracle import edit_distance

TITLES = ("sequence_id", "cell_id", "locus", "v_call", "junction_aa")
CALLS = ("V1*01", "V1*02", "V2*01", "V1*01,V2*01", "")
CHAIN = st.tuples(st.sampled_from(CALLS), st.sampled_from(("CAF", "CAS", "CASF", "CSAF", "CCCF")))
CHAINS = st.lists(CHAIN, max_size=3)
CELLS = st.lists(st.tuples(CHAINS, CHAINS, st.booleans()), min_size=1, max_size=7)


def hamming(one, other):
    return sum(a != b for a, b in zip(one, other, strict=True)) if len(one) == len(other) else 99


def edits(one, other):
    return edit_distance(*(np.frombuffer(text.encode(), np.uint8) for text in (one, other)))


def rows_of(cells, shuffler, prefix="c"):
    """Rows of a table in random order: (cell, locus, call, letters). Some cells have a chain of a third locus."""
    rows = []
    for k, (first, second, third) in enumerate(cells):
        for locus, chains in (("TRB", first), ("TRA", second), ("TRG", [("V1", "CAF")] if third else [])):
            rows += [(f"{prefix}{k}", locus, call and f"{locus}{call}".replace(",", f",{locus}"), text) for call, text in chains]
    shuffler.shuffle(rows)
    return rows


def write(path, rows):
    lines = [TITLES, *((f"r{number}", *row) for number, row in enumerate(rows))]
    path.write_text("".join("\t".join(cells) + "\n" for cells in lines))
    return path


def chains_of(rows):
    """{cell: (TRB chains, TRA chains)}, each chain (call, letters), for cells with both, in the order of their first chains of these
    loci."""
    cells = {}
    for cell, locus, call, text in rows:
        if locus != "TRG" and cell:
            cells.setdefault(cell, ([], []))[locus == "TRA"].append((call, text))
    return {cell: both for cell, both in cells.items() if all(both)}


def genes(call):
    return {name.split("*")[0] for name in call.split(",")} - {""}


def near_pairs(pairs, distance, limit, same, max_sum=None):
    """Rows of the output for pairs of items of `chains_of`, by plain loops."""
    lines = []
    for (one, chains), (other, others) in pairs:
        best = []
        for mine, theirs in zip(chains, others, strict=True):
            agreeing = [(a, b) for a, b in itertools.product(mine, theirs) if not same or genes(a[0]) & genes(b[0])]
            best.append(min((distance(a[1], b[1]) for a, b in agreeing), default=99))
        if max(best) <= limit and (max_sum is None or sum(best) <= max_sum):
            lines.append("\t".join(map(str, (one, other, sum(best), *best))))
    return lines
