"""docs/tasks/scirpy.md: its code runs, and gives scirpy the distances that scirpy computes.

scirpy is larger than everything else that tests need, and goes with fewer versions of others. So it may have an environment of its own, the
one whose command `scanpy` is on the path, as in .ci/run.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest
from examples import Python, blocks
from places import DATA, ROOT

PAGE = ROOT / "docs" / "tasks" / "scirpy.md"
CODE = [block.code for block in blocks(PAGE) if isinstance(block, Python)]
START = f"import matplotlib, site, sys; site.addsitedir({sysconfig.get_path('platlib')!r}); matplotlib.use('agg')\n"
"""Makes gpualign, and what it needs, importable in a Python of the same version that has scirpy."""

CHECK = """
import itertools, random, warnings

warnings.simplefilter("ignore")
random.seed(5)
SCORINGS = {"hamming": gpualign.HAMMING, "levenshtein": gpualign.EDIT, "tcrdist": gpualign.Scoring(tcrdist=True, gap=4)}


def receptors(path, chains):
    # Relatives: equal ones, and unequal ones of equal and of unequal lengths.
    with open(path, "w") as file:
        print("cell_id", "sequence_id", "productive", "locus", "v_call", "j_call", "junction", "junction_aa", sep="\\t", file=file)
        for cell, chain in itertools.product(range(60), chains):
            amino = list(random.choice(["CASSLGQAYEQYF", "CASSPGTGAFF", "CASSEGQGNTIYF"]))
            bases = list(random.choice(["TGTGCCAGCAGC", "TGTGCCAGCAGCTTC"]))
            for letters, alphabet in ((amino, "ACDEFGHIKLMNPQRSTVWY"), (bases, "ACGT")):
                for _ in range(random.randrange(4)):
                    letters[random.randrange(len(letters))] = random.choice(alphabet)
                if random.random() < 0.3:
                    del letters[random.randrange(5, len(letters))]
            words = [f"cell{cell}", f"cell{cell}_{chain}", "T", chain, f"{chain}V{random.randrange(2)}", f"{chain}J1"]
            print(*words, "".join(bases), "".join(amino), sep="\\t", file=file)


def read(path):
    cells = ir.io.read_airr(path)
    ir.pp.index_chains(cells)
    ir.tl.chain_qc(cells)
    return cells


def same(one, other, what):
    assert one.keys() == other.keys()
    for arm in ("VJ", "VDJ"):
        assert one[arm].keys() == other[arm].keys()
        assert all((one[arm][name] == other[arm][name]).all() for name in one[arm] if name != "distances")
        matrices = one[arm]["distances"], other[arm]["distances"]
        assert matrices[0].shape == matrices[1].shape
        assert (matrices[0] != matrices[1]).nnz == 0, (what, arm)
    return sum(one[arm]["distances"].nnz for arm in ("VJ", "VDJ"))


receptors("two.tsv", ["TRA", "TRB"])
receptors("beta.tsv", ["TRB"])
cells, two, beta = [read(path) for path in (DATA, "two.tsv", "beta.tsv")]
seen = 0
for metric, cutoff, sequence, sets in (  # few, as numba compiles the kernel for each of them
    ("hamming", 1, "aa", [beta]),
    ("hamming", 2, "nt", [two, beta]),
    ("levenshtein", 1, "nt", [two]),
    ("levenshtein", 2, "aa", [two, beta]),
    ("tcrdist", 15, "aa", [cells]),
    ("tcrdist", 40, "aa", [two]),
):
    theirs = ir.pp.ir_dist(*sets, metric=metric, cutoff=cutoff, sequence=sequence, inplace=False, n_jobs=1)
    ours = ir.pp.ir_dist(*sets, metric=Distances(SCORINGS[metric], cutoff), sequence=sequence, inplace=False)
    seen += same(theirs, ours, (metric, cutoff, sequence))
clones = []
for metric in ("hamming", Distances(gpualign.HAMMING, 1)):
    ir.pp.ir_dist(cells, metric=metric, cutoff=1, sequence="aa", key_added="ir_dist_aa_hamming", n_jobs=1)
    ir.tl.define_clonotype_clusters(cells, metric="hamming", sequence="aa", receptor_arms="any", dual_ir="any", same_v_gene=True)
    clones.append(cells.obs["cc_aa_hamming"].tolist())
assert clones[0] == clones[1]
assert len(set(clones[0])) > 5
print("compared", seen)
"""


def python_of_scirpy():
    """The Python that has scirpy. Skips the test if there is none."""
    if find_spec("scirpy"):
        return sys.executable
    scanpy = shutil.which("scanpy")
    version = f"{sys.version_info[:2]}"
    asked = "import sys, importlib.util; print(sys.version_info[:2] if importlib.util.find_spec('scirpy') else None)"
    python = scanpy and Path(scanpy).parent / "python"
    if not python or subprocess.run([python, "-c", asked], capture_output=True, text=True).stdout.strip() != version:
        pytest.skip(f"scirpy for Python {version} is not installed, here or beside the command scanpy on the path")
    return python


def run(python, code, folder):
    done = subprocess.run([python, "-c", START + code], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_runs(tmp_path):
    assert len(CODE) > 3
    (tmp_path / "data").symlink_to(DATA)
    printed = run(python_of_scirpy(), "\n".join(CODE), tmp_path)
    assert (tmp_path / "network.png").stat().st_size > 5000
    sizes = [[int(line.split()[1]) for line in part.splitlines()[:2]] for part in re.split(r".*clone\n|.*hamming\n", printed)[-2:]]
    assert sizes == [[10, 3], [10, 3]], printed


def test_distances_are_those_of_scirpy(tmp_path):
    code = f"DATA = {str(DATA / 'receptors.tsv')!r}\n" + CODE[0] + CHECK
    assert int(run(python_of_scirpy(), code, tmp_path).split()[-1]) > 1000
