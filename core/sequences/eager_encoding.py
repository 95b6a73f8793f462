"""Encodes letters while a file is read and they are still in the caches, in the alphabet that the first letters suggest.

The alphabet of a set of records is known for sure only after the last record. So only letters that can be recovered from their codes are
encoded early: capitals with a code of their own, from the first letter on up to the first that is not such a capital.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.sequences._records import encode
from gpualign.core.sequences.alphabet import INVALID, Alphabet, Kinds

if TYPE_CHECKING:
    from gpualign.core.sequences._records import RecordScanner


@dataclass
class EagerEncoding:
    """Letters of records of which the first `count` are encoded.

    alphabet: to which the codes belong; None while no letter is encoded
    """

    alphabet: Alphabet | None = None
    count: int = 0
    _ended: bool = False

    def extend(self, scanner: RecordScanner, kinds: Kinds) -> None:
        """Encode further letters that the scanner holds. kinds: kinds of letters of all its records."""
        if self._ended or (alphabet := self.alphabet or kinds.likely) is None:
            return
        self.alphabet = alphabet
        self.count = scanner.encode(alphabet.capitals, INVALID)
        self._ended = self.count < scanner.letters

    def settle(self, alphabet: Alphabet, letters: npt.NDArray[np.uint8]) -> int:
        """Decode the codes if they belong to another alphabet than `alphabet`, which is now known for sure.

        letters: all letters, uint8[letters]

        Returns the number of letters, from the first on, that are codes of `alphabet`.
        """
        if self.alphabet not in (alphabet, None):
            codes = letters[: self.count]
            encode(codes, self.alphabet.decoding, INVALID, codes)
            self.alphabet, self.count = None, 0
        return self.count
