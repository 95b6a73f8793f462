"""The kernels under AddressSanitizer and UBSan, and compiled for 64-bit Arm under an emulator, where the tools exist."""

import shutil
import subprocess

import pytest
from places import TESTS

pytestmark = pytest.mark.slow

NATIVE = TESTS / "native"


CHECKS = pytest.mark.parametrize("what", ["kernels", "distance", "near"])


def build(what, output, *compiler):
    done = subprocess.run([NATIVE / "build.sh", what, output, *compiler], capture_output=True, text=True)
    if done.returncode and "cannot find -lasan" in done.stderr:
        pytest.skip("the compiler has no AddressSanitizer")
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, done.stderr


@CHECKS
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_under_sanitizers(tmp_path, what):
    build(what, tmp_path / "check", "g++", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    done = subprocess.run([tmp_path / "check", "1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "baseline: checked" in done.stdout


@CHECKS
@pytest.mark.skipif(
    shutil.which("aarch64-linux-gnu-g++") is None or shutil.which("qemu-aarch64") is None,
    reason="needs aarch64-linux-gnu-g++ and qemu-aarch64 (Debian: g++-aarch64-linux-gnu, qemu-user)",
)
def test_neon_under_an_emulator(tmp_path, what):
    build(what, tmp_path / "check", "aarch64-linux-gnu-g++", "-static")
    done = subprocess.run(["qemu-aarch64", tmp_path / "check", "1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "neon: checked" in done.stdout
