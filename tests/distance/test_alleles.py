"""Tables of alleles (cgMLST): what cells mean, and distances beside the plain rule of cgmlst-dists, a cell and a pair at a time."""

import gzip
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from command import gpualign_here
from distance_oracle import allele_source
from host_device import HostDevice
from hypothesis import given
from hypothesis import strategies as st
from sites import stream

import gpualign
from gpualign.core.common.errors import InputError
from gpualign.core.distance.allele_planes import loci_per_panel
from gpualign.core.distance.calls import CallKind
from gpualign.core.distance.count_recipe import CountRequest, Measure
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.multi_device import MultiDeviceDistanceEngine
from gpualign.core.distance.output.matrix import DistanceMatrices
from gpualign.core.distance.output.pairs import PairsSink
from gpualign.core.distance.preparation import DistanceTask, prepare
from gpualign.core.distance.readers.table import read_tables
from gpualign.core.distance.runner import compute_distances
from gpualign.core.distance.tables.alleles import NO_ALLELE
from gpualign.core.distance.tables.options import CallOptions, TableType
from gpualign.core.execution.totals import NullProgress
from gpualign.core.files.scratch import ScratchFiles
from gpualign.core.output.matrix import MatrixSink
from gpualign.core.output.memory import MemoryArray
from gpualign.cpu.distance.engine import CpuDistanceEngine, instruction_sets
from gpualign.gpu.papers.payne import PayneEngine
from gpualign.jobs.output.result_writing import write_results

RULES = {rule.value: rule for rule in MissingRule}
VARIANTS = [name for name, supported in instruction_sets() if supported]


# ---- the definition
def plain(alleles, rule="pairwise"):
    """(loci that differ, loci compared) of every pair; 0 is a missing allele, as in cgmlst-dists."""
    alleles = np.asarray(alleles)
    if rule == "complete":
        alleles = alleles[:, (alleles > 0).all(axis=0)]
    n = len(alleles)
    differing, compared = np.zeros((n, n), int), np.zeros((n, n), int)
    for i in range(n):
        for j in range(n):
            for a, b in zip(alleles[i].tolist(), alleles[j].tolist(), strict=True):
                both = rule == "as-difference" or (a > 0 and b > 0)
                compared[i, j] += both
                differing[i, j] += both and a != b
    return differing, compared


def cgmlst_dists(text):
    """The matrix that cgmlst-dists 0.4.0 computes of a table: PLOT3 and PLOT5 are 0, letters become blanks, then abs(atoi())."""
    rows = [line.split("\t") for line in text.splitlines()[1:]]

    def number(cell):
        found = re.match(r"\s*[-+]?(\d+)", re.sub(r"[A-Za-z]", " ", re.sub("PLOT[35]", "    0", cell)))
        return int(found[1]) if found else 0

    return plain([[number(cell) for cell in row[1:]] for row in rows])[0]


# ---- runs
def source_of(alleles, queries=None):
    """The first `queries` rows against the others, or all of one set; 0: missing."""
    return allele_source(np.where(np.asarray(alleles) > 0, alleles, NO_ALLELE).astype(np.uint32), queries)


def prepared(source, task, engine=None, memory=1 << 28):
    with ScratchFiles() as files:
        yield prepare(source, task, engine or CpuDistanceEngine(1), DistanceBudget.of(memory), files.new_scratch)


def distances(source, metric="hamming", rule="pairwise", engine=None, memory=1 << 28, least=1):
    """(distances, compared sites)."""
    for job in prepared(source, DistanceTask(METRICS[metric], RULES[rule], True, least), engine, memory):
        sink = MatrixSink(DistanceMatrices(job.dtype, has_compared_sites=True), [MemoryArray, MemoryArray])
        write_results(sink, job.samples, compute_distances(job, NullProgress())[0])
        return sink.arrays[0].values, sink.arrays[1].values


class Kept(PairsSink):
    def __init__(self):
        self.pairs = []

    def write_pairs(self, pairs):
        self.pairs += zip(pairs.queries.tolist(), pairs.targets.tolist(), pairs.values.tolist(), strict=True)


def near(source, most, metric="hamming", rule="pairwise", engine=None, least=1):
    for job in prepared(source, DistanceTask(METRICS[metric], RULES[rule], False, least, most), engine):
        sink = Kept()
        write_results(sink, job.samples, compute_distances(job, NullProgress())[0])
        return sink.pairs


def some_alleles(rng, samples, loci, kinds, missing):
    """Related samples: each has a few changes of one of three."""
    founders = rng.integers(1, kinds + 1, (3, loci))
    alleles = founders[rng.integers(0, 3, samples)]
    changed = rng.random(alleles.shape) < 0.2
    alleles[changed] = rng.integers(1, kinds + 1, int(changed.sum()))
    alleles[rng.random(alleles.shape) < missing] = 0
    return alleles


def table(*texts, type=TableType.AUTO, transpose=False, header=True, memory=1 << 20):
    with ScratchFiles() as files:
        inputs = [(stream(text), f"{k}.tsv") for k, text in enumerate(texts)]
        source = read_tables(inputs, CallOptions(transpose, not header, type=type), memory, files.new_scratch, lambda _: None)
        return source, distances(source)


# ---- counting
@given(
    st.integers(1, 9),
    st.integers(1, 70),
    st.sampled_from([1, 2, 3, 17, 5000]),
    st.sampled_from([0, 0.1, 0.7, 1]),
    st.sampled_from(["hamming", "fraction"]),
    st.sampled_from(sorted(RULES)),
    st.integers(1, 40),
    st.sampled_from(VARIANTS),
    st.integers(0, 2**32 - 1),
)
def test_any_alleles_equal_the_definition(samples, loci, kinds, missing, metric, rule, least, variant, seed):
    alleles = some_alleles(np.random.default_rng(seed), samples, loci, kinds, missing)
    engine = CpuDistanceEngine(2, variant)
    differing, common = plain(alleles, rule)
    with np.errstate(invalid="ignore"):
        expected = differing / common if metric == "fraction" else differing.astype(float)
    expected[common < least] = np.nan
    found, compared = distances(source_of(alleles), metric, rule, engine, least=least)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(compared, common)
    defined = expected[~np.isnan(expected)]
    most = float(defined[len(defined) // 2]) if len(defined) else 1.0  # a tie
    wanted = [(i, j, expected[i, j]) for i in range(samples) for j in range(i + 1, samples) if expected[i, j] <= most]
    assert near(source_of(alleles), most, metric, rule, engine, least) == wanted


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("missing", [0, 0.05])
def test_many_loci_of_many_bits(rng, variant, missing):
    """Panels of one and of several lines, planes from none to more than registers hold, and blocks of pairs that are cut off."""
    samples, loci = 37, 3100
    kinds = np.concatenate([np.ones(30, int), np.full(1600, 2), rng.integers(3, 400, 1470)])
    alleles = rng.integers(0, 1 << 30, (samples, loci)) % kinds + 1
    alleles[rng.random(alleles.shape) < missing] = 0
    both = (alleles[:, None] > 0) & (alleles[None] > 0)
    expected = ((alleles[:, None] != alleles[None]) & both).sum(axis=2)
    found, compared = distances(source_of(alleles), engine=CpuDistanceEngine(1, variant))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(compared, both.sum(axis=2))
    found, _ = distances(source_of(alleles, 5), engine=CpuDistanceEngine(2, variant), memory=1 << 22)
    np.testing.assert_array_equal(found, expected[:5, 5:])
    most = int(np.median(expected))
    assert near(source_of(alleles), most, engine=CpuDistanceEngine(1, variant)) == [
        (i, j, expected[i, j]) for i in range(samples) for j in range(i + 1, samples) if expected[i, j] <= most
    ]


def test_more_alleles_than_16_bits_hold(rng):
    samples = 66_000
    alleles = np.stack([rng.permutation(samples) + 1, rng.integers(1, 3, samples)], axis=1)
    alleles[7] = alleles[65_999]
    source = source_of(alleles, 8)
    (job,) = prepared(source, DistanceTask(METRICS["hamming"], MissingRule.PAIRWISE, False))
    assert [len(panel.bits) for panel in job.panels] == [17]
    found, _ = distances(source)
    np.testing.assert_array_equal(found, (alleles[:8, None] != alleles[None, 8:]).sum(axis=2))
    assert found[7, -1] == 0


def test_panels_take_no_more_planes_than_their_loci_need():
    counter = CpuDistanceEngine(1).prepare(CountRequest(Measure.DIFFERENCES, False, multiallelic=True), 1 << 20)
    bits = np.repeat([3, 9, 1], [700, 600, 1300])
    panels = list(loci_per_panel(bits, counter))
    np.testing.assert_array_equal(np.sort(np.concatenate(panels)), np.arange(2600))
    assert [(len(loci), bits[loci].max()) for loci in panels] == [(512, 9), (512, 9), (512, 3), (1064, 1)]
    assert [counter.words_per_sample(len(loci)) for loci in panels] == [8, 8, 8, 24]


def test_engines_side_by_side(rng):
    """A GPU's planes have other words than the CPU's."""

    class Wide(CpuDistanceEngine):
        def prepare(self, wanted, memory):
            return replace(super().prepare(wanted, memory), words_per_sample=lambda sites: -(-sites // 1024) * 16)

    alleles = some_alleles(rng, 300, 40, 9, 0.1)
    both = MultiDeviceDistanceEngine([CpuDistanceEngine(1), Wide(1)], pytest.fail)
    np.testing.assert_array_equal(distances(source_of(alleles), engine=both)[0], distances(source_of(alleles))[0])


def test_other_metrics_are_refused(rng):
    for metric in ("ibs", "allele", "jc69", "tn93"):
        with pytest.raises(InputError, match=rf"metric='{metric}' is for .*; these are alleles of loci"):
            distances(source_of([[1, 2]]), metric)


# ---- tables
CHEWBBACA = (
    "FILE\tG1\tG2\tG3\tG4\tG5\tG6\n"
    "S1\t1\tINF-2\t3\t2\t1\t5\n"
    "S2\t1\t1\t1\t1\tNIPH\t5\n"
    "S3\t1\t2\t3\t4\t1\t3\n"
    "S4\t1\tLNF\t2\t4\t1\t3\n"
    "S5\t1\t2\tASM\t2\t1\t3\n"
    "S6\t2\tINF-8\t3\tPLOT3\tPLOT5\tALM\n"
    "S7\t1\tNIPHEM\tLOTSC\t123\t5\tPAMA\n"
)


def test_chewbbaca_as_cgmlst_dists_reads_it():
    source, (found, _) = table(CHEWBBACA)
    assert source.kind is CallKind.ALLELE
    expected = cgmlst_dists(CHEWBBACA)
    np.testing.assert_array_equal(found, expected)
    assert found[0].tolist() == [0, 3, 2, 3, 1, 2, 2]


@pytest.mark.parametrize(
    "words",
    [
        ["7", "07", "INF-7", "inf-7", "*7", "INF-*7", '"7"', " 7 ", "7.0"],
        ["0", "", "-", "?", ".", "N", "n", "I", "X", "NA", "N/A", "nan", "INF-0", "00", "-5", "5?", "~5", "5;7", "5|7", "5/7"],
        ["LNF", "lnf", "PLNF", "PLOT", "PLOT3", "PLOT5", "LOTSC", "NIPH", "NIPHEM", "PAMA", "ALM", "ASM"],
        ["4294967295", "INF-4294967295", "*04294967295"],
        ["da39a3ee5e6b4b0d", "DA39A3EE5E6B4B0D", "INF-da39a3ee5e6b4b0d"],
    ],
)
def test_spellings_of_one_allele(words):
    """All of them in one column, and in another one what they are compared with: a number of its own each, which tells rows apart."""
    rows = "".join(f"s{k}\t{word}\t9\n" for k, word in enumerate(words)) + "other\t6\t9\n"
    _, (found, compared) = table("FILE\ta\tb\n" + rows)
    missing = words[0] in ("0", "LNF")
    np.testing.assert_array_equal(found[:-1, :-1], 0)
    np.testing.assert_array_equal(compared[:-1, :-1], 1 if missing else 2)
    np.testing.assert_array_equal(found[:-1, -1], 0 if missing else 1)


def test_hashes_and_long_numbers_are_told_apart():
    words = ["4294967295", "4294967296", "2147483648", "da39a3ee", "da39a3ef", "deadbeef", "123456789", "1234567890"]
    _, (found, _) = table("FILE\ta\n" + "".join(f"s{k}\t{word}\n" for k, word in enumerate(words)))
    np.testing.assert_array_equal(found, 1 - np.eye(len(words)))


@pytest.mark.parametrize("digits", [9, 10, 30])
def test_long_numbers_beside_the_numbers_of_genotypes_are_alleles(digits):
    """chewBBACA's CRC32, or hashes of 64 bits, beside a locus with few alleles."""
    large = int("3" * digits)
    _, (found, _) = table(f"id\ta\tb\nA\t{large}\t1\nB\t{large + 1}\t2\nC\t{large}\t1\n")
    np.testing.assert_array_equal(found, [[0, 2, 0], [2, 0, 2], [0, 2, 0]])


def test_tables_turned_in_two_files_and_from_scratch_files(rng):
    alleles = some_alleles(rng, 30, 25, 40, 0.1)
    expected, _ = plain(alleles)

    def text(rows, ids, titles, separator="\t", end="\n"):
        lines = [["FILE", *titles], *([name, *map(str, row)] for name, row in zip(ids, rows, strict=True))]
        return "".join(separator.join(line) + end for line in lines)

    samples, loci = [f"s{k}" for k in range(30)], [f"L{k}" for k in range(25)]
    whole = text(alleles, samples, loci)
    for one in (whole, text(alleles, samples, loci, ",", "\r\n"), "\ufeff" + whole):
        np.testing.assert_array_equal(np.nan_to_num(table(one)[1][0]), expected)
    np.testing.assert_array_equal(np.nan_to_num(table(whole, memory=1)[1][0]), expected)
    np.testing.assert_array_equal(np.nan_to_num(table(text(alleles.T, loci, samples), transpose=True)[1][0]), expected)
    bare = whole.split("\n", 1)[1]
    np.testing.assert_array_equal(np.nan_to_num(table(bare, header=False)[1][0]), expected)
    halves = text(alleles[:9], samples[:9], loci), text(alleles[9:], samples[9:], loci)
    np.testing.assert_array_equal(np.nan_to_num(table(*halves)[1][0]), expected[:9, 9:])


def test_hashes_are_the_same_in_two_files():
    one, other = ("FILE\ta\tb\nx\tdeadbeef01\tcafe0123ab\n", "FILE\ta\tb\ny\tcafe0123ab\tcafe0123ab\nz\tdeadbeef01\t0\n")
    np.testing.assert_array_equal(table(one, other)[1][0], [[1, 0]])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("id\ta\tb\ns\t1\t3\n", CallKind.ALLELE),
        ("id\ta\tb\ns\t1\t2\nt\t1\t12\n", CallKind.ALLELE),  # the first row does not tell
        ("id\ta\tb\ns\t1\tLNF\n", CallKind.ALLELE),
        ("id\ta\tb\ns\tINF-1\t2\n", CallKind.ALLELE),
        ("id\ta\tb\ns\t1\t2\nt\t0\t-\n", CallKind.GENOTYPE),
        ("id\ta\tb\ns\tA\tC\nt\tN\t-\n", CallKind.NUCLEOTIDE),
    ],
)
def test_what_a_table_holds_is_found(text, kind):
    assert table(text)[0].kind is kind


def test_small_numbers_are_alleles_when_that_is_said():
    text = "ST\ta\tb\n1\t1\t0\n2\t2\t1\n"
    np.testing.assert_array_equal(table(text, type=TableType.ALLELES)[1][0], [[0, 1], [1, 0]])
    np.testing.assert_array_equal(table(text)[1][0], [[0, 2], [2, 0]])


def test_a_slip_in_genotypes_makes_no_alleles(rng):
    rows = [f"s{k}\t" + "\t".join(map(str, rng.integers(0, 3, 50))) for k in range(4)]
    text = "id\t" + "\t".join(f"r{k}" for k in range(50)) + "\n" + "\n".join(rows) + "\nslip" + "\t1" * 49 + "\t3\n"
    with pytest.raises(InputError, match=r"line 6 \('slip'\), column 51 \('r49'\): '3' in a table of genotypes.*type='alleles'"):
        table(text)
    with pytest.raises(InputError, match="'3' in a table of genotypes"):
        table("id\tr1\tr2\na\t0\t3\n", type=TableType.CALLS)
    with pytest.raises(InputError, match=r"'1000000000' in a table of genotypes.*missing_code=1000000000"):  # a hash, as an allele
        table("id" + "\tG" * 60 + "\na\t1000000000" + "\t1" * 59 + "\nb" + "\t2" * 60 + "\n")


@pytest.mark.parametrize(
    "title", ["ST", "st", "cgMLST ST", "ST (Achtman)", "Sequence Type", "sequence_type", "mlst_st", "CC", "clonal_complex"]
)
def test_titles_of_sequence_types_and_clonal_complexes(title):
    rows = "s1\t5\t1\t1\ns2\t6\t2\t2\ns3\t6\t1\t1\n"
    assert table(f"id\t{title}\ta\tb\n{rows}")[0].kind is CallKind.ALLELE
    assert table(f"id\tyear\ta\tb\n{rows}")[0].kind is CallKind.GENOTYPE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "FILE\ta\tb\ns1\t5\t6\ns2\t5\tGermany\n",
            r"0.tsv: line 3 \('s2'\), column 3 \('b'\): 'Germany' in a table of alleles",
        ),
        ("id\tL1\ta\n1\tM12/3\t5\n", r"column 2 \('L1'\): 'M12/3' in a table of alleles.*isolate metadata .ignore_columns leaves"),
        ("FILE\ta\tb\ns1\t5\t6\ns2\t5\n", r"line 3 \('s2'\) has 2 cells, the header has 3"),
        ("FILE\ta\tb\ns1\t5\t1e5\n", "'1e5' in a table of alleles"),
        ("FILE\ta\tb\ns1\t5\tINF-\n", "'INF-' in a table of alleles"),
        ("s0\t5\t6\ns1\t5\t7\n", "the first line may be a row of calls.*use no_header"),
        ("FILE\ta\ns\t5\ns\t6\n", "samples 1 and 2 have the same id 's'"),
    ],
)
def test_bad_tables(text, message):
    with pytest.raises(InputError, match=message):
        table(text)


# ---- the command
@pytest.fixture
def cgmlst(tmp_path):
    path = tmp_path / "results_alleles.tsv"
    path.write_text(CHEWBBACA)
    return path


def test_command(cgmlst, tmp_path):
    expected = cgmlst_dists(CHEWBBACA)
    out, messages = gpualign_here("dist", cgmlst)
    lines = out.decode().splitlines()
    assert [list(map(int, line.split("\t")[1:])) for line in lines[1:]] == expected.tolist()
    assert "results_alleles.tsv: read as alleles, 0 meaning no allele (--type alleles confirms this" in messages
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(CHEWBBACA.replace("\n", "\r\n").encode()))
    assert gpualign_here("dist", packed, "--type", "alleles")[0] == out
    listed, _ = gpualign_here("dist", "-q", cgmlst, "--max-distance", 1, "--min-compared", 5, "--compared")
    assert listed.decode().splitlines() == ["query\ttarget\tdistance\tcompared", "S1\tS5\t1\t5", "S3\tS4\t1\t5", "S3\tS5\t1\t5"]


def test_what_does_not_go_with_alleles(cgmlst, tmp_path):
    alignment = tmp_path / "core.aln"
    alignment.write_text(">a\nACGT\n>b\nACGA\n")
    for words, message in (
        ((alignment, "--type", "alleles"), "--type alleles is for tables; .*core.aln is an alignment"),
        ((cgmlst, "--type", "alleles", "--all-letters"), "--all-letters is for letters, not for --type alleles"),
        ((cgmlst, "--type", "calls"), "'INF-2' in a table of genotypes; .*; alleles are read with --type alleles$"),
    ):
        with pytest.raises(InputError, match=message):
            gpualign_here("dist", *words)
    with pytest.raises(InputError, match="not alleles of loci; leave out kernel"):
        PayneEngine(HostDevice(), "naive", 1).prepare(CountRequest(Measure.DIFFERENCES, False, multiallelic=True), 1 << 20)


@pytest.mark.parametrize(
    "cells",
    ["1\t2", "7\tINF-3", "INF-3\t1", "LNF\t12", "a1b2c3d4e5\ta1b2c3d4e6", "-\tPLOT3", "N\t44"],
    ids=lambda cells: cells.replace("\t", " "),
)
@pytest.mark.parametrize("words", [[], ["--type", "calls"], ["--transpose"]], ids=" ".join)
def test_letters_are_not_looked_for_in_tables_of_alleles(tmp_path, cells, words):
    """--all-letters leads to no other option that it does not go with either."""
    (tmp_path / "x.tsv").write_text(f"FILE\tl1\tl2\na\t{cells}\n")
    with pytest.raises(
        InputError, match=r"--all-letters is for alignments and tables of letters; .*x\.tsv is a table of genotypes or alleles$"
    ):
        gpualign_here("dist", tmp_path / "x.tsv", "--all-letters", *words)


def test_from_python(cgmlst):
    np.testing.assert_array_equal(gpualign.dist(cgmlst, type="alleles").values, cgmlst_dists(CHEWBBACA))
    with pytest.raises(InputError, match="type 'mlst': expected one of auto, calls, alleles, centred, abh"):
        gpualign.dist(cgmlst, type="mlst")
    with pytest.raises(InputError, match="type='alleles' is for tables in files"):
        gpualign.dist(np.array([[1, 2]]), type="alleles")


@pytest.mark.skipif(shutil.which("cgmlst-dists") is None, reason="no cgmlst-dists on the path")
def test_command_beside_cgmlst_dists(tmp_path, rng):
    alleles = some_alleles(rng, 60, 90, 30, 0)
    words = np.where(rng.random(alleles.shape) < 0.1, "INF-", "").astype(object) + alleles.astype(str).astype(object)
    lost = rng.random(alleles.shape) < 0.1
    words[lost] = rng.choice(["LNF", "0", "PLOT3", "PLOT5", "NIPH", "NIPHEM", "ALM", "ASM", "LOTSC", "PAMA"], int(lost.sum()))
    path = tmp_path / "alleles.tsv"
    rows = ["\t".join([f"s{k}", *row]) for k, row in enumerate(words.tolist())]
    path.write_text("\n".join(["\t".join(["FILE", *(f"L{k}" for k in range(90))]), *rows]) + "\n")
    theirs = subprocess.run(["cgmlst-dists", "-q", path], capture_output=True, check=True).stdout.splitlines()
    assert gpualign_here("dist", "-q", path)[0].splitlines()[1:] == theirs[1:]


def test_loci_are_chosen_by_their_calls(rng, tmp_path):
    alleles = some_alleles(rng, 20, 40, 30, 0.2)
    path, left = tmp_path / "all.tsv", tmp_path / "left.tsv"
    kept = np.flatnonzero(np.count_nonzero(alleles, axis=0) >= 16)
    assert 0 < len(kept) < 40
    for name, columns in ((path, np.arange(40)), (left, kept)):
        rows = ["\t".join([f"s{k}", *map(str, row)]) for k, row in enumerate(alleles[:, columns].tolist())]
        name.write_text("\n".join(["\t".join(["FILE", *(f"L{k}" for k in columns)]), *rows]) + "\n")
    chosen, messages = gpualign_here("dist", path, "--core", "0.8", "--type", "alleles")
    assert chosen == gpualign_here("dist", left, "--type", "alleles")[0]
    assert f"used: {len(kept)}" in messages
    with pytest.raises(InputError, match="--core chooses sites by their calls"):
        gpualign_here("dist", path, "--maf", "0.1", "--type", "alleles")
