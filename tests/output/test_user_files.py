"""What the commands do with the files that people name: an input is never lost, and nothing half-written stays."""

import fcntl
import gzip
import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from command import GPUALIGN, gpualign, shell

RECORDS = ">a\nACGTACGT\n>b\nACGTTCGT\n>c\nACG\n"
TABLE = "sample\tx\ty\na\t0\t1\nb\t1\t1\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "z.fa").write_text(RECORDS)
    (tmp_path / "soft.fa").symlink_to("z.fa")
    os.link(tmp_path / "z.fa", tmp_path / "hard.fa")
    shutil.copy(tmp_path / "z.fa", tmp_path / "m.ids.txt")
    shutil.copy(tmp_path / "z.fa", tmp_path / "m.target_ids.txt")
    (tmp_path / "own.mat").write_text("   A  C  G  T\nA  1 -1 -1 -1\nC -1  1 -1 -1\nG -1 -1  1 -1\nT -1 -1 -1  1\n")
    (tmp_path / "t.tsv").write_text(TABLE)
    (tmp_path / "t.compared.tsv").write_text(TABLE)
    np.save(tmp_path / "known.npy", 1 - np.eye(3))
    (tmp_path / "known.ids.txt").write_text("a\nb\nc\n")
    (tmp_path / "x.bed").write_bytes(b"\x6c\x1b\x01\x03")
    (tmp_path / "x.fam").write_text("0 a 0 0 0 -9\n0 b 0 0 0 -9\n")
    (tmp_path / "x.bim").write_text("1 rs1 0 1 A C\n")
    return tmp_path


OVERWRITING = [
    ["nw", "z.fa", "-o", "z.fa"],
    ["nw", "z.fa", "-o", "soft.fa"],
    ["nw", "soft.fa", "-o", "./z.fa"],
    ["nw", "hard.fa", "-o", "z.fa"],
    ["nw", "z.fa", "soft.fa", "-o", "hard.fa"],
    ["nw", "m.ids.txt", "-o", "m.npy"],
    ["nw", "z.fa", "m.target_ids.txt", "-o", "m.npy"],
    ["nw", "z.fa", "--matrix", "own.mat", "-o", "own.mat", "--format", "tsv"],
    ["nw", "-", "-o", "z.fa"],
    ["sw", "z.fa", "soft.fa", "-o", "z.fa", "--format", "tsv"],
    ["sw", "m.ids.txt", "--all", "-o", "m.npy"],
    ["index", "z.fa", "-o", "z.fa"],
    ["index", "-", "-o", "z.fa"],
    ["dist", "t.tsv", "-o", "t.tsv"],
    ["dist", "t.compared.tsv", "-o", "t.tsv", "--compared"],
    ["dist", "x.bed", "-o", "x.fam", "--format", "tsv"],
    ["dist", "x", "-o", "x.bim", "--format", "tsv"],
    ["tree", "known.npy", "-o", "known.ids.txt"],
    ["tree", "known.npy", "--log", "known.ids.txt"],
    ["cluster", "--distances", "known.npy", "--max-distance", "1", "--summary", "known.ids.txt"],
]


@pytest.mark.parametrize("words", OVERWRITING, ids=" ".join)
def test_an_output_that_is_an_input_is_refused(folder, words):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with open(folder / "z.fa", "rb") as stream:
        done = subprocess.run([GPUALIGN, *words], stdin=stream, capture_output=True, cwd=folder)
    assert done.returncode == 2
    assert "is also an input" in done.stderr.decode()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_appending_standard_output_to_an_input_is_refused(folder):
    with open(folder / "z.fa", "ab") as stream:
        done = subprocess.run([GPUALIGN, "nw", "z.fa"], stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.PIPE, cwd=folder)
    assert done.returncode == 2
    assert "the output standard output is also an input (z.fa)" in done.stderr.decode()
    assert (folder / "z.fa").read_text() == RECORDS


def test_a_picture_does_not_replace_its_matrix(folder):
    pytest.importorskip("matplotlib")
    gpualign("dist", "t.tsv", "-o", "d.npy", cwd=folder)
    (folder / "d.png").symlink_to("d.npy")
    done = gpualign("plot", "d.npy", "-o", "d.png", cwd=folder, check=False)
    assert done.returncode == 2
    assert "is also an input" in done.stderr.decode()


@pytest.mark.parametrize(
    "words", [["nw", "z.fa", "-o", "new.tsv"], ["nw", "z.fa", "soft.fa", "-o", "new.npy"], ["dist", "t.tsv", "-o", "new.tsv"]]
)
def test_an_output_beside_its_input_is_written(folder, words):
    gpualign(*words, cwd=folder)
    assert (folder / words[-1]).stat().st_size


def test_what_a_killed_run_left_is_removed_and_told(folder):
    left, other = folder / ".new.tsv.abcd_123.part", folder / ".newer.tsv.abcd_123.part"
    left.write_bytes(b"1234")
    other.write_bytes(b"")
    done = gpualign("nw", "z.fa", "-o", "new.tsv", cwd=folder)
    assert "removed .new.tsv.abcd_123.part (4 B), left by a killed run" in done.stderr.decode()
    assert not left.exists()
    assert other.exists()


def test_the_part_of_a_run_that_lives_is_left_alone(folder):
    part = folder / ".new.tsv.abcd_123.part"
    with open(part, "wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        done = gpualign("nw", "z.fa", "-o", "new.tsv", cwd=folder)
    assert b"removed" not in done.stderr
    assert part.exists()
    assert (folder / "new.tsv").exists()


def test_a_link_in_the_place_of_a_part_is_not_followed(folder):
    (folder / ".new.tsv.abcd_123.part").symlink_to("z.fa")
    gpualign("nw", "z.fa", "-o", "new.tsv", cwd=folder)
    assert (folder / "z.fa").read_text() == RECORDS


@pytest.mark.skipif(not os.path.exists(GPUALIGN), reason="no executable beside the interpreter")
@pytest.mark.parametrize(
    ("words", "closed", "code", "said"),
    [
        ("nw z.fa -o x.tsv", "<&- >&- 2>&-", 0, ""),
        ("nw z.fa", "2>&-", 0, ""),
        ("nw z.fa", ">&-", 1, "cannot write standard output"),
        ("nw -", "<&-", 2, "standard input: closed"),
        ("--help", ">&-", 1, "Bad file descriptor"),
    ],
)
def test_closed_standard_streams(folder, words, closed, code, said):
    """Their numbers do not become those of the files that are opened: messages would go there."""
    done = subprocess.run(f"{GPUALIGN} {words} {closed}", shell=True, capture_output=True, text=True, cwd=folder)
    assert (done.returncode, "Traceback" in done.stderr, "ignored" in done.stderr) == (code, False, False)
    assert said in done.stderr
    rows = (folder / "x.tsv").read_text() if "-o" in words else done.stdout
    if code == 0:
        assert rows == gpualign("nw", "z.fa", cwd=folder).stdout.decode()


def test_an_index_that_finds_no_room_for_its_letters_says_where(tmp_path):
    (tmp_path / "big.fa").write_text(">a\n" + "ACGT" * 50_000 + "\n")
    done = shell(f"ulimit -f 16; {GPUALIGN} index big.fa -o big.gpa", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.decode() == f"gpualign: error: cannot write to {tmp_path}, where the index is made: File too large\n"
    assert [path.name for path in tmp_path.iterdir()] == ["big.fa"]


DESCRIBED = ["nw -q z.fa", "sw -q z.fa --strand plus", "dist -q t.tsv", "tree -q m.tsv", "cluster -q z.fa --edit --max-distance 1"]


@pytest.mark.parametrize("words", DESCRIBED)
def test_names_of_descriptors_are_no_names_of_files(folder, words):
    """A link to one, such as /dev/stdout, stays what it is; what stands in the file behind it stays there, as Slurm's logs are."""
    shell(f"{GPUALIGN} dist -q t.tsv > m.tsv", cwd=folder)
    (folder / "link").symlink_to("/proc/self/fd/1")
    expected = shell(f"{GPUALIGN} {words}", cwd=folder)
    assert expected.returncode == 0, expected.stderr
    assert expected.stdout
    before = sorted(path.name for path in folder.iterdir())
    for option, redirection in (("-o link", ">> f"), ("-o /dev/fd/1", ">> f"), ("-o /dev/fd/7", "7>> f"), ("-o /proc/self/fd/7", "7>> f")):
        (folder / "f").write_text("before\n")
        done = shell(f"{GPUALIGN} {words} {option} {redirection}", cwd=folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), option
        assert (folder / "f").read_bytes() == b"before\n" + expected.stdout, option
        assert (folder / "link").is_symlink()
    assert sorted(path.name for path in folder.iterdir()) == sorted([*before, "f"])


def test_other_outputs_to_descriptors(folder):
    there = os.path.exists("/dev/null.ids.txt")
    done = shell(
        f"{GPUALIGN} nw z.fa -o a.tsv --summary /dev/fd/7 --log /dev/fd/8 7> s.json 8>> log && "
        f"{GPUALIGN} nw -q z.fa --format npy -o /dev/fd/7 7> b.npy && {GPUALIGN} nw -q z.fa --format npy -o /dev/null",
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "s.json").read_text())["command"] == "nw"
    assert " 3 sequences, 3 pairs" in (folder / "log").read_text()
    assert np.load(folder / "b.npy").shape == (3, 3)
    assert os.path.exists("/dev/null.ids.txt") == there
    for number, reason in (("77", "Bad file descriptor"), ("9" * 12, "No such file or directory")):
        refused = shell(f"{GPUALIGN} nw -q z.fa --format tsv -o /dev/fd/{number}", cwd=folder)
        assert refused.returncode == 1
        assert refused.stderr.decode() == f"gpualign: error: cannot write /dev/fd/{number}: {reason}\n"
    refused = shell(f"{GPUALIGN} nw -q z.fa --format npy -o /dev/fd/7 7>> log", cwd=folder)
    assert refused.returncode == 1
    assert b"cannot write /dev/fd/7: an array needs a file of its own, and this one has content already" in refused.stderr
    refused = shell(f"{GPUALIGN} index -q z.fa -o /dev/stdout > x.gpa", cwd=folder)
    assert refused.returncode == 2
    assert b"an index must be a regular file" in refused.stderr


def test_a_link_to_standard_output_tells_the_format(folder):
    (folder / "link.csv").symlink_to("/proc/self/fd/1")
    (folder / "link.tsv.gz").symlink_to("/dev/stdout")
    assert shell(f"{GPUALIGN} nw -q z.fa -o link.csv > f", cwd=folder).returncode == 0
    assert (folder / "f").read_bytes() == gpualign("nw", "-q", "z.fa", "--format", "csv", cwd=folder).stdout
    assert shell(f"{GPUALIGN} nw -q z.fa -o link.tsv.gz | gzip -d", cwd=folder).stdout == gpualign("nw", "-q", "z.fa", cwd=folder).stdout
    assert all((folder / name).is_symlink() for name in ("link.csv", "link.tsv.gz"))


@pytest.mark.parametrize("words", ["nw --format npy", "nw --format tsv --shard 1/2", "sw --all --format npy", "dist --format npy"])
@pytest.mark.parametrize("name", [".", "/", "results/"])
def test_a_folder_without_a_name_of_its_own_is_no_output(folder, words, name):
    command, *options = words.split()
    done = gpualign(command, "z.fa" if command != "dist" else "t.tsv", *options, "-q", "-o", name, cwd=folder, check=False)
    assert (done.returncode, done.stderr.decode()) == (1, f"gpualign: error: cannot write {name}: Is a directory\n")


def test_calls_through_a_name_of_standard_input(folder):
    """What reads VCF is another process, which has another file by this name."""
    pytest.importorskip("cyvcf2")
    lines = ["##fileformat=VCFv4.2", "##contig=<ID=1>", '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">']
    lines += ["#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT a b", "1 7 . A C . . . GT 0/0 1/1"]
    (folder / "x.vcf").write_text("".join(f"{line}\n" for line in lines).replace(" ", "\t"))
    expected = gpualign("dist", "-q", "x.vcf", cwd=folder).stdout
    for line in ("/dev/stdin < x.vcf", "/dev/fd/7 7< x.vcf", "- < x.vcf"):
        assert shell(f"{GPUALIGN} dist -q {line}", cwd=folder).stdout == expected, line
    assert shell(f"cat x.vcf | {GPUALIGN} dist -q /dev/stdin", cwd=folder).stdout == expected


def test_a_suffix_in_capitals_compresses_too(folder):
    gpualign("nw", "z.fa", "-o", "z.TSV.GZ", cwd=folder)
    gpualign("dist", "t.tsv", "-o", "d.TSV.GZ", "--compared", cwd=folder)
    gpualign("tree", "known.npy", "--method", "mst", "-o", "k.TSV.GZ", cwd=folder)
    for name in ("z.TSV.GZ", "d.TSV.GZ", "d.compared.TSV.GZ", "k.TSV.GZ"):
        assert b"\t" in gzip.decompress((folder / name).read_bytes()).splitlines()[0]


def test_a_link_to_itself_is_replaced(folder):
    (folder / "loop.tsv").symlink_to("loop.tsv")
    gpualign("nw", "z.fa", "-o", "loop.tsv", cwd=folder)
    assert (folder / "loop.tsv").read_text().startswith("query\ttarget")


@pytest.mark.parametrize(
    "words",
    [
        ["nw", "z.fa", "-o", "x.tsv.xz", "--format", "tsv"],
        ["nw", "z.fa", "--log", "x.log.bz2"],
        ["nw", "z.fa", "--summary", "x.json.zip"],
        ["cluster", "z.fa", "--edit", "--max-distance", "1", "--uc", "x.uc.ZST"],
        ["tree", "known.npy", "-o", "x.nwk.xz"],
        ["index", "z.fa", "-o", "x.gpa.zst"],
    ],
    ids=" ".join,
)
def test_a_compression_that_is_not_written_is_refused(folder, words):
    done = gpualign(*words, cwd=folder, check=False)
    assert done.returncode == 2
    assert f"{words[-1] if words[-2] != '--format' else 'x.tsv.xz'}: text is compressed for the suffix .gz only" in done.stderr.decode()
    assert not list(folder.glob("x.*.*"))


@pytest.mark.parametrize(
    "words",
    [
        ["nw", "z.fa", "--format", "npy", "-o", "x.npy.gz"],
        ["nw", "z.fa", "--format", "csr", "--edit", "--max-distance", "1", "-o", "x.gz"],
        ["nw", "z.fa", "--summary", "x.json.gz"],
        ["nw", "z.fa", "--log", "x.log.GZ"],
        ["sw", "z.fa", "--all", "--format", "npz", "-o", "x.npz.gz"],
        ["dist", "t.tsv", "--format", "npy", "-o", "x.npy.gz"],
        ["index", "z.fa", "-o", "x.gpa.gz"],
        ["merge", "part.npy.1-of-1.part", "-o", "x.npy.gz"],
    ],
    ids=" ".join,
)
def test_what_is_not_compressed_is_not_named_so(folder, words):
    if words[0] == "merge":
        gpualign("nw", "z.fa", "-o", "part.npy", "--shard", "1/1", cwd=folder)
    done = gpualign(*words, cwd=folder, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"{words[-1]}: " in done.stderr.decode()
    assert f" is not compressed with gzip; leave out {words[-1][-3:]}" in done.stderr.decode()
    assert not list(folder.glob("x.*z"))


def test_a_name_that_is_too_long_for_a_part_file_is_refused_before_anything_is_read(tmp_path):
    for option, suffix in (("-o", ".tsv"), ("--summary", ".json")):
        name = "a" * (241 - len(suffix)) + suffix
        done = gpualign("nw", "missing.fa", *([] if option == "-o" else ["-o", "x.tsv"]), option, name, check=False, cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr.decode() == f"gpualign: error: cannot write {name}: the name is too long; it may have 240 bytes\n"
