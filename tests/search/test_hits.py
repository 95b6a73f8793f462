"""Which targets are a query's hits, and in which order, however the work was cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.alignment.hit_order import best_column_indices, best_targets
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.core.sequences.loading import encode
from gpualign.core.sequences.strands_frames import make_strands
from gpualign.core.sequences.string_column import StringColumn


@given(st.data(), st.integers(1, 4), st.integers(1, 30), st.integers(1, 35), st.sampled_from([3, 2**31 - 1, 2**40]))
def test_the_best_are_those_of_a_sorted_list(data, rows, columns, top, largest):
    scores = np.array(
        data.draw(st.lists(st.lists(st.integers(0, largest), min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    )
    ranks = np.array(data.draw(st.permutations(range(columns))))
    order = best_column_indices(scores, np.broadcast_to(ranks, scores.shape), top)
    expected = [sorted(range(columns), key=lambda t, r=r: (-scores[r, t], ranks[t]))[:top] for r in range(rows)]
    assert order.tolist() == expected


def test_targets_are_records_and_their_places_break_ties():
    scores, targets = best_targets(np.array([[5, 9, 5, 5]]), np.array([3, 0, 1, 2]), np.array([10, 11, 7, 2]), 3)
    assert scores.tolist() == [[9, 5, 5]]
    assert targets.tolist() == [[0, 3, 2]]


def test_strands():
    sequences = encode("test", ["a", "b"], StringColumn.from_bytes([b"AACGTRYN", b"gattaca"]), DNA)
    both = make_strands(sequences, DNA, "both")
    letters = np.frombuffer(DNA.letters.encode(), dtype=np.uint8)
    texts = [
        "".join(map(chr, letters[both.sequences.codes[a:b]]))
        for a, b in zip(both.sequences.offsets[:-1], both.sequences.offsets[1:], strict=True)
    ]
    assert texts == ["AACGTRYN", "NRYACGTT", "GATTACA", "TGTAATC"]
    assert list(both.sequences.ids) == ["a", "a", "b", "b"]
    rows = np.arange(4)
    assert both.record_numbers(rows).tolist() == [0, 0, 1, 1]
    assert both.is_reverse_complement(rows).tolist() == [False, True, False, True]
    minus = make_strands(sequences, DNA, "minus")
    assert minus.sequences.codes.tolist() == [*both.sequences.codes[8:16], *both.sequences.codes[23:]]
    assert minus.is_reverse_complement(np.arange(2)).all()
    proteins = encode("test", ["p"], StringColumn.from_bytes([b"MKV"]), PROTEIN)
    assert make_strands(proteins, PROTEIN, "plus").sequences is proteins


@pytest.mark.parametrize("letter", DNA.letters)
def test_complements_undo_each_other(letter):
    from Bio.Seq import complement

    codes = DNA.complement()
    code = DNA.letters.index(letter)
    assert codes[codes[code]] == code
    assert DNA.letters[codes[code]] == complement(letter)
