"""Which kernel computes a batch of pairs, specialised for the scoring, the letters and the shape of the work. Pure.

The rule: every kernel that can hold the scores exactly is rated, and the one with the shortest estimated time is taken. An
estimate is the larger of two times, in clocks: all cells (padding included) at the full rate of the device, and the longest
chain of steps that wait for each other. Many pairs thus go one to a thread, or 32 to a thread in bits; few or very
long ones go to chains of warps. The choice never changes a score.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from gpualign.core.bounds import RebasedForm, UnaryForm, rebased_form, unary_form, usable_pairs
from gpualign.core.engine import Detail, Mode, Task
from gpualign.core.scoring import Scoring

Lengths = npt.NDArray[np.int64]


class Shape(Enum):
    """How the pairs of a batch lie on the device; each is a kernel family of cuda_src/."""

    THREADS = "threads.cu"
    SLICES = "bitsliced.cu"
    CHAIN = "chain.cu"
    CHAIN_EDIT = "chain_edit.cu"


@dataclass(frozen=True)
class Kernel:
    """A function of a source file of cuda_src/, and the macros that specialise it."""

    file: str
    function: str
    macros: tuple[tuple[str, str], ...] = ()


PACK_LETTERS = Kernel("pack.cu", "pack_letters")
PACK_PLANES = Kernel("pack.cu", "pack_planes")
SELECT = Kernel("select.cu", "select_hits")


@dataclass(frozen=True)
class Variant:
    """A kernel and what its host needs to know of it.

    pairs: targets of a thread; carries, carry_bytes: values that a column hands to the next strip, and the size of one; rows:
    of a strip (of one thread or lane); rate: cells a clock of one multiprocessor at full load; latency: clocks of a thread
    from one row to the next; trace: with paths, the kernel of the way back; tile: columns between two checkpoints; words: of
    directions that a column of a strip takes.
    """

    shape: Shape
    kernel: Kernel
    title: str
    pairs: int
    carries: int
    carry_bytes: int
    rows: int
    rate: float
    latency: float
    trace: Kernel | None = None
    tile: int = 1
    words: int = 0

    def edge_values(self, columns: int) -> int:
        """Values of the checkpoints on the left edges of one strip's tiles, for one thread."""
        return -(-columns // self.tile) * self.rows * self.carries

    def checkpoint_bytes(self, query: int, target: int, threads: int) -> int:
        """With paths: what `threads` threads keep that align sequences of these lengths."""
        strips, columns = -(-query // self.rows), target + 4
        return strips * (columns * self.carries + self.edge_values(columns)) * self.carry_bytes * threads


@dataclass(frozen=True)
class Cell:
    """A score type of cuda_src/score.cuh."""

    name: str
    bits: int
    pairs: int
    largest: int


_CELLS = (Cell("U16x2", 16, 2, 2**16 - 1), Cell("S32", 32, 1, 2**31 - 1), Cell("S64", 64, 1, 2**63 - 1))
_LARGEST_BYTE_SCORE = 127  # profiles of 16-bit cells hold bytes, whose sign is copied
_CHAIN_ROWS = 16
_THREAD_TILE, _CHAIN_TILE = 64, 256  # columns between two checkpoints
_MOST_DUMMIES = 32 * _CHAIN_ROWS  # rows before row 1, each up to a step lower than the next (cuda_src/recurrence.cuh)
_LONGEST_SLICED = 65_536
_MOST_STEPS = 4

# Rows of a strip that fill the registers of a thread without spilling; fewer where that pads the queries less.
THREAD_ROWS = {
    ("U16x2", False, False): (64, 60, 56, 52, 48),
    ("U16x2", True, False): (40, 36),
    ("U16x2", False, True): (48, 44, 40, 36),
    ("U16x2", True, True): (36, 32, 28),
}
WIDE_ROWS = {"S32": (32, 24, 16), "S64": (16, 12, 8)}
SLICE_ROWS = {1: (48, 40, 32), 2: (36, 34, 32, 30, 28, 26, 25), 3: (24, 22, 20, 18, 16), 4: (20, 18, 17, 16, 15, 14, 12)}

# Blocks of 64 threads that a multiprocessor shall have registers for, by cell, affine and local; 1 leaves it to the compiler.
THREAD_BLOCKS = {("U16x2", False, False): 8, ("U16x2", True, False): 8, ("U16x2", False, True): 8, ("U16x2", True, True): 8}
SLICE_BLOCKS = {1: 7, 2: 7, 3: 6, 4: 6}
_STRIP_OVERHEAD = 3.0  # of a strip, in rows: its share of loads, stores and waiting

# Cells a clock and multiprocessor, as measured (benchmarks/LOG.md); they only steer the choice.
_THREAD_RATE = {
    ("U16x2", False): 50.0,
    ("U16x2", True): 25.0,
    ("S32", False): 20.0,
    ("S32", True): 12.0,
    ("S64", False): 5.0,
    ("S64", True): 3.0,
}
_SLICE_RATE = {1: 600.0, 2: 320.0, 3: 150.0, 4: 85.0}
_CHAIN_RATE = {"S32": 10.0, "S64": 4.0}
_CHAIN_EDIT_RATE = 60.0
_THREAD_LATENCY = 14.0
_SLICE_LATENCY = 20.0
_CHAIN_LATENCY = 16.0
_CHUNK = 128  # columns that a strip stays behind the one above it (cuda_src/pipeline.cuh), waiting included twice that
_CHAIN_WORD_LATENCY = 50.0 / 32
_CHAIN_STEP = 120.0  # of shuffles and waiting, a column


def last_of_each(count: int, size: int) -> Lengths:
    """Of 0 .. count-1 in groups of `size`, the last number of each group; in order of length, its longest."""
    return np.minimum(np.arange(size - 1, count + size - 1, size), count - 1)


def best_rows(lengths: Lengths, candidates: tuple[int, ...]) -> int:
    """The strip height that computes queries of these lengths in the least time."""

    def cost(rows: int) -> float:
        return float((-(-lengths // rows)).sum()) * (rows + _STRIP_OVERHEAD)

    return min(candidates, key=cost)


@dataclass(frozen=True)
class Recipe:
    """How a task is computed: its kernels by order of preference of their cells, before lengths are known.

    letters: codes in use, 0 .. letters-1; result: C type of a score; form: None for edit distances without paths. paths: whether
    checkpoints are kept and traced back from; host_traceback: by the host, from whole matrices of directions; usable:
    uint32[letters + 1], bit t of word q: a path may pair q with t.
    """

    letters: int
    result: str
    affine: bool
    form: RebasedForm | None
    unary: UnaryForm | None
    edit: bool
    sum_factor: int
    per_letter: int
    query_lengths: Lengths
    paths: bool = False
    host_traceback: bool = False
    free_query: bool = False
    free_target: bool = False
    usable: npt.NDArray[np.uint32] | None = None

    @property
    def local(self) -> bool:
        return self.form is not None and self.form.local

    @property
    def planes(self) -> int:
        """Bits of a letter's code."""
        return max(1, (self.letters - 1).bit_length())

    def table(self) -> npt.NDArray[np.int32]:
        """int32[letters + 1][letters + 1] for the kernels: the codes in use, then padding."""
        assert self.form is not None
        keep = [*range(self.letters), len(self.form.table) - 1]
        return self.form.table[np.ix_(keep, keep)].astype(np.int32)

    def variants(self, longest_query: int, longest_target: int) -> Iterator[Variant]:
        """Every kernel that computes pairs up to these lengths exactly."""
        slices = self.unary if self.edit or not self.paths else None
        if slices is not None and longest_target <= _LONGEST_SLICED and not self.host_traceback:
            yield self._slices(slices)
        if self.edit and not self.paths:
            yield self._chain_edit(longest_query)
            return
        assert self.form is not None
        largest = self.form.largest(longest_query, longest_target + 4)
        lowest = _MOST_DUMMIES * self.form.step
        small = int(self.table().max()) <= _LARGEST_BYTE_SCORE
        cells = [c for c in _CELLS if largest <= c.largest and (small and self.form.step < 2**15 if c.pairs == 2 else lowest <= c.largest)]
        if not cells:
            raise OverflowError(f"{largest} does not fit 64 bits")
        yield self._threads(cells[0])
        if not self.host_traceback:
            yield self._chain(next(c for c in cells if c.pairs == 1))

    def _macros(self, cell: Cell, rows: int, tile: int) -> tuple[tuple[str, str], ...]:
        form = self.form
        assert form is not None
        values = {
            "CELL": cell.name,
            "IS_LOCAL": str(form.local).lower(),
            "IS_AFFINE": str(self.affine).lower(),
            "ROWS": rows,
            "LETTERS": self.letters + 1,
            "RESULT": self.result,
            "STEP": form.step,
            "OPEN": form.gap_open,
            "EXTEND": form.gap_extend,
            "LEVEL": form.level,
            "BIAS": form.bias,
            "PATHS": int(self.paths),
            "TILE": tile,
            "FREE_QUERY": int(self.free_query),
            "FREE_TARGET": int(self.free_target),
        }
        return tuple((name, str(value)) for name, value in values.items())

    def _title(self, cell: Cell) -> str:
        checkpoints = ", with checkpoints" if self.paths else ""
        if self.host_traceback:
            checkpoints = ", matrices traced by the host"
        return f"{'affine' if self.affine else 'linear'} gaps, {cell.bits}-bit scores{checkpoints}"

    def _trace(self, file: str, function: str, macros: tuple[tuple[str, str], ...]) -> Kernel | None:
        """The kernel of the way back."""
        return Kernel(file, function, (*macros, ("SIGN", "-1" if self.edit else "1"))) if self.paths else None

    def _words(self, rows: int) -> int:
        return -(-rows // (8 if self.affine else 16))

    def _threads(self, cell: Cell) -> Variant:
        assert self.form is not None
        kind = cell.name, self.affine, self.form.local
        blocks = THREAD_BLOCKS.get(kind, 1)
        candidates = THREAD_ROWS.get(kind) or WIDE_ROWS[cell.name]
        rows = best_rows(self.query_lengths, candidates)
        macros = self._macros(cell, rows, _THREAD_TILE)
        kernel = Kernel(Shape.THREADS.value, "align_threads", (*macros, ("BLOCKS", str(blocks))))
        trace = self._trace("trace_threads.cu", "trace_threads", (*macros, ("MATRICES", str(int(self.host_traceback)))))
        carries = 2 if self.affine else 1
        rate = _THREAD_RATE[cell.name, self.affine]
        title = f"{self._title(cell)}, a pair a thread"
        words = self._words(rows)
        return Variant(
            Shape.THREADS,
            kernel,
            title,
            cell.pairs,
            carries,
            max(4, cell.bits // 8),
            rows,
            rate,
            _THREAD_LATENCY,
            trace,
            _THREAD_TILE,
            words,
        )

    def _chain(self, cell: Cell) -> Variant:
        macros = self._macros(cell, _CHAIN_ROWS, _CHAIN_TILE)
        kernel = Kernel(Shape.CHAIN.value, "align_chain", macros)
        trace = self._trace("trace_chain.cu", "trace_chain", macros)
        carries = 2 if self.affine else 1
        title = f"{self._title(cell)}, warps a pair"
        size, rate, words = cell.bits // 8, _CHAIN_RATE[cell.name], self._words(_CHAIN_ROWS)
        return Variant(Shape.CHAIN, kernel, title, 1, carries, size, _CHAIN_ROWS, rate, _CHAIN_LATENCY, trace, _CHAIN_TILE, words)

    def _slices(self, unary: UnaryForm) -> Variant:
        steps = unary.match_steps
        # On the way back the rows of a strip share a word.
        rows = best_rows(self.query_lengths, tuple(r for r in SLICE_ROWS[steps] if r <= 32 or not self.paths))
        values = {
            "STEPS": steps,
            "MISMATCH": unary.mismatch_steps,
            "ROWS": rows,
            "PLANES": self.planes,
            "LETTERS": self.letters,
            "FAST": min(self.letters, 4),
            "THREADS": SLICE_THREADS,
            "BLOCKS": SLICE_BLOCKS[steps],
            "RESULT": self.result,
            "PATHS": int(self.paths),
            "TILE": _THREAD_TILE,
            "FREE_QUERY": int(self.free_query),
            "FREE_TARGET": int(self.free_target),
        }
        macros = tuple((name, str(value)) for name, value in values.items())
        kernel = Kernel(Shape.SLICES.value, "align_slices", macros)
        trace = Kernel("trace_slices.cu", "trace_slices", macros) if self.paths else None
        what = "edit distance" if self.edit else "linear gaps"
        title = f"{what}, bit-sliced in {steps} steps, 32 pairs a thread"
        rate = _SLICE_RATE[steps]
        return Variant(Shape.SLICES, kernel, title, 32, steps, 4, rows, rate, _SLICE_LATENCY, trace, _THREAD_TILE, 2)

    def _chain_edit(self, longest_query: int) -> Variant:
        words = next((w for w in (1, 2) if longest_query <= 32 * 32 * w), 4)
        macros = (("WORDS", str(words)), ("LETTERS", str(self.letters)), ("RESULT", self.result))
        kernel = Kernel(Shape.CHAIN_EDIT.value, "align_chain_edit", macros)
        title = "edit distance, Myers' words, warps a pair"
        return Variant(Shape.CHAIN_EDIT, kernel, title, 1, 1, 4, 32 * words, _CHAIN_EDIT_RATE, _CHAIN_WORD_LATENCY)


SLICE_THREADS = 64


def make_recipe(task: Task, host_traceback: bool = False) -> Recipe:
    """The recipe of a task; host_traceback: paths are traced by the host."""
    scoring = task.scoring
    local = task.mode is Mode.LOCAL
    unary = None if local else unary_form(scoring)
    if unary is not None and unary.match_steps > _MOST_STEPS:
        unary = None
    return Recipe(
        letters=int(max(task.queries.used_codes[-1], task.targets.used_codes[-1])) + 1,
        result="int32_t" if task.dtype == np.int32 else "int64_t",
        affine=not scoring.linear,
        form=None if scoring.edit and not task.needs_paths else rebased_form(scoring, local, task.end_gaps.free_query),
        unary=unary,
        edit=scoring.edit,
        sum_factor=0 if unary is None else -1 if scoring.edit else unary.factor,
        per_letter=1 if scoring.edit else -scoring.gap_open,
        query_lengths=task.queries.lengths,
        paths=task.needs_paths,
        host_traceback=host_traceback and task.detail is not Detail.SCORE,
        free_query=task.end_gaps.free_query,
        free_target=task.end_gaps.free_target,
        usable=_usable(scoring) if task.needs_paths else None,
    )


def _usable(scoring: Scoring) -> npt.NDArray[np.uint32]:
    """`usable_pairs` as bits."""
    bits = usable_pairs(scoring).astype(np.uint32) << np.arange(len(scoring.substitution), dtype=np.uint32)
    return np.append(bits.sum(axis=1), 0).astype(np.uint32)


@dataclass(frozen=True)
class Hardware:
    """What plans depend on of a device. clock: in Hz; lanes: threads of a warp."""

    multiprocessors: int
    clock: float
    lanes: int = 32


def clocks(variant: Variant, queries: Lengths, targets: Lengths, hardware: Hardware) -> float:
    """Estimated time of all pairs of a rectangle, in clocks; `targets` are in order of length."""
    longest_target = int(targets.max())
    if variant.shape in (Shape.THREADS, Shape.SLICES):
        # Targets that share a thread or a block run as long as the longest of them.
        share = variant.pairs * (hardware.lanes if variant.shape is Shape.THREADS else 1)
        strips = -(-queries // variant.rows)
        padded = float(targets[last_of_each(len(targets), share)].sum()) * share * float(strips.sum()) * variant.rows
        columns = longest_target + int(strips.max()) * 2 * _CHUNK
        return max(padded / (variant.rate * hardware.multiprocessors), columns * variant.rows * variant.latency)
    height = hardware.lanes * variant.rows
    strips = -(-queries // height)
    padded = float(targets.sum()) * float(strips.sum()) * height
    columns = longest_target + (int(strips.max()) - 1) * 2 * hardware.lanes
    return max(padded / (variant.rate * hardware.multiprocessors), columns * (variant.rows * variant.latency + _CHAIN_STEP))


def choose(recipe: Recipe, queries: Lengths, targets: Lengths, hardware: Hardware, memory: int | None = None) -> Variant:
    """The kernel for all pairs of these lengths, on a device with `memory` bytes for a batch (None: enough)."""
    query, target = int(queries.max()), int(targets.max())
    variants = list(recipe.variants(query, target))
    if memory is not None and recipe.paths:
        # A block keeps the checkpoints of all its alignments, a chain those of one.
        block = {Shape.THREADS: hardware.lanes, Shape.SLICES: SLICE_THREADS, Shape.CHAIN: 0}
        fitting = [v for v in variants if v.checkpoint_bytes(query, target, block[v.shape]) <= memory // 2]
        variants = fitting or variants
    return min(variants, key=lambda variant: clocks(variant, queries, targets, hardware))
