import pytest

from gpualign.core import alphabet as alphabets
from gpualign.core.alphabet import DNA, INVALID, PROTEIN, detect
from gpualign.core.errors import InputError


def test_every_letter_has_its_index_as_code_in_any_case():
    for alphabet in (DNA, PROTEIN):
        for code, letter in enumerate(alphabet.letters):
            assert alphabet.encoding[ord(letter)] == code
            assert alphabet.encoding[ord(letter.lower())] == code
    assert DNA.encoding[ord("u")] == DNA.encoding[ord("T")]
    assert (DNA.encoding != INVALID).sum() == 2 * (len(DNA) + 1)
    assert (PROTEIN.encoding != INVALID).sum() == 2 * (len(PROTEIN) - 1) + 1


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
    assert detect((f"r{i}", s) for i, s in enumerate(sequences)) is expected


def test_mixed_alphabets_are_refused_by_name():
    with pytest.raises(InputError, match=r"mixed alphabets: record 'gene' looks like DNA, record 'prot' like protein"):
        detect([("record 'gene'", b"ACGT" * 20), ("record 'prot'", b"MEEPQSDPSV")])


@pytest.mark.parametrize("together", [1, 60, 10**6])
def test_where_records_are_counted_changes_nothing(monkeypatch, together):
    monkeypatch.setattr(alphabets, "_COUNTED_TOGETHER", together)
    records = [b"", b"ACGT", b"", b"ACGT" * 20, b"ACGR" * 20, b"AC", b""]
    named = [(f"r{k}", letters) for k, letters in enumerate(records)]
    assert detect(named) is DNA
    with pytest.raises(InputError, match="r3 looks like DNA, r7 like protein"):
        detect([*named, ("r7", b"MEEPQ"), ("r8", b"MEEPQ"), ("r9", b"")])
    assert detect([("a", b"RYKM" * 5), ("b", b"ACGT"), ("c", b"")]) is PROTEIN
