"""The compiled part of greedy clustering refuses arguments that do not fit together."""

import numpy as np
import pytest

from gpualign.core.clustering._greedy import join_centroids


def pair(i, j, rank=(0, 1, 2), first=0, stop=3, distance=(1.0,), centroids=3, dtype=np.int32):
    join_centroids(
        np.array([i], dtype=dtype),
        np.array([j], dtype=dtype),
        np.array(distance),
        np.array(rank),
        first,
        stop,
        np.arange(centroids),
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"i": 0, "j": 3}, "does not exist"),
        ({"i": -1, "j": 1}, "does not exist"),
        ({"i": 0, "j": 1, "first": 2}, "no record in the range"),
        ({"i": 1, "j": 2, "stop": 2}, "no record in the range"),
        ({"i": 0, "j": 1, "stop": 4}, "not those of records"),
        ({"i": 0, "j": 1, "first": -1}, "not those of records"),
        ({"i": 0, "j": 1, "rank": (0, 1, 3)}, "below the number of records"),
        ({"i": 0, "j": 1, "distance": (1.0, 2.0)}, "two records and a distance"),
        ({"i": 0, "j": 1, "centroids": 2}, "a rank and a centroid"),
    ],
)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_what_does_not_fit_is_refused(arguments, message, dtype):
    with pytest.raises((ValueError, IndexError), match=message):
        pair(**arguments, dtype=dtype)
