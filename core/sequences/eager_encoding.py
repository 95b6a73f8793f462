"""Encodes letters while a file is being read and the letters are still in the caches, using the alphabet that the first letters suggest.

The alphabet of a set of records is certain only after the last record. So only letters that can be recovered from their codes are encoded
early: capitals that have their own code, from the first letter up to the first letter that is not such a capital.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.sequences._records import encode
from gpualign.core.sequences.alphabet import INVALID_CODE, Alphabet, LetterKinds

if TYPE_CHECKING:
    from gpualign.core.sequences._records import RecordScanner


@dataclass
class EagerEncoding:
    """State of the early encoding of some records' letters.

    alphabet: alphabet of the codes; None until a letter has been encoded
    record_count: number of leading letters, of all records together, that are already codes
    """

    alphabet: Alphabet | None = None
    record_count: int = 0
    _has_ended: bool = False

    def extend(self, scanner: RecordScanner, kinds: LetterKinds) -> None:
        """Encode more of the letters that the scanner holds. kinds: kinds of the letters in all the scanner's records"""
        if self._has_ended or (alphabet := self.alphabet or kinds.likely_alphabet) is None:
            return
        self.alphabet = alphabet
        self.record_count = scanner.encode(alphabet.upper_case_encoding, INVALID_CODE)
        self._has_ended = self.record_count < scanner.letters

    def confirm_alphabet(self, alphabet: Alphabet, letters: npt.NDArray[np.uint8]) -> int:
        """Accept `alphabet` as the alphabet of all records. If letters were encoded early with another alphabet, decode them.

        letters: uint8[letters]: all letters, the first of which may already be codes

        Returns the number of leading letters that are codes in `alphabet`.
        """
        if self.alphabet not in (alphabet, None):
            codes = letters[: self.record_count]
            encode(codes, self.alphabet.decoding, INVALID_CODE, codes)
            self.alphabet, self.record_count = None, 0
        return self.record_count
