"""Letters that are encoded while a file is read, when they are in the caches, by what the first of them look like.

What alphabet a set of records has is known for sure when the last has been read. So only such letters get their codes before as can be had
back from them: capitals, each of a code of its own, from the first letter on up to the first that is none.
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
    """Of the letters of some records the first `count`, which are codes of `alphabet` (None: not one is)."""

    alphabet: Alphabet | None = None
    count: int = 0
    _ended: bool = False

    def go_on(self, scanner: RecordScanner, kinds: Kinds) -> None:
        """With the letters that a scanner holds by now. kinds: of all their records."""
        if self._ended or (alphabet := self.alphabet or kinds.likely) is None:
            return
        self.alphabet = alphabet
        self.count = scanner.encode(alphabet.capitals, INVALID)
        self._ended = self.count < scanner.letters

    def settle(self, alphabet: Alphabet, letters: npt.NDArray[np.uint8]) -> int:
        """The alphabet is known now: codes of another become letters again. letters: uint8[letters], all of them. Returns how many of them,
        from the first on, are codes of `alphabet`."""
        if self.alphabet not in (alphabet, None):
            codes = letters[: self.count]
            encode(codes, self.alphabet.decoding, INVALID, codes)
            self.alphabet, self.count = None, 0
        return self.count
