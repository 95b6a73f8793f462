"""Spellings of distance matrices: layouts x delimiters x ids x ends of lines, each written from a matrix that is known."""

from dataclasses import dataclass
from itertools import product

import numpy as np

IDS = {
    "words": ["A", "B2", "c.3", "D_d"],
    "numbers": ["101", "102", "103", "204"],
    "odd": ["(A)1", ">b", "'94-C", "#d|x"],
    "blanks": ["A b", "C d e", "F", "G h"],
}
DELIMITERS = {"tabs": "\t", "commas": ",", "semicolons": ";", "blanks": " "}
HEADED = ("corner", "titled corner", "R")
LAYOUTS = (*HEADED, "header alone", "rows alone", "no ids", "PHYLIP", "mash")
SHAPES = ("square", "lower", "lower with diagonal", "upper", "upper with diagonal")
FILLED = ("ragged", "blank")
ENDS = ("\n", "\r\n", "no last end", "empty lines")
EXTRAS = ("", "BOM", "sep=", "trailing delimiters", "quoted", "wrapped")


@dataclass(frozen=True)
class Spelling:
    """text: of a file; ids, values: that it holds (ids None: none); certain: whether it has to be read, and not only not misread."""

    name: str
    text: bytes
    ids: list[str] | None
    values: np.ndarray
    certain: bool


def matrix(seed=0, count=4, integers=True):
    """Distances of points, so that no three of them contradict each other, all different."""
    rng = np.random.default_rng(seed)
    points = rng.random((count, 3)) * 40
    values = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))
    return np.rint(values) + 0.0 if integers else np.round(values / 100, 6)


def _cell(value):
    return f"{value:.6f}" if value != int(value) else f"{value:.0f}"


def _rows(values, shape, filled):
    """Cells of each row, without ids."""
    count = len(values)
    out = []
    for i in range(count):
        low, high = {
            "square": (0, count),
            "lower": (0, i),
            "lower with diagonal": (0, i + 1),
            "upper": (i + 1, count),
            "upper with diagonal": (i, count),
        }[shape]
        cells = [_cell(v) for v in values[i, low:high]]
        out.append([""] * low + cells + [""] * (count - high) if filled == "blank" else cells)
    return out


def _quote(cell, delimiter, always):
    if always or delimiter in cell or (delimiter != "\t" and '"' in cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def spellings(values, layouts=LAYOUTS):
    """All spellings of these distances, in these layouts, that make sense."""
    for layout, shape, filled, (kind, ids), (mark, delimiter), end, extra in product(
        layouts, SHAPES, FILLED, IDS.items(), DELIMITERS.items(), ENDS, EXTRAS
    ):
        phylip = layout in ("PHYLIP", "mash")
        blank = filled == "blank"
        senseless = (
            (shape == "square" and blank)
            or (blank and (phylip or mark == "blanks" or layout in ("header alone", "no ids")))  # blanks cannot hold an empty cell
            or (phylip and mark not in (("tabs",) if layout == "mash" else ("tabs", "blanks")))
            or (layout == "mash" and shape != "lower")
            or (extra == "wrapped" and (not phylip or shape != "square"))
            or (extra in ("sep=", "quoted", "trailing delimiters") and (phylip or mark == "blanks"))
            or (extra == "trailing delimiters" and shape != "square")
            or (extra == "sep=" and mark == "tabs")
            or (layout in HEADED and shape.startswith("upper") and not blank)  # no program writes it
            or (layout == "header alone" and shape != "square")
            or (mark == "blanks" and layout == "corner")  # a blank line begins with nothing that can be seen
            or (mark == "blanks" and kind == "blanks")
            or (kind == "odd" and mark == "blanks" and layout == "rows alone")
        )
        if senseless:
            continue
        text = _text(values, layout, shape, filled, ids, delimiter, end, extra)
        name = f"{layout}, {shape} {filled}, ids {kind}, {mark}, {end!r} {extra}"
        own = None if layout == "no ids" else list(ids)
        # Numbers for ids can be values, a triangle without a diagonal one with another diagonal; nothing delimits a line with one word.
        numeric = kind == "numbers" and layout in ("rows alone", "header alone", "titled corner")
        bare = layout in ("no ids", "rows alone") and shape != "square"
        short = mark == "blanks" and (shape == "lower" or (shape == "lower with diagonal" and layout in HEADED))
        certain = not (numeric or bare or short)
        yield Spelling(name, text, own, values, certain)


def _text(values, layout, shape, filled, ids, delimiter, end, extra):
    rows = _rows(values, shape, filled)
    quoted = extra == "quoted"
    names = [_quote(name, delimiter, quoted) for name in ids]
    lines = []
    if layout in ("PHYLIP", "mash"):
        lines.append([f"\t{len(ids)}" if layout == "mash" else str(len(ids))])
    elif layout == "corner":
        lines.append(["", *names])
    elif layout == "titled corner":
        lines.append([_quote("snp-dists", delimiter, quoted), *names])
    elif layout in ("R", "header alone"):
        lines.append(names)
    beside = layout not in ("header alone", "no ids")
    for name, row in zip(names, rows, strict=True):
        cells = [*([name] if beside else []), *row]
        if extra == "wrapped":
            lines += [cells[:3], cells[3:]]
        elif cells or beside:
            lines.append(cells)
    if extra == "trailing delimiters":
        lines = [[*line, "", ""] for line in lines]
    text = [delimiter.join(line) for line in lines if line]
    if extra == "sep=":
        text.insert(0, f"sep={delimiter}")
    newline = "\r\n" if end == "\r\n" else "\n"
    body = newline.join(text) + ("" if end == "no last end" else newline)
    if end == "empty lines":
        body = f"\n{body}\n\n"
    return (b"\xef\xbb\xbf" if extra == "BOM" else b"") + body.encode()
