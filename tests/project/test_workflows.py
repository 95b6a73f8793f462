"""The workflows of docs/cluster.md, run as they are shown."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from command import GPUALIGN, LIMIT, gpualign
from places import ROOT

WORKFLOWS = ROOT / "docs" / "workflows"
SHARES = 8


@pytest.mark.parametrize("name", ["slurm_array.sh", "Snakefile", "main.nf"])
def test_the_page_shows_them(name):
    shown = "".join(f"    {line}\n" if line else "\n" for line in (WORKFLOWS / name).read_text().splitlines())
    assert shown in (ROOT / "docs" / "cluster.md").read_text()


@pytest.fixture
def folder(tmp_path):
    genes = (ROOT / "data" / "16s_small.fasta").read_text().split(">")[1:25]
    (tmp_path / "genes.fasta").write_text("".join(f">{record}" for record in genes))
    gpualign("nw", "genes.fasta", "-o", "expected.tsv", cwd=tmp_path)
    return tmp_path


def environment(**more):
    """What finds this installation's executables."""
    return {**os.environ, "PATH": f"{Path(GPUALIGN).parent}{os.pathsep}{os.environ['PATH']}", **more}


@pytest.mark.slow
def test_a_slurm_array(folder):
    def submit(number):
        slurm = {"SLURM_ARRAY_TASK_ID": str(number), "SLURM_ARRAY_TASK_COUNT": str(SHARES), "SLURM_CPUS_PER_TASK": "1"}
        return subprocess.run(
            ["bash", WORKFLOWS / "slurm_array.sh"], capture_output=True, text=True, cwd=folder, env=environment(**slurm), timeout=LIMIT
        )

    for number in range(1, SHARES + 1):
        done = submit(number)
        assert done.returncode == 0, done.stderr
    again = submit(3)
    assert (again.returncode, again.stderr) == (0, "")
    done = subprocess.run(
        ["bash", "-c", f"gpualign merge scores.tsv.*-of-{SHARES}.part -o scores.tsv"], capture_output=True, cwd=folder, env=environment()
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "scores.tsv").read_bytes() == (folder / "expected.tsv").read_bytes()


@pytest.mark.slow
def test_snakemake(folder):
    snakemake = shutil.which("snakemake", path=environment()["PATH"])
    if snakemake is None:
        pytest.skip("snakemake is not installed (pip install snakemake, Python 3.11)")
    shutil.copy(WORKFLOWS / "Snakefile", folder)
    home = {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run([snakemake, "--cores", "2"], capture_output=True, text=True, cwd=folder, env=environment(**home), timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert (folder / "scores.tsv").read_bytes() == (folder / "expected.tsv").read_bytes()
