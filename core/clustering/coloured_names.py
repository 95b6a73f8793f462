"""Writes names of clusters with colours, for other programs: tables for Microreact and Auspice, lists of colours for Augur
(docs/formats/microreact.md, docs/formats/colours.md)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice

from gpualign.core.clustering.names import ClusterNames
from gpualign.core.clustering.names_files import level_title
from gpualign.core.common.colours import CATEGORY_COLOURS, half_way_to_white
from gpualign.core.output.writer import ByteWriter

_ROWS_PER_WRITE = 10_000

CODE_COLOURS = (*CATEGORY_COLOURS, *map(half_way_to_white, CATEGORY_COLOURS))
"""Colours of the first codes; later codes begin again at the first one."""


def code_colour(code: int) -> str:
    """Return the colour of a cluster, as # and six hexadecimal digits. It depends on the code alone, so that clusters keep their colours
    when others are added."""
    return CODE_COLOURS[(code - 1) % len(CODE_COLOURS)]


def write_coloured_names(stream: ByteWriter, levels: Sequence[float], names: ClusterNames, separator: str) -> None:
    """Write a table of names in which a column of colours follows the code at each level: t5, t5__colour.

    separator: column separator; cells that contain it are quoted as in CSV
    """
    titles = [title for level in levels for title in (level_title(level), f"{level_title(level)}__colour")]

    def rows() -> Iterator[list[str]]:
        yield ["id", "address", *titles]
        for name, codes in zip(names.ids, names.codes.T.tolist(), strict=True):
            yield [name, ".".join(map(str, codes)), *(cell for code in codes for cell in (str(code), code_colour(code)))]

    _write_rows(stream, rows(), separator)


def write_colours(stream: ByteWriter, levels: Sequence[float], names: ClusterNames) -> None:
    """Write the colour of each cluster, in the format of Augur's colours: the title of the level, the code and the colour, between tabs,
    without a header. Codes ascend at each level."""

    def rows() -> Iterator[list[str]]:
        for level, codes in zip(levels, names.codes, strict=True):
            for code in sorted(set(codes.tolist())):
                yield [level_title(level), str(code), code_colour(code)]

    _write_rows(stream, rows(), "\t")


def _write_rows(stream: ByteWriter, rows: Iterator[list[str]], separator: str) -> None:
    while held := list(islice(rows, _ROWS_PER_WRITE)):
        text = io.StringIO()
        csv.writer(text, delimiter=separator, lineterminator="\n").writerows(held)
        stream.write(text.getvalue().encode("utf-8", "surrogateescape"))
