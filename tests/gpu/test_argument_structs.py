"""The structs of arguments that kernels are given."""

import numpy as np
import pytest

from gpualign.gpu.kernels.argument_structs import DISTANCE_ARGS, MAX_PLANES_PER_SIDE, SELECT_HITS_ARGS, pack_arguments

OF_SELECT = {"scores": 1, "ranks": 2, "hit_scores": 3, "hit_columns": 4, "rows": 5, "target_count": 6, "hits": 7}


def test_every_field_is_given_once():
    assert pack_arguments(SELECT_HITS_ARGS, **OF_SELECT).tolist() == (1, 2, 3, 4, 5, 6, 7)
    for name in OF_SELECT:
        with pytest.raises(KeyError, match=name):
            pack_arguments(SELECT_HITS_ARGS, **{n: value for n, value in OF_SELECT.items() if n != name})
    with pytest.raises(ValueError, match="no such fields: hitz"):
        pack_arguments(SELECT_HITS_ARGS, **OF_SELECT, hitz=7)


def test_arrays_are_filled_from_their_beginning():
    assert DISTANCE_ARGS.names is not None
    others = {name: 1 for name in DISTANCE_ARGS.names if name not in ("left", "right")}
    filled = pack_arguments(DISTANCE_ARGS, **others, left=(3, 4), right=range(MAX_PLANES_PER_SIDE))
    np.testing.assert_array_equal(filled["left"], [3, 4] + [0] * (MAX_PLANES_PER_SIDE - 2))
    np.testing.assert_array_equal(filled["right"], np.arange(MAX_PLANES_PER_SIDE))
    with pytest.raises(ValueError, match="left: expected at most 16 numbers, found 17"):
        pack_arguments(DISTANCE_ARGS, **others, left=range(17), right=())
    with pytest.raises(ValueError, match="hits: expected at most 0 numbers"):
        pack_arguments(SELECT_HITS_ARGS, **{**OF_SELECT, "hits": (7,)})
