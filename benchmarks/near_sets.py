"""Sets of sequences with near pairs, made from a seed: receptors, reads of amplicons, families of genes and of proteins.

python benchmarks/near_sets.py cdr3 100000 --seed 1 > cdr3.fasta
python benchmarks/near_sets.py reads 100000 --length 100 > reads.fasta
python benchmarks/near_sets.py genes 10000 --founders 16s.fasta > genes.fasta
python benchmarks/near_sets.py partial-genes 10000 --founders 16s.fasta > genes.fasta
python benchmarks/near_sets.py proteins 10000 --founders proteins.fasta > proteins.fasta
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from common import load, read_raw

# What V, D and J genes of the human T cell receptor's beta chain leave at the ends and in the middle of a CDR3, and how often.
_V_ENDS = {
    **{"CASSL": 22, "CASSP": 7, "CASSQ": 11, "CASSE": 8, "CASSF": 5, "CASSY": 9, "CASSD": 5, "CASSV": 4, "CASSI": 3, "CASS": 18},
    **{"CAS": 9, "CSAR": 4, "CSA": 2, "CAISE": 1, "CAWS": 1, "CATS": 1, "CASR": 1},
}
_D_PARTS = {
    **{"GTGG": 4, "GQG": 6, "GQ": 5, "RG": 7, "GG": 12, "TGG": 4, "TSG": 6, "SGG": 6, "GLAG": 5, "LAG": 4, "RTSG": 4, "G": 14},
    **{"D": 5, "A": 4, "T": 4, "": 18},
}
_J_ENDS = {
    **{"NTEAFF": 14, "NYGYTF": 7, "SGNTIYF": 4, "TNEKLFF": 6, "SNQPQHF": 8, "SYNSPLHF": 3, "SYNEQFF": 16, "NTGELFF": 11},
    **{"STDTQYF": 10, "SKNIQYF": 2, "QETQYF": 12, "SGANVLTF": 2, "SYEQYF": 17},
}
_INSERTED = {
    **{"G": 14, "R": 10, "L": 8, "P": 8, "S": 9, "A": 6, "T": 7, "V": 6, "D": 5, "E": 5},
    **{"Q": 4, "W": 3, "N": 4, "K": 3, "H": 2, "F": 2, "Y": 2, "I": 2, "M": 1, "C": 1},
}

_BASES = np.frombuffer(b"ACGT", np.uint8)
_RESIDUES = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)

# Of families with fragments: letters, and the rates of edits of a branch, one of which is drawn for each record.
_FAMILIES = {"partial-genes": (_BASES, (0.003, 0.01, 0.02, 0.04)), "proteins": (_RESIDUES, (0.01, 0.02, 0.05, 0.1))}
_SHORTEST, _LONGEST = 50, 2000  # letters of their records


def _drawn(rng: np.random.Generator, weights: dict[str, int], count: int) -> list[str]:
    shares = np.array(list(weights.values()), float)
    return np.array(list(weights), dtype=object)[rng.choice(len(weights), count, p=shares / shares.sum())].tolist()


def cdr3(count: int, seed: int) -> list[str]:
    """
    Distinct amino acid sequences like CDR3s of T cell receptors, most of 12 to 18 letters.

    A V end, inserted letters, a part of a D gene, inserted letters, a J end that has lost up to three letters.
    """
    rng = np.random.default_rng([seed, 3])
    found: dict[str, None] = {}
    while len(found) < count:
        more = count - len(found) + 1000
        letters = _drawn(rng, _INSERTED, 8 * more)
        first, second = rng.binomial(5, 0.36, more).tolist(), rng.binomial(6, 0.30, more).tolist()
        lost = rng.binomial(4, 0.33, more).tolist()
        parts = zip(_drawn(rng, _V_ENDS, more), _drawn(rng, _D_PARTS, more), _drawn(rng, _J_ENDS, more), first, second, lost, strict=True)
        place = 0
        for v, d, j, before, after, cut in parts:
            inserted = "".join(letters[place : place + before]), "".join(letters[place + before : place + before + after])
            place = (place + before + after) % (8 * more - 11)
            found[v + inserted[0] + d + inserted[1] + j[cut:]] = None
    return list(found)[:count]


def repeated(strings: list[str], count: int, seed: int) -> list[str]:
    """Records that repeat the strings: a few very often, most once, as clones in a sample do."""
    rng = np.random.default_rng([seed, 4])
    clones = (rng.zipf(1.6, count) - 1) % len(strings)
    return [strings[k] for k in clones.tolist()]


def _mutated(letters: np.ndarray, rate: float, indels: float, rng: np.random.Generator) -> np.ndarray:
    """A copy with `rate` edits a letter, `indels` of which insert or delete one to three letters."""
    edits = rng.binomial(len(letters), rate)
    sequence = letters.copy()
    gaps = rng.binomial(edits, indels)
    places = rng.integers(0, len(sequence), edits - gaps)
    sequence[places] = rng.choice(_BASES, edits - gaps)
    for place in rng.integers(0, len(sequence), gaps).tolist():
        size = min(int(rng.geometric(0.6)), 3)
        if rng.random() < 0.5:
            sequence = np.insert(sequence, min(place, len(sequence)), rng.choice(_BASES, size))
        elif len(sequence) > size:
            sequence = np.delete(sequence, slice(place, place + size))
    return sequence


def reads(count: int, length: int, seed: int) -> list[str]:
    """
    Reads of one amplicon, many of them the same: a few species are frequent, and reads have errors.

    Species descend from one another with up to 10 % of their letters changed; a letter of a read is wrong in 1 of 500 cases, one error in
    ten an insertion or deletion. Reads are cut to `length`.
    """
    rng = np.random.default_rng([seed, 5])
    species = [rng.choice(_BASES, length + length // 2)]
    for _ in range(max(count // 100, 10)):
        species.append(_mutated(species[rng.integers(len(species))], rng.uniform(0.005, 0.1), 0.1, rng))
    chosen = (rng.zipf(1.3, count) - 1) % len(species)
    return [_mutated(species[s], 0.002, 0.1, rng)[:length].tobytes().decode() for s in chosen.tolist()]


def genes(count: int, seed: int, path: str) -> list[str]:
    """
    Genes that evolve from the records of a FASTA file along random trees: families of 90 to 99.9 % identity, whatever the count.

    A fiftieth of the records are founders. If the file has fewer, copies of it become founders, too, in which 5 to 15 % of the letters are
    changed. Each of the other genes is a mutated copy of an earlier one; a branch changes 0.05 to 3 % of the letters, one change in ten
    inserts or deletes letters.
    """
    rng = np.random.default_rng([seed, 6])
    _, founders = load(path)
    families = max(count // 50, 1)
    known = [np.frombuffer(founders[k].encode(), np.uint8) for k in rng.permutation(len(founders))[:families].tolist()]
    while len(known) < families:
        known.append(_mutated(known[rng.integers(len(founders))], rng.uniform(0.05, 0.15), 0.1, rng))
    while len(known) < count:
        parent = known[rng.integers(len(known))]
        known.append(_mutated(parent, float(np.exp(rng.uniform(np.log(0.0005), np.log(0.03)))), 0.1, rng))
    return [known[k].tobytes().decode() for k in rng.permutation(count).tolist()]


def _child(parent: np.ndarray, rate: float, letters: np.ndarray, partial: bool, rng: np.random.Generator) -> np.ndarray:
    """
    A copy of which a share `rate` of the letters is edited.

    Of the edits 90 % are substitutions (by any letter, also the same), 5 % deletions and 5 % insertions of one letter. partial: up to a
    tenth of the front is missing as well.
    """
    edits = rng.binomial(len(parent), rate)
    places, kinds = rng.integers(0, len(parent), edits), rng.random(edits)
    copy = parent.copy()
    copy[places] = letters[rng.integers(0, len(letters), edits)]
    indels = kinds >= 0.9
    if indels.any():
        gaps, inserted = places[indels], kinds[indels] >= 0.95
        copy[gaps] = parent[gaps]
        copies = np.ones(len(parent), np.intp)
        copies[gaps] = np.where(inserted, 2, 0)
        copy = np.repeat(copy, copies)
        after = np.cumsum(copies)[gaps[inserted & (copies[gaps] == 2)]] - 1
        copy[after] = letters[rng.integers(0, len(letters), len(after))]
    return copy[rng.integers(0, max(1, len(copy) // 10)) :] if partial else copy


def families(kind: str, count: int, seed: int, path: str) -> list[str]:
    """
    Genes or proteins that evolve from the records of a FASTA file along a random tree, many of them without their beginnings.

    A twentieth of the records are founders, or fewer if the file has fewer. Each of the others is a copy of any earlier one, edited at one
    of four rates: genes 0.3, 1, 2 and 4 %, proteins 1, 2, 5 and 10 % of the letters. Three in ten lack up to a tenth of their front. All
    records have 50 to 2,000 letters; a copy with more or fewer is made again.
    """
    letters, rates = _FAMILIES[kind]
    rng = np.random.default_rng([seed, list(_FAMILIES).index(kind) + 7])
    founders = [np.frombuffer(text.upper().encode(), np.uint8) for text in read_raw(path).letters if _SHORTEST <= len(text) <= _LONGEST]
    known = [founders[k] for k in rng.permutation(len(founders))[: max(count // 20, 1)].tolist()]
    more = count - len(known)
    chosen, partial = rng.choice(rates, more).tolist(), (rng.random(more) < 0.3).tolist()
    for rate, shortened in zip(chosen, partial, strict=True):
        parent = known[rng.integers(len(known))]
        record = _child(parent, rate, letters, shortened, rng)
        while not _SHORTEST <= len(record) <= _LONGEST:
            record = _child(parent, rate, letters, shortened, rng)
        known.append(record)
    return [known[k].tobytes().decode() for k in rng.permutation(count).tolist()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["cdr3", "reads", "genes", *_FAMILIES])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--length", type=int, default=100, help="of reads")
    parser.add_argument("--founders", help="FASTA file of genes or proteins to begin with")
    options = parser.parse_args()
    if options.kind in ("genes", *_FAMILIES) and not options.founders:
        parser.error(f"{options.kind} need --founders")
    made = {
        "cdr3": lambda: cdr3(options.count, options.seed),
        "reads": lambda: reads(options.count, options.length, options.seed),
        "genes": lambda: genes(options.count, options.seed, options.founders),
        **{kind: lambda kind=kind: families(kind, options.count, options.seed, options.founders) for kind in _FAMILIES},
    }[options.kind]()
    sys.stdout.writelines(f">{options.kind}{number}\n{letters}\n" for number, letters in enumerate(made))


if __name__ == "__main__":
    main()
