"""Immune receptors: clones of an AIRR table and near CDR3s by two distances, as whole commands beside whole scripts of scirpy.

python benchmarks/receptors.py [--clones 20000 1000000] [--tcrdist 20000 100000 1000000] [--python scirpy/bin/python] [--runs 3]
                               [--align-distance 5000 20000 100000 1000000] [--output benchmarks/results/receptors.md]

Receptors are made up (near_sets.py): one chain for each cell, of 48 V genes; a fifth of the records repeat a CDR3, and 2 % are not
productive. scirpy is in a Python of its own, which is named by --python, and runs on sets of up to --peer-records, or --peer-alignments if
it aligns pairs. The numbers of clones and of near pairs must be equal. Of scirpy's metrics of alignments, the faster one is measured
without the heuristic that loses pairs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse
from common import GPUALIGN, finish, machine, make_parser, seconds, table
from near_sets import cdr3, repeated

_TITLES = ("cell_id", "sequence_id", "productive", "locus", "v_call", "j_call", "junction", "junction_aa", "duplicate_count")
_CODONS = {
    **{"A": "GCT", "C": "TGT", "D": "GAT", "E": "GAA", "F": "TTT", "G": "GGT", "H": "CAT", "I": "ATT", "K": "AAA", "L": "CTG"},
    **{"M": "ATG", "N": "AAT", "P": "CCT", "Q": "CAG", "R": "CGT", "S": "AGC", "T": "ACC", "V": "GTG", "W": "TGG", "Y": "TAT"},
}


CLONES = """
import sys, warnings
warnings.simplefilter("ignore")
import scirpy as ir
path, out = sys.argv[1:]
data = ir.io.read_airr(path)
ir.pp.index_chains(data)
ir.tl.chain_qc(data)
ir.pp.ir_dist(data, metric="hamming", cutoff=1, sequence="aa")
ir.tl.define_clonotype_clusters(
    data, metric="hamming", sequence="aa", receptor_arms="VDJ", dual_ir="primary_only", same_v_gene=True, within_group=None, n_jobs=-1
)
data.obs[["cc_aa_hamming"]].to_csv(out, sep="\\t")
"""
TCRDIST = """
import sys, csv, warnings
warnings.simplefilter("ignore")
import numpy, scipy.sparse
from scirpy.ir_dist.metrics import TCRdistDistanceCalculator
path, out = sys.argv[1:]
rows = csv.DictReader(open(path), delimiter="\\t")
strings = numpy.unique([row["junction_aa"] for row in rows if row["productive"] == "T"])
scipy.sparse.save_npz(out, TCRdistDistanceCalculator(cutoff=15, n_jobs=-1).calc_dist_mat(strings))
"""
ALIGNMENT = TCRDIST.replace("TCRdistDistanceCalculator", "FastAlignmentDistanceCalculator").replace(
    "cutoff=15, n_jobs=-1", "cutoff=10, estimated_penalty=0, n_jobs=-1"
)


def write_table(path: Path, count: int, repeats: int | None = None, seed: int = 5) -> None:
    """Write an AIRR table of receptors. repeats: number of records that repeat a CDR3; None: a fifth"""
    rng = np.random.default_rng([seed, count])
    repeats = count // 5 if repeats is None else repeats
    distinct = cdr3(count - repeats, seed)
    texts = np.array(distinct + repeated(distinct, repeats, seed), dtype=object)[rng.permutation(count)].tolist()
    v_genes = rng.choice(48, count, p=rng.dirichlet(np.full(48, 0.7))).tolist()
    j_genes, families = rng.integers(1, 8, count).tolist(), rng.integers(1, 3, count).tolist()
    productive = np.where(rng.random(count) < 0.02, "F", "T").tolist()
    with path.open("w") as file:
        file.write("\t".join(_TITLES) + "\n")
        for k, text in enumerate(texts):
            genes = f"TRBV{2 + v_genes[k] // 2}-{1 + v_genes[k] % 2}*01\tTRBJ{families[k]}-{j_genes[k]}*01"
            name, letters = f"cell{k}-1", "".join(map(_CODONS.__getitem__, text))
            file.write(f"{name}\t{name}_contig_1\t{productive[k]}\tTRB\t{genes}\t{letters}\t{text}\t{1 + k % 9}\n")


def clone_count(path: Path) -> int:
    """Number of clones in the last column of a table."""
    with path.open() as file:
        next(file)
        return len({line.rstrip("\n").rpartition("\t")[2] for line in file} - {"", "nan"})


def near_count(path: Path) -> int:
    """Return the number of near pairs i < j in a matrix that gpualign or scirpy has written. Both hold each pair twice."""
    near = scipy.sparse.load_npz(path).tocoo()
    return int(np.count_nonzero(near.row < near.col))


def timed(words: list[str], peer: list[str] | None, runs: int) -> tuple[float, float | None]:
    """Median seconds of a command and of a peer, which take turns."""
    ours, theirs = list[float](), list[float]()
    for _ in range(runs):
        ours.append(seconds(words))
        if peer:
            theirs.append(seconds(peer))
    return float(np.median(ours)), float(np.median(theirs)) if theirs else None


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--clones", type=int, nargs="*", default=[20_000, 1_000_000], help="receptors of tables that get clones")
    parser.add_argument("--tcrdist", type=int, nargs="*", default=[20_000, 100_000, 1_000_000], help="distinct CDR3s")
    parser.add_argument("--align-distance", type=int, nargs="*", default=[5_000, 20_000, 100_000, 1_000_000], help="distinct CDR3s")
    parser.add_argument("--peer-records", type=int, default=100_000, help="most records for scirpy")
    parser.add_argument("--peer-alignments", type=int, default=5_000, help="most records that scirpy aligns")
    parser.add_argument("--python", help="a Python that has scirpy")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables, ours, theirs = folder / "airr.tsv", folder / "ours", folder / "theirs"

        def measure(job: str, count: int, words: list[str], script: str, output: Path, count_results: Callable[[Path], int]) -> None:
            most = options.peer_alignments if script is ALIGNMENT else options.peer_records
            peer = [options.python, "-c", script, str(tables), f"{theirs}{output.suffix}"]
            has_peer = options.python is not None and count <= most
            whole, other = timed(words, peer if has_peer else None, options.runs)
            results = count_results(output)
            if has_peer and (found := count_results(Path(peer[-1]))) != results:
                raise SystemExit(f"{job}: {results:,} by gpualign, {found:,} by scirpy")
            compared = ["", ""] if other is None else [f"{other:.1f}", f"{other / whole:.0f}"]
            rows.append([job, f"{count:,}", f"{results:,}", f"{whole:.2f}", *compared])
            print(rows[-1], file=sys.stderr, flush=True)

        for count in options.clones:
            write_table(tables, count)
            output = ours.with_suffix(".tsv")
            words = [GPUALIGN, "cluster", str(tables), "--hamming", "--max-distance", "1", "--same", "v_call", "-o", str(output)]
            measure("clones: one mismatch, same V gene, AIRR to AIRR", count, words, CLONES, output, clone_count)
        for job, counts, chosen, script in (
            ("TCRdist <= 15", options.tcrdist, ["--tcrdist", "--gap", "4", "--max-distance", "15"], TCRDIST),
            ("alignment distance <= 10", options.align_distance, ["--align-distance", "--gap", "11", "--max-distance", "10"], ALIGNMENT),
        ):
            for count in counts:
                write_table(tables, count, repeats=0)
                output = ours.with_suffix(".npz")
                words = [GPUALIGN, "nw", str(tables), *chosen, "--format", "csr", "-o", str(output)]
                measure(job, count, words, script, output, near_count)
    notes = [f"Seconds of whole processes, medians of {options.runs} runs in turns; ratio: scirpy's time divided by gpualign's."]
    header = ["job", "receptors", "clones or near pairs", "gpualign, s", "scirpy, s", "ratio"]
    finish(f"# Receptors\n\n{machine()}.\n\n" + table("Immune receptors", header, rows, notes), options.output)


if __name__ == "__main__":
    main()
