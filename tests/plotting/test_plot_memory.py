"""Whole matrices that are too large for the memory there is: drawn, clustered, made trees of."""

import gzip
import io
import re
import shlex
import zipfile

import numpy as np
import pytest
from command import GPUALIGN, gpualign, gpualign_here, shell

pytest.importorskip("matplotlib")
pytest.importorskip("scipy")

import gpualign as gpualign_package
from gpualign.core.common import memory as budget
from gpualign.core.common.cgroups import GroupLimits
from gpualign.core.common.errors import RunError
from gpualign.jobs import matrix_memory

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
    assert done.returncode == 1
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


def allow(monkeypatch, there, limits=None):
    """Pretend that this process may have so many bytes, by the machine or by its control group."""
    monkeypatch.setattr(budget, "own_limits", lambda: limits or GroupLimits())
    monkeypatch.setattr(budget, "physical_memory", lambda: (1 << 40) if limits and limits.free_bytes else there)


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
@pytest.mark.parametrize(
    "limits", [GroupLimits(), GroupLimits(memory_bytes=1 << 40, free_bytes=30 << 20)], ids=["machine", "control group"]
)
def test_what_is_free_counts(tmp_path, monkeypatch, name, content, limits):
    (tmp_path / name).write_bytes(content)
    allow(monkeypatch, 30 << 20, limits)
    with pytest.raises(RunError, match=r"1,000 x 1,000 values take about 38.1 MiB of memory to draw, and this process may have 30.0 MiB"):
        gpualign_here("plot", tmp_path / name, "-o", tmp_path / "x.png")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ["tree", "d.npy"],
            "d.npy: 60 x 60 values take about 109.0 KiB of memory to make a tree of, and this process may have 20.0 KiB; take",
        ),
        (["tree", "d.npy", "--method", "upgma"], "d.npy: 60 x 60 values take about 84.4 KiB of memory to make a tree of"),
        (["tree", "c.npy", "--method", "upgma"], "c.npy: 60 x 60 values take about 35.2 KiB of memory to make a tree of"),
        (["tree", "d.npz", "--method", "mst"], "d.npz: 60 x 60 values take about 112.5 KiB of memory to make a tree of"),
        (["tree", "d.tsv"], "d.tsv: 60 x 60 values take about 130.1 KiB of memory to make a tree of"),
        (
            ["cluster", "--distances", "d.npy", "--max-distance", "1"],
            "d.npy: 60 x 60 values take about 84.4 KiB of memory to cluster, and this process may have 20.0 KiB; give a list of near pairs"
            " with --edges, or take a machine with more memory",
        ),
        (
            ["dist", "calls.tsv", "-o", "x.npy", "--plot", "x.png"],
            "--plot x.png: 60 x 60 values take about 140.6 KiB of memory to draw, and this process may have 20.0 KiB; draw fewer records,"
            " as one of each cluster (gpualign cluster), or take a machine with more memory",
        ),
        (["nw", "genes.fa", "-o", "x.npy", "--plot", "x.png"], "--plot x.png: 60 x 60 values take about 140.6 KiB of memory to draw"),
        (
            ["nw", "genes.fa", "genes.fa", "-o", "x.npy", "--plot", "x.png", "--dry-run"],
            "--plot x.png: 60 x 60 values take about 140.6 KiB",
        ),
    ],
)
def test_nothing_is_computed_for_what_the_memory_does_not_hold(tmp_path, monkeypatch, words, reason):
    monkeypatch.chdir(tmp_path)
    values = np.abs(np.subtract.outer(np.arange(60.0), np.arange(60.0)))
    np.save("d.npy", values)
    np.save("c.npy", values[np.triu_indices(60, 1)])
    np.savez("d.npz", distance=values)
    np.savetxt("d.tsv", values, delimiter="\t", header="\t" * 60, comments="")
    (tmp_path / "calls.tsv").write_text("id\tx\ty\n" + "".join(f"s{k}\t{k % 3}\t{k % 2}\n" for k in range(60)))
    (tmp_path / "genes.fa").write_text("".join(f">s{k}\nACGT\n" for k in range(60)))
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(matrix_memory, "free_memory", lambda: 20 << 10)
    with pytest.raises(RunError, match=re.escape(reason)):
        gpualign_here(*words)
    assert sorted(tmp_path.iterdir()) == before


def test_a_condensed_matrix_that_fits_is_clustered(tmp_path, monkeypatch):
    """As it takes a part of what the square would."""
    monkeypatch.chdir(tmp_path)
    np.save("c.npy", np.ones(60 * 59 // 2))
    monkeypatch.setattr(matrix_memory, "free_memory", lambda: 20 << 10)
    assert len(gpualign_here("cluster", "--distances", "c.npy", "--max-distance", "1")[0].splitlines()) == 61


def test_a_tree_in_python(monkeypatch):
    found = gpualign_package.dist(np.eye(60, dtype=np.int8))
    monkeypatch.setattr(matrix_memory, "free_memory", lambda: 20 << 10)
    with pytest.raises(RunError, match=r"matrix: 60 x 60 values take about 109\.0 KiB of memory to make a tree of"):
        gpualign_package.tree(found)
