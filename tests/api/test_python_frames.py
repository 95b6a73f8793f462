"""DataFrames of results."""

import io

import numpy as np
import pytest

import gpualign

pd = pytest.importorskip("pandas")

FRAMES = {
    "pairs": lambda genes: gpualign.pairs(genes, max_distance=1).to_frame(),
    "table": lambda genes: next(gpualign.iter_pairs(genes)).to_frame(),
    "hits": lambda genes: next(gpualign.sw(genes, genes, evalue="none")).to_frame(),
    "clusters": lambda genes: gpualign.cluster(genes, max_distance=0.5).to_frame(),
}


@pytest.mark.filterwarnings("ignore::gpualign.InputWarning")
@pytest.mark.parametrize("name", FRAMES)
def test_ids_that_are_not_utf8(name):
    """pandas 3 keeps text in Arrow, which is UTF-8."""
    genes = gpualign.read(io.BytesIO(">Müller\nACGTACGTAC\n>b\nACGTACGAAC\n".encode("latin-1")))
    assert FRAMES[name](genes).iloc[0, 0] == "M\udcfcller"
    assert list(gpualign.nw(genes).to_frame().index) == genes.ids


def test_tables_without_rows_have_the_types_of_others():
    genes = gpualign.Sequences(["GATTACAGATTACAGATTACA", "T" * 20, "GATTACAGATTACAGATTACC"])
    some, none, _ = (hits.to_frame() for hits in gpualign.sw(genes, genes[::2], min_score=50, evalue="none"))
    assert (len(some), len(none)) == (2, 0)
    assert none.dtypes.to_dict() == some.dtypes.to_dict() == pd.concat([none, some]).dtypes.to_dict()
    pairs = [gpualign.pairs(genes, max_distance=distance).to_frame() for distance in (0.0, 0.1)]
    assert pairs[0].dtypes.to_dict() == pairs[1].dtypes.to_dict()
    assert np.array_equal([len(frame) for frame in pairs], [0, 1])
