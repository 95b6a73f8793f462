"""Temporary files: where there is no room for them, the message names their folder and the variable that chooses another."""

import errno
import os

import pytest
from command import GPUALIGN, gpualign_here, shell

from gpualign.core.common.errors import RunError


@pytest.fixture
def inputs(rng, tmp_path):
    rows = {f"r{number}": "".join(rng.choice(list("ACGT"), 600)) for number in range(300)}
    (tmp_path / "x.fa").write_text("".join(f">{name}\n{row}\n" for name, row in rows.items()))
    (tmp_path / "x.phy").write_text("300 600\n" + "".join(f"{name:10}{row}\n" for name, row in rows.items()))
    (tmp_path / "room").mkdir()
    return tmp_path


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the file is filled before it is mapped")
@pytest.mark.parametrize("words", ["dist x.fa", "nw --edit x.fa --format matrix", "index x.fa -o x.gps"])
def test_a_mapped_file_in_a_full_folder(inputs, monkeypatch, words):
    """Unless room for it is reserved, the process dies of a bus error."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.chdir(inputs)
    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr("gpualign.core.output.matrix_files._MAX_IN_MEMORY_BYTES", 0)
    with pytest.raises(RunError, match=r"^cannot write a temporary file in .*: No space left on device; set the environment variable T"):
        gpualign_here(*words.split())


@pytest.mark.parametrize(
    "words", ["dist x.phy", "dist - < x.phy", "dist x.fa --memory 400K", "dist x.fa", "nw --edit x.fa --format matrix"]
)
def test_a_file_that_may_not_grow(inputs, words):
    done = shell(f"ulimit -f 50; {GPUALIGN} {words} | cat", cwd=inputs, env={**os.environ, "TMPDIR": str(inputs / "room")})
    assert done.returncode == 1
    message = f"gpualign: error: cannot write a temporary file in {inputs / 'room'}: {os.strerror(errno.EFBIG)}; set "
    assert message in done.stderr.decode()
    assert not list((inputs / "room").iterdir())
