"""Sets of samples on disk: what was added in any batches is what one file of all samples holds, whatever is done with it."""

import re
import tempfile
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from command import gpualign, gpualign_here
from dist_command import write_alignment
from distance_oracle import ProductsOnly, compute
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_sets import READING, append, make, open_files, related_rows, small_set, write_rows
from sites import panels_of, vcf_text, write_fileset

from gpualign import dist as distances
from gpualign.core.common.errors import InputError
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.readers.detection import read_calls
from gpualign.core.distance.sample_sets.reading import join_sources, source_of_set
from gpualign.core.distance.sample_sets.sample_set import open_sample_set
from gpualign.core.distance.tables.options import CallOptions
from gpualign.core.files.scratch import ScratchFiles
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.jobs.sample_sets import withdraw_samples


def read(path, files):
    return read_calls(open_files(path), READING, 1 << 26, files, lambda _: None)


def all_calls(source):
    """Calls of all samples at all sites, in the order of the sites."""
    if hasattr(source, "calls_at"):
        with closing(ThreadPool(2)) as workers:
            return source.calls_at(np.arange(source.site_count, dtype=np.uint32), workers)
    return panels_of(source)[0]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 5, 63, 64, 65, 511, 512, 513, 1100]),
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.sampled_from(["hamming", "fraction", "tn93"]),
    st.sampled_from(["pairwise", "complete", "as-difference"]),
)
def test_batches_of_an_alignment_are_one_alignment(seed, sites, batches, metric, rule):
    rng = np.random.default_rng(seed)
    rows = related_rows(rng, sum(batches), sites)
    if metric == "tn93" and rule == "as-difference":
        rule = "pairwise"
    with tempfile.TemporaryDirectory() as name, ScratchFiles() as files:
        folder, first = Path(name), 0
        for number, count in enumerate(batches):
            write_rows(folder / f"{number}.fa", rows[first : first + count], first)
            (append if number else make)(folder / f"{number}.fa", folder / "set.gps")
            first += count
        write_rows(folder / "all.fa", rows)
        stored, whole = source_of_set(open_sample_set(str(folder / "set.gps"))), read(folder / "all.fa", files)
        assert stored.samples.ids == whole.samples.ids
        assert (all_calls(stored) == all_calls(whole)).all()
        assert stored.calls_per_sample.tolist() == whole.calls_per_sample.tolist()
        mask = rng.random(sites) < 0.5
        assert (stored.select_sites(mask).calls_per_sample == whole.select_sites(mask).calls_per_sample).all()
        with closing(ThreadPool(2)) as workers:
            for one, other in ((stored, whole), (stored.select_sites(mask), whole.select_sites(mask))):
                counts, expected = (x.count_per_site(True, 1 << 20, workers) for x in (one, other))
                assert (counts.call_counts == expected.call_counts).all()
                assert (counts.minor_allele_counts == expected.minor_allele_counts).all()
        # The rows of the first batch beside the set of all, as new samples beside old ones.
        added = read(folder / "0.fa", files)
        both = join_sources(added, stored, "0.fa", "set.gps")
        expected_both = join_sources(added, whole, "0.fa", "all.fa")
        kept = rng.random(len(rows)) < 0.7
        kept[0] = True
        pairs = [(stored, whole), (stored.select_samples(kept), whole.select_samples(kept)), (both, expected_both)]
        for one, other in pairs:
            for engine in (CpuDistanceEngine(2), ProductsOnly(1)):
                for found, expected in zip(compute(one, engine, metric, rule), compute(other, engine, metric, rule), strict=True):
                    assert np.array_equal(found, expected, equal_nan=True)


def genotype_table(rng, samples, sites, numbers="012"):
    cells = rng.choice([*numbers, "NA"], (samples, sites), p=[0.9 / len(numbers)] * len(numbers) + [0.1])
    cells[0, 0] = "2"
    return cells


def write_table(path, cells, first=0):
    lines = ["\t".join(["id", *(f"L{k}" for k in range(cells.shape[1]))])]
    lines += ["\t".join([f"s{first + k}", *row]) for k, row in enumerate(cells)]
    path.write_text("\n".join(lines) + "\n")


def allele_cells(rng, samples, loci):
    cells = rng.integers(1, 40, (samples, loci)).astype(object)
    for mark in ("LNF", "0", "INF-7"):
        cells[rng.random(cells.shape) < 0.05] = mark
    hashed = rng.random(cells.shape) < 0.2
    cells[hashed] = [f"{3_000_000_000 + number:08x}{number:08x}" for number in rng.integers(0, 30, int(hashed.sum()))]
    return cells.astype(str)


def vcf_of(rng, samples, first=0):
    records = []
    for k in range(130):
        alleles = ["A", "C", "G"][: 2 + k % 2]
        calls = [f"{a}/{b}" for a, b in rng.integers(0, len(alleles), (samples, 2))]
        records.append((alleles, ["./." if rng.random() < 0.1 else call for call in calls]))
    return [f"s{first + k}" for k in range(samples)], records


def write_parts(kind, folder, rng):
    """(files of three batches, one file of all samples)"""
    sizes = 5, 1, 4
    bounds = np.append(0, np.cumsum(sizes))
    suffix = ".vcf" if kind == "vcf" else ".bed" if kind == "bed" else ".fa" if kind == "protein" else ".tsv"
    names = [folder / f"{k}{suffix}" for k in range(4)]
    if kind == "vcf":
        ids, records = vcf_of(rng, int(bounds[-1]))
        for name, first, last in zip(names, [*bounds[:-1], 0], [*bounds[1:], bounds[-1]], strict=True):
            name.write_text(vcf_text(ids[first:last], [(alleles, calls[first:last]) for alleles, calls in records]))
        return names[:3], names[3]
    if kind == "bed":
        codes = rng.choice(np.array([0, 1, 2, 255], np.uint8), (bounds[-1], 130))
        write_fileset(names[3], codes)
        for k, (first, last) in enumerate(pairwise(bounds)):
            write_fileset(names[k], codes[first:last], [3, 64, 129] if k == 1 else ())
            people = [f"f{j} p{j} 0 0 0 -9\n" for j in range(first, last)]
            names[k].with_suffix(".fam").write_text("".join(people))
        return names[:3], names[3]
    if kind == "protein":
        rows = rng.choice(np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY-X", np.uint8), (bounds[-1], 600))
        write_rows(names[3], rows)
        for k, (first, last) in enumerate(pairwise(bounds)):
            write_rows(names[k], rows[first:last], first)
        return names[:3], names[3]
    cells = genotype_table(rng, bounds[-1], 130) if kind == "genotypes" else allele_cells(rng, bounds[-1], 130)
    if kind == "genotypes":
        cells[5] = np.where(cells[5] == "2", "1", cells[5])  # alone this batch could be of another kind
    write_table(names[3], cells)
    for k, (first, last) in enumerate(pairwise(bounds)):
        write_table(names[k], cells[first:last], first)
    return names[:3], names[3]


KINDS = {
    "protein": ["", "--missing complete"],
    "genotypes": ["", "--metric ibs", "--metric king", "--metric grm", "--maf 0.2"],
    "alleles": ["", "--missing complete", "--max-distance 100"],
    "vcf": ["", "--metric ibs", "--regions 1:20-90"],
    "bed": ["", "--metric king", "--metric grm", "--core 0.8"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_sets_of_every_kind_give_the_bytes_of_their_files(rng, tmp_path, kind):
    if kind == "vcf":
        pytest.importorskip("cyvcf2")
    batches, whole = write_parts(kind, tmp_path, rng)
    store = tmp_path / "all.gps"
    for number, batch in enumerate(batches):
        gpualign_here("index", batch, *(["--append", store] if number else ["-o", store]), "-q")
    copy = tmp_path / "copy.gps"
    gpualign_here("index", store, "-o", copy, "-q")
    protein = ["--missing", "pairwise"] if kind == "protein" else []
    for options in KINDS[kind]:
        words = [*(protein if "--missing" not in options else []), *options.split(), "-q", "--device", "cpu"]
        expected = gpualign_here("dist", whole, *words)[0]
        assert gpualign_here("dist", store, *words)[0] == expected
        assert gpualign_here("dist", copy, *words)[0] == expected
        beside = gpualign_here("dist", batches[1], whole, *words)[0]
        assert gpualign_here("dist", batches[1], store, *words)[0] == beside
        two = tmp_path / "one.gps"
        if not two.exists():
            gpualign_here("index", batches[1], *(["--type", "calls"] if kind == "genotypes" else []), "-o", two, "-q")
        assert gpualign_here("dist", two, store, *words)[0] == beside


def test_sets_that_compare_other_letters_are_not_joined(rng, tmp_path):
    """Gaps are missing in one and calls in the other, and the numbers of the letters differ."""
    rows = rng.choice(np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY-", np.uint8), (6, 300))
    write_rows(tmp_path / "old.fa", rows[:4])
    write_rows(tmp_path / "new.fa", rows[4:], 4)
    store, other = tmp_path / "old.gps", tmp_path / "new.gps"
    gpualign_here("index", tmp_path / "old.fa", "-o", store, "-q")
    gpualign_here("index", tmp_path / "new.fa", "--all-letters", "-o", other, "-q")
    before = store.read_bytes()
    for words in (["index", other, "--append", store], ["dist", other, "--add", store], ["dist", store, other]):
        done = gpualign(*words, check=False)
        assert (done.returncode, b"other letters are calls" in done.stderr) == (2, True), done.stderr
    assert store.read_bytes() == before


def test_rules_of_missing_calls_are_refused_where_gaps_are_calls(tmp_path):
    """With the file itself, the same options make gaps missing calls; a set keeps them as calls."""
    (tmp_path / "x.fa").write_text(">a\nAC-T\n>b\nACGT\n")
    gpualign_here("index", tmp_path / "x.fa", "--all-letters", "-o", tmp_path / "x.gps")
    assert gpualign_here("dist", tmp_path / "x.gps")[0] == gpualign_here("dist", tmp_path / "x.fa", "--all-letters")[0]
    with pytest.raises(InputError, match=r"made with --all-letters, gaps are calls and nothing is missing; leave it out"):
        gpualign_here("dist", tmp_path / "x.gps", "--missing", "complete")


def test_withdrawn_samples_are_no_longer_there_and_may_come_back(rng, tmp_path):
    store, new = small_set(tmp_path, rng)
    append(new, store)
    withdraw_samples(str(store), {"s3": "here", "s9": "here"})
    left = gpualign_here("dist", store, "-q")[0]
    (tmp_path / "all.fa").write_bytes((tmp_path / "old.fa").read_bytes() + new.read_bytes())
    assert left == gpualign_here("dist", tmp_path / "all.fa", "--exclude", "s3", "--exclude", "s9", "-q")[0]
    for words in (["--max-distance", "30"], ["--missing", "complete"], ["--exclude", "s0"]):
        expected = gpualign_here("dist", tmp_path / "all.fa", "--exclude", "s3", "--exclude", "s9", *words, "-q")[0]
        assert gpualign_here("dist", store, *words, "-q")[0] == expected
    with pytest.raises(InputError, match="no sample 's3'"):
        withdraw_samples(str(store), {"s3": "again"})
    one = tmp_path / "one.fa"
    one.write_bytes(b">s3\n" + re.search(rb">s3\n(.*\n)", (tmp_path / "old.fa").read_bytes())[1])
    assert append(one, store).sample_count == 11
    order = [*(f"s{k}" for k in range(12) if k not in (3, 9)), "s3"]
    assert source_of_set(open_sample_set(str(store))).samples.ids == order


@pytest.mark.parametrize("name", ["a\u00a0b", "soft\u00adhyphen", "\ue000", "latin1-\udce9", "日本"])
def test_a_set_has_every_id_that_dist_reads(tmp_path, name):
    (tmp_path / "x.aln").write_text(f">{name}\nACGT\n>c\nACGA\n", errors="surrogateescape")
    assert gpualign_here("index", tmp_path / "x.aln", "-o", tmp_path / "x.gps")[0] == b""
    assert gpualign_here("dist", tmp_path / "x.gps")[0] == gpualign_here("dist", tmp_path / "x.aln")[0]
    gpualign_here("index", tmp_path / "x.gps", "--withdraw", name)
    assert open_sample_set(tmp_path / "x.gps").ids == ["c"]


def test_an_id_is_in_a_set_once(rng, tmp_path):
    store, _ = small_set(tmp_path, rng)
    before = store.read_bytes()
    with pytest.raises(InputError, match="has a sample 's0' already"):
        append(tmp_path / "old.fa", store)
    assert store.read_bytes() == before
    append(tmp_path / "old.fa", store, CallOptions(gaps_missing=True, allow_duplicates=True))
    assert source_of_set(open_sample_set(str(store))).samples.ids[8] == "s0_2"


REFUSED = {
    "another length": (b">x\nACGT\n", "rows of 4 columns, {set} has 700"),
    "another kind": (b"id\tL1\nx\t1\ny\t2\n", "samples of a set are of one kind"),
    "no samples": (b"", "empty file"),
    "a broken record": (b">x\nAC1T\n", "record 'x' (number 1)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_added_changes_nothing(rng, tmp_path, case):
    store, _ = small_set(tmp_path, rng)
    before = store.read_bytes()
    text, message = REFUSED[case]
    (tmp_path / "bad").write_bytes(text)
    done = gpualign("index", tmp_path / "bad", "--append", store, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert message.format(set=store) in done.stderr.decode()
    assert store.read_bytes() == before


CELLS = ["-1 0 1", "0 1", "0 1 2", "-1 0 1 2", "0 1 2 9", "A B H", "A C G T", "A C D B H", "1 2 3 4 15", "0 1 2 3"]


@pytest.mark.parametrize(("old", "new"), [("0", "1 -1"), ("0 NA", "-1 1 NA"), ("0 0", "-1 0 1")])
def test_a_set_that_does_not_show_its_coding(tmp_path, old, new):
    """A 0 alone may be the homozygous reference or, among -1, 0 and 1, a heterozygote: it must not stay the one beside the other."""
    old_table, new_table, store, new_store = (tmp_path / name for name in ("old.tsv", "new.tsv", "old.gps", "new.gps"))
    for path, cells, first in ((old_table, old, 0), (new_table, new, 5)):
        write_table(path, np.array([[cell] for cell in cells.split()]), first)
    for table, one in ((old_table, store), (new_table, new_store)):
        gpualign_here("index", table, "-o", one)
    before = store.read_bytes()
    for words in (["dist", new_table, store], ["dist", store, new_store], ["index", new_table, "--append", store]):
        with pytest.raises(InputError, match="do not mean the same"):
            gpualign_here(*words)
    assert store.read_bytes() == before


def test_a_set_of_missing_calls_takes_any_coding(tmp_path):
    every, empty, new, store = (tmp_path / name for name in ("all.tsv", "empty.tsv", "new.tsv", "x.gps"))
    write_table(every, np.array([["NA"], ["-1"], ["1"], ["0"], ["0"]]))
    write_table(empty, np.array([["NA"]]))
    write_table(new, np.array([["-1"], ["1"]]), 1)
    gpualign_here("index", empty, "-o", store)
    for table in (new, tmp_path / "0.tsv", tmp_path / "1.tsv"):
        if table is not new:
            write_table(table, np.array([["0"]]), 3 + int(table.stem))
        gpualign_here("index", table, "--append", store)
    assert gpualign_here("dist", store)[0] == gpualign_here("dist", every)[0]


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_tables_added_to_a_set_are_read_as_beside_the_others(data):
    """Whatever a table alone looks like: either its cells mean what they mean in one table of all samples, or it is refused.

    Only alleles of a set stay alleles, with 0 as a missing one, where one table would be asked about.
    """
    sites, first, second = (data.draw(st.integers(1, high), label=name) for name, high in (("sites", 4), ("old", 4), ("new", 3)))
    cells = st.sampled_from(data.draw(st.sampled_from(CELLS)).split())
    rows = [[f"s{k}", *data.draw(st.lists(cells, min_size=sites, max_size=sites))] for k in range(first + second)]
    header = ["id", *(f"site_{k}" for k in range(sites))]

    def write(path, some):
        path.write_text("".join("\t".join(row) + "\n" for row in [header, *some]))

    def distances_of(*words):
        try:
            return gpualign_here("dist", *words, "--format", "molten")[0]
        except InputError as error:
            return str(error)

    def check(found, expected):
        were_asked = isinstance(expected, str) and "(--type alleles)" in expected and expected.endswith("say which")
        assert isinstance(found, str) or found == expected or were_asked

    with tempfile.TemporaryDirectory() as folder:
        every, old, new, store = (Path(folder) / name for name in ("all.tsv", "old.tsv", "new.tsv", "x.gps"))
        for path, some in ((every, rows), (old, rows[:first]), (new, rows[first:])):
            write(path, some)
        try:
            gpualign_here("index", old, "-o", store)
        except InputError:
            return
        for by_set, by_text in (((new, store), (new, old)), ((store, new), (old, new))):
            check(distances_of(*by_set), distances_of(*by_text))
        try:
            gpualign_here("index", new, "--append", store)
        except InputError:
            return
        check(distances_of(store), distances_of(every))


def test_a_set_whose_first_alleles_are_all_1_and_2(tmp_path):
    old, new, store = (tmp_path / name for name in ("old.tsv", "new.tsv", "old.gps"))
    write_table(old, np.array([["1", "2"]]))
    write_table(new, np.array([["1", "12"]]), 1)
    notes = gpualign_here("index", old, "-o", store)[1]
    assert "1 sample kept; 1 sample, 2 sites, " in notes
    with pytest.raises(InputError, match="samples of a set are of one kind; --type alleles makes a set of alleles"):
        gpualign_here("index", new, "--append", store)
    gpualign_here("index", old, "-o", store, "--type", "alleles")
    gpualign_here("index", new, "--append", store)
    assert gpualign_here("dist", store, "-q")[0] == b"\ts0\ts1\ns0\t0\t1\ns1\t1\t0\n"


def test_options_of_reading_belong_to_the_set(rng, tmp_path):
    store, new = small_set(tmp_path, rng)
    gpualign("index", new, "-o", tmp_path / "x.gpa", "--degap", "--unknown", "n")
    for words in (
        ["dist", store, "--all-letters"],
        ["dist", new, "--add", store, "--type", "alleles"],
        ["index", new, "--append", store, "--transpose"],
    ):
        done = gpualign(*words, check=False)
        assert done.returncode == 2
        assert b"is a set of samples, which keeps the options it was made with" in done.stderr
    for words, told in (
        (["index", new], "give one of -o FILE"),
        (["index", new, "-o", tmp_path / "x.gps", "--degap"], "--degap is for indexes of sequences"),
        (["index", new, "-o", tmp_path / "x.gpa", "--transpose"], "--transpose is for sets of samples"),
        (["index", new, "--append", new], f"{new}: not a set of samples\n"),
        (["index", new, "--append", tmp_path / "x.gpa"], "x.gpa: not a set of samples but an index of sequences, which cannot be changed;"),
        (["index", new, "--append", tmp_path / "none.gps"], "no such file"),
        (["index", new, "--withdraw", "s1"], f"{new}: not a set of samples"),
        (["index", store, "--withdraw", "s9999"], "has no sample 's9999'"),
        (["sw", new, store], f"{store} is a set of samples; expected FASTA or FASTQ; gpualign dist reads it"),
    ):
        done = gpualign(*words, check=False)
        assert (done.returncode, told in done.stderr.decode()) == (2, True), done.stderr


def test_sets_in_python(rng, tmp_path):
    store, new = small_set(tmp_path, rng)
    for others in (None, new):
        found, expected = (distances(one, others) for one in (store, tmp_path / "old.fa"))
        assert np.array_equal(found.values, expected.values, equal_nan=True)
        assert (found.ids, found.target_ids) == (expected.ids, expected.target_ids)
    beside = distances(new, store)
    assert np.array_equal(beside.values, distances(store, new).values.T, equal_nan=True)


def test_a_reader_sees_the_set_as_it_was_opened(rng, tmp_path):
    store, new = small_set(tmp_path, rng)
    opened = source_of_set(open_sample_set(str(store)))
    before = all_calls(opened)
    append(new, store)
    assert (all_calls(opened) == before).all()


def test_a_set_read_by_two_formats_of_vcf_sites(tmp_path):
    pytest.importorskip("cyvcf2")
    first = vcf_text(["a", "b"], [(["A"], ["0/0", "0/0"]), (["C", "T"], ["0/1", "1/1"])])
    second = vcf_text(["c"], [(["A", "G"], ["0/1"]), (["C"], ["0/0"])])
    third = vcf_text(["d"], [(["A", "T"], ["0/1"]), (["C"], ["0/0"])])
    for name, text in (("1.vcf", first), ("2.vcf", second), ("3.vcf", third)):
        (tmp_path / name).write_text(text)
    gpualign("index", tmp_path / "1.vcf", "-o", tmp_path / "v.gps")
    gpualign("index", tmp_path / "2.vcf", "--append", tmp_path / "v.gps")
    (tmp_path / "t.tsv").write_text("id\tx\ty\nq\t0\t1\n")
    done = gpualign("dist", "t.tsv", "v.gps", check=False, cwd=tmp_path)
    assert b"v.gps has the sites of VCF, t.tsv those of a table; two inputs must be of one kind" in done.stderr
    # The second file has named the alternative allele of the first site.
    done = gpualign("index", tmp_path / "3.vcf", "--append", tmp_path / "v.gps", check=False)
    assert done.returncode == 2
    assert b"site 1 is 1:1 A/T" in done.stderr


def test_lists_of_alignments_and_pipes(rng, tmp_path):
    rows = related_rows(rng, 9, 300)
    for k in range(3):
        write_alignment(tmp_path / f"{k}.fa", rows[3 * k : 3 * k + 3], f"b{k}_")
    (tmp_path / "list.txt").write_text("0.fa\n1.fa\n")
    gpualign("index", "@list.txt", "-o", "x.gps", cwd=tmp_path)
    done = gpualign("index", "-", "--append", "x.gps", cwd=tmp_path, stdin=(tmp_path / "2.fa").read_bytes())
    assert b"3 samples added; 9 samples, 300 sites" in done.stderr
    whole = gpualign("dist", "-", "-q", cwd=tmp_path, stdin=b"".join((tmp_path / f"{k}.fa").read_bytes() for k in range(3)))
    assert gpualign("dist", "x.gps", "-q", cwd=tmp_path).stdout == whole.stdout
    (tmp_path / "sets.txt").write_text("x.gps\n")
    for words, text in ((["dist", "-"], (tmp_path / "x.gps").read_bytes()), (["dist", "@sets.txt"], None)):
        done = gpualign(*words, cwd=tmp_path, stdin=text, check=False)
        assert (done.returncode, b"name it alone as a file, neither compressed nor in a list or a pipe" in done.stderr) == (2, True)
