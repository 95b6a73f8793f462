"""Sequences that stay on a device are there before a kernel reads them, and no sooner than needed."""

import numpy as np
import pytest
from command import gpualign_here
from host_device import HostDevice, HostStream
from work import run_scores, sequence_set, two_valued

from gpualign.core.planning.tile_plan import Pairing, Plan
from gpualign.core.sequences.database_index import open_index
from gpualign.gpu.alignment import resident_sequences
from gpualign.gpu.alignment.engine import CudaEngine

SCHEME = two_valued(4, 2, -3, 7, 2)


@pytest.mark.parametrize("piece", [37, 4096, 1 << 20])
@pytest.mark.parametrize("pairing", [Pairing.ALL, Pairing.ABOVE])
def test_scores_with_pieces_of_any_size(rng, monkeypatch, piece, pairing):
    """Records in the order of a file, so that any tile may need any of them."""
    monkeypatch.setattr(resident_sequences, "PIECE_BYTES", piece)
    queries, targets = (sequence_set([rng.integers(0, 4, rng.integers(1, 90)) for _ in range(n)]) for n in (30, 70))
    if pairing is not Pairing.ALL:
        targets = queries
    device = HostDevice()
    found = run_scores(queries, targets, SCHEME, pairing, CudaEngine([device]), tile_cells=20_000)
    np.testing.assert_array_equal(found, run_scores(queries, targets, SCHEME, pairing))
    assert device.used == 0


@pytest.mark.parametrize("piece", [256, 5000])
@pytest.mark.parametrize("order", [list, reversed])
def test_an_index_is_copied_while_it_is_searched(rng, monkeypatch, tmp_path, piece, order):
    """The first tile of sequences in order of length waits for its own letters only, whichever tile it is."""
    monkeypatch.setattr(resident_sequences, "PIECE_BYTES", piece)
    lines = (f">r{n}\n{''.join(rng.choice(list('ACGT'), rng.integers(1, 90)))}\n" for n in range(400))
    (tmp_path / "db.fa").write_text("".join(lines))
    gpualign_here("index", tmp_path / "db.fa", "-o", tmp_path / "db.gpa")
    targets, _ = open_index(str(tmp_path / "db.gpa"))
    queries, steps = sequence_set([rng.integers(0, 4, 40) for _ in range(3)]), []
    tiles = Plan.tiles
    monkeypatch.setattr(Plan, "tiles", lambda self: iter(order(list(tiles(self)))))
    upload, launch = HostStream.upload, HostStream.launch
    monkeypatch.setattr(HostStream, "upload", lambda self, to, source: steps.append(source.nbytes) or upload(self, to, source))
    monkeypatch.setattr(HostStream, "launch", lambda *given: steps.append("launch") or launch(*given))
    found = run_scores(queries, targets, SCHEME, engine=CudaEngine([HostDevice()]), tile_cells=40_000)
    np.testing.assert_array_equal(found, run_scores(queries, targets, SCHEME))
    assert sum(step for step in steps[: steps.index("launch")] if step != "launch") < targets.offsets[-1]
