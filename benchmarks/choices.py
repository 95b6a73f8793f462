"""Choices of strands, pairs and sites: whole commands beside those without the choice, and beside vsearch and plink 1.9 with the same one.

python benchmarks/choices.py [--records 200] [--people 2000x20000] [--threads 2] [--runs 3] [--output benchmarks/results/choices.md]

Records are relatives of a gene of 1.5 kb, half of them the other way round, in twenty groups. People have 5 % of their calls missing, at
some sites more. Commands run in turns; peers that are not installed are left out. vsearch compares every record with every one, in both
orders, on both strands (--maxaccepts 0 --maxrejects 0); ours each pair once.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from common import finish, machine, made_up_dna, make_parser, median_usage, table, texts_of, write_fasta, write_fileset

GROUPS = 20
IDENTITY = 0.6
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def write_genes(folder: Path, count: int) -> None:
    letters = texts_of(made_up_dna(count, 1500))
    turned = [text[::-1].translate(COMPLEMENT) if k % 2 else text for k, text in enumerate(letters)]
    write_fasta(folder / "genes.fa", turned)
    (folder / "groups.tsv").write_text("".join(f"s{k}\tg{k % GROUPS}\n" for k in range(count)))


def write_people(folder: Path, samples: int, sites: int) -> None:
    rng = np.random.default_rng(3)
    frequency = rng.uniform(0.01, 0.5, (sites, 1))
    dosage = (rng.random((sites, samples)) < frequency).astype(np.uint8) + (rng.random((sites, samples)) < frequency)
    dosage[rng.random(dosage.shape) < rng.uniform(0, 0.1, (sites, 1))] = 3
    write_fileset(folder / "x.bed", dosage)


def timed(works: dict[str, Sequence[object]], folder: Path, runs: int) -> list[list[str]]:
    """Rows of medians: seconds, processor seconds, and both as shares of the first."""
    rows, first = [], None
    for title, (taken, worked, _) in median_usage(works, folder, runs).items():
        first = first or (taken, worked)
        rows.append([title, f"{taken:.2f}", f"{worked:.2f}", f"{taken / first[0]:.2f}", f"{worked / first[1]:.2f}"])
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--people", default="2000x20000", metavar="SAMPLESxSITES")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    ours = [sys.executable, "-m", "gpualign"]
    how = ["-q", "--device", "cpu", "--threads", options.threads]
    sections = []
    header = ["what", "s", "processor s", "s by the first", "processor s by the first"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_genes(folder, options.records)
        near = [*ours, "nw", "genes.fa", *how, "--min-identity", IDENTITY, "-o", "near.tsv"]
        works: dict[str, Sequence[object]] = {"one strand": near, "--strand both": [*near, "--strand", "both"]}
        if shutil.which("vsearch"):
            vsearch = ["vsearch", "--usearch_global", "genes.fa", "--db", "genes.fa", "--strand", "both", "--id", IDENTITY]
            works["vsearch, --strand both"] = [
                *[*vsearch, "--maxaccepts", 0, "--maxrejects", 0, "--threads", options.threads],
                *["--userout", "theirs.tsv", "--userfields", "query+target+id", "--quiet"],
            ]
        notes = [f"{options.records:,} genes of 1.5 kb, half of them the other way round; pairs of identity {IDENTITY} or more."]
        sections.append(table("Both strands", header, timed(works, folder, options.runs), notes))
        every = [*ours, "nw", "genes.fa", *how, "-o", "every.tsv"]
        grouped = [*every, "--groups", "groups.tsv"]
        works = {"every pair": every, "--within": [*grouped, "--within"], "--between": [*grouped, "--between"]}
        share = (options.records / GROUPS - 1) / (options.records - 1)
        notes = [f"{GROUPS} groups: {share:.1%} of the pairs are within one. vsearch has no such option (its issue 461)."]
        sections.append(table("Groups", header, timed(works, folder, options.runs), notes))
        samples, sites = map(int, options.people.split("x"))
        write_people(folder, samples, sites)
        ibs = [*ours, "dist", "x.bed", *how, "--metric", "ibs", "-o", "ours.tsv"]
        works = {"every site": ibs, "--core 0.95 --maf 0.05": [*ibs, "--core", "0.95", "--maf", "0.05"]}
        if plink := shutil.which("plink1.9") or shutil.which("plink"):
            theirs = [plink, "--bfile", "x", "--threads", options.threads, "--out", "theirs"]
            theirs += ["--distance", "square", "1-ibs", "flat-missing"]
            works["plink 1.9, every site"] = theirs
            works["plink 1.9, --geno 0.05 --maf 0.05"] = [*theirs, "--geno", "0.05", "--maf", "0.05"]
        notes = [f"{samples:,} people x {sites:,} sites, 1 - IBS, a whole matrix as text."]
        sections.append(table("Sites", header, timed(works, folder, options.runs), notes))
    text = f"# Choices\n\n{machine()}; {options.threads} threads. Medians of {options.runs} runs.\n\n"
    finish(text + "\n".join(sections), options.output)


if __name__ == "__main__":
    main()
