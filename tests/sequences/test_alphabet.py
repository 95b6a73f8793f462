import pytest

from gpualign.core.common.errors import InputError
from gpualign.core.sequences.alphabet import DNA, INVALID_CODE, PROTEIN, AlphabetCensus, detect_alphabet
from gpualign.core.sequences.string_column import StringColumn


def test_every_letter_has_its_index_as_code_in_any_case():
    for alphabet in (DNA, PROTEIN):
        for code, letter in enumerate(alphabet.letters):
            assert alphabet.encoding[ord(letter)] == code
            assert alphabet.encoding[ord(letter.lower())] == code
    assert DNA.encoding[ord("u")] == DNA.encoding[ord("T")]
    assert (DNA.encoding != INVALID_CODE).sum() == 2 * (len(DNA) + 1)
    assert (PROTEIN.encoding != INVALID_CODE).sum() == 2 * (len(PROTEIN) - 1) + 1


@pytest.mark.parametrize(
    ("sequences", "expected"),
    [
        ([b"ACGTACGT"], DNA),
        ([b"acgu", b"nnnn"], DNA),
        ([b"ACGTRYKMSWBDHVN" + b"ACGT" * 20], DNA),
        ([b"RYKMSWRYKM"], PROTEIN),
        ([b"MKLV"], PROTEIN),
        ([b"GATTACA" * 3, b"MEEPQ"], PROTEIN),  # a short record of A, C, G, T is no proof of DNA
        ([b"MKL*"], PROTEIN),
    ],
)
def test_detection(sequences, expected):
    assert detect_alphabet([f"r{i}" for i in range(len(sequences))], StringColumn.from_bytes(sequences)) is expected


def test_mixed_alphabets_are_refused_by_name():
    with pytest.raises(InputError, match=r"mixed alphabets: record 'gene' looks like DNA, record 'prot' like protein"):
        detect_alphabet(["record 'gene'", "record 'prot'"], StringColumn.from_bytes([b"ACGT" * 20, b"MEEPQSDPSV"]))


@pytest.mark.parametrize("together", [1, 2, 10])
def test_records_may_be_counted_in_parts(together):
    def found(records):
        census = AlphabetCensus()
        for start in range(0, len(records), together):
            part = records[start : start + together]
            census.count_records([f"r{start + k}" for k in range(len(part))], StringColumn.from_bytes(part), str)
        return census.alphabet()

    records = [b"", b"ACGT", b"", b"ACGT" * 20, b"ACGR" * 20, b"AC", b""]
    assert found(records) is DNA
    with pytest.raises(InputError, match="r3 looks like DNA, r7 like protein"):
        found([*records, b"MEEPQ", b"MEEPQ", b""])
    assert found([b"RYKM" * 5, b"ACGT", b""]) is PROTEIN
