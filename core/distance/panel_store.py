"""Stores panels of bit planes between reading and counting: in memory, or in a scratch file if they do not fit."""

from __future__ import annotations

from dataclasses import replace
from typing import BinaryIO

import numpy as np

from gpualign.core.distance.engine import Panel
from gpualign.core.files.scratch import MakeScratch


class PanelStore:
    """Stores panels: up to `limit` bytes in memory, the rest in a file that `scratch` creates."""

    def __init__(self, limit: int, scratch: MakeScratch) -> None:
        self._limit = limit
        self._scratch = scratch
        self._file: BinaryIO | None = None
        self.panels: list[Panel] = []
        self.nbytes = 0
        """Memory held, in bytes."""

    def add(self, panel: Panel) -> None:
        """Store a panel, in the scratch file if it does not fit in memory."""
        if self.nbytes + panel.bits.nbytes > self._limit and panel.bits.nbytes:
            if self._file is None:
                self._file = self._scratch()
            start = self._file.seek(0, 2)
            self._file.write(panel.bits.data)
            self._file.flush()
            panel = replace(panel, bits=np.memmap(self._file, dtype=np.uint64, mode="r", offset=start, shape=panel.bits.shape))
        else:
            self.nbytes += panel.bits.nbytes
        self.panels.append(panel)
