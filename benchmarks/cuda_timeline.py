"""A picture of two streams at work: copies and kernels of each batch of an all-vs-all run, by the device's clock.

python benchmarks/cuda_timeline.py [--records 6000] [--output results/nw_cuda_timeline.svg]      (needs matplotlib)
"""

from __future__ import annotations

import argparse

import matplotlib as mpl
from common import made_up_dna

from gpualign.core.alphabet import DNA
from gpualign.core.budget import Budget
from gpualign.core.engine import Task
from gpualign.core.plan import Pairing
from gpualign.core.runner import plan_task
from gpualign.core.scoring import ScoringOptions, make_scoring
from gpualign.gpu.driver import CudaDevice
from gpualign.gpu.engine import CudaEngine
from gpualign.gpu.worker import Finished

COLOURS = {"upload": "#4c78a8", "kernels": "#72b7b2", "download": "#e45756"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=6000)
    parser.add_argument("--length", type=int, default=1500)
    parser.add_argument("--output", default="timeline.svg")
    arguments = parser.parse_args()
    sequences = made_up_dna(arguments.records, arguments.length)
    task = Task(sequences, sequences, make_scoring(DNA, ScoringOptions(edit=True)))
    device = CudaDevice(0)
    spans: list[Finished] = []
    engine = CudaEngine([device], spans.append)
    for _ in range(2):  # the second run finds its kernels compiled and its memory warm
        spans.clear()
        prepared = engine.prepare(task, Budget.of(8 << 30))
        for _ in prepared.run(plan_task(prepared, Pairing.ABOVE).tiles()):
            pass

    mpl.use("svg")
    from matplotlib import pyplot as plt

    start = min(s.upload for s in spans)
    figure, axes = plt.subplots(figsize=(11, 2.8), layout="constrained")
    for span in spans:
        for k, (part, begin, end) in enumerate(
            (("upload", span.upload, span.kernels), ("kernels", span.kernels, span.download), ("download", span.download, span.end))
        ):
            row = 2 - k + 3 * (1 - span.stream)
            axes.barh(
                row, 1e3 * (end - begin), left=1e3 * (begin - start), height=0.8, color=COLOURS[part], edgecolor="white", linewidth=0.4
            )
    axes.set_yticks(range(6), [f"stream {s} {part}" for s in (1, 0) for part in ("download", "kernels", "upload")])
    axes.set_xlabel("ms; a kernel waits for free multiprocessors while the one before it ends")
    axes.set_title(f"Edit distances of {arguments.records:,} x {arguments.length:,} letters, {device.name}: batches on two streams")
    figure.savefig(arguments.output)
    print(f"{len(spans)} batches, {1e3 * (max(s.end for s in spans) - start):.0f} ms")


if __name__ == "__main__":
    main()
