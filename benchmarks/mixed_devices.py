"""GPUs with and without the CPU beside them, and two GPUs beside one: whole commands of some seconds, on a machine with GPUs.

python benchmarks/mixed_devices.py [--seconds 5] [--runs 3] [--gpus-alone] [--output benchmarks/results/mixed_devices.md]
python benchmarks/mixed_devices.py --records 25000 --length 1536 --runs 1 --gpus-alone

Sequences are made up: relatives of a gene of 1.5 kb, as many as one GPU aligns in about --seconds, or --records of them. The
second line is as large as the set of Li 2013, 312 million pairs; six nodes aligned 1,015 pairs a second then.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from common import finish, machine, made_up_dna, make_parser, medians, table, texts_of, write_fasta

from gpualign.gpu.runtime.inventory import detect_devices

JOBS = {
    "edit distance": ["--edit"],
    "linear gaps (2/-1/1)": ["--match", "2", "--mismatch", "-1", "--gap", "1"],
    "affine gaps": [],
    "identity": ["--value", "identity"],
}
PROBE = 3000
"""Records by which the rate of one GPU is found."""

SUMMARY = re.compile(r" in ([\d.,]+) (ms|s|min)\b")
UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0}


def write(folder: Path, count: int, length: int) -> str:
    path = folder / f"genes{count}.fa"
    return str(path) if path.exists() else write_fasta(path, texts_of(made_up_dna(count, length)))


def run(words: list[str], device: str, folder: Path) -> tuple[float, float, str]:
    """(seconds of the whole process, those of its summary, the summary)."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "gpualign", "nw", *words, "--device", device, "-o", str(folder / "out.npy")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    whole = time.perf_counter() - start
    summary = done.stderr.splitlines()[-1]
    found = SUMMARY.search(summary)
    if found is None:
        raise SystemExit(f"no seconds in: {summary}")
    return whole, float(found[1].replace(",", "")) * UNITS[found[2]], summary


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--records", type=int, help="records, in place of --seconds")
    parser.add_argument("--length", type=int, default=1500)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--gpus-alone", action="store_true", help="one GPU and all of them, without the CPU")
    options = parser.parse_args()
    gpus = len(detect_devices().usable_devices)
    if not gpus:
        raise SystemExit("this machine has no GPU to use")
    pairs = [("cuda", "cpu,cuda"), *([("cuda:0", "cuda:all"), ("cuda:all", "all")] if gpus > 1 else [])]
    if options.gpus_alone:
        pairs = [("cuda:0", "cuda:all")]
    devices = list(dict.fromkeys(device for pair in pairs for device in pair))
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for job, words in JOBS.items():
            probe = [write(folder, PROBE, options.length), *words]
            run(probe, "cuda", folder)  # compiles
            _, taken, _ = run(probe, "cuda", folder)
            count = options.records or int(PROBE * (options.seconds / taken) ** 0.5)
            command = [write(folder, count, options.length), *words]
            whole: dict[str, list[float]] = {device: [] for device in devices}

            def summary_seconds(command: list[str], device: str, whole: dict[str, list[float]]) -> float:
                process, engine, summary = run(command, device, folder)
                whole[device].append(process)
                print(f"{device}: {process:.2f} s;{summary}", file=sys.stderr, flush=True)
                return engine

            engine = medians({device: partial(summary_seconds, command, device, whole) for device in devices}, options.runs)
            process = {device: sorted(found)[len(found) // 2] for device, found in whole.items()}
            for one, other in pairs:
                seconds = [f"{process[one]:.2f}", f"{process[other]:.2f}", f"{engine[one]:.2f}", f"{engine[other]:.2f}"]
                ratios = [f"{process[one] / process[other]:.2f}", f"{engine[one] / engine[other]:.2f}"]
                rows.append([job, f"{count:,}", f"{one}, {other}", *seconds, *ratios])
    header = ["nw", "records", "devices", "command, one", "other", "summary, one", "other", "command, gain", "summary, gain"]
    notes = [f"Seconds, medians of {options.runs} alternating runs; kernels are in the cache. Gain: the one's seconds by the other's."]
    text = f"# Devices side by side\n\n{machine()}; {gpus} GPUs.\n\n"
    finish(text + table("Whole commands and their summaries", header, rows, notes), options.output)


if __name__ == "__main__":
    main()
