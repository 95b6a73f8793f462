"""Reads tables of V genes and their loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpualign.core.common.errors import InputError, parameter, quoted
from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.delimited import open_delimited
from gpualign.core.files.paths import open_input
from gpualign.core.scoring.v_genes import GAPS, VGenes
from gpualign.core.sequences.alphabet import PROTEIN

_GENE_TITLES = ("id", "gene", "allele", "v_call", "v_gene")
_LOOP_TITLES = (("cdr1", "cdr1_aa"), ("cdr2", "cdr2_aa"), ("cdr2.5", "cdr2_5", "pmhc"))
_JOINED_TITLE, _REGION_TITLE = "cdrs", "region"
"""Titles in the tables of tcrdist3: all loops of a gene, which semicolons separate, and the kind of the gene."""


def load_v_genes(path: str) -> VGenes:
    """Read a table of V genes: a column of names (id, gene, allele, v_call or v_gene), and three of loops (cdr1, cdr2, and cdr2.5 or pmhc)
    or one, cdrs, as in the tables of tcrdist3.

    Raises `InputError` for a table without these columns, with letters that are no amino acids or gaps, or with a gene that has different
    loops in two lines.
    """
    with open_input(path) as (stream, source):
        rows = list(open_delimited(open_decompressed(stream, source)[1], source).rows())
    titles = rows[0][1] if rows else []
    gene, *places = _find_columns(titles, source)
    region = titles.index(_REGION_TITLE) if _REGION_TITLE in titles else None
    loops: dict[str, tuple[int, tuple[str, str, str]]] = {}
    for line, cells in rows[1:]:
        if len(cells) != len(titles):
            raise InputError(f"{source}: line {line} has {len(cells):,} columns, line {rows[0][0]} has {len(titles):,}")
        if region is not None and cells[region] != "V":
            continue
        parts = cells[places[0]].split(";") if len(places) == 1 else [cells[place] for place in places]
        if len(parts) < len(_LOOP_TITLES):
            raise InputError(
                f"{source}: line {line}: expected CDR1, CDR2 and CDR2.5 of {quoted(cells[gene])}; found {quoted(cells[places[0]])}"
            )
        own = parts[0].upper(), parts[1].upper(), parts[2].upper()
        _check_letters("".join(own), f"{source}: line {line}")
        before, known = loops.setdefault(cells[gene], (line, own))
        if known != own:
            raise InputError(
                f"{source}: lines {before} and {line} have different loops of {quoted(cells[gene])}; keep the rows of one organism"
            )
    if not loops:
        raise InputError(f"{source}: a table without V genes")
    return VGenes(source, {name: own for name, (_, own) in loops.items()})


def _find_columns(titles: Sequence[str], source: str) -> list[int]:
    """Return the indexes of the columns of names and loops. Raises `InputError` if there are none."""

    def find(names: Iterable[str]) -> int | None:
        return next((titles.index(name) for name in names if name in titles), None)

    gene, joined = find(_GENE_TITLES), find([_JOINED_TITLE])
    loops = [find(names) for names in _LOOP_TITLES] if joined is None else [joined]
    found = [place for place in (gene, *loops) if place is not None]
    if len(found) < 1 + len(loops):
        raise InputError(
            f"{source}: expected a table of V genes with the columns id, cdr1, cdr2 and cdr2.5, or a table of tcrdist3; its columns are"
            f" {', '.join(map(quoted, titles[:12])) or 'none'}"
        )
    return found


def _check_letters(letters: str, place: str) -> None:
    for letter in letters:
        if letter not in GAPS and (not letter.isascii() or PROTEIN.encoding[ord(letter)] >= len(PROTEIN.letters)):
            raise InputError(f"{place}: {quoted(letter)} in a loop is neither an amino acid nor a gap ({parameter('v_genes')})")
