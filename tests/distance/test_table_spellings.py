"""Tables of calls, as people and programs write them: read as what they are, or refused with what decides."""

import numpy as np
import pytest
from command import gpualign_here
from fuzz.ambiguous import FAMILIES
from fuzz.tables import distances

from gpualign.core.common.errors import InputError

pytestmark = pytest.mark.slow


def check(path, one):
    """What is wrong with what the command makes of a table, or None."""
    path.write_bytes(one.text.encode())
    try:
        out, said = gpualign_here("dist", path, *one.words, "--device", "cpu", "--threads", "1")
    except InputError as error:
        said = str(error)
        if one.calls is not None:
            return f"{one.name}: refused ({said})"
        lacking = [text for text in one.said if text not in said] if one.calls is None else []
        return f"{one.name}: {lacking} is not in: {said}" if lacking else None
    if one.calls is None:
        return f"{one.name}: read\n{out.decode()}"
    header, *rows = (line.split("\t") for line in out.decode().splitlines())
    found = np.array([row[1:] for row in rows], dtype=float)
    if header[1:] != one.ids or not np.array_equal(found, distances(one.calls), equal_nan=True):
        return f"{one.name}: {header[1:]} {found.tolist()}, expected {distances(one.calls).tolist()}"
    lacking = [text for text in one.said if text not in said]
    return f"{one.name}: {lacking} is not in the notes: {said}" if lacking else None


@pytest.mark.parametrize("family", FAMILIES)
def test_every_spelling(tmp_path, rng, family):
    wrong = [fault for one in FAMILIES[family](rng) if (fault := check(tmp_path / "t.txt", one))]
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:12])
