"""Jobs in shares: merged they are the same bytes as one run."""

import io
import json
import shutil
import subprocess
import zipfile
import zlib
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from command import GPUALIGN, LIMIT, gpualign, gpualign_here
from eager import command, eager_here

from gpualign.cli.commands.merge import merge
from gpualign.core.common.errors import InputError, RunError
from gpualign.core.common.signals import resume_hint_suffix
from gpualign.core.planning.sharding import shard_boundaries

LETTERS = np.array(list("ACGT"))


def fasta(path, rows, names="s"):
    path.write_text("".join(f">{names}{i}\n{''.join(row)}\n" for i, row in enumerate(rows)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("shards")
    ancestor = rng.integers(0, 4, 400)
    rows = [LETTERS[np.where(rng.random(400) < 0.04, rng.integers(0, 4, 400), ancestor)] for _ in range(40)]
    rows[7], rows[30], rows[39] = rows[3], rows[3], rows[20]
    fasta(folder / "genes.fa", [row[: 100 + 7 * k] for k, row in enumerate(rows)])
    fasta(folder / "core.aln", rows)
    fasta(folder / "old.aln", rows[::2], "o")
    fasta(folder / "other.fa", [row[:90] for row in rows[:9]], "t")
    (folder / "spaced.tsv").write_text("id\tx\ty\n" + "".join(f"a,{k}\t{k % 3}\t{k % 2}\n" for k in range(12)))
    return folder


JOBS = {
    "rows": ["nw", "genes.fa", "--fields", "query,target,score,identity,cigar", "-o", "x.tsv"],
    "with itself": ["nw", "genes.fa", "--self", "-o", "x.tsv"],
    "two files": ["nw", "genes.fa", "other.fa", "-o", "x.tsv"],
    "gzip": ["nw", "genes.fa", "-o", "x.tsv.gz"],
    "sam": ["nw", "genes.fa", "-o", "x.sam"],
    "aln": ["nw", "other.fa", "-o", "x.aln"],
    "nearest": ["nw", "genes.fa", "--nearest", "2", "-o", "x.tsv"],
    "added": ["nw", "other.fa", "--add", "genes.fa", "-o", "x.tsv"],
    "near": ["nw", "core.aln", "--min-identity", "0.93", "--fields", "query,target,identity", "-o", "x.tsv"],
    "edits": ["nw", "core.aln", "--edit", "--max-distance", "20", "-o", "x.tsv"],
    "npy": ["nw", "genes.fa", "-o", "x.npy"],
    "npz": ["nw", "genes.fa", "other.fa", "--value", "identity", "-o", "x.npz"],
    "condensed": ["nw", "genes.fa", "--condensed", "-o", "x.npy"],
    "matrix": ["nw", "genes.fa", "--format", "matrix", "-o", "x.txt"],
    "phylip": ["nw", "genes.fa", "-o", "x.phy"],
    "csr": ["nw", "genes.fa", "--format", "csr", "--min-identity", "0.5", "-o", "x.npz"],
    "search": ["sw", "genes.fa", "other.fa", "-o", "x.tsv"],
    "passing": ["sw", "genes.fa", "--min-score", "400", "-o", "x.m8"],
    "all scores": ["sw", "genes.fa", "--all", "-o", "x.npy"],
    "dist": ["dist", "core.aln", "-o", "x.tsv"],
    "dist two": ["dist", "core.aln", "old.aln", "--compared", "-o", "x.tsv"],
    "dist molten": ["dist", "core.aln", "--format", "molten", "--compared", "-o", "x.txt"],
    "dist csv": ["dist", "spaced.tsv", "-o", "x.csv"],
    "dist npy": ["dist", "core.aln", "--compared", "-o", "x.npy"],
    "dist npz": ["dist", "core.aln", "--compared", "--metric", "fraction", "-o", "x.npz"],
    "dist condensed": ["dist", "core.aln", "--condensed", "-o", "x.npy"],
    "dist mega": ["dist", "core.aln", "-o", "x.meg"],
    "dist near": ["dist", "core.aln", "--max-distance", "30", "-o", "x.tsv"],
    "dist csr": ["dist", "core.aln", "--max-distance", "30", "--format", "csr", "-o", "x.npz"],
    "dist added": ["dist", "core.aln", "--add", "old.aln", "--max-distance", "25", "-o", "x.tsv"],
}


def run(words, cwd, check=True):
    done = gpualign(*words, check=check, cwd=cwd)
    told = done.stderr.decode()
    assert "Traceback" not in told
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), told)


def outputs(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name.startswith(("x.", ".x"))}


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_merged_parts_are_the_output_of_one_run(folder, tmp_path, name, rng):
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    words = [*JOBS[name], "--device", "cpu"]
    run(words, tmp_path)
    expected = outputs(tmp_path)
    for file in expected:
        (tmp_path / file).unlink()
    count = int(rng.integers(2, 4))
    output = words[words.index("-o") + 1]
    parts = [f"{output}.{number}-of-{count}.part" for number in range(1, count + 1)]
    for number in rng.permutation(count) + 1:
        memory = "100M" if number % 2 else "2G"
        run([*words, "--shard", f"{number}/{count}", "--memory", memory, "--threads", "1"], tmp_path)
    assert set(outputs(tmp_path)) == set(parts)
    done = run(["merge", *rng.permutation(parts), "-o", output], tmp_path)
    assert f"{count} parts, " in done.stderr
    for part in parts:
        (tmp_path / part).unlink()
    assert outputs(tmp_path) == expected


@pytest.fixture(scope="module")
def made(folder, tmp_path_factory):
    """Parts of two jobs, of three shares each."""
    made = tmp_path_factory.mktemp("made")
    for number in (1, 2, 3):
        run(["nw", folder / "genes.fa", "-o", made / "x.tsv", "--shard", f"{number}/3"], made)
        run(["nw", folder / "genes.fa", "-o", made / "y.npy", "--shard", f"{number}/3"], made)
    run(["nw", folder / "genes.fa", "--match", "3", "--mismatch", "-2", "-o", made / "z.tsv", "--shard", "3/3"], made)
    run(["nw", folder / "core.aln", "-o", made / "w.tsv", "--shard", "3/3"], made)
    run(["nw", folder / "genes.fa", "-o", made / "x.tsv", "--shard", "2/4"], made)
    return made


PARTS = ["x.tsv.1-of-3.part", "x.tsv.2-of-3.part", "x.tsv.3-of-3.part"]


@pytest.mark.parametrize(
    ("parts", "output", "said"),
    [
        (PARTS[:2], "x.tsv", "1 of 3 parts is missing: 3"),
        (PARTS[2:], "x.tsv", "2 of 3 parts are missing: 1, 2"),
        ([*PARTS, PARTS[0]], "x.tsv", "x.tsv.1-of-3.part: the same part, 1 of 3, is x.tsv.1-of-3.part"),
        ([*PARTS[:2], "x.tsv.2-of-4.part"], "x.tsv", "x.tsv.2-of-4.part: a part of 4, as tsv; x.tsv.1-of-3.part is a part of 3, as tsv"),
        (
            [*PARTS[:2], "z.tsv.3-of-3.part"],
            "x.tsv",
            "z.tsv.3-of-3.part: it was started with --match 3, with --mismatch -2; merge parts of",
        ),
        ([*PARTS[:2], "w.tsv.3-of-3.part"], "x.tsv", "w.tsv.3-of-3.part: it was started with other input"),
        ([*PARTS[:2], "y.npy.3-of-3.part"], "x.tsv", "y.npy.3-of-3.part: a part of 3, as npy; x.tsv.1-of-3.part is a part of 3, as tsv"),
        (PARTS, "x.npy", "-o x.npy: these are parts of tsv; end the name in .tsv or .tsv.gz"),
        (PARTS, "x.tsv.bz2", "-o x.tsv.bz2: these are parts of tsv; end the name in .tsv or .tsv.gz"),
        ([f"y.npy.{k}-of-3.part" for k in (1, 2, 3)], "y.txt", "-o y.txt: these are parts of npy; end the name in .npy"),
        (PARTS, "x.csv.gz", "-o x.csv.gz: these are parts of tsv; end the name in .tsv or .tsv.gz"),
        ([f"y.npy.{k}-of-3.part" for k in (1, 2, 3)], "-", "these are parts of npy, which cannot go to standard output"),
        ([*PARTS[:2], "no.part"], "x.tsv", "no.part: no such file"),
    ],
)
def test_parts_that_are_not_all_of_one_job_are_refused(made, parts, output, said):
    before = {path.name for path in made.iterdir()}
    done = run(["merge", *parts, "-o", output], made, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert {path.name for path in made.iterdir()} == before


def test_a_part_from_a_pipe_is_not_called_damaged(made):
    words = ["bash", "-c", f"{GPUALIGN} merge {PARTS[0]} <(cat {PARTS[1]}) {PARTS[2]} -o x.tsv"]
    done = subprocess.run(words, cwd=made, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 2
    assert done.stderr.endswith(": expected a part file, found a pipe; write it to a file first\n")
    assert "-: expected a part file, found a pipe" in run(["merge", PARTS[0], "-", PARTS[2], "-o", "x.tsv"], made, check=False).stderr


def test_a_name_without_a_suffix_of_a_format_may_be_that_of_the_merged_file(made):
    for name in ("x.txt", "x.tsv.old"):
        run(["merge", *PARTS, "-o", name], made)
        run(["merge", *PARTS, "-o", "x.tsv"], made)
        assert (made / name).read_bytes() == (made / "x.tsv").read_bytes()
        (made / name).unlink()
        (made / "x.tsv").unlink()


def test_damaged_parts_are_refused(made, tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("x.tsv", "y.npy"):
        parts = [f"{name}.{k}-of-3.part" for k in (1, 2, 3)]
        for part in parts:
            shutil.copy(made / part, tmp_path)
        whole = (tmp_path / parts[1]).read_bytes()
        damages = [whole[: len(whole) // 2], b"", b"text", whole[:-30], b"PK" + bytes(100)]
        damages += [whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in rng.integers(0, len(whole), 25).tolist()]
        right = run(["merge", *(made / part for part in parts), "-o", f"right.{name}"], tmp_path)
        assert right.returncode == 0
        for damage in damages:
            (tmp_path / parts[1]).write_bytes(damage)
            try:
                gpualign_here("merge", *parts, "-o", name)
            except InputError:
                assert not (tmp_path / name).exists()
            else:  # what nobody reads: time stamps and the like
                assert (tmp_path / name).read_bytes() == (tmp_path / f"right.{name}").read_bytes()
                (tmp_path / name).unlink()


def rewrite(part, path, changes=None, body=lambda data: data):
    """Write a part again, its description and what precedes the archive changed, under right checksums."""
    with zipfile.ZipFile(part) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    described = json.loads(members.pop("part.json"))
    name, size, _ = described["body"]
    path.write_bytes(data := body(part.read_bytes()[:size]))
    described |= {"body": [name, len(data), zlib.crc32(data)], **(changes or {})}
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("part.json", json.dumps(described))
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize("layout", [1, 3])
def test_a_part_of_another_layout_is_refused(made, tmp_path, layout):
    rewrite(made / PARTS[0], tmp_path / "a.part", {"gpualign part": layout})
    done = run(["merge", "a.part", "-o", "x.tsv"], tmp_path, check=False)
    assert done.returncode == 2
    assert f"a.part: a part file of layout {layout}; this gpualign merges layout 2" in done.stderr


DESCRIBED = [
    ("x.tsv", {"shard": [1, 10**12]}),
    ("x.tsv", {"shard": [1.0, 3]}),
    ("x.tsv", {"shard": [True, 3]}),
    ("x.tsv", {"span": ["0", 1]}),
    ("x.tsv", {"span": [0, 10**9]}),
    ("x.tsv", {"header": "1"}),
    ("x.tsv", {"header": -1}),
    ("x.tsv", {"format": "none"}),
    ("x.tsv", {"format": ["tsv"]}),
    ("x.tsv", {"content": "matrix"}),
    ("x.tsv", {"content": "sparse", "dtype": "O"}),
    ("x.tsv", {"identity": {"version": "1"}}),
    ("x.tsv", {"identity": []}),
    ("x.tsv", {"more": 1}),
    ("x.tsv", {"body": []}),
    ("x.tsv", {"body": ["rows", -1, 0]}),
    ("x.tsv", {"body": ["rows", 2**70, 0]}),
    ("x.tsv", {"body": ["rows", 5, 0]}),
    ("x.tsv", {"body": ["other", 0, 0]}),
    ("x.tsv", {"body": ["", 0, 0]}),
    ("x.tsv", {"body": [["rows"], 0, 0]}),
    ("y.npy", {"names": ["other"]}),
    ("y.npy", {"names": []}),
    ("y.npy", {"names": [["scores"]]}),
    ("y.npy", {"decimals": 10**6}),
    ("y.npy", {"content": "sparse", "dtype": "<i4"}),
    ("y.npy", {"triangle": False}),
]


@pytest.mark.parametrize(("name", "changes"), DESCRIBED)
def test_what_a_part_says_of_itself_is_checked(made, tmp_path, name, changes):
    """Whoever writes right checksums may say what he likes."""
    rewrite(made / f"{name}.1-of-3.part", tmp_path / "a.part", changes)
    parts = [str(tmp_path / "a.part"), *(str(made / f"{name}.{k}-of-3.part") for k in (2, 3))]
    with pytest.raises(InputError, match=r"a\.part"):
        merge.callback(parts, str(tmp_path / name), log=None, quiet=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.part"]


def test_arrays_of_another_type_or_size_are_refused(made, tmp_path):
    for change in (lambda values: values.astype(float), lambda values: values[:, 1:], lambda values: values[:, :0]):

        def saved(data, change=change):
            np.save(file := io.BytesIO(), change(np.load(io.BytesIO(data))))
            return file.getvalue()

        rewrite(made / "y.npy.2-of-3.part", tmp_path / "a.part", body=saved)
        done = run(["merge", made / "y.npy.1-of-3.part", "a.part", made / "y.npy.3-of-3.part", "-o", "y.npy"], tmp_path, check=False)
        assert done.returncode == 2, done.stderr
        assert "a.part: damaged: 'scores.npy' has changed since it was written" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--shard", "1/2"], "--shard writes a part file beside the output; name that with -o"),
        (["--shard", "1/2", "-o", "/dev/null"], "--shard writes a part file beside the output; name that with -o"),
        (["--shard", "1/2", "-o", "x.parquet"], "--shard: parquet is written in one piece"),
        (["--shard", "1/2", "-o", "x.npy", "--plot", "x.png"], "--plot draws a whole matrix, and --shard writes a part of one"),
        *[
            (["--shard", text, "-o", "x.tsv"], f"with K from 1 to N and N up to 100,000; found '{text}'")
            for text in ("0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/999999")
        ],
    ],
)
def test_shares_that_cannot_be_are_refused(folder, tmp_path, words, said):
    done = run(["nw", folder / "genes.fa", *words], tmp_path, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_more_shares_than_queries(folder, tmp_path):
    words = ["nw", folder / "other.fa", "-o", "x.tsv"]
    for number in range(1, 13):
        run([*words, "--shard", f"{number}/12"], tmp_path)
    # Far more parts than this can be merged with the files that a process may have open.
    merge = ["bash", "-c", 'ulimit -n 14; exec "$@"', "bash", GPUALIGN, "merge", *tmp_path.iterdir(), "-o", "merged.tsv"]
    done = subprocess.run(merge, capture_output=True, text=True, cwd=tmp_path, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    run(words, tmp_path)
    assert (tmp_path / "merged.tsv").read_bytes() == (tmp_path / "x.tsv").read_bytes()


def test_the_plan_is_that_of_the_share(folder, tmp_path):
    words = ["nw", folder / "genes.fa", "--dry-run", "--device", "cpu"]

    def cells(*more):
        plan = dict(line.split(maxsplit=1) for line in run([*words, *more], tmp_path).stdout.splitlines())
        return int(plan["cells"].replace(",", ""))

    shares = [cells("-o", "x.tsv", "--shard", f"{number}/3") for number in (1, 2, 3)]
    assert sum(shares) == cells()
    lengths = np.array([100 + 7 * k for k in range(40)], dtype=float)
    work = lengths * (lengths[::-1].cumsum()[::-1] - lengths)
    bounds = shard_boundaries(work, 3)
    assert shares == [int(work[a:b].sum()) for a, b in pairwise(bounds)]


@pytest.fixture
def eager(monkeypatch, tmp_path):
    """Runs in this process, in a folder of their own, keep a journal from the first mark on."""
    eager_here(monkeypatch)
    monkeypatch.chdir(tmp_path)


def stopped_at_the_end(monkeypatch, *words):
    """A share whose queries are all there when the disk is full."""

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(zipfile.ZipFile, "writestr", full)
        with pytest.raises(RunError, match="No space"):
            gpualign_here(*words)


@pytest.mark.parametrize(
    ("words", "digest"),
    [
        (["nw", "genes.fa"], "core.alignment.task_fingerprint.fingerprint"),
        (["dist", "core.aln"], "core.files.digests.digest_files"),
    ],
)
def test_the_digest_of_the_input_is_taken_once(folder, eager, monkeypatch, words, digest):
    """A share asks for it, a journal does, and so does a run that goes on."""
    module, name = f"gpualign.{digest}".rsplit(".", 1)
    take, taken = getattr(import_module(module), name), []
    monkeypatch.setattr(f"{module}.{name}", lambda *given: taken.append(take(*given)) or taken[-1])
    words = [words[0], folder / words[1], "-o", "x.tsv", "--shard", "1/2", "--device", "cpu"]
    stopped_at_the_end(monkeypatch, *words)
    assert len(taken) == 1
    assert "only the final step remains" in gpualign_here(*words, "--resume")[1]
    assert taken == 2 * taken[:1]


def test_what_is_left_of_a_share_is_counted_in_its_own_queries(folder, eager, monkeypatch):
    words = ["dist", folder / "core.aln", "-o", "x.tsv", "--max-distance", "30", "--shard", "2/2", "--device", "cpu"]
    stopped_at_the_end(monkeypatch, *words)
    left = 40 - shard_boundaries(40 - np.arange(40.0), 2)[1]
    assert resume_hint_suffix().startswith(f"; {left} of {left} queries of x.tsv.2-of-2.part are done; resume with: gpualign ")
    assert "x.tsv.2-of-2.part: all queries are done; only the final step remains\n" in gpualign_here(*words, "--resume")[1]


def test_a_part_of_a_matrix_has_the_same_bytes_with_bands_of_any_size(folder, tmp_path):
    """Bands of one set begin at the diagonal of their first query, so they hold values below it."""
    parts = []
    for name, program in (("usual", [GPUALIGN]), ("small", command())):
        (tmp_path / name).mkdir()
        job = [*program, "dist", folder / "core.aln", "-o", "x.npy", "--shard", "2/2", "--device", "cpu"]
        subprocess.run(job, cwd=tmp_path / name, check=True, capture_output=True, timeout=LIMIT)
        parts.append((tmp_path / name / "x.npy.2-of-2.part").read_bytes())
    assert parts[0] == parts[1]
