"""Bad input and bad usage: exit code 2, one clear line on stderr, nothing on stdout, nothing written."""

import gzip
import random
import re
import subprocess
from pathlib import Path

import pytest
from command import GPUALIGN, gpualign

pytestmark = pytest.mark.slow

GOOD = b">a\nACGTACGT\n>b\nACGTAGGT\n"
DNA = b"ACGT" * 20
MANY = b"".join(b">r%d\nACGTACGT\n" % i for i in range(3000))

FILES = {
    "empty file": (b"", "{path}: empty file; expected FASTA or FASTQ records"),
    "no records": (
        b"# nothing here\n",
        "{path}: neither FASTA (a line starting with '>') nor FASTQ ('@'), nor a list of short sequences (two or more lines of 1 to 50"
        " capital letters each); the file starts with '# nothing here'",
    ),
    "no letters": (b">a\nACGT\n>b\n>c\nAC\n", "{path}: record 'b' (number 2) has no letters; --drop-empty leaves such records out"),
    "duplicate ids": (
        GOOD + b">a x\nAC\n",
        "{path}: records 1 and 3 have the same id 'a'; make ids unique, or number repeated ones with --allow-duplicates",
    ),
    "comment": (
        b">a\nACGT\n;ACGT\n>b\nACGT\n",
        "{path}: record 'a': ';' at position 5 is no letter, but may begin a comment; delete such lines",
    ),
    "DOS": (b">a\nACGT\n>b\nACGT\n\x1a", "{path}: record 'b': '\\x1a' at position 5 is the mark with which DOS ends a file; delete it"),
    "joined": (
        b">a\nACGT\n\xef\xbb\xbf>b\nACGT\n",
        "{path}: record 'a': '\\ufeff' at position 5 is no letter, but may begin a byte order mark between two files that were joined;"
        " delete it",
    ),
    "joined titles": (
        b">a\nACGT>b x\nACGT\n",
        "{path}: record 'a': '>' at position 5 is no letter, but may begin a title that was joined to the line before, which had no"
        " line end; begin a new line with it",
    ),
    "joined titles, long": (
        b">a\n" + DNA + b">b x\n" + DNA + b"\n>c\n" + DNA + b"\n",
        "{path}: record 'a': '>' at position 81 is no letter, but may begin a title that was joined to the line before, which had no"
        " line end; begin a new line with it",
    ),
    "blank of spreadsheets": (
        ">a\nACGT\n>b\nAC\u00a0GT\n".encode(),
        "{path}: record 'b': '\\xa0' at position 3 is a blank or an invisible character; delete it",
    ),
    "FASTQ below": (
        b">a\nACGT\n@b\nACGT\n+\nIIII\n",
        "{path}: record 'a': '@' at position 5 is no letter, but may begin a record of FASTQ; write all records as FASTA",
    ),
    "bad letter": (b">a\nACGT\n>b\nAC!T\n", "{path}: record 'b': '!' at position 3 is not a dna letter"),
    "unknown letter": (
        b">a\nACGT\n>b\nAC?T\n",
        "{path}: record 'b': '?' at position 3 is not a dna letter; --unknown n reads it as N",
    ),
    "unknown amino acid": (
        b">a\nMKVLW\n>b\nMK?LW\n",
        "{path}: record 'b': '?' at position 3 is not a protein letter; --unknown x reads it as X",
    ),
    "gap": (
        b">a\nACGT\n>b\nAC-T\n",
        "{path}: record 'b': '-' at position 3 is a gap; sequences to be aligned have none: "
        "remove gaps with --degap, or if these are the rows of an alignment, compare them with gpualign dist",
    ),
    "binary": (bytes(range(256)) * 10, "{path}: a binary file; expected FASTA or FASTQ text"),
    "numpy": (
        b"\x93NUMPY\1\0\x76\0",
        "{path} is a NumPy matrix; expected FASTA or FASTQ; gpualign cluster --distances, tree and plot read it",
    ),
    "truncated gzip": (
        gzip.compress(MANY)[:3000],
        "{path}: truncated gzip file, or something else follows its end; copy or download it again",
    ),
    "a word behind gzip": (
        gzip.compress(MANY) + b"garbage",
        "{path}: truncated gzip file, or something else follows its end; copy or download it again",
    ),
    "text behind gzip": (
        gzip.compress(MANY) + MANY,
        "{path}: something else follows the end of this gzip file; copy or download it again",
    ),
    "mixed alphabets": (
        b">gene\n" + DNA + b"\n>prot\nMEEPQSDPSV\n",
        "mixed alphabets: record 'gene' looks like DNA, record 'prot' like protein; "
        "separate them, translate the nucleotides first (for instance with seqkit translate; sw has --translate), or if all are of one "
        "kind, name it with --alphabet dna or --alphabet protein",
    ),
    "nameless": (b">\nACGT\n", "{path}: record 1 has no id after its '>' or '@'"),
}


def refused(arguments, tmp_path, stdin=None):
    before = sorted(tmp_path.rglob("*"))
    done = gpualign(*arguments, check=False, cwd=tmp_path, stdin=stdin)
    assert done.returncode == 2
    assert done.stdout == b""
    assert sorted(tmp_path.rglob("*")) == before
    assert b"Traceback" not in done.stderr
    return done.stderr.decode()


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("output", [None, "x.tsv", "x.npy"])
def test_bad_files(tmp_path, case, output):
    content, message = FILES[case]
    (tmp_path / "in.fa").write_bytes(content)
    text = refused(["nw", "in.fa", *(["-o", output] if output else [])], tmp_path)
    assert text == f"gpualign: error: {message.format(path='in.fa')}\n"


def test_the_second_file_is_checked_too(tmp_path):
    (tmp_path / "a.fa").write_bytes(GOOD)
    (tmp_path / "b.fa").write_bytes(b">x\nMEEPQ\n")
    (tmp_path / "c.fa").write_bytes(b"")
    long = tmp_path / "long.fa"
    long.write_bytes(b">g\n" + DNA + b"\n")
    assert refused(["nw", "a.fa", "c.fa"], tmp_path) == "gpualign: error: c.fa: empty file; expected FASTA or FASTQ records\n"
    assert "mixed alphabets: long.fa: record 'g' looks like DNA, b.fa: record 'x' like protein" in refused(
        ["nw", "long.fa", "b.fa"], tmp_path
    )


@pytest.mark.parametrize("command", [["nw"], ["sw"], ["index", "-o", "x.gpa"]], ids=lambda command: command[0])
def test_a_record_of_gaps_alone_is_empty(tmp_path, command):
    (tmp_path / "empty.fa").write_text(">b\n\n")
    (tmp_path / "gaps.fa").write_text(">b\n-.-\n--\n")
    expected = refused([*command, "empty.fa"], tmp_path).replace("empty.fa", "gaps.fa")
    assert refused([*command, "--degap", "gaps.fa"], tmp_path) == expected


def test_missing_file_and_folder(tmp_path):
    assert refused(["nw", "no.fa"], tmp_path) == "gpualign: error: no.fa: no such file\n"
    assert refused(["nw", "."], tmp_path) == "gpualign: error: .: expected a file, found a directory\n"


@pytest.mark.parametrize(
    "words",
    [
        ["nw", "x.fa", "-o", ""],
        ["nw", ""],
        ["dist", "x.fa", "--plot", ""],
        ["sw", "x.fa", "x.fa", "--summary", ""],
        ["nw", "x.fa", "--matrix", ""],
    ],
)
def test_names_are_not_empty(tmp_path, words):
    """As they are in a script whose variable nothing has set."""
    (tmp_path / "x.fa").write_text(">a\nAC\n>b\nAC\n")
    assert "a name is empty" in refused(words, tmp_path)


@pytest.mark.parametrize("name", ["@x", "*", "a" * 255, "é" * 128])
@pytest.mark.parametrize("words", [["nw", "x.fa", "-o", "x.sam"], ["sw", "x.fa", "y.fa", "--evalue", "none", "--format", "sam"]])
def test_reads_that_sam_cannot_name(tmp_path, name, words):
    (tmp_path / "x.fa").write_text(f">{name}\nACGTACGT\n>b\nACGTACGT\n")
    (tmp_path / "y.fa").write_text(">y\nACGTACGT\n")
    assert f"error: {name[:40]!r} is not a valid read name in SAM" in refused(words, tmp_path)


def test_stops_of_translation_are_no_letters_of_reads_in_sam(tmp_path):
    for name, letters in (("good", "MKVLATW"), ("bad", "MKVLAT*W")):
        (tmp_path / f"{name}.fa").write_text(f">first\nMKVLAT\n>{name}\n{letters}\n")
    assert "error: 'bad' has a *, which is not allowed in reads in SAM" in refused(["nw", "bad.fa", "--format", "sam"], tmp_path)
    assert gpualign("sw", "good.fa", "bad.fa", "--format", "sam", "--min-score", 1, cwd=tmp_path).stdout.count(b"\tMD:Z:") == 4


@pytest.mark.parametrize("name", ["*", "=x", "*x"])
def test_references_that_sam_cannot_name(tmp_path, name):
    (tmp_path / "x.fa").write_text(">a\nACGTACGT\n")
    (tmp_path / "y.fa").write_text(f">{name}\nACGTACGT\n")
    assert f"error: {name!r} is not a valid reference name in SAM" in refused(["nw", "x.fa", "y.fa", "--format", "sam"], tmp_path)


def test_standard_input_is_named(tmp_path):
    assert refused(["nw", "-"], tmp_path, stdin=b"") == "gpualign: error: standard input: empty file; expected FASTA or FASTQ records\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--edit", "--match", "1"], "--edit fixes every cost at 1"),
        (["--gap", "2", "--gap-open", "3"], "--gap is the linear form"),
        (["--gap", "-2"], "gap costs are given as positive numbers"),
        (["--gap-open", "1", "--gap-extend", "5"], "open must be at least extend"),
        (["--matrix", "BLOSUM63"], "no matrix file or matrix is called 'BLOSUM63'"),
        (["--matrix", "BLOSUM62", "--match", "2"], "--matrix and --match/--mismatch"),
        (["--fields", ""], "--fields names no column"),
        (["--matrix", "bad.mat"], "bad.mat: not a substitution matrix"),
        (["--matrix", "ac.mat"], "matrix ac.mat has no row for the letter 'G', which record 'a' of in.fa holds"),
        (["--match", "3000000000"], "the scores do not fit 32 bits"),
        (["--fields", "qseqid,sseqid"], "no column is called 'qseqid' (it is query here); there are query, target, score, distance"),
        (["--fields", "query,color"], "no column is called 'color'; there are query, target, score, distance"),
        (["--fields", "query,query"], "names 'query' twice"),
        (["--fields", ","], "names no column"),
        (["--fields", "query", "--format", "matrix"], "--fields chooses the columns of tsv"),
        (["--min-score", "1", "--format", "matrix"], "a matrix holds every pair"),
        (["--min-score", "1", "--edit"], "for distances give --max-distance"),
        (["--max-distance", "1.5"], "--max-distance is 1 - identity, unless --edit counts letters, from 0 to 1"),
        (["--max-distance", "1.5", "--edit"], "expected a whole number"),
        (["--min-identity", "97"], "97 % is 0.97"),
        (["--min-identity", "97%"], "'97%' is not a number; 97% is 0.97"),
        (["--max-distance", "x%"], "'x%' is not a number"),
        (["--min-identity", "0.9", "--format", "npy", "-o", "x.npy"], "a matrix holds every pair"),
        (["--identity-def", "5"], "expected an integer, from 0 to 4; found '5'"),
        (["--value", "identity", "--format", "paf"], "paf is not a matrix; write --format matrix"),
        (["--value", "identity", "--fields", "query"], "--fields selects columns of a table, --value values of a matrix"),
        (["--value", "identity", "--min-identity", "0.9"], "--value selects a matrix, --fields columns of a table"),
        (["--value", "identity", "-o", "x.phy"], "phylip needs distances"),
        (["-o", "x.phy", "in.fa"], "phylip needs a square matrix of one file"),
        (["--condensed"], "--condensed is for .npy and .npz"),
        (["--condensed", "-o", "x.npy", "in.fa"], "it cannot be combined with two files or --self"),
        (["--end-gaps", "some"], "'some' is not one of"),
        (["-o", "x.bam"], "the name does not determine the format"),
        (["--format", "npy"], "cannot go to standard output"),
        (["--memory", "lots"], "'lots' is not a size"),
        (["--threads", "0"], "expected an integer, 1 or more; found '0'"),
        (
            ["--device", "tpu"],
            "--device tpu: expected auto, cpu, cuda, cuda:all, numbers as in cuda:0,1, all, or a list such as cpu,cuda:0",
        ),
        (["--device", "all,cpu"], "'all' is none of these"),
        (["--device", "cpu,cuda,cpu"], "--device cpu,cuda,cpu: a device is named twice; name each once"),
        (["--device", "cuda:0,cpu,cuda"], "a device is named twice"),
        (["--device", "all", "--traceback", "host"], "--traceback host is only for GPUs; it cannot be combined with --device all"),
        (["--device", "cpu,cuda", "--traceback", "host"], "it cannot be combined with --device cpu,cuda"),
        (["--self", "in.fa"], "--self is for one file"),
        (["--nonsense"], "No such option"),
    ],
)
def test_bad_usage(tmp_path, arguments, message):
    (tmp_path / "in.fa").write_bytes(GOOD)
    (tmp_path / "bad.mat").write_text("what\n")
    (tmp_path / "ac.mat").write_text("   A  C  T\nA  1 -1 -1\nC -1  1 -1\nT -1 -1  1\n")
    assert message in refused(["nw", "in.fa", *arguments], tmp_path)


WORK = {
    "nw": (["nw", "--edit", "-"], []),
    "sw": (["sw", "-", "good.fa", "--min-score", "1"], []),
    "sw database": (["sw", "good.fa", "-", "--min-score", "1"], []),
    "cluster": (["cluster", "-", "--min-identity", "0.5"], []),
    "index": (["index", "-", "-o", "x.gpa"], ["x.gpa"]),
}
CUT = "standard input: the last line has no line end, so record 'b', the last, may be cut; "


@pytest.mark.parametrize("work", WORK)
def test_a_pipe_that_ends_within_a_record(tmp_path, work):
    """Of text with a line end nothing is said, and what is cut is computed, but for --strict."""
    arguments, written = WORK[work]
    (tmp_path / "good.fa").write_bytes(GOOD)
    command = arguments[0]
    assert refused([*arguments, "--strict"], tmp_path, GOOD[:-1]) == (
        f"gpualign: error: {CUT}give the whole input, with a line end, or leave --strict out\n"
    )
    note = f"gpualign {command}: {CUT}--strict refuses such input\n"
    assert note in gpualign(*arguments, stdin=GOOD[:-1], cwd=tmp_path).stderr.decode()
    for strict in ([], ["--strict"]):
        assert "line end" not in gpualign(*arguments, *strict, stdin=GOOD, cwd=tmp_path).stderr.decode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.fa", *written]


FORMS = {
    "fastq": (b"@a\nACGT\n+\nIIII\n@b\nACGT\n+\nIIII", "b"),
    "list": (b"ACDEFGHIK\nLMNPQRSTV", "LMNPQRSTV"),
    "gzip": (gzip.compress(GOOD[:-1]), "b"),
}


@pytest.mark.parametrize("form", FORMS)
def test_strict_is_for_files_too(tmp_path, form):
    content, last = FORMS[form]
    (tmp_path / "in").write_bytes(content)
    assert f"in: the last line has no line end, so record '{last}'" in refused(["nw", "--edit", "in", "--strict"], tmp_path)
    assert "line end" not in gpualign("nw", "--edit", "in", cwd=tmp_path).stderr.decode()
    assert f"record '{last}', the last, may be cut" in gpualign("nw", "--edit", "-", stdin=content).stderr.decode()
    with open(tmp_path / "in", "rb") as file:  # a redirection is no pipe
        done = subprocess.run([GPUALIGN, "nw", "--edit", "-"], stdin=file, capture_output=True, check=True)
    assert b"line end" not in done.stderr


@pytest.mark.parametrize("cut", [b">b", b">"])
def test_a_pipe_that_ends_within_a_header_is_refused(tmp_path, cut):
    refused(["nw", "-"], tmp_path, GOOD + cut)


def test_a_pipe_that_ends_within_qualities_is_refused(tmp_path):
    assert "'b' has 4 letters and 2 qualities" in refused(["nw", "-"], tmp_path, FORMS["fastq"][0][:-2])


def test_both_inputs_from_stdin(tmp_path):
    assert "only one input" in refused(["nw", "-", "-"], tmp_path, stdin=GOOD)


def test_a_budget_that_is_too_small_fails_the_run(tmp_path):
    path = Path(tmp_path / "in.fa")
    path.write_bytes(b">a\n" + b"ACGT" * 250_000 + b"\n>b\n" + b"AGGT" * 250_000 + b"\n")
    for memory in ("1M", "20M"):
        done = gpualign("nw", path, "--memory", memory, check=False)
        assert done.returncode == 1
        assert b"memory budget is too small" in done.stderr
        assert b"raise --memory" in done.stderr


@pytest.mark.parametrize(
    ("words", "memory"),
    [
        ("nw", 130_000),
        ("nw --edit --max-distance 9", 130_000),
        ("nw --end-gaps query --format sam", 1_000_000),
        ("nw --nearest 2", 1_000_000),
        ("sw --max-evalue 1", 700_000),
        ("dist", 5_000),
        ("dist", 10_000),
        ("cluster --min-identity 0.9", 300_000),
        ("nw", 50_000),
        ("sw --max-evalue 1", 20_000),
        ("cluster --min-identity 0.9", 20_000),
        ("cluster --min-identity 0.9", 120_200),
        ("cluster --min-identity 0.9 --method greedy", 120_400),
    ],
)
def test_the_memory_that_a_refusal_names_is_enough(tmp_path, words, memory):
    rng, path = random.Random(1), Path(tmp_path / "in.fa")
    path.write_text("".join(f">r{k}\n{''.join(rng.choices('ACGT', k=3000))}\n" for k in range(40)))
    command, *options = words.split()
    expected, steps = gpualign(command, "-q", path, *options).stdout, []
    while (done := gpualign(command, "-q", path, *options, "--memory", str(memory), check=False)).returncode:
        steps.append(re.sub(rb"[\d,]+", b"", done.stderr))
        memory *= int(re.search(rb"; ([\d,]+) times as much is enough for this step$", done.stderr.strip())[1].replace(b",", b""))
    assert done.stdout == expected
    assert len(set(steps)) == len(steps) > 0


HUGE = "100000000000000000000"
NUMBERS = {
    "--match": [HUGE, f"-{HUGE}", "2.5", "nan", ""],
    "--mismatch": [HUGE, f"-{HUGE}"],
    "--gap": [HUGE, "-1"],
    "--gap-open": [HUGE, "-1"],
    "--gap-extend": [HUGE, "-1"],
    "--min-score": [HUGE, f"-{HUGE}", "inf"],
    "--min-identity": ["nan", "inf", "-0.1", "1.1", "97"],
    "--max-distance": ["nan", "inf", "-inf", "1e309", "-1", "1e17"],
    "--memory": ["0", "-1", "0.5", "nan", "1000000000000T", f"{HUGE}G", "1P", f"{'9' * 400}"],
    "--threads": ["0", "-1", "1.5", "many"],
    "--identity-def": ["-1", "5", HUGE],
}


@pytest.mark.parametrize(("option", "value"), [(option, value) for option, values in NUMBERS.items() for value in values])
def test_numbers_out_of_range(tmp_path, option, value):
    (tmp_path / "in.fa").write_bytes(GOOD)
    assert option.strip("-").replace("-", " ") in refused(["nw", "in.fa", option, value], tmp_path).replace("-", " ")


@pytest.mark.parametrize("value", ["nan", "inf", "1e309", "-3", "2.5", "1e17"])
def test_edit_distances_out_of_range(tmp_path, value):
    (tmp_path / "in.fa").write_bytes(GOOD)
    assert "--max-distance" in refused(["nw", "--edit", "in.fa", "--max-distance", value], tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["--max-evalue", "nan"],
        ["--max-evalue", "inf"],
        ["--max-evalue", "-1"],
        ["--max-hits", "0"],
        ["--max-hits", HUGE],
        ["--min-score", HUGE],
    ],
)
def test_numbers_of_searches_out_of_range(tmp_path, words):
    (tmp_path / "in.fa").write_bytes(GOOD)
    assert words[0] in refused(["sw", "in.fa", *words], tmp_path)


@pytest.mark.parametrize("words", [["--max-distance", "nan"], ["--max-distance", "inf"], ["--memory", "0"], ["--threads", "0"]])
def test_numbers_of_distances_out_of_range(tmp_path, words):
    (tmp_path / "in.fa").write_bytes(GOOD)
    assert words[0] in refused(["dist", "in.fa", *words], tmp_path)


@pytest.mark.parametrize("words", [["--max-distance", "9007199254740992"], ["--memory", "1024T"], ["--threads", "9" * 40]])
def test_the_largest_numbers_work(tmp_path, words):
    (tmp_path / "in.fa").write_bytes(GOOD)
    assert gpualign("nw", "--edit", "in.fa", *words, cwd=tmp_path).stdout == b"query\ttarget\tdistance\na\tb\t1\n"


def test_masked_nucleotides_are_named_by_searches(tmp_path, rng):
    letters = bytes(rng.choice(list(b"ACGT"), 300).tolist())
    (tmp_path / "dna.fa").write_bytes(b">g\n" + letters + b"\n")
    (tmp_path / "masked.fa").write_bytes(b">m\n" + letters[:100] + b"X" * 20 + letters[120:] + b"\n")
    for words in (["dna.fa", "masked.fa"], ["masked.fa", "dna.fa"], ["masked.fa", "dna.fa", "--translate", "query"]):
        assert "read these as DNA, and such letters as N, with --alphabet dna --unknown n" in refused(["sw", *words], tmp_path)
    found = gpualign("sw", "-q", "masked.fa", "dna.fa", "--alphabet", "dna", "--unknown", "n", cwd=tmp_path).stdout
    assert found.splitlines()[1].startswith(b"m\tg\t")


def test_nucleotides_where_proteins_were_meant(tmp_path):
    """The two are told apart by records of fifty letters and more; what a user says himself is done."""
    (tmp_path / "dna.fa").write_bytes(b">g\n" + DNA + b"\n")
    (tmp_path / "short.fa").write_bytes(b">g\nGATTACA\n")  # a peptide as well as not
    (tmp_path / "protein.fa").write_bytes(b">p\nMEEPQSDPSV\n")
    for name in ("dna", "protein"):
        gpualign("index", "-q", f"{name}.fa", "-o", f"{name}.gpa", cwd=tmp_path)
    told = "dna.fa: record 'g' looks like DNA, protein.fa: record 'p' like protein: search with --translate"
    assert f"{told} query, or if all are proteins, add --alphabet protein" in refused(["sw", "dna.fa", "protein.fa"], tmp_path)
    assert f"{told} target, or" in refused(["sw", "protein.fa", "dna.fa"], tmp_path)
    assert "translate the nucleotides first" in refused(["nw", "dna.fa", "protein.fa"], tmp_path)
    (tmp_path / "both.fa").write_bytes((tmp_path / "dna.fa").read_bytes() + (tmp_path / "protein.fa").read_bytes())
    for files in (["both.fa", "protein.fa"], ["dna.fa", "both.fa"], ["both.fa"]):
        assert "mixed alphabets" in refused(["sw", *files], tmp_path)
    said = refused(["sw", "dna.fa", "protein.gpa"], tmp_path)
    assert (
        "dna.fa: record 'g' looks like DNA, and protein.gpa is an index of proteins: translate the queries with --translate query" in said
    )
    said = refused(["sw", "protein.fa", "dna.gpa"], tmp_path)
    assert "'E' at position 2 is not an IUPAC nucleotide letter" in said
    assert "; dna.gpa is an index of DNA" in said
    done = gpualign("sw", "--evalue", "none", "short.fa", "protein.gpa", cwd=tmp_path)
    assert b"looks like DNA" not in done.stderr
    done = gpualign("sw", "--evalue", "none", "--alphabet", "protein", "dna.fa", "protein.fa", cwd=tmp_path)
    assert b"dna.fa: record 'g' looks like DNA; its letters are read as amino acids" in done.stderr
    done = gpualign("index", "--alphabet", "protein", "dna.fa", "-o", "x.gpa", cwd=tmp_path)
    assert b"dna.fa: record 'g' looks like DNA; its letters are read as amino acids" in done.stderr


def test_a_matrix_of_amino_acids_for_dna(tmp_path):
    (tmp_path / "x.fa").write_bytes(GOOD)
    assert "BLOSUM62 is a matrix for proteins, and x.fa has only letters of DNA" in refused(
        ["nw", "x.fa", "--matrix", "BLOSUM62"], tmp_path
    )
    for alphabet in ("dna", "protein"):
        gpualign("nw", "x.fa", "--matrix", "BLOSUM62", "--alphabet", alphabet, cwd=tmp_path)


def test_what_is_for_another_command(tmp_path):
    (tmp_path / "x.tsv").write_text("sample\trs1\na\t0\n")
    (tmp_path / "x.vcf").write_text("##fileformat=VCFv4.2\n")
    (tmp_path / "x.fa").write_text(">a\nACGT\n>b\nACG\n")
    for words in (["nw", "x.tsv"], ["sw", "x.fa", "x.tsv"], ["index", "x.tsv", "-o", "x.gpa"]):
        assert refused(words, tmp_path).endswith(
            "nw and cluster read tables of sequences with --sequence-column; gpualign dist reads tables of SNPs\n"
        )
    assert refused(["nw", "x.vcf"], tmp_path).endswith("x.vcf is VCF; expected FASTA or FASTQ; gpualign dist reads it\n")
    assert refused(["dist", "x.fa"], tmp_path).endswith("or compare them as they are by edit distance (gpualign nw)\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["sw", "x.gpa", "x.fa"],
            "x.gpa is an index of sequences; expected FASTA or FASTQ; to search it, give the file itself, uncompressed, after the queries:"
            " gpualign sw QUERY INDEX\n",
        ),
        (
            ["sw", "x.fa", "-"],
            "standard input is an index of sequences; expected FASTA or FASTQ; to search it, give the file itself, uncompressed,",
        ),
        (["sw", "x.fa", "x.gpa.gz"], "x.gpa.gz is an index of sequences; expected FASTA or FASTQ; to search it, give the file itself"),
        (["dist", "x.gpa"], "x.gpa is an index of sequences; gpualign sw searches it"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_index_in_a_wrong_place_is_called_by_its_name(words, message, tmp_path):
    (tmp_path / "x.fa").write_text(">a\nACGTACGT\n")
    gpualign("index", "-q", "x.fa", "-o", "x.gpa", cwd=tmp_path)
    (tmp_path / "x.gpa.gz").write_bytes(gzip.compress((tmp_path / "x.gpa").read_bytes()))
    assert message in refused(words, tmp_path, stdin=(tmp_path / "x.gpa").read_bytes())
