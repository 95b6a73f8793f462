"""`--mask-lower`: the output of files whose letters in lower case have been replaced by N or X."""

import re

import numpy as np
import pytest
from command import gpualign_here
from goldens import CODED_PROTEINS as PROTEINS
from goldens import CODING_GENES as GENES

from gpualign.core.sequences.database_index import open_index


def soft_masked(rng, letters, count, length):
    """Related records with stretches in lower case, one of them lower case throughout, one without any."""
    founder, found = rng.choice(list(letters), length), []
    for number in range(count):
        record = founder.copy()
        record[rng.integers(0, length, 6)] = rng.choice(list(letters), 6)
        text = "".join(record)
        start, stop = {0: (0, 0), 1: (0, length)}.get(number, sorted(rng.integers(0, length, 2).tolist()))
        found.append(text[:start] + text[start:stop].lower() + text[stop:])
    return found


def write(path, records):
    path.write_text("".join(f">r{number}\n{letters}\n" for number, letters in enumerate(records)))
    return path


@pytest.fixture(scope="module", params=["dna", "protein"])
def files(request, tmp_path_factory):
    """(soft-masked, the same with N or X, how many letters that are, letters in all)."""
    folder, rng = tmp_path_factory.mktemp("lower"), np.random.default_rng(8)
    letters = {"dna": "ACGTRN", "protein": "ARNDCQEGHILKMFPSTWYV"}[request.param]
    records = soft_masked(rng, letters, 7, 90)
    hard = [re.sub("[a-z]", {"dna": "N", "protein": "X"}[request.param], record) for record in records]
    masked = sum(letter.islower() for record in records for letter in record)
    return write(folder / "soft.fa", records), write(folder / "hard.fa", hard), masked, sum(map(len, records)), request.param


COMMANDS = {
    "scores": ["nw"],
    "alignments": ["nw", "--format", "aln"],
    "edits": ["nw", "--edit"],
    "near": ["nw", "--edit", "--max-distance", "20"],
    "free": ["nw", "--end-gaps", "free", "--fields", "query,target,identity,cigar,qaln,taln"],
    "search": ["sw", "--format", "aln", "--mask", "none"],
    "search, masked": ["sw", "--format", "m8"],
    "every score": ["sw", "--all"],
}


@pytest.mark.parametrize("two", [False, True], ids=["one file", "two files"])
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_as_if_they_were_unknown(files, words, two):
    soft, hard, masked, total, alphabet = files
    found, messages = gpualign_here(*words, "--mask-lower", *[soft] * (1 + two))
    wanted, _ = gpualign_here(*words, "--alphabet", alphabet, *[hard] * (1 + two))
    assert found == wanted
    times = 1 + two
    assert f"masked {masked * times:,} of {total * times:,} letters, those in lower case; " in messages
    assert ("2 records, 'r1' the first, are" if two else "record 'r1' is") + " masked throughout" in messages
    assert gpualign_here(*words, *[soft] * times)[0] != found


def test_index(files, tmp_path):
    soft, hard, masked, total, alphabet = files
    _, messages = gpualign_here("index", soft, "--mask-lower", "-o", tmp_path / "soft.gpa")
    gpualign_here("index", hard, "--alphabet", alphabet, "-o", tmp_path / "hard.gpa")
    assert (tmp_path / "soft.gpa").read_bytes() == (tmp_path / "hard.gpa").read_bytes()
    assert f"masked {masked:,} of {total:,} letters, those in lower case; record 'r1' is masked throughout" in messages
    assert open_index(str(tmp_path / "soft.gpa"))[1].name == alphabet
    words = ["sw", "-q", "--mask-lower", soft]
    assert gpualign_here(*words, tmp_path / "soft.gpa")[0] == gpualign_here(*words, soft)[0]
    gpualign_here("index", soft, "-o", tmp_path / "plain.gpa")
    assert gpualign_here(*words, tmp_path / "plain.gpa")[0] != gpualign_here(*words, soft)[0]


def test_masked_letters_are_no_hits_where_n_equals_n(tmp_path):
    path = write(tmp_path / "x.fa", ["ACGTTGCA" + "acgt" * 20, "GGATTACC" + "ttga" * 20])
    words = ["sw", "-q", "--match", "1", "--mismatch", "-1", "--gap", "2", "--min-score", "10", "--mask", "none", "--strand", "plus"]
    assert not gpualign_here(*words, "--fields", "query,target", "--mask-lower", path)[0].decode().splitlines()[1:]


def test_masked_letters_match_nothing_in_every_score(tmp_path):
    """As in a search for hits, where N equals N in the scoring."""
    path = write(tmp_path / "x.fa", ["ACGTTGCA" * 9 + "acgt" * 5 + "GGATTACC" * 9, "ACGTTGCA" * 9 + "ttga" * 5 + "GGATTACC" * 9])
    words = ["sw", "-q", "--match", "5", "--mismatch", "-4", "--gap", "6", "--mask", "none", "--mask-lower", path, path]
    every = [row.split("\t") for row in gpualign_here(*words, "--all")[0].decode().splitlines()[1:]]
    hits = gpualign_here(*words, "--strand", "plus", "--max-hits", "9", "--fields", "query,target,score")[0].decode().splitlines()[1:]
    assert sorted(every) == sorted(row.split("\t") for row in hits)
    assert int(every[1][2]) == 2 * 72 * 5 - 20 * 4


def test_a_query_that_every_score_masks_throughout_is_told(tmp_path):
    path = write(tmp_path / "x.fa", ["ACGTTGCATTGACCATGTCAGGATTACC", "A" * 60])
    _, messages = gpualign_here("sw", "--all", "--mask", "dust", path, path)
    assert "query 'r1' is of low complexity throughout and can have no hits" in messages
    assert "Warning" not in messages


def test_a_file_without_lower_case(tmp_path):
    path = write(tmp_path / "x.fa", ["ACGT", "ACGG"])
    found, messages = gpualign_here("nw", "--mask-lower", path)
    assert "masked 0 of 8 letters, those in lower case\n" in messages
    assert found == gpualign_here("nw", "-q", path)[0]


def test_lower_case_decides_about_the_alphabet_as_upper_case_does(tmp_path):
    path = write(tmp_path / "x.fa", ["mkvlawqr", "MKVLAWQR"])
    assert "protein (by its letters)" in gpualign_here("nw", "--mask-lower", path)[1]


def test_nucleotides_are_masked_before_they_are_translated(tmp_path):
    soft, hard = tmp_path / "soft.fa", tmp_path / "hard.fa"
    genes = [gene.partition("\n")[::2] for gene in GENES.read_text().upper().split(">")[1:]]
    lower = [(name, re.sub("(?s)(.{40})(.{25})", lambda found: found[1] + found[2].lower(), letters)) for name, letters in genes]
    soft.write_text("".join(f">{name}\n{letters}" for name, letters in lower))
    hard.write_text("".join(f">{name}\n{re.sub('[a-z]', 'N', letters)}" for name, letters in lower))
    words = "--translate", "query", "--mask", "none", "--format", "aln"
    found, messages = gpualign_here("sw", soft, PROTEINS, *words, "--mask-lower")
    assert found == gpualign_here("sw", hard, PROTEINS, *words)[0]
    assert found != gpualign_here("sw", soft, PROTEINS, *words)[0]
    assert "letters, those in lower case" in messages
