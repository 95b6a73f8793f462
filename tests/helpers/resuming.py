"""Runs of the executable that are interrupted and resumed: commands, their inputs, and runs that end at their second mark."""

import os
import signal
import subprocess

import numpy as np
from command import LIMIT, gpualign
from eager import command
from processes import default_signals
from relatives import as_text, mutated


def family(rng, count, length, changed=0.05):
    ancestor = rng.integers(0, 4, length)
    return (as_text(mutated(rng, ancestor, changed, 4)) for _ in range(count))


def write_fasta(path, rows):
    path.write_text("".join(f">s{i}\n{row}\n" for i, row in enumerate(rows)))


def write_inputs(folder):
    """Write the inputs of all runs, and return the folder."""
    rng = np.random.default_rng(5)
    rows = list(family(rng, 160, 900))
    write_fasta(folder / "genes.fa", rows)
    write_fasta(folder / "repeated.fa", [rows[i // 3] for i in range(160)])
    write_fasta(folder / "short.fa", [row[:300] for row in rows[:40]])
    write_fasta(folder / "core.aln", family(rng, 400, 30_000, 0.001))
    return folder


RUNS = {
    "rows": ["nw", "genes.fa", "--fields", "query,target,score,cigar", "-o", "x.tsv"],
    "gzip": ["nw", "genes.fa", "--fields", "query,target,score,cigar", "-o", "x.tsv.gz"],
    "sam": ["nw", "genes.fa", "-o", "x.sam"],
    "npy": ["nw", "genes.fa", "--value", "identity", "-o", "x.npy"],
    "npz": ["nw", "genes.fa", "short.fa", "-o", "x.npz"],
    "matrix": ["nw", "genes.fa", "--format", "matrix", "-o", "x.txt"],
    "csr": ["nw", "genes.fa", "--format", "csr", "--min-identity", "0.9", "-o", "x.npz"],
    "near": ["nw", "repeated.fa", "--min-identity", "0.95", "--fields", "query,target,identity", "-o", "x.tsv"],
    "search": ["sw", "genes.fa", "short.fa", "-o", "x.m8"],
    "passing": ["sw", "genes.fa", "short.fa", "--max-evalue", "1e-3", "-o", "x.tsv"],
    "dist": ["dist", "core.aln", "-o", "x.tsv"],
    "dist npy": ["dist", "core.aln", "--compared", "-o", "x.npy"],
    "dist near": ["dist", "core.aln", "--max-distance", "55", "-o", "x.tsv"],
    "dist csr": ["dist", "core.aln", "--max-distance", "55", "--format", "csr", "-o", "x.npz"],
}


def outputs(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name.startswith(("x.", ".x"))}


def link(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)


def small(words):
    return [*words, "--memory", "300M", "--threads", "2", "--device", "cpu"]


def run(words, cwd):
    return subprocess.run(command(*words), capture_output=True, text=True, cwd=cwd, timeout=LIMIT, preexec_fn=default_signals)


def run_as_users(words, cwd):
    """Run the command with checkpoints at the usual times, for runs that are complete or refused."""
    done = gpualign(*words, check=False, cwd=cwd)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def interrupt_with_a_mark(words, cwd, signum):
    """Run a command that sends itself a signal after its second mark: (exit code, stderr)."""
    more = {"env": {**os.environ, "EAGER_KILL": f"2 0 {int(signum)}"}, "preexec_fn": default_signals}
    done = subprocess.run(command(*words), capture_output=True, text=True, cwd=cwd, timeout=LIMIT, **more)
    return done.returncode, done.stderr


def interrupt(folder, tmp_path):
    """Interrupt a run in tmp_path: (words of the command, stderr)."""
    link(folder, tmp_path)
    words = small(RUNS["rows"])
    code, errors = interrupt_with_a_mark(words, tmp_path, signal.SIGINT)
    assert code == 130
    return words, errors
