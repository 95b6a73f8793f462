"""TCRdist as a plain loop over its definition, and made-up repertoires."""

from Bio.Align import substitution_matrices

BLOSUM62 = substitution_matrices.load("BLOSUM62")
LETTERS = "ACDEFGHIKLMNPQRSTVWYXBZ"


def cost(one, other):
    return 0 if one == other else min(4, 4 - int(BLOSUM62[one][other]))


def tcrdist(one, other, gap_cost=12):
    """As Dash et al. 2017 define it: the gap has its place by the shorter CDR3, and the ends are left out."""
    if len(one) == len(other):
        return 3 * sum(cost(one[k], other[k]) for k in range(3, len(one) - 2))
    shorter = min(len(one), len(other))
    place = min(6, 3 + (shorter - 5) // 2)
    left = sum(cost(one[k], other[k]) for k in range(3, place))
    right = sum(cost(one[len(one) - 1 - k], other[len(other) - 1 - k]) for k in range(2, shorter - place))
    return 3 * (left + right) + gap_cost * abs(len(one) - len(other))


def repertoire(rng, count):
    """CDR3s of a few founders with substitutions, deletions and insertions, many of one length, so that there are several panels of it."""
    founders = ["CASS" + "".join(rng.choice(list(LETTERS[:20]), n)) + "EQYF" for n in (4, 5, 5, 6)]
    texts = []
    for _ in range(count):
        letters = list(founders[int(rng.integers(4))])
        for place in rng.integers(3, len(letters) - 2, rng.integers(0, 5)).tolist():
            letters[place] = str(rng.choice(list(LETTERS)))
        if rng.random() < 0.2:
            del letters[int(rng.integers(4, 8))]
        texts.append("".join(letters))
    return texts
