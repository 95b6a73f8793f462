"""Database search on one core: gpualign beside parasail, pyopal and ssearch36 on real proteins.

python benchmarks/sw_cpu.py proteins_db.fasta.gz [--runs 3] [--output benchmarks/results/sw_cpu.md]

Three queries of 128, 512 and 1,026 residues are taken from the database (those of the nearest length).
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import parasail
import pyopal
from common import engine_rate, finish, machine, make_parser, medians, proteins, rate, seconds, table, texts_of, write_fasta

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets

LENGTHS = (128, 512, 1026)
OPEN, EXTEND = 12, 1  # BLAST's 11/1
SSEARCH = ["-q", "-z", "-1", "-s", "BP62", "-f", "-11", "-g", "-1", "-b", "25", "-d", "0", "-T", "1"]


def kernel(query: SequenceSet, database: SequenceSet, name: str | None) -> float:
    """GCUPS of the engine's scores on one core."""
    scoring = make_scoring(PROTEIN, ScoringOptions(gap_open=OPEN, gap_extend=EXTEND))
    task = Task(query, database, scoring, Mode.LOCAL, alphabet=PROTEIN, top_count=25)
    return engine_rate(task, CpuEngine(1, name), Pairing.ALL)


def by_parasail(query: str, texts: list[str]) -> None:
    profile = parasail.profile_create_sat(query, parasail.blosum62)
    for text in texts:
        parasail.sw_striped_profile_sat(profile, text, OPEN, EXTEND)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("database")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    database = proteins(arguments.database, 1)
    texts = texts_of(database, PROTEIN.letters)
    letters = int(database.offsets[-1])
    theirs = pyopal.Database(texts)
    # pyopal's gap of n letters costs open + (n - 1) * extend as well, with its own names for its options.
    aligner = pyopal.Aligner(gap_open=OPEN, gap_extend=EXTEND)
    narrower = [s.name for s in instruction_sets() if s.is_supported][1:2]
    rows, commands = [], []
    with tempfile.TemporaryDirectory() as folder:
        fasta = write_fasta(Path(folder, "db.fa"), texts, ids=database.ids)
        index, out = (str(Path(folder, name)) for name in ("db.gpa", "out.tsv"))
        subprocess.run([sys.executable, "-m", "gpualign", "index", "-q", fasta, "-o", index], check=True)
        for wanted in LENGTHS:
            i = int(np.abs(database.lengths - wanted).argmin())
            text = texts[i]
            one = SequenceSet("query", ["q"], database.codes[database.offsets[i] : database.offsets[i + 1]], np.array([0, len(text)]))
            file = str(Path(folder, f"q{wanted}.fa"))
            Path(file).write_text(f">q\n{text}\n")
            cells = len(text) * letters
            actions = {
                "gpualign": lambda one=one: kernel(one, database, None),
                **{f"gpualign, {name}": lambda one=one, name=name: kernel(one, database, name) for name in narrower},
                "parasail sw_striped_sat": lambda text=text, cells=cells: rate(cells, lambda: by_parasail(text, texts)),
                "pyopal": lambda text=text, cells=cells: rate(
                    cells, lambda: aligner.align(text, theirs, algorithm="sw", mode="score", overflow="simple")
                ),
            }
            if shutil.which("ssearch36"):
                command = ["ssearch36", *SSEARCH, file, fasta]
                actions["ssearch36, whole process"] = lambda command=command, cells=cells: rate(
                    cells, lambda: subprocess.run(command, check=True, capture_output=True)
                )
            found = medians(actions, arguments.runs)
            best = max((gcups for name, gcups in found.items() if not name.startswith("gpualign")))
            ratios = [f"{gcups / best:.1f}" if name.startswith("gpualign") else "" for name, gcups in found.items()]
            rows += [[str(len(text)), name, f"{gcups:.1f}", r] for (name, gcups), r in zip(found.items(), ratios, strict=True)]
            print(*rows[-len(found) :], sep="\n", flush=True)
        some = [texts[i] for i in np.linspace(0, len(texts) - 1, 100).astype(int)]
        every = write_fasta(Path(folder, "queries.fa"), some, prefix="q")
        cells = sum(map(len, some)) * letters
        sets = SequenceSet(
            "queries",
            [f"q{k}" for k in range(len(some))],
            np.concatenate([PROTEIN.encoding[np.frombuffer(text.encode(), dtype=np.uint8)] for text in some]),
            np.concatenate(([0], np.cumsum([len(text) for text in some]))),
        )
        common = ["--device", "cpu", "--threads", "1", "-q", "-o", out]

        def command_seconds(database_path: str, *options: str) -> float:
            command = [sys.executable, "-m", "gpualign", "sw", every, database_path, *common, *options]
            return statistics.median_high(seconds(command) for _ in range(arguments.runs))

        alone = cells / 1e9 / medians({"kernel": lambda: kernel(sets, database, None)}, arguments.runs)["kernel"]
        commands.append(["kernel alone", f"{alone:.2f}", f"{cells / alone / 1e9:.1f}", ""])
        for name, path, options in (
            ("from FASTA, 25 hits a query traced", fasta, ()),
            ("from an index, 25 hits a query traced", index, ()),
            ("from an index, --no-traceback", index, ("--no-traceback",)),
        ):
            took = command_seconds(path, *options)
            commands.append([name, f"{took:.2f}", f"{cells / took / 1e9:.1f}", f"{took / alone:.2f}"])
    text = f"# Database search on one core\n\n{machine()}; BLOSUM62, gaps 12/1 (BLAST's 11/1); {len(database):,} real proteins, "
    text += f"{letters:,} residues; parasail {version('parasail')}, pyopal {version('pyopal')}; medians of {arguments.runs} "
    text += "runs, those of one query in turns. GCUPS: 10^9 cells a second.\n\n"
    header = ["residues of the query", "who", "GCUPS", "multiple of the best peer"]
    text += table(
        "One query",
        header,
        rows,
        [
            "gpualign: the engine alone, with the instructions that it chooses here, and with AVX2.",
            "ssearch36: its process, which reads the files.",
        ],
    )
    text += table(
        "Whole command, 100 queries, one thread",
        ["what", "s", "GCUPS", "multiple of the kernel's time"],
        commands,
        ["Commands adjust scores to compositions, as they do by default; the kernel does not."],
    )
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
