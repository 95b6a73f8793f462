"""Paths of the CUDA engine against those of the CPU engine: on the host everywhere, on a device where there is one."""

import gzip
import subprocess
import sys

import numpy as np
import pytest
from host_device import HostDevice, compiler, name_of
from path_cases import SCHEMES, repeats
from relatives import related_sets, relatives
from work import real_genes, run_paths, sequence_set

from gpualign.core.alignment.task import Detail, EndGaps, Task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment import worker
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.alignment.families import bit_sliced as slices
from gpualign.gpu.alignment.families import one_thread_per_pair as threads
from gpualign.gpu.alignment.families import warp_chain as chain
from gpualign.gpu.alignment.recipe import H16X2, make_recipe
from gpualign.gpu.runtime.inventory import detect_devices


def compare(queries, targets, scheme, end_gaps, engine, pairing=Pairing.ALL, **more):
    found = run_paths(queries, targets, scheme, end_gaps, pairing, engine, **more)
    expected = run_paths(queries, targets, scheme, end_gaps, pairing, CpuEngine(4), **more)
    wanted = [(i, j) for i in range(len(queries)) for j in range(pairing.first_target(i), len(targets))]
    for pair in wanted:
        assert found.scores[pair] == expected.scores[pair], pair
    for pair in expected.statistics:
        assert found.paths.get(pair) == expected.paths.get(pair), pair
        assert found.statistics[pair] == expected.statistics[pair], pair
    assert found.statistics.keys() == expected.statistics.keys()


@pytest.mark.parametrize("end_gaps", EndGaps)
@pytest.mark.parametrize("family", [threads, chain], ids=name_of)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_paths(rng, device, force, scheme, family, end_gaps):
    on_host = isinstance(device, HostDevice)
    if end_gaps is not EndGaps.PENALISED and scheme not in ("default", "linear", "edit", "32 bits"):
        pytest.skip("the weights are run with penalised ends, free ends with fewer weights")
    force(family)
    letters = 20 if scheme == "protein" else 4
    rows, columns, longest = (4, 25, 150) if on_host else (20, 300, 700)
    queries, targets = related_sets(rng, [rows, columns], longest, letters)
    compare(queries, targets, SCHEMES[scheme], end_gaps, CudaEngine([device]))


@pytest.mark.parametrize("end_gaps", [EndGaps.PENALISED, EndGaps.FREE])
@pytest.mark.parametrize("rows", [12, 24])
@pytest.mark.parametrize("scheme", ["default", "linear"])
def test_paths_of_chains_over_several_strips_and_tiles(rng, device, force, scheme, rows, end_gaps):
    """Tiles are 256 columns, strips on the host 96 or 192 rows."""
    force(chain, strip_rows=rows)
    ancestor = rng.integers(0, 4, 700)

    def changed(*parts):
        return sequence_set([np.where(rng.random(stop - start) < 0.1, 3, ancestor[start:stop]) for start, stop in parts])

    queries, targets = changed((0, 500), (50, 350)), changed((0, 700), (100, 640), (0, 40))
    compare(queries, targets, SCHEMES[scheme], end_gaps, CudaEngine([device]))


@pytest.mark.parametrize("end_gaps", [EndGaps.PENALISED, EndGaps.FREE])
@pytest.mark.parametrize("scheme", ["default", "linear"])
def test_paths_of_halves_of_words_as_half_floats(rng, device, force, monkeypatch, scheme, end_gaps):
    """As on devices without DPX."""
    force(threads)
    monkeypatch.setattr("gpualign.gpu.alignment.engine.packed_score_type", lambda archs: H16X2)
    queries, targets = related_sets(rng, [4, 25], 150, 4)
    compare(queries, targets, SCHEMES[scheme], end_gaps, CudaEngine([device]))


@pytest.mark.parametrize(("scheme", "bits"), [("default", 16), ("largest of 16 bits", 16), ("32 bits", 32), ("64 bits", 64)])
def test_the_cases_have_every_width(scheme, bits):
    some = sequence_set([np.arange(150) % 4])
    recipe = make_recipe(Task(some, some, SCHEMES[scheme], detail=Detail.PATH))
    assert f"{bits}-bit" in next(threads.kernel_variants(recipe, 150, 150)).title


@pytest.mark.parametrize("end_gaps", EndGaps)
def test_edit_distance_in_slices(rng, device, force, end_gaps):
    force(slices)
    rows, columns, longest = (5, 40, 150) if isinstance(device, HostDevice) else (90, 600, 700)
    queries, targets = related_sets(rng, [rows, columns], longest, 4)
    compare(queries, targets, SCHEMES["edit"], end_gaps, CudaEngine([device]))


@pytest.mark.parametrize(
    ("way", "scheme"),
    [(way, scheme) for way in ("threads", "chain", "host") for scheme in ("default", "linear", "edit", "protein")] + [("slices", "edit")],
)
def test_free_ends_of_many_good_alignments(rng, device, force, scheme, way):
    """The CPU engine's are tested against the rule, in test_free_ends.py."""
    if way != "host":
        force({"threads": threads, "chain": chain, "slices": slices}[way])
    pairs_of_host_threads = 200 if way == "chain" else 2000  # a warp of threads a pair is slow
    queries, targets = repeats(rng, 4, 14, 3), repeats(rng, pairs_of_host_threads // 4 if isinstance(device, HostDevice) else 5000, 14, 3)
    compare(queries, targets, SCHEMES[scheme], EndGaps.FREE, CudaEngine([device], host_traceback=way == "host"))


@pytest.mark.parametrize("end_gaps", [EndGaps.PENALISED, EndGaps.FREE])
@pytest.mark.parametrize("scheme", ["default", "linear", "edit", "32 bits"])
def test_the_host_traces_the_same(rng, device, scheme, end_gaps):
    rows, columns, longest = (3, 25, 150) if isinstance(device, HostDevice) else (20, 300, 700)
    queries, targets = related_sets(rng, [rows, columns], longest, 4)
    compare(queries, targets, SCHEMES[scheme], end_gaps, CudaEngine([device], host_traceback=True))
    if end_gaps is EndGaps.PENALISED:
        engine = CudaEngine([device], host_traceback=True)
        compare(targets, targets, SCHEMES[scheme], end_gaps, engine, Pairing.ABOVE, detail=Detail.STATISTICS)


@pytest.mark.parametrize("scheme", ["default", "edit"])
def test_little_memory_and_the_half_of_a_set(rng, scheme):
    if compiler() is None:
        pytest.skip("no C++ compiler on this machine")
    sequences = relatives(rng, 40, 120, 4)
    for host in (False, True):
        device = HostDevice(6 << 20)
        engine = CudaEngine([device], host_traceback=host)
        compare(sequences, sequences, SCHEMES[scheme], EndGaps.PENALISED, engine, Pairing.ABOVE, tile_cells=10_000_000)
        assert device.peak <= 6 << 20


def test_batches_without_a_wanted_pair(rng, monkeypatch):
    """Halved down to single pairs, many batches of a set with itself hold none that is wanted."""
    if compiler() is None:
        pytest.skip("no C++ compiler on this machine")
    monkeypatch.setattr(worker, "MAX_RESULT_BYTES", 300)  # of 64 MB: an emulated device takes minutes for as many paths
    sequences = relatives(rng, 12, 60, 4)
    for host in (False, True):
        engine = CudaEngine([HostDevice()], host_traceback=host)
        compare(sequences, sequences, SCHEMES["default"], EndGaps.PENALISED, engine, Pairing.ABOVE)


@pytest.mark.slow
@pytest.mark.gpu
@pytest.mark.parametrize("scheme", ["default", "linear", "edit"])
def test_lengths_to_4000_and_real_genes(rng, scheme, real_data):
    if reason := detect_devices().reason:
        pytest.skip(reason)
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

    queries, targets = related_sets(rng, [30, 100], 4000, 15)
    compare(queries, targets, SCHEMES[scheme], EndGaps.PENALISED, CudaEngine([CudaDevice(0)]), memory=4 << 30)
    genes = real_genes(real_data, 250)
    compare(genes, genes, SCHEMES[scheme], EndGaps.PENALISED, CudaEngine([CudaDevice(0)]), Pairing.ABOVE, memory=4 << 30)


@pytest.mark.gpu
@pytest.mark.parametrize("scheme", ["default", "edit"])
def test_a_pair_of_100_kb_in_two_gigabytes(rng, scheme, monkeypatch):
    if reason := detect_devices().reason:
        pytest.skip(reason)
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

    query = rng.integers(0, 4, 100_000)
    kept = query[rng.random(len(query)) > 0.01]
    target = np.where(rng.random(len(kept)) < 0.05, rng.integers(0, 4, len(kept)), kept)
    device = CudaDevice(0)
    monkeypatch.setattr(device, "free_memory", lambda: 2 << 30)
    compare(sequence_set([query]), sequence_set([target]), SCHEMES[scheme], EndGaps.PENALISED, CudaEngine([device]))


@pytest.fixture(scope="module")
def genes_102(real_data, tmp_path_factory):
    """5,151 pairs of real genes."""
    path = real_data / "16s_gold.fasta.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not among the real data")
    with gzip.open(path, "rt", encoding="latin-1") as stream:
        text = stream.read().split(">")[1:103]
    out = tmp_path_factory.mktemp("genes") / "genes.fa"
    out.write_text("".join(f">{record}" for record in text), encoding="latin-1")
    return out


@pytest.mark.slow
@pytest.mark.gpu
@pytest.mark.parametrize(
    "options",
    [
        ["--fields", "query,target,score,identity,gaps,qstart,qend,tstart,tend,cigar,qaln,taln"],
        ["--fields", "query,target,score,identity,cigar", "--end-gaps", "free"],
        ["--edit", "--format", "sam"],
        ["--gap", "6", "--format", "paf"],
        ["--format", "matrix", "--value", "distance"],
    ],
    ids=["table", "free", "edit sam", "linear paf", "distances"],
)
def test_the_command_writes_the_same_bytes_as_on_the_cpu(genes_102, options):
    if reason := detect_devices().reason:
        pytest.skip(reason)

    def written(*device):
        command = [sys.executable, "-m", "gpualign", "nw", "-q", "--device", *device, *options, str(genes_102)]
        return subprocess.run(command, check=True, capture_output=True).stdout

    expected = written("cpu")
    assert expected.count(b"\n") > 100
    assert written("cuda") == expected
    assert written("cuda", "--traceback", "host") == expected


@pytest.mark.parametrize("detail", Detail)
def test_details(rng, device, detail):
    queries, targets = related_sets(rng, [3, 20], 100, 4)
    compare(queries, targets, SCHEMES["default"], EndGaps.FREE, CudaEngine([device]), detail=detail)
