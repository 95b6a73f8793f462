"""The kernels under AddressSanitizer and UBSan, compiled for 64-bit Arm under an emulator, and their symbols, where the tools exist."""

import platform
import shutil
import subprocess

import pytest
from places import ROOT, TESTS

pytestmark = pytest.mark.slow

NATIVE = TESTS / "native"


CHECKS = pytest.mark.parametrize("what", ["kernels", "distance", "near", "simd"])


def build(what, output, *compiler):
    done = subprocess.run([NATIVE / "build.sh", what, output, *compiler], capture_output=True, text=True)
    if done.returncode and "cannot find -lasan" in done.stderr:
        pytest.skip("the compiler has no AddressSanitizer")
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, done.stderr


@pytest.mark.parametrize("source", ["alignment/src/variant.cpp", "distance/src/distance_variant.cpp", "near_pairs/src/near_variant.cpp"])
@pytest.mark.skipif(
    shutil.which("g++") is None or shutil.which("nm") is None or platform.machine() != "x86_64", reason="needs g++ and nm on x86-64"
)
def test_no_function_of_a_variant_can_take_the_place_of_anothers(tmp_path, source):
    """Of weak functions of one name the linker keeps any, perhaps with instructions that a machine lacks. A variant's have its namespace.

    Without optimisation, since which calls are inlined is the compiler's choice.
    """
    command = ["g++", "-std=c++17", "-O0", "-w", "-mavx2", "-mpopcnt", "-DGPUALIGN_ISA=avx2", f"-I{ROOT}", "-c", ROOT / "cpu" / source]
    subprocess.run([*command, "-o", tmp_path / "variant.o"], check=True)
    symbols = subprocess.run(["nm", "-C", "--defined-only", tmp_path / "variant.o"], capture_output=True, text=True, check=True).stdout
    weak = [line.split(maxsplit=2)[2] for line in symbols.splitlines() if line.split()[1] in "Wu"]
    assert [name for name in weak if "gpualign::avx2::" not in name] == []
    assert "gpualign::avx2::" in symbols


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
