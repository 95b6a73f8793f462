"""`gpualign plot` of a matrix that is too large for the memory there is."""

import gzip
import io
import shlex
import zipfile

import numpy as np
import pytest
from command import GPUALIGN, gpualign, gpualign_here, shell

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

from gpualign.core.common import memory as own_memory
from gpualign.core.common.cgroups import Limits
from gpualign.core.common.errors import InputError

MANY = 1_000_000


def header(shape):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return out.getvalue()


def test_a_matrix_that_no_machine_holds_is_refused_before_it_is_read(tmp_path):
    with (tmp_path / "d.npy").open("wb") as file:
        file.write(header((MANY, MANY)))
        file.truncate(file.tell() + MANY * MANY)  # a hole, which takes no room
    done = gpualign("plot", "d.npy", "-o", "x.png", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert b"d.npy: 1,000,000 x 1,000,000 values take about 36.4 TiB of memory to draw, and this process may have " in done.stderr
    assert not (tmp_path / "x.png").exists()


def test_a_pipe_is_not_read_for_its_size(tmp_path):
    """What is taken out of it is gone."""
    (tmp_path / "d.tsv").write_text("\ta\tb\na\t0\t1\nb\t1\t0\n")
    done = shell(f"{shlex.quote(GPUALIGN)} plot <(cat d.tsv) -o x.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def zipped(shape):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("ids.npy", header((1000,)))
        archive.writestr("distances.npy", header(shape))
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.npz", zipped((1000, 1000))),
        ("d.npz", zipped((499_500,))),
        ("d.npy", header((499_500,))),
        ("d.tsv", "".join(f"\ts{k}" for k in range(1000)).encode() + b"\n"),
        ("d.csv.gz", gzip.compress("".join(f",s{k}" for k in range(1000)).encode() + b"\n")),
        ("d.phy", b"1000\ns0 0 1\n"),
    ],
)
@pytest.mark.parametrize("limits", [Limits(), Limits(memory=1 << 40, free=30 << 20)], ids=["machine", "control group"])
def test_what_is_free_counts(tmp_path, monkeypatch, name, content, limits):
    (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(own_memory, "own_limits", lambda: limits)
    monkeypatch.setattr(own_memory, "physical_memory", lambda: (1 << 40) if limits.free else 30 << 20)
    with pytest.raises(InputError, match=r"1,000 x 1,000 values take about 38.1 MiB of memory to draw, and this process may have 30.0 MiB"):
        gpualign_here("plot", tmp_path / name, "-o", tmp_path / "x.png")
