"""VCF and BCF are read by a process of their own: what damaged files, a crashing library and signals come to."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from command import GPUALIGN, LIMIT, gpualign
from processes import started
from sites import vcf_text

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="signals"), pytest.mark.slow]

VCF = vcf_text("abc", [(["A", "C"], ["0/0", "0|1", "./."]), (["A", "C", "G"], ["0/2", "2|1", "1/1"])])

FAKE = """
import os, signal, sys, time

class Record:
    CHROM, POS, REF, ALT = "1", 1, "A", ["C"]

    @property
    def genotype(self):
        import numpy as np
        class Genotypes:
            def array(self):
                return np.array([[0, 1, 0], [0, 0, 0]])
        return Genotypes()

class VCF:
    samples = ["a", "b"]

    def __init__(self, path):
        open(os.environ["FAKE_PID"], "w").write(f"{os.getpid()}\\n")

    def __iter__(self):
        for _ in range(5000):
            yield Record()
        BEHAVIOUR
"""
"""Stands for the library; BEHAVIOUR is what it does after some records."""


@pytest.fixture
def fake(tmp_path):
    """Runs `gpualign dist` with a library that misbehaves; (process, path of the file with the reader's id)."""

    def start(behaviour):
        (tmp_path / "library").mkdir()
        (tmp_path / "library" / "cyvcf2.py").write_text(FAKE.replace("BEHAVIOUR", behaviour))
        (tmp_path / "x.vcf").write_text(VCF)
        path = os.pathsep.join(filter(None, [str(tmp_path / "library"), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "FAKE_PID": str(tmp_path / "pid")}
        words = [GPUALIGN, "dist", "x.vcf", "--device", "cpu", "-o", "out.tsv"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return stack.enter_context(started(words, cwd=tmp_path, env=environment, **pipes)), tmp_path / "pid"

    with ExitStack() as stack:
        yield start


def wait_for(condition):
    """Until it is so; a machine may be slow."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "hangs"
        time.sleep(0.05)


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the second: it is gone between opening and reading
        return False


def reader_of(pid_file):
    wait_for(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
    return int(pid_file.read_text())


@pytest.mark.parametrize(
    ("behaviour", "code", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", 2, "x.vcf: a damaged file: the reader crashed in or after record 4,097 (SIGSEGV)"),
        ("os.abort()", 2, "(SIGABRT)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 1, "was killed (SIGKILL), perhaps for lack of memory"),
        ("os._exit(3)", 1, "ended with 3"),
        ("raise ValueError('no such thing')", 2, "x.vcf: record 5001 cannot be read (no such thing)"),
    ],
)
def test_a_library_that_fails(fake, tmp_path, behaviour, code, message):
    process, _ = fake(behaviour)
    stdout, stderr = process.communicate(timeout=LIMIT)
    assert process.returncode == code, stderr
    assert message in stderr.decode()
    assert b"Traceback" not in stderr
    assert stdout == b""
    assert not (tmp_path / "out.tsv").exists()


def test_what_the_library_prints_is_neither_data_nor_shown(fake, tmp_path):
    process, _ = fake("print('hello', flush=True); sys.stderr.write('[W::chatter] a word\\\\n' * 100_000)")
    stdout, stderr = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, stderr
    assert stdout == b""
    assert b"chatter" not in stderr
    assert (tmp_path / "out.tsv").read_text() == "\ta\tb\na\t0\t5000\nb\t5000\t0\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_while_a_file_is_read(fake, tmp_path, number, code):
    """They end the command as anywhere else, and the reader with it; they are no fault of the file."""
    process, pid_file = fake("time.sleep(1000)")
    reader = reader_of(pid_file)
    time.sleep(0.3)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=LIMIT)
    assert process.returncode == code, stderr
    assert b"cannot be read" not in stderr
    assert b"Traceback" not in stderr
    wait_for(lambda: not lives(reader))
    assert not (tmp_path / "out.tsv").exists()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc")
def test_the_reader_ends_when_the_command_is_killed(fake):
    process, pid_file = fake("time.sleep(1000)")
    reader = reader_of(pid_file)
    assert lives(reader)
    process.kill()
    process.communicate(timeout=LIMIT)
    wait_for(lambda: not lives(reader))


@pytest.fixture
def packed(tmp_path):
    """The records as BCF, bgzipped."""
    cyvcf2 = pytest.importorskip("cyvcf2")
    (tmp_path / "x.vcf").write_text(VCF)
    reader = cyvcf2.VCF(str(tmp_path / "x.vcf"))
    writer = cyvcf2.Writer(str(tmp_path / "x.bcf"), reader, mode="wb")
    for record in reader:
        writer.write_record(record)
    writer.close()
    return tmp_path / "x.bcf"


def test_bgzipped_files_without_their_end(packed):
    """htslib reads what is there and says nothing that a program could hear."""
    packed.write_bytes(packed.read_bytes()[:-28])
    done = gpualign("dist", packed, "--device", "cpu", check=False)
    assert done.returncode == 2
    assert b"x.bcf: truncated bgzip file: the last block" in done.stderr


def test_htslib_has_the_last_word_about_a_damaged_file(packed):
    content = packed.read_bytes()
    packed.write_bytes(content[:100] + b"damaged" + content[107:])
    done = gpualign("dist", packed, "--device", "cpu", check=False)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"x.bcf: " in done.stderr


def test_a_byte_order_mark_is_named(packed):
    """htslib only says that the file is not valid."""
    path = packed.parent / "x.vcf"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    done = gpualign("dist", path, "--device", "cpu", check=False)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"x.vcf: begins with a byte-order mark, which is not part of VCF; remove it" in done.stderr


def test_modules_in_the_working_directory_are_not_imported(packed):
    (packed.parent / "numpy.py").write_text("raise SystemExit('the wrong numpy')")
    assert gpualign("dist", "x.bcf", "--device", "cpu", cwd=packed.parent).returncode == 0


def test_a_pipe_with_a_name(packed):
    """Shells make them of <(...); they can be read once."""
    expected = gpualign("dist", packed, "--device", "cpu").stdout
    for name in ("x.bcf", "x.vcf"):
        command = f"{GPUALIGN} dist --device cpu <(cat {name})"
        done = subprocess.run(["bash", "-c", command], cwd=packed.parent, capture_output=True, check=True)
        assert done.stdout == expected
