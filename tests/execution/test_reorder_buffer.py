"""Numbered items, in any order, put into order."""

from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.common.reorder_buffer import ReorderBuffer


@given(st.integers(0, 30).flatmap(lambda count: st.permutations(range(count))))
def test_each_item_comes_as_soon_as_all_before_it_have_arrived(order):
    merge, out = ReorderBuffer(), []
    for arrived, number in enumerate(order, 1):
        out += merge.add(number, f"item {number}")
        complete = next(k for k in range(len(order) + 1) if k not in order[:arrived])
        assert out == [f"item {k}" for k in range(complete)]
        assert merge.following == complete
    assert len(out) == len(order)


def test_the_number_in_turn_is_that_of_the_item_just_yielded():
    merge = ReorderBuffer()
    assert list(merge.add(1, "b")) == []
    assert [(item, merge.following) for item in merge.add(0, "a")] == [("a", 0), ("b", 1)]
    assert merge.following == 2
