"""Letters that are encoded while they are read have the codes that they would have afterwards, whatever comes behind them."""

import io
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpualign.core.common.errors import InputError
from gpualign.core.sequences import parser as records
from gpualign.core.sequences._records import RecordScanner
from gpualign.core.sequences.alphabet import ALPHABETS, DNA, INVALID_CODE, PROTEIN, LetterKinds, MixedAlphabets, detect_alphabet
from gpualign.core.sequences.loading import LowerCaseCounts, encode_all, read_raw_records
from gpualign.core.sequences.parser import EagerEncoding
from gpualign.core.sequences.string_column import StringColumn

LETTERS = ("ACGT", "ACGTN", "ACGTURYKMSWBDHVN", "acgtn", "ACGTacgt", "MKVLAEDF", "ARNDCQEGHILKMFPSTWYVBZXUOJ*", "mkvl*", "ACGT-", "AC1")
CLEAR = "ACGTTGCA" * 8
bodies = st.sampled_from(LETTERS).flatmap(lambda letters: st.text(letters, max_size=80)) | st.just(CLEAR) | st.just("MEEPQSDPSV" * 8)


@pytest.fixture(scope="module")
def small_blocks():
    """What is read at once: a record or less."""
    before, records.CHUNK_BYTES = records.CHUNK_BYTES, 64
    yield
    records.CHUNK_BYTES = before


def expected_codes(texts, alphabet, masked):
    """The alphabet and the codes of each record, by a table; or what is said of these records."""
    if not texts:
        return "x: no records with letters"
    try:
        chosen = (
            ALPHABETS[alphabet] if alphabet != "auto" else detect_alphabet(list(texts), StringColumn.from_strings(list(texts.values())))
        )
    except MixedAlphabets:
        return "mixed alphabets"
    codes = {name: chosen.encoding_of(masked)[list(text.encode())].tolist() for name, text in texts.items()}
    for name, found in codes.items():
        if INVALID_CODE in found:
            at = found.index(INVALID_CODE)
            return f"x: record {name!r}: {texts[name][at]!r} at position {at + 1} is "
    return chosen, codes


@given(
    st.lists(bodies, min_size=1, max_size=12),
    st.sampled_from(["auto", "dna", "protein"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([7, 60, 200]),
)
@example([CLEAR, CLEAR, "acgtu" * 10, CLEAR], "auto", False, False, 200)
@example([CLEAR, CLEAR, "EFL"], "auto", False, False, 60)
@example([CLEAR, "", "ACGT"], "protein", True, False, 60)
@example([CLEAR, "AC-GT"], "auto", False, True, 60)
@example(["MKVLAE" * 12, "mkv", "RYK"], "dna", False, False, 60)
@pytest.mark.usefixtures("small_blocks")
def test_any_records(texts, alphabet, masked, degap, width):
    lines = (f">r{i}\n" + "".join(f"{text[at : at + width]}\n" for at in range(0, len(text), width)) for i, text in enumerate(texts))
    data = io.BytesIO("".join(lines).encode())
    bare = [text.replace("-", "") if degap else text for text in texts]
    kept = {f"r{i}": text for i, text in enumerate(bare) if text}
    expected = expected_codes(kept, alphabet, masked)
    if isinstance(expected, str):
        with pytest.raises(InputError, match=re.escape(expected)):
            encode_all([read_raw_records(data, "x", allow_empty=True, degap=degap, encode_eagerly=True)], alphabet, masked)
        return
    raw = read_raw_records(data, "x", allow_empty=True, degap=degap, encode_eagerly=True)
    lower = LowerCaseCounts()
    lower.count_masked(raw.ids, raw.letters)
    assert (lower.masked_letter_count, lower.total_letter_count) == (
        sum(c.islower() for text in kept.values() for c in text),
        sum(map(len, kept.values())),
    )
    chosen, (sequences,) = encode_all([raw], alphabet, masked)
    assert chosen is expected[0]
    assert {
        name: sequences.codes[start:stop].tolist() for name, (start, stop) in zip(sequences.ids, pairwise(sequences.offsets), strict=True)
    } == expected[1]


@pytest.mark.parametrize(
    ("texts", "likely"), [([CLEAR, CLEAR], DNA), (["MEEPQ", "EFL*"], PROTEIN), (["ACGT"] * 20, None), ([CLEAR, "EFL"], None)]
)
def test_the_first_letters_tell(texts, likely):
    scanner, ahead, kinds = RecordScanner(False, 0), EagerEncoding(), LetterKinds()
    data = "".join(f">r{i}\n{text}\n" for i, text in enumerate(texts)).encode()
    scanner.feed(np.frombuffer(data, dtype=np.uint8), True)
    kinds.add(scanner.count_kinds(*records.LETTER_KIND_DEFINITIONS))
    assert kinds.likely_alphabet is likely
    ahead.extend(scanner, kinds)
    assert (ahead.alphabet, ahead.encoded_letter_count) == (likely, 0 if likely is None else sum(map(len, texts)))


def test_up_to_the_first_letter_that_a_code_does_not_tell():
    scanner, ahead, kinds = RecordScanner(False, 0), EagerEncoding(), LetterKinds()
    for text in (CLEAR, "ACGTu", CLEAR):
        scanner.append(b"r", text.encode())
        kinds.add(scanner.count_kinds(*records.LETTER_KIND_DEFINITIONS))
        ahead.extend(scanner, kinds)
    letters = scanner.take()[1][0]
    assert ahead.encoded_letter_count == len(CLEAR) + 4
    np.testing.assert_array_equal(letters[: ahead.encoded_letter_count], DNA.encoding[list((CLEAR + "ACGT").encode())])
    assert letters[ahead.encoded_letter_count :].tobytes().decode() == "u" + CLEAR
    assert ahead.confirm_alphabet(PROTEIN, letters) == 0
    assert letters.tobytes().decode() == CLEAR + "ACGTu" + CLEAR
