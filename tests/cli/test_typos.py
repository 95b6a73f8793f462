"""Mistyped commands, options and values are answered with what was meant."""

import click
import pytest
from command import gpualign, gpualign_here

from gpualign.cli.main import cli
from gpualign.cli.options.choice_suggestions import with_example, with_file_advice, with_option_suggestion
from gpualign.core.common.errors import InputError
from gpualign.core.common.suggestions import nearest_name

FORMATS = ("tsv", "csv", "parquet", "m8", "paf", "sam", "fasta", "npy", "npz", "phylip")


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("tvs", "tsv"),
        ("CSV", "csv"),
        ("cvs", "csv"),
        ("fa", "fasta"),
        ("phy", "phylip"),
        ("numpy", "npy"),
        ("parqet", "parquet"),
        ("blast", None),
        ("xlsx", None),
        ("", None),
    ],
)
def test_the_nearest_name(word, name):
    assert nearest_name(word, FORMATS) == name


def message(*words):
    """What a user is told of a wrong command line."""
    with pytest.raises((click.UsageError, InputError)) as caught:
        gpualign_here(*words)
    error = caught.value
    if isinstance(error, click.NoSuchOption):
        error = with_option_suggestion(error, cli.commands)
    elif isinstance(error, click.MissingParameter):
        error = with_example(error)
    elif isinstance(error, click.UsageError):
        error = with_file_advice(error)
    return error.format_message() if isinstance(error, click.UsageError) else str(error)


@pytest.mark.parametrize(
    ("words", "end"),
    [
        (["clster", "x"], "No such command 'clster'; did you mean cluster?"),
        (["align", "x"], "No such command 'align'; type gpualign nw SEQS"),
        (["blastp", "x"], "No such command 'blastp'; type gpualign sw QUERY DB"),
        (["smith-waterman", "x"], "No such command 'smith-waterman'; type gpualign sw QUERY DB"),
        (["tree", "x", "--outgroup", "a"], "No such option '--outgroup'; use --root ID, which puts the root on the branch of an outgroup"),
        (["index", "x", "--remove", "a"], "No such option '--remove'; use --withdraw ID"),
        (["dist", "x", "--remove", "a"], "No such option '--remove'; use --exclude FILE"),
        (["dist", "x", "--max-missing", "0.9"], "No such option '--max-missing'; use --core F"),
        (["dist", "x", "--geno", "0.1"], "No such option '--geno'; use --core F, where F is 1 - plink's --geno"),
        (["sw", "x", "--composition", "on"], "'on' is not one of adjust, scale, none: adjust is the default"),
        (["sw", "x", "--format", "6"], ", matrix, npy, npz, csr: m8 has BLAST's columns"),
        (["dist", "x", "--format", "long"], ", counts, phylip, mega: molten has a row for each pair"),
        (["index", "x", "-o", "y.gps", "--append", "z.gps"], "swissprot.fasta.gz -o swissprot.gpa"),
        (["makeblastdb", "x"], "No such command 'makeblastdb'; type gpualign index DB -o DB.gpa"),
        (["x"], "No such command 'x', which is a file; type gpualign nw x, or another command before it"),
        (["nw"], "Missing argument 'SEQS'. For example: gpualign nw reads.fasta > scores.tsv"),
        (["sw"], "Missing argument 'QUERY'. For example: gpualign sw query.fa db.fa > hits.tsv"),
        (["dist"], "Missing argument 'SAMPLES'. For example: gpualign dist core.aln > distances.tsv"),
        (["plot", "x"], "Missing option '-o' / '--output'. For example: gpualign plot distances.npy -o heat.png"),
        (
            ["index", "x"],
            "give one of -o FILE (an index or a set of samples), --append SET and --withdraw ID. For example: gpualign index"
            " swissprot.fasta.gz -o swissprot.gpa",
        ),
        (["merge", "x"], "Missing option '-o' / '--output'. For example: gpualign merge scores.tsv.*-of-4.part -o scores.tsv"),
        (["nw", "x", "--gpu"], "No such option '--gpu'; use --device cuda"),
        (["sw", "x", "--db", "x"], "No such option '--db'; files are named without options, as in: gpualign sw query.fa db.fa > hits.tsv"),
        (["nw", "-i", "x"], "No such option '-i'; files are named without options, as in: gpualign nw reads.fasta > scores.tsv"),
        (["sw", "x", "x", "-e", "1e-3"], "No such option '-e'; use --max-evalue E"),
        (["cluster", "x", "-c", "0.97"], "No such option '-c'; use --min-identity F, or for MMseqs2's -c --min-coverage F"),
        (["cluster", "x", "--min-seq-id", "0.97"], "No such option '--min-seq-id'; use --min-identity F, a fraction such as 0.97"),
        (["help", "nw"], "No such command 'help'; type gpualign nw --help"),
        (["help"], "No such command 'help'; type gpualign --help"),
        (["version"], "No such command 'version'; type gpualign --version"),
        (["sw", "x", "y", "--evalue", "1e-5"], "'1e-5' is not one of table, estimate, none; type --max-evalue 1e-5"),
        (["sw", "x", "y", "--outfmt", "6"], "No such option '--outfmt'; use --format m8, which writes BLAST's columns"),
        (["sw", "x", "y", "--max_hsps", "1"], "No such option '--max_hsps'; did you mean --max-hsps?"),
        (["sw", "x", "y", "--max-target-seqs=5"], "; use --max-hits K, which writes the K best hits of each query"),
        (["sw", "x", "y", "--dbsize", "9"], "No such option '--dbsize'; use --evalue-letters N"),
        (["nw", "x", "--cov-mode", "2"], "; use --coverage-of both, target or query, which are MMseqs2's 0, 1 and 2"),
        (["nw", "x", "--query_cov", "0.9"], "No such option '--query_cov'; use --min-coverage F --coverage-of query"),
        (["cluster", "x", "--id", "0.97"], "No such option '--id'; use --min-identity F, a fraction such as 0.97"),
        (["nw", "--maxdistance", "3", "x"], "No such option '--maxdistance'; did you mean --max-distance?"),
        (["nw", "--min-ident=0.9", "x"], "No such option '--min-ident'; did you mean --min-identity?"),
        (["nw", "--max-evalue", "3", "x"], "No such option '--max-evalue'; it belongs to gpualign sw"),
        (["dist", "--edit", "x"], "No such option '--edit'; it belongs to gpualign cluster and gpualign nw"),
        (["tree", "--degap", "x"], "; it belongs to gpualign cluster, gpualign index, gpualign nw and gpualign sw"),
        (["nw", "-Z"], "No such option '-Z'"),
        (["-q", "nw", "x"], "No such option '-q' before the command; type it after the command's name"),
        (["--edit", "nw", "x"], "No such option '--edit' before the command; type it after the command's name"),
        (["--bogus", "nw", "x"], "No such option '--bogus'"),
        (["nw", "x", "--perc_identity", "97"], "; use --min-identity F, a fraction such as 0.97"),
        (["nw", "x", "--iddef", "1"], "; use --identity-def N, which has the same numbers"),
        (["dist", "x", "-j", "4"], "No such option '-j'; use --threads N"),
        (["info", "-j", "4"], "No such option '-j'"),
        (["dist", "x", "-m"], "No such option '-m'; use --format molten"),
        (["dist", "x", "-x", "12"], "; use --max-distance D, which leaves out the other pairs"),
        (["dist", "--bfile", "x"], "; files are named without options, as in: gpualign dist core.aln > distances.tsv"),
        (["cluster", "x", "-n", "5"], "; every pair is compared, so there is no word size and no sensitivity to set"),
        (["cluster", "x", "--centroids", "y"], "No such option '--centroids'; use --representatives FILE"),
        (["cluster", "x", "--query-cov", "0.8"], "; use --min-coverage F --coverage-of both or shorter"),
        (["sw", "x", "-d", "x"], "'-d'; files are named without options, as in: gpualign sw query.fa db.fa > hits.tsv"),
        (["sw", "x", "x", "--min-coverage", "0.8"], "; sw has no coverage threshold; filter its columns qcov and tcov"),
        (["tree", "x", "--nj"], "No such option '--nj'; use --method nj"),
        (["index", "x", "--dbtype", "prot"], "; use --alphabet dna or protein"),
        (["heatmap", "x"], "No such command 'heatmap'; type gpualign plot MATRIX -o heat.png"),
        (["upgma", "x"], "No such command 'upgma'; type gpualign tree MATRIX --method upgma"),
        (["nw", "x", "x", "y.tsv"], "Got unexpected extra argument (y.tsv); an output is named with -o"),
        (["nw", "x", "x", "x"], "(x); @LIST reads several files as one: LIST is a file with their names, one per line"),
        (["tree", "x", "x"], "Got unexpected extra argument (x)"),
        (["info", "x"], "Got unexpected extra argument (x)"),
        (["nw", "x", "--threads", "max"], "Invalid value for '--threads': 'max' is not an integer"),
        (["nw", "x", "--threads", "0"], "expected an integer, 1 or more; found '0'"),
        (["nw", "x", "--gap-open", "-10"], "gap costs are given as positive numbers: gap open 10, not -10"),
        (["nw", "--bogus"], "No such option '--bogus'"),
        (["nw", "--end-gaps", "fre", "x"], "'fre' is not one of penalised, free, query, target; did you mean free?"),
        (
            ["dist", "--metric", "snps", "x"],
            "'snps' is not one of hamming, fraction, ibs, allele, jc69, tn93, king, grm: hamming counts SNPs",
        ),
        (["dist", "--metric", "xy", "x"], "'xy' is not one of hamming, fraction, ibs, allele, jc69, tn93, king, grm"),
        (["cluster", "--method", "upgma", "x"], "'upgma' is not one of single, complete, average, greedy: average is UPGMA"),
        (["dist", "--threshold", "12", "x"], "No such option '--threshold'; use --max-distance D"),
        (["sw", "--identity", "0.5", "x"], "No such option '--identity'; use --min-identity F, a fraction such as 0.97"),
        (["info", "--gpu"], "No such option '--gpu'"),
        (["bench"], "Choose payne, li, munekawa or all. For example: gpualign bench all --size paper -o report"),
        (["nw", "--fields", "query,identiy", "x"], "; did you mean identity?"),
        (["nw", "--matrix", "BLOSSUM62", "x"], "; did you mean BLOSUM62?"),
        (["plot", "x", "-o", "x.png", "--order", "gruops"], "there is no such file; did you mean groups?"),
        (["plot", "x", "-o", "x.png", "--order", "ids.txt"], "or a file of ids, and there is no such file"),
        (["plot", "x", "-o", "x.pgn"], "expected a name that ends in .png, .svg, .pdf; did you mean .png?"),
        (["nw", "--device", "gpu", "x"], "'gpu' is none of these; did you mean cuda?"),
        (["nw", "--device", "cpu,GPU:1", "x"], "'GPU:1' is none of these; did you mean cuda:1?"),
        (["nw", "--device", "all,cpu", "x"], "'all' is none of these"),
        (["dist", "--device", "ato", "x"], "'ato' is none of these; did you mean auto?"),
        (["nw", "-o", "x.phylip", "x"], "or give --format; did you mean .phy?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_messages(words, end, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_text(">a\nACGT\n>b\nACGA\n")
    assert message(*words).endswith(end)


def test_the_executable_explains_options():
    done = gpualign("nw", "--edt", "x", check=False)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1] == "Error: No such option '--edt'; did you mean --edit?"


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["sw", "x", "x", "-outfmt", "6"], "'-outfmt'; use --format m8, which writes BLAST's columns"),
        (["sw", "x", "x", "-outfmt=6"], "'-outfmt'; use --format m8, which writes BLAST's columns"),
        (["sw", "-query", "x", "-db", "x"], "'-query'; files are named without options, as in: gpualign sw query.fa db.fa > hits.tsv"),
        (["sw", "x", "-db", "x"], "'-db'; files are named without options, as in: gpualign sw query.fa db.fa > hits.tsv"),
        (["sw", "x", "x", "-evalue", "1e-5"], "'-evalue'; use --max-evalue E; --evalue says how E-values are computed"),
        (["cluster", "x", "-aS", "0.9"], "'-aS'; use --min-coverage F --coverage-of shorter"),
        (["sw", "x", "x", "-num_alignments", "5"], "'-num_alignments'; use --max-hits K, which writes the K best hits of each query"),
        (["sw", "x", "x", "-comp_based_stats", "0"], "'-comp_based_stats'; use --composition adjust, scale or none"),
        (["sw", "x", "x", "-out", "hits.m8"], "'-out'; use --output FILE"),
        (["index", "x", "-out", "x.gpa"], "'-out'; use --output FILE"),
        (["sw", "x", "x", "-num_threads", "4"], "'-num_threads'; use --threads N"),
        (["sw", "x", "x", "-max_target_seqs", "5"], "'-max_target_seqs'; use --max-hits K, which writes the K best hits of each query"),
        (["sw", "x", "x", "-taxids", "9606"], "'-taxids'; use --where taxid=LIST"),
        (["sw", "x", "x", "-seqidlist", "ids.txt"], "'-seqidlist'; use --targets FILE"),
        (["sw", "x", "x", "-negative_seqidlist", "ids.txt"], "'-negative_seqidlist'; use --exclude FILE"),
        (["nw", "x", "-output", "x.tsv"], "'-output'; did you mean --output?"),
        (["nw", "x", "-max-distance=0.1"], "'-max-distance'; did you mean --max-distance?"),
    ],
)
def test_long_options_with_one_dash(words, advice, tmp_path):
    """-out is not taken for -o ut."""
    (tmp_path / "x").write_text(">a\nACGT\n>b\nACGA\n")
    done = gpualign(*words, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1] == f"Error: No such option {advice}"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_short_options_together_and_names_behind_them(tmp_path):
    (tmp_path / "-out").write_text(">a\nACGT\n>b\nACGA\n")
    gpualign("nw", "-qv", "-oout.tsv", "--", "-out", cwd=tmp_path)
    assert (tmp_path / "out.tsv").exists()
