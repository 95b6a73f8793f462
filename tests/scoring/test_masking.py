"""Low complexity: SEG and DUST by their definitions, and beside NCBI's programs where they are installed."""

import gzip
import shutil
import subprocess
from dataclasses import replace

import masking_oracle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.core.common.errors import InputError
from gpualign.core.scoring.masking import check_method, low_complexity_intervals, mask, mask_scoring
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.core.sequences.loading import encode
from gpualign.core.sequences.string_column import StringColumn

METHODS = {"seg": PROTEIN, "dust": DNA}
ORACLES = {"seg": masking_oracle.seg, "dust": masking_oracle.dust}


def encoded(texts, method):
    return encode("test", [f"r{i}" for i in range(len(texts))], StringColumn.from_strings(texts), METHODS[method])


def intervals(texts, method):
    """Of each text, its own positions."""
    sequences = encoded(texts, method)
    found = [[] for _ in texts]
    for begin, end in low_complexity_intervals(sequences, METHODS[method]).tolist():
        record = int(np.searchsorted(sequences.offsets, begin, side="right")) - 1
        start = int(sequences.offsets[record])
        found[record].append((begin - start, end - start))
    return found


def by_program(texts, method):
    """Of each text, what segmasker or dustmasker tells; intervals that overlap or touch as one."""
    program = f"{method}masker"
    if shutil.which(program) is None:
        pytest.skip(f"{program} (NCBI BLAST+) is not installed")
    fasta = "".join(f">r{i}\n{text}\n" for i, text in enumerate(texts))
    out = subprocess.run([program, "-in", "-", "-outfmt", "interval"], input=fasta, capture_output=True, text=True, check=True).stdout
    found = []
    for line in out.splitlines():
        if line.startswith(">"):
            found.append(set())
        else:
            first, last = map(int, line.split(" - "))
            found[-1] |= set(range(first, last + 1))
    assert len(found) == len(texts)
    return [masking_oracle.intervals_of(letters) for letters in found]


def random_text(rng, letters, unknown=""):
    """Pieces of few and of many kinds of letters, and repeats of short words."""
    text = ""
    for _ in range(rng.integers(1, 7)):
        kinds = rng.choice(list(letters), rng.choice([1, 2, 3, 4, len(letters)]), replace=False).tolist()
        kinds += rng.choice(list(unknown), 2).tolist() if unknown and rng.random() < 0.3 else []
        piece = "".join(rng.choice(kinds, rng.integers(1, 60)))
        text += piece if rng.random() < 0.7 else piece[:7] * rng.integers(1, 9)
    return text


def texts_of(letters, unknown):
    """Strategy: runs, periodic repeats, plain and unknown letters side by side."""
    word = st.text(letters + unknown, min_size=1, max_size=6)
    run = st.builds(lambda text, times: text * times, word, st.integers(1, 30))
    plain = st.text(letters, max_size=40)
    return st.lists(st.one_of(run, plain), min_size=1, max_size=5).map("".join).filter(bool)


@settings(max_examples=80)
@given(st.lists(texts_of("ACDEFGHIKLMNPQRSTVWY", "XBZUOJ*").map(lambda text: text[:90]), min_size=1, max_size=2))
def test_seg_is_its_definition(texts):
    assert intervals(texts, "seg") == [masking_oracle.intervals_of(masking_oracle.seg(text)) for text in texts]


@settings(max_examples=60)
@given(st.lists(texts_of("ACGT", "NRY").map(lambda text: text[:100]), min_size=1, max_size=2))
def test_dust_is_its_definition(texts):
    assert intervals(texts, "dust") == [masking_oracle.intervals_of(masking_oracle.dust(text)) for text in texts]


@pytest.mark.parametrize(
    ("method", "text", "expected"),
    [
        ("seg", "A", []),
        ("seg", "A" * 11, []),  # shorter than a window
        ("seg", "A" * 12, [(0, 12)]),
        ("seg", "X" * 40, []),  # nothing is known of it
        ("seg", "MKV" + "A" * 20 + "DEFGHIKLMNPQR", [(3, 23)]),
        ("seg", "AAAAAXXAAAAA", [(0, 12)]),  # two unknown letters in a window are not too many
        ("seg", "AAAAAXXXAAAA", []),
        ("dust", "A", []),
        ("dust", "AAAAAA", []),  # 4 triplets, 6 / 3 is not more than 2
        ("dust", "AAAAAAA", [(0, 7)]),
        ("dust", "N" * 100, []),
        ("dust", "AAAAAAAGTTTTTTTT", [(0, 7), (8, 16)]),
        ("dust", "ACTGAAAAAAATTTTTTTTACTG", [(4, 19)]),  # intervals that touch are one
        ("dust", "ACGT" * 100, [(0, 400)]),
    ],
)
def test_examples(method, text, expected):
    assert intervals([text], method) == [expected]
    assert masking_oracle.intervals_of(ORACLES[method](text)) == expected


def test_equally_probable_parts_keep_the_longest():
    """5 3 2 2 2 1 letters of six kinds are as probable as 5 2 2 2 2 1."""
    long, short = "AAAAACCCDDEEFFG", "AAAAACCDDEEFFG"
    assert masking_oracle.log_probability(long) == pytest.approx(masking_oracle.log_probability(short), abs=1e-12)
    text = "VTCSVVAFVLLVSAVGFLYRK"
    (interval,) = intervals([text], "seg")[0]
    assert interval == (3, 18)
    assert masking_oracle.log_probability(text[3:18]) == pytest.approx(masking_oracle.log_probability(text[3:17]), abs=1e-12)


@pytest.mark.parametrize("method", ["seg", "dust"])
def test_random_texts_beside_ncbi(rng, method):
    letters = {"seg": "ACDEFGHIKLMNPQRSTVWY", "dust": "ACGT"}[method]
    texts = [random_text(rng, letters, "XBZUOJ" if method == "seg" else "") for _ in range(3000)]
    mine, theirs = intervals(texts, method), by_program(texts, method)
    if method == "dust":
        assert mine == theirs
    else:  # NCBI rounds logarithms to six digits, and loses one of two segments left of another: docs/evalues.md
        assert sum(a != b for a, b in zip(mine, theirs, strict=True)) <= 0.01 * len(texts)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "method"), [("proteins_query.fasta.gz", "seg"), ("16s_gold.fasta.gz", "dust")])
def test_real_sequences_beside_ncbi(real_data, file, method):
    path = real_data / file
    if not path.exists():
        pytest.skip(f"{file} is not among the real data")
    with gzip.open(path, "rt") as stream:
        records = ("\n" + stream.read()).split("\n>")[1:]
    texts = ["".join(record.split("\n")[1:]).upper() for record in records]
    if method == "dust":  # of other letters NCBI makes A, or anything
        texts = [text for text in texts if set(text) <= set("ACGT")]
    mine, theirs = intervals(texts, method), by_program(texts, method)
    assert sum(map(bool, mine)) > 30
    different = [(a, b) for a, b in zip(mine, theirs, strict=True) if a != b]
    assert len(different) <= (0 if method == "dust" else 0.01 * len(texts))
    for a, b in different:  # equally probable parts
        assert abs(sum(e - s for s, e in a) - sum(e - s for s, e in b)) <= 5


def test_records_are_searched_one_by_one(rng):
    texts = [random_text(rng, "ACGT") for _ in range(40)]
    alone = [intervals([text], "dust")[0] for text in texts]
    assert intervals(texts, "dust") == alone
    found = intervals([*texts[:30], "N" * (9 << 19), *texts], "dust")  # more letters than are searched at once
    assert [*found[:30], *found[31:]] == [*alone[:30], *alone]


def test_mask():
    texts = ["MKVADEFGHIKLMNPQR", "Q" * 30, "X" * 5 + "MKV" + "A" * 6 + "X" + "A" * 13 + "DEFGHIKLMNPQR", "X" * 30]
    sequences = encoded(texts, "seg")
    masked = mask(sequences, PROTEIN)
    letters = np.frombuffer(PROTEIN.letters.encode(), dtype=np.uint8)[masked.sequences.codes].tobytes().decode()
    assert letters == "MKVADEFGHIKLMNPQR" + "X" * 30 + "XXXXXMKV" + "X" * 20 + "DEFGHIKLMNPQR" + "X" * 30
    assert masked.masked_letter_count == 30 + 19  # one was X before
    assert masked.fully_masked_records.tolist() == [1]  # the last one has never been anything else
    assert masked.sequences.code_counts[PROTEIN.letters.index("X")] == letters.count("X")
    assert (sequences.codes[17:47] == PROTEIN.letters.index("Q")).all()  # the given set is as it was
    plain = encoded(["MKVADEFGHIKLMNPQR"], "seg")
    assert mask(plain, PROTEIN).sequences is plain


def test_masked_letters_are_worth_nothing():
    n = DNA.letters.index("N")
    plain = make_scoring(DNA, ScoringOptions())
    assert mask_scoring(plain, DNA) is plain
    proteins = make_scoring(PROTEIN, ScoringOptions())
    assert mask_scoring(proteins, PROTEIN) is proteins
    equal = make_scoring(DNA, ScoringOptions(match=2, mismatch=-3))
    assert equal.substitution[n, n] == 2
    changed = mask_scoring(equal, DNA)
    assert (changed.substitution[n] == -3).all()
    assert changed.match is None  # kernels for two values may not be used
    changed.substitution[n, n] = 2
    assert (changed.substitution == equal.substitution).all()


def test_masked_letters_of_targets_are_worth_nothing():
    """In the column as in the row; a matrix without the letter gets its lowest score in both."""
    n = DNA.letters.index("N")
    equal = make_scoring(DNA, ScoringOptions(match=2, mismatch=-3))
    of_targets, of_both = (mask_scoring(equal, DNA, of_queries, of_targets=True).substitution for of_queries in (False, True))
    assert (of_targets == mask_scoring(equal, DNA).substitution.T).all()
    assert (of_both == mask_scoring(equal, DNA).substitution).all()  # N with N is the only score above 0
    lacking = replace(equal, substitution=equal.substitution.copy())
    lacking.substitution[n] = lacking.substitution[:, n] = 0
    of_queries, of_targets = mask_scoring(lacking, DNA), mask_scoring(lacking, DNA, of_queries=False, of_targets=True)
    others = [code for code in range(len(DNA)) if code != n]
    assert (of_queries.substitution[n] == -3).all()
    assert (of_queries.substitution[others, n] == 0).all()
    assert (of_targets.substitution == of_queries.substitution.T).all()
    both = mask_scoring(lacking, DNA, of_targets=True)
    assert (both.substitution[n] == -3).all()
    assert (both.substitution[:, n] == -3).all()
    assert mask_scoring(equal, DNA, of_queries=False) is equal


def test_threads_find_the_same_regions(rng):
    """Of more letters than one searches at once."""
    texts = ["X" * (9 << 19), *(random_text(rng, "ACDEFGHIKLMNPQRSTVWY") for _ in range(60))]
    sequences = encoded(texts, "seg")
    one, three = (mask(sequences, PROTEIN, threads=threads) for threads in (1, 3))
    assert (one.sequences.codes == three.sequences.codes).all()
    assert one.masked_letter_count == three.masked_letter_count > 0


def test_methods_are_for_one_alphabet():
    for method, alphabet in METHODS.items():
        check_method(method, alphabet)
        check_method("none", alphabet)
    with pytest.raises(InputError, match="mask='dust' is for DNA; these are protein sequences"):
        check_method("dust", PROTEIN)
    with pytest.raises(InputError, match="mask='seg' is for proteins; these are dna sequences"):
        check_method("seg", DNA)
