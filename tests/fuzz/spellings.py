"""Tables, alignments, VCF and matrices in every spelling, as the modules beside this one write them: right distances, or a refusal."""

from itertools import islice

import numpy as np

from fuzz import alignments, ambiguous, matrices, tables, variants
from fuzz.case import Case
from fuzz.reference import Refuse

_MOST = 3000
"""Spellings of a generator among which one is chosen."""


def make(rng):
    """The case of one spelling."""
    numbers = np.random.default_rng(rng.getrandbits(32))
    return rng.choice([_matrix, _alignment, _variants, _table, _table, _table])(rng, numbers)


def _table(rng, numbers):
    family = rng.choice(list(ambiguous.FAMILIES))
    one = _any_of(rng, ambiguous.FAMILIES[family](numbers))

    def judge(output):
        if one.calls is None:
            raise Refuse(f"{one.name} can be read in two ways")
        header, *rows = (line.split("\t") for line in output.decode().splitlines())
        found = np.array([row[1:] for row in rows], dtype=float)
        if header[1:] == one.ids and np.array_equal(found, tables.distances(one.calls), equal_nan=True):
            return ""
        return f"{one.name}: {header[1:]} {found.tolist()}, expected {tables.distances(one.calls).tolist()}"

    good = one.calls is not None
    return Case(
        f"spellings of tables: {family}", ["dist", "x", *one.words, "--device", "cpu"], {"x": one.text.encode()}, judge=judge, good=good
    )


def _alignment(rng, numbers):
    name, rows, text = rng.choice(list(alignments.spellings(numbers)))
    end = rng.choice(["\n", "\r\n"])

    def judge(output):
        header, *lines = (line.split("\t") for line in output.decode().splitlines())
        expected = [[alignments.distance(one, other) for _, other in rows] for _, one in rows]
        found = [[float(cell) for cell in line[1:]] for line in lines]
        return "" if header[1:] == [one for one, _ in rows] and found == expected else f"{name}: {found}, expected {expected}"

    files = {"x": text.replace("\n", end).encode()}
    return Case("spellings of alignments", ["dist", "x", "--device", "cpu"], files, judge=judge, good=True)


def _variants(rng, numbers):
    one = rng.choice(list(variants.spellings(numbers)))

    def judge(output):
        if one.calls is None:
            raise Refuse(f"VCF, {one.name}: it has to be refused")
        header, *rows = (line.split("\t") for line in output.decode().splitlines())
        found, expected = np.array([row[1:] for row in rows], dtype=float), tables.distances(one.calls)
        if header[1:] == one.ids and np.array_equal(found, expected, equal_nan=True):
            return ""
        return f"VCF, {one.name}: {found.tolist()}, expected {expected.tolist()}"

    good = one.calls is not None
    return Case("spellings of VCF", ["dist", "x.vcf", *one.words, "--device", "cpu"], {"x.vcf": one.text.encode()}, judge=judge, good=good)


def _matrix(rng, numbers):
    values = matrices.matrix(int(numbers.integers(1 << 30)), 4, rng.random() < 0.5)
    one = _any_of(rng, matrices.spellings(values))

    def judge(output):
        ids = one.ids or [str(k) for k in range(1, len(values) + 1)]
        _, *rows = (line.split("\t") for line in output.decode().splitlines())
        known = {frozenset((a, b)): one.values[i, j] for i, a in enumerate(ids) for j, b in enumerate(ids) if i < j}
        found = {frozenset(row[:2]): float(row[2]) for row in rows}
        if len(found) != len(ids) - 1 or any(abs(known.get(pair, np.nan) - value) > 1e-6 for pair, value in found.items()):
            return f"{one.name}: {found}"
        shortest = _spanning(one.values)
        return "" if abs(sum(found.values()) - shortest) < 1e-5 else f"{one.name}: {found}, not the shortest tree of {shortest:g}"

    return Case(
        "spellings of matrices", ["tree", "x", "--method", "mst", "-o", "links.tsv"], {"x": one.text}, None, "links.tsv", judge, one.certain
    )


def _spanning(values):
    """The length of a minimum spanning tree (Prim)."""
    inside, length = {0}, 0.0
    while len(inside) < len(values):
        nearest, node = min((values[i, j], j) for i in inside for j in range(len(values)) if j not in inside)
        inside.add(node)
        length += nearest
    return length


def _any_of(rng, spellings):
    some = list(islice(spellings, rng.randrange(_MOST) + 1))
    return some[-1] if rng.random() < 0.5 else rng.choice(some)
