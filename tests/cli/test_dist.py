"""`gpualign dist` through the installed executable: what is written, inputs, errors, what users feed it."""

import bz2
import csv
import gzip
import lzma
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from command import GPUALIGN, gpualign, gpualign_here, shell
from goldens import CORE, OLD, SNPS
from places import GOLDEN
from processes import interrupt
from sites import vcf_text, write_fileset
from zstandard_codec import zstd

from gpualign.cpu.distance.engine import instruction_sets

pytestmark = pytest.mark.slow


def dist(*arguments, **options):
    return gpualign("dist", *arguments, "--device", "cpu", **options)


@pytest.fixture
def expected():
    """The square matrix of the golden text."""
    return np.loadtxt(GOLDEN / "dist" / "square.tsv", skiprows=1, usecols=range(1, 5), dtype=int)


def test_npy_npz_and_condensed_hold_the_matrix(tmp_path, expected):
    dist(CORE, "-o", tmp_path / "m.npy", "--compared")
    np.testing.assert_array_equal(np.load(tmp_path / "m.npy"), expected)
    assert np.load(tmp_path / "m.compared.npy")[0, 2] == 19
    assert (tmp_path / "m.ids.txt").read_text().split() == [f"isolate_{k}" for k in range(1, 5)]
    dist(CORE, "-o", tmp_path / "m.npz", "--compared")
    with np.load(tmp_path / "m.npz") as archive:
        np.testing.assert_array_equal(archive["distance"], expected)
        np.testing.assert_array_equal(archive["compared"], np.load(tmp_path / "m.compared.npy"))
        assert archive["ids"].tolist() == [f"isolate_{k}" for k in range(1, 5)]
    dist(CORE, "-o", tmp_path / "c.npy", "--condensed", "--compared")
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), expected[np.triu_indices(4, 1)])
    assert np.load(tmp_path / "c.compared.npy").shape == (6,)
    dist(CORE, OLD, "-o", tmp_path / "r.npy")
    assert np.load(tmp_path / "r.npy").shape == (4, 2)
    assert sorted(p.name for p in tmp_path.glob("r.*")) == ["r.npy", "r.query_ids.txt", "r.target_ids.txt"]


@pytest.mark.parametrize("name", ["m.tsv", "m.csv", "m.phy", "m.meg", "m.tsv.gz"])
def test_text_files_have_the_compared_sites_beside_them(tmp_path, name):
    dist(CORE, "-o", tmp_path / name, "--compared")
    stem, _, suffixes = name.partition(".")
    beside = tmp_path / f"{stem}.compared.{suffixes}"
    content = gzip.decompress(beside.read_bytes()) if name.endswith(".gz") else beside.read_bytes()
    assert b"19" in content
    assert len(list(tmp_path.iterdir())) == 2


def test_inputs_of_all_kinds_give_the_same(tmp_path, rng):
    """The same genotypes as a table, turned, gzipped, on standard input, VCF and a fileset."""
    codes = rng.choice(np.array([0, 1, 2, 255], np.uint8), (7, 40), p=[0.4, 0.3, 0.2, 0.1])
    cells = np.array(["0", "1", "2"] + [""] * 253)[codes]
    ids = [f"p{k}" for k in range(7)]
    lines = [["id", *(f"rs{k}" for k in range(40))], *([name, *row] for name, row in zip(ids, cells, strict=True))]
    text = "".join("\t".join(line) + "\n" for line in lines).encode()
    turned = "".join(",".join(line) + "\n" for line in zip(*lines, strict=True)).encode()
    calls = np.array(["0/0", "0|1", "1/1"] + ["./."] * 253)[codes.T]
    (tmp_path / "x.vcf").write_text(vcf_text(ids, [(["C", "A"], row.tolist()) for row in calls]))
    write_fileset(tmp_path / "x.bed", codes)
    for metric in ("hamming", "ibs"):
        expected = dist("-", "--metric", metric, stdin=text).stdout
        found = {
            "turned": dist("-", "--transpose", "--metric", metric, stdin=turned),
            "gzip": dist("-", "--metric", metric, stdin=gzip.compress(text)),
            "CRLF": dist("-", "--metric", metric, stdin=text.replace(b"\n", b"\r\n")),
            "vcf": dist(tmp_path / "x.vcf", "--metric", metric),
            "vcf on standard input": dist("-", "--metric", metric, stdin=(tmp_path / "x.vcf").read_bytes()),
            "bed": dist(tmp_path / "x.bed", "--metric", metric),
            "prefix": dist(tmp_path / "x", "--metric", metric),
            "fam": dist(tmp_path / "x.fam", "--metric", metric),
        }
        for name, done in found.items():
            assert done.stdout == expected, name


@pytest.mark.parametrize("packed", [bz2.compress, lzma.compress, zstd.compress, gzip.compress], ids=["bzip2", "xz", "zstd", "gzip"])
def test_packed_files_of_all_kinds(tmp_path, packed):
    """Told by content, whatever the name."""
    texts = {
        "alignment": b">a\nACGT\n>b\nACGA\n>c\nNNTT\n",
        "table": b"id\trs1\trs2\trs3\na\t0\t1\t2\nb\t2\t1\t.\nc\t0\t0\t0\n",
        "vcf": vcf_text("abc", [(["C", "A"], ["0/0", "0|1", "./."]), (["A", "C", "G"], ["0/2", "2|1", "1/1"])]).encode(),
    }
    for kind, text in texts.items():
        for name, content in (("plain", text), ("packed", packed(text))):
            (tmp_path / f"{kind}.{name}").write_bytes(content)
        plain, same = (gpualign_here("dist", "-q", tmp_path / f"{kind}.{name}", "--device", "cpu")[0] for name in ("plain", "packed"))
        assert plain == same
        assert len(plain.splitlines()) == 4


def test_damaged_zstd_of_a_vcf(tmp_path):
    text = vcf_text("abc", [(["C", "A"], ["0/0", "0|1", "./."])] * 2000).encode()
    (tmp_path / "x.vcf.zst").write_bytes(zstd.compress(text)[:-20])
    done = dist(tmp_path / "x.vcf.zst", check=False)
    assert done.returncode == 2
    assert b"x.vcf.zst: truncated zstd file" in done.stderr


def test_engines_threads_and_memory_do_not_change_a_byte(tmp_path, rng):
    letters = rng.choice(np.array([*b"ACGTN"], np.uint8), (150, 5000))
    letters[:, 1000:] = letters[0, 1000:]
    text = b"".join(b">s%d\n%s\n" % (k, row.tobytes()) for k, row in enumerate(letters))
    expected = dist("-", "--metric", "fraction", stdin=text).stdout
    for name, supported in instruction_sets():
        if supported:
            found = dist("-", "--metric", "fraction", "--threads", "1", stdin=text, env={"GPUALIGN_INSTRUCTION_SET": name})
            assert found.stdout == expected
    assert dist("-", "--metric", "fraction", "--memory", "3M", stdin=text).stdout == expected
    assert dist("-", "--metric", "fraction", "--threads", "3", stdin=text).stdout == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.aln"], "missing.aln: no such file"),
        (["."], "a directory"),
        (["-", "-"], "only one input can be standard input"),
        ([CORE, "-o", "x.unknown"], "the name does not determine the format"),
        ([CORE, "--format", "npy"], "cannot go to standard output"),
        ([CORE, "--compared"], "name a file with -o, or write --format molten"),
        ([CORE, OLD, "--format", "phylip"], "phylip needs one set"),
        ([CORE, "--format", "mega", "--max-distance", "3"], "mega holds every pair"),
        ([CORE, "--max-distance", "-1"], "expected 0 or more"),
        ([CORE, "--metric", "ibs"], "--metric ibs is for genotypes; these are nucleotides"),
        ([SNPS, "--metric", "tn93"], "--metric tn93 is for nucleotides; these are genotypes"),
        ([CORE, "--metric", "tn93", "--missing", "as-difference"], "it cannot be combined with --missing as-difference"),
        ([CORE, "--no-header"], "--no-header is for tables"),
        ([CORE, "--transpose"], "--transpose is for tables"),
        ([CORE, SNPS], "two inputs must be of one kind"),
        ([CORE, OLD, "--add", OLD], "--add takes one file"),
        ([CORE, "--add", OLD, "--format", "matrix"], "; matrix is a matrix, of one file or of two"),
        ([CORE, "--add", OLD, "-o", "x.npy"], "--add makes a table of pairs, as tsv, csv, molten, parquet, arrow, csr; npy is a matrix"),
        ([CORE, "--add", OLD, "--format", "phylip"], "; phylip is a matrix, of one file or of two"),
        ([CORE, OLD, "-o", "x.npy", "--condensed"], "--condensed holds the pairs of one file"),
        ([CORE, "--condensed"], "--condensed is for .npy and .npz; it cannot be combined with tsv"),
        ([CORE, "--add", OLD, "-o", "x.npy", "--max-distance", "3"], "npy holds every pair"),
        ([CORE, "--add", OLD, "--format", "molten", "--plot", "x.png"], "it cannot be combined with --add"),
        ([CORE, "--add", SNPS, "--max-distance", "3"], "two inputs must be of one kind"),
        (["-", "--add", "-", "--max-distance", "3"], "only one input can be standard input"),
        ([CORE, "--plot", "x.bmp"], "expected a name that ends in .png, .svg, .pdf"),
        ([CORE, "--max-distance", "3", "--plot", "x.png"], "it cannot be combined with --max-distance"),
        ([CORE, "--device", "gpu"], "--device gpu: expected"),
        ([SNPS, "--transpose", SNPS], None),
        ([SNPS, "--all-letters"], "--all-letters is for alignments and tables of letters; "),
        ([SNPS, "--all-letters", "--transpose", "--type", "calls"], "snps.tsv is a table of genotypes or alleles"),
    ],
)
def test_refusals(tmp_path, arguments, message):
    if message is None:
        assert dist(*arguments, cwd=tmp_path).returncode == 0
        return
    done = gpualign("dist", *arguments, *([] if "--device" in arguments else ["--device", "cpu"]), check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert done.stdout == b""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [[], ["--max-distance", "2"], ["--compared"]], ids=" ".join)
def test_molten_has_commas_in_a_csv_file(options, tmp_path):
    (tmp_path / "x.aln").write_text(">a,b\nACGT\n>c\nACGA\n")
    text = dist(tmp_path / "x.aln", "--format", "molten", *options).stdout.decode()
    dist(tmp_path / "x.aln", "--format", "molten", *options, "-o", tmp_path / "x.csv")
    with open(tmp_path / "x.csv", newline="") as file:
        assert list(csv.reader(file)) == [line.split("\t") for line in text.splitlines()]
    assert text.startswith("a,b\t")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty file"),
        (b"\n\n", "empty file"),
        (bytes(range(256)) * 20, "a binary file"),
        (b"@r1\nACGT\n+\nIIII\n", "is FASTQ; expected an alignment (FASTA) or a table of calls; gpualign nw compares reads"),
        (b"BZh91AY", "truncated bzip2 file"),
        (b"PK\x03\x04", "a zip archive"),
        (gzip.compress(b">a\nACGT\n" * 100, mtime=0)[:-5], "truncated gzip file"),
        (b"\x6c\x1b\x01\x00", "in.dat.*no such file|needs its .bim|x.fam|in.fam"),
        (b">a\nACGT\n>a\nACGT\n", "the same id 'a'"),
        (b">a\nAC GT\n>b\nACGTA\n", "record 'b' (number 2) has 5 sites"),
        (b"id\tx\na\t0\nb\t7x\n", "'7x' in a table of genotypes"),
    ],
)
def test_bad_files(tmp_path, content, message):
    import re

    path = tmp_path / "in.dat"
    path.write_bytes(content)
    done = dist(path, "-o", tmp_path / "out.tsv", check=False)
    assert done.returncode == 2, done.stderr
    assert re.search(re.escape(message) if "|" not in message else message, done.stderr.decode())
    assert [p.name for p in tmp_path.iterdir()] == ["in.dat"]


def test_one_sample_and_sites_that_do_not_vary():
    done = dist("-", stdin=b">a\nACGT\n")
    assert done.stdout == b"\ta\na\t0\n"
    assert b"one sample makes no pairs" in done.stderr
    assert dist("-", stdin=b">a\nACGT\n>b\nACGT\n").stdout == b"\ta\tb\na\t0\t0\nb\t0\t0\n"
    done = dist("-", "--missing", "complete", "--metric", "fraction", stdin=b">a\nN\n>b\nA\n")
    assert done.stdout.splitlines()[1] == b"a\tnan\tnan"


BLANKS = b'id,r1,r2\npatient 1,0,1\n"patient; 2",1,1\n'


def test_ids_in_formats_that_have_no_place_for_some_signs(tmp_path):
    done = dist("-", "--format", "phylip", stdin=BLANKS)
    assert done.stdout == b"2\npatient_1 0 1\npatient;_2 1 0\n"
    assert b"phylip cannot hold all characters of the ids: 2 ids are changed, such as 'patient 1' to 'patient_1'" in done.stderr
    done = dist("-", "--format", "mega", stdin=BLANKS)
    assert b"[1] #patient_1\n[2] #patient__2\n" in done.stdout
    assert b"2 ids are changed" in done.stderr
    for format in ("phylip", "mega"):
        done = dist("-", "--format", format, stdin=BLANKS + b"patient_1,0,0\n", check=False)
        assert done.returncode == 2
        assert b"ids 'patient 1' and 'patient_1' would both be 'patient_1'" in done.stderr
    assert dist("-", stdin=BLANKS).stdout.splitlines()[0] == b"\tpatient 1\tpatient; 2"
    dist("-", "-o", tmp_path / "m.npy", stdin=BLANKS)
    assert (tmp_path / "m.ids.txt").read_text().splitlines() == ["patient 1", "patient; 2"]


def test_csv_is_read_back_whatever_the_ids(tmp_path):
    import csv

    ids = ["a,b", 'say "hi"', "plain", "with blanks"]
    (tmp_path / "in.tsv").write_text("id\tr1\n" + "".join(f"{name}\t{k % 2}\n" for k, name in enumerate(ids)).replace('"', "'"))
    ids[1] = ids[1].replace('"', "'")  # quotes around cells of tables are taken off
    rows = list(csv.reader(dist(tmp_path / "in.tsv", "--format", "csv").stdout.decode().splitlines()))
    assert rows[0] == ["", *ids]
    assert [row[0] for row in rows[1:]] == ids
    assert rows[1][1:] == ["0", "1", "0", "1"]
    near = list(csv.reader(dist(tmp_path / "in.tsv", "--format", "csv", "--max-distance", "0").stdout.decode().splitlines()))
    assert near == [["query", "target", "distance"], [ids[0], ids[2], "0"], [ids[1], ids[3], "0"]]


def test_csv_ids_with_quotes():
    found = dist("-", "--format", "csv", stdin=b'>a"b,c\nA\n>d\nC\n').stdout
    assert found == b',"a""b,c",d\n"a""b,c",0,1\nd,1,0\n'


def test_summary_and_quiet():
    done = dist(CORE)
    assert b"4 samples, 20 sites, 6 pairs, 120 comparisons in" in done.stderr
    assert b"2 samples, 1 site, 1 pair, 1 comparison in" in dist("-", stdin=b">a\nA\n>b\nA\n").stderr
    assert dist("-q", CORE).stderr == b""
    assert b"bit planes" in dist("-v", CORE).stderr


def test_dry_run_prints_the_plan():
    text = dist("--dry-run", SNPS).stdout.decode()
    for word in ("samples", "sites", "pairs", "metric", "engine", "bands", "memory", "estimate", "output"):
        assert word in text


def test_a_closed_pipe_is_no_error(tmp_path, rng):
    letters = rng.choice(np.array([*b"ACGT"], np.uint8), (600, 50))
    (tmp_path / "x.aln").write_bytes(b"".join(b">s%d\n%s\n" % (k, row.tobytes()) for k, row in enumerate(letters)))
    command = f"{GPUALIGN} dist -q --device cpu --format molten x.aln | head -n 2; echo ${{PIPESTATUS[0]}}"
    done = shell(command, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == b"0"
    assert done.stderr == b""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_leaves_nothing_behind(tmp_path, rng):
    (tmp_path / "x.bed").write_bytes(b"\x6c\x1b\x01" + rng.choice(np.array([0, 2, 3, 8, 12], np.uint8), (60_000, 1000)).tobytes())
    (tmp_path / "x.fam").write_text("".join(f"0 s{k} 0 0 0 0\n" for k in range(4000)))
    (tmp_path / "x.bim").write_text("".join(f"1 r{k} 0 {k} A C\n" for k in range(60_000)))
    words = [GPUALIGN, "dist", "x.bed", "-o", "out.tsv", "--device", "cpu", "--threads", "1"]
    code, errors = interrupt(words, tmp_path, signal.SIGINT, env={**os.environ, "GPUALIGN_INSTRUCTION_SET": "baseline"})
    assert code == 130, errors
    assert "interrupted" in errors
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.bed", "x.bim", "x.fam"]


# ---- new samples with each other and with old ones


def split_sets(rng, tmp_path, new, old):
    """Files of samples that are near others, some with few calls; the first one's name is in both."""
    rows = rng.choice(np.array([*b"ACGT"], np.uint8), (3, 200))[rng.integers(0, 3, new + old)]
    changed = rng.random(rows.shape) < rng.choice([0, 0.01, 0.05], (new + old, 1))
    rows[changed] = rng.choice(np.array([*b"ACGT"], np.uint8), rows.shape)[changed]
    rows[rng.random(rows.shape) < rng.choice([0, 0.02, 0.7], (new + old, 1))] = ord("N")
    for name, first, some in (("new.aln", "n", rows[:new]), ("old.aln", "o", rows[new:])):
        ids = ["both", *(f"{first},{k}" for k in range(1, len(some)))]
        (tmp_path / name).write_bytes(b"".join(b">%s\n%s\n" % (i.encode(), row.tobytes()) for i, row in zip(ids, some, strict=True)))
    return tmp_path / "new.aln", tmp_path / "old.aln"


def merged(arguments, new, old):
    """Lines of two runs, new samples with each other and with old ones, those of each new sample together."""
    outputs = [gpualign_here("dist", "--device", "cpu", *arguments, *files)[0] for files in ([new], [new, old])]
    among, across = ([line.split("\t") for line in output.decode().splitlines()] for output in outputs)
    ids = [line[1:] for line in new.read_text().splitlines()[::2]]
    if "--max-distance" not in arguments:  # both orders
        among = [line for line in among if ids.index(line[0]) < ids.index(line[1])]
    headers = [] if "molten" in arguments else among[:1]
    return ["\t".join(line) for line in headers + [line for name in ids for lines in (among, across) for line in lines if line[0] == name]]


@pytest.mark.parametrize(
    "options",
    [
        ["--max-distance", "4"],
        ["--max-distance", "0.03", "--metric", "fraction", "--compared"],
        ["--max-distance", "0.04", "--metric", "tn93", "--min-compared", "0.5"],
        ["--max-distance", "60", "--missing", "as-difference"],
        ["--format", "molten", "--min-compared", "0.5", "--compared"],
        ["--format", "molten", "--metric", "jc69"],
    ],
)
@pytest.mark.parametrize("new", [1, 30])
def test_added_samples_are_two_runs_in_one(rng, tmp_path, options, new):
    files = split_sets(rng, tmp_path, new, 40)
    expected = merged(options, *files)
    found, messages = gpualign_here("dist", "--device", "cpu", files[0], "--add", files[1], *options)
    assert found.decode().splitlines() == expected
    pairs = new * (new - 1) // 2 + new * 40
    assert new == 1 or 20 < len(expected) <= pairs + 1
    assert f"{new + 40} samples, 200 sites, {pairs:,} pairs" in messages


@pytest.mark.parametrize("command", ["dist", "nw"])
def test_ids_that_are_among_the_old_ones_too_are_told(tmp_path, command):
    files = [tmp_path / "new.fa", tmp_path / "old.fa"]
    for file, names in zip(files, ["ab", "bca"], strict=True):
        file.write_text("".join(f">{name}\nACGT\n" for name in names))
    _, messages = gpualign_here(command, files[0], "--add", files[1])
    assert f": 2 ids are also in {files[1]}, first 'a': a list has two rows for such an id with each other new record" in messages
    files[1].write_text(">c\nACGT\n")
    assert "the first" not in gpualign_here(command, files[0], "--add", files[1])[1]


def test_added_samples_of_standard_input_and_other_kinds(tmp_path, rng):
    codes = rng.integers(0, 3, (9, 30))
    lines = [f"p{k}\t" + "\t".join(map(str, row)) + "\n" for k, row in enumerate(codes)]
    head = "id\t" + "\t".join(f"rs{k}" for k in range(30)) + "\n"
    (tmp_path / "old.tsv").write_text(head + "".join(lines[4:]))
    words = ["--metric", "ibs", "--format", "molten"]
    rows = dist("-", *words, stdin=(head + "".join(lines)).encode()).stdout.decode().splitlines()
    expected = [row for row in rows if row.split("\t")[0] < min(row.split("\t")[1], "p4")]
    tables = dist("-", "--add", tmp_path / "old.tsv", *words, stdin=(head + "".join(lines[:4])).encode())
    assert tables.stdout.decode().splitlines() == expected
    write_fileset(tmp_path / "new.bed", codes[:4].astype(np.uint8))
    write_fileset(tmp_path / "old.bed", codes[4:].astype(np.uint8))
    filesets = dist(tmp_path / "new", "--add", tmp_path / "old", *words).stdout.decode().splitlines()
    assert [row.split("\t")[2] for row in filesets] == [row.split("\t")[2] for row in expected]


@pytest.mark.parametrize("options", [["--max-distance", "4"], ["--min-compared", "0.5"]])
def test_formats_of_added_samples_hold_the_same_pairs(rng, tmp_path, options):
    parquet, sparse = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("scipy.sparse")
    new, old = split_sets(rng, tmp_path, 20, 30)
    text = dist(new, "--add", old, "--format", "molten", *options).stdout.decode()
    rows = [line.split("\t") for line in text.splitlines()]
    dist(new, "--add", old, "-o", tmp_path / "x.parquet", *options)
    table = parquet.read_table(tmp_path / "x.parquet").to_pylist()
    assert [[row["query"], row["target"], "nan" if row["distance"] is None else str(row["distance"])] for row in table] == rows
    dist(new, "--add", old, "-o", tmp_path / "x.npz", "--format", "csr", *options)
    matrix = sparse.load_npz(tmp_path / "x.npz")
    assert matrix.shape == (20, 50)
    assert sparse.tril(matrix).nnz == 0
    ids = [line[1:] for file in (new, old) for line in file.read_text().splitlines()[::2]]
    with np.load(tmp_path / "x.npz") as archive:
        assert archive["query_ids"].tolist() == ids[:20]
        assert archive["target_ids"].tolist() == ids
    pairs = [[ids[i], ids[j], f"{d - 1:.0f}"] for i, j, d in zip(*matrix.tocoo().coords, matrix.tocoo().data, strict=True)]
    assert pairs == rows
    if "--max-distance" in options:
        csv = dist(new, "--add", old, "--format", "csv", *options).stdout.decode()
        headed = [["query", "target", "distance"], *rows]
        assert csv == "".join(",".join(f'"{cell}"' if "," in cell else cell for cell in row) + "\n" for row in headed)


def test_plans_and_notes_of_added_samples(tmp_path):
    assert b"samples    4 x 6\n" in dist("--dry-run", CORE, "--add", OLD, "--format", "molten").stdout
    (tmp_path / "poor.aln").write_bytes(b">poor\n" + b"ACGTA" + b"N" * 15 + b"\n")
    done = dist(CORE, "--add", tmp_path / "poor.aln", "--format", "molten", "--min-compared", 10)
    assert b"1 sample has calls at less than half of the sites: poor (5 of 20)" in done.stderr
    assert b"4 of 10 pairs have fewer than 10 compared sites: they have no distance (nan)" in done.stderr


# ---- the peers, on real data


@pytest.fixture
def filesets(tmp_path, real_data):
    for name in ("EUR_test", "mouse_hs1940"):
        for suffix in ("bed", "bim", "fam"):
            (tmp_path / f"{name}.{suffix}").write_bytes(gzip.decompress((real_data / f"{name}.{suffix}.gz").read_bytes()))
    shutil.copy(real_data / "EUR_test.vcf.gz", tmp_path)
    return tmp_path


def test_bed_and_vcf_of_the_same_people(filesets):
    for metric in ("hamming", "ibs", "allele"):
        for name in ("EUR_test.bed", "EUR_test.vcf.gz"):
            dist(name, "--metric", metric, "-o", f"{name}.{metric}.npy", cwd=filesets)
        np.testing.assert_array_equal(np.load(filesets / f"EUR_test.bed.{metric}.npy"), np.load(filesets / f"EUR_test.vcf.gz.{metric}.npy"))


@pytest.mark.parametrize("name", ["EUR_test", "mouse_hs1940"])
def test_plink(filesets, name):
    plink = shutil.which("plink1.9") or shutil.which("plink")
    if plink is None:
        pytest.skip("plink 1.9 is not installed")
    # plink leaves out sites at places below 0; what it keeps is compared.
    make_bed = ["--bfile", name, "--make-bed", "--out", "kept"]
    measure = ["--bfile", "kept", "--distance", "square", "bin", "1-ibs", "allele-ct", "--out", "theirs"]
    for step in (make_bed, measure):
        subprocess.run([plink, *step], cwd=filesets, check=True, capture_output=True)
    dist("kept.bed", "--metric", "allele", "-o", "allele.npy", cwd=filesets)
    dist("kept.bed", "--metric", "ibs", "-o", "ibs.npy", cwd=filesets)
    allele, ibs = np.load(filesets / "allele.npy"), np.load(filesets / "ibs.npy")
    np.testing.assert_array_equal(allele, np.fromfile(filesets / "theirs.dist.bin").reshape(allele.shape))
    np.testing.assert_allclose(ibs, np.fromfile(filesets / "theirs.mdist.bin").reshape(ibs.shape), rtol=0, atol=1e-15)


def test_genotypes_of_people_by_numpy(filesets):
    bed_reader = pytest.importorskip("bed_reader")
    calls = bed_reader.open_bed(filesets / "EUR_test.bed").read(dtype="int8").astype(int)
    dist("EUR_test.bed", "--metric", "allele", "-o", "allele.npy", "--compared", cwd=filesets)
    known = calls >= 0
    expected = np.array(
        [[np.abs(a - b)[i & j].sum() for b, j in zip(calls[:40], known, strict=False)] for a, i in zip(calls, known, strict=True)]
    )
    np.testing.assert_array_equal(np.load(filesets / "allele.npy")[:, :40], expected)
    np.testing.assert_array_equal(np.load(filesets / "allele.compared.npy"), known.astype(int) @ known.astype(int).T)


SNP_DISTS_README = b""">seq1
AGTCAGTC
>seq2
AGGCAGTC
>seq3
AGTGAGTA
>seq4
TGTTAGAC
"""


def test_the_example_of_snp_dists():
    """Its README's matrix."""
    rows = [line.split(b"\t") for line in dist("-", stdin=SNP_DISTS_README).stdout.splitlines()]
    assert [[int(cell) for cell in row[1:]] for row in rows[1:]] == [[0, 1, 2, 3], [1, 0, 3, 4], [2, 3, 0, 4], [3, 4, 4, 0]]


@pytest.mark.parametrize(("words", "is_noted"), [(["0.5"], True), (["1"], False), (["0"], False), (["0.5", "--metric", "fraction"], False)])
def test_a_fraction_of_a_count_is_noted(words, is_noted, tmp_path):
    (tmp_path / "x.aln").write_text(">a\nACGT\n>b\nACGA\n")
    _, said = gpualign_here("dist", tmp_path / "x.aln", "--max-distance", *words)
    assert ("hamming counts differences, so --max-distance 0.5 keeps only pairs without any; for fractions say" in said) is is_noted
