"""Mistakes of one line that tests must see (tests/mutants.py makes them)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A mistake.

    title: what goes wrong
    file: path below the root
    old, new: text that the file has once, within a line or two, and what takes its place
    tests: arguments of pytest, the tests that see it
    survives: why no test can see it
    """

    title: str
    file: str
    old: str
    new: str
    tests: str
    survives: str = ""

    def applied_to(self, text: str) -> str:
        """Return the file's text with the mistake. Raises `ValueError` unless the old text is there once."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has {self.old!r} {text.count(self.old)} times, not once")
        return text.replace(self.old, self.new)


def mutants_of(subject: str, file: str, tests: str, changes: dict[str, tuple[str, str]]) -> list[Mutant]:
    """Return mutants of a file that the same tests see. changes: (old, new) by what goes wrong"""
    return [Mutant(f"{subject}: {wrong}", file, old, new, tests) for wrong, (old, new) in changes.items()]


BLOCKS = "tests/gpu/test_blocks_at_once.py"
PIPELINE = "cuda_src/alignment/pipeline.cuh"
THREADS, SLICES = "cuda_src/alignment/threads.cu", "cuda_src/alignment/bitsliced.cu"
RAISED = "static DEVICE void set(int32_t* flag, int value) {"

BETWEEN_BLOCKS = [
    Mutant("blocks: no strip waits", PIPELINE, "if (strip_ > 0 && columns > ready_)", "if (false)", BLOCKS),
    Mutant("blocks: a flag comes too early (threads)", THREADS, "hand_down(end)", "hand_down(end + kChunk)", f"{BLOCKS} -k threads"),
    Mutant("blocks: a flag comes too early (slices)", SLICES, "hand_down(end)", "hand_down(end + kChunk)", f"{BLOCKS} -k slices"),
    Mutant("blocks: no wait for copies", "cuda_src/alignment/carry_ring.cuh", "wait_for_copies<kBatches - 2>();", "", BLOCKS),
    Mutant("blocks: no wait for a slot", PIPELINE, "if (unit.strip == 0 && before >= 0)", "if (false)", BLOCKS),
    Mutant("blocks: a flag without a barrier", PIPELINE, f"{RAISED}\n    __syncthreads();", RAISED, BLOCKS),
    Mutant("blocks: lanes do not wait for each other's copies", "cuda_src/alignment/carry_ring.cuh", "__syncwarp();", "", BLOCKS),
]

FLAG_ORDERS = mutants_of(
    "flags",
    "cuda_src/common/portable.cuh",
    "tests/gpu/test_cuda_sanitized.py -k flags",
    {
        "raised by a relaxed store": ("{ store_release(p, value); }", "{ store_relaxed_if(true, p, value); }"),
        "seen by a relaxed load": ("return load_acquire(p);", "return load_relaxed(p);"),
    },
)

THREADS_GLOBAL = "tests/alignment/test_cuda_kernels.py -k 'test_global_scores and host and affine and 16 and thread'"
THREADS_LOCAL = "tests/alignment/test_cuda_kernels.py -k 'test_local_scores and host and affine and 16 and thread'"
SLICES_GLOBAL = "tests/alignment/test_cuda_kernels.py -k 'test_global_scores and host and sliced'"
PATHS = "tests/alignment/test_cuda_paths.py -k 'test_paths and host and default and thread'"

VECTORS = mutants_of(
    "vectors",
    "cpu/src/simd.hpp",
    "tests/project/test_native.py -k 'sanitizers and simd'",
    {
        "bytes above 127 take part in no maximum (AVX2)": ("_mm256_max_epu8", "_mm256_max_epi8"),
        "a shift loses what crosses 16 bytes (AVX-512)": ("(__m512i)a, (__m512i)before, 6)", "(__m512i)a, (__m512i)before, 5)"),
        "a code with the highest bit set is looked up (portable)": ("& (Bytes)(codes < broadcast<uint8_t>(16))", ""),
        "half of a vector is not looked at (portable)": ("(words[0] | words[1]) == 0", "words[0] == 0"),
    },
)

CUDA_KERNELS = [
    *mutants_of(
        "threads",
        THREADS,
        THREADS_GLOBAL,
        {
            "the corner is that of the next column": ("s.corner = up.value[0];", "s.corner = s.h[0];"),
            "F is not handed down": (
                "below.value[Rules::CARRIES - 1] = columns_of_word[c].f;",
                "below.value[Rules::CARRIES - 1] = s.e[0];",
            ),
            "the score is that of another column": ("carries + (n - 1) * threads", "carries + (n > 1 ? n - 2 : 0) * threads"),
            "padding in front counts as a row": ("- unit.strip) * ROWS + 1;", "- unit.strip) * ROWS;"),
            "another target's length": ("a.target_lengths[target];", "a.target_lengths[block];"),
        },
    ),
    *mutants_of(
        "recurrence",
        "cuda_src/alignment/recurrence.cuh",
        f"{THREADS_GLOBAL[:-1]} or test_local_scores and host and affine and 16 and thread'",
        {
            "E without the gap's first letter": (
                "e = Cell::add_max(h, Cell::step(kExtend - kOpen), e);",
                "e = Cell::add_max(h, Cell::step(0), e);",
            ),
            "F without the gap's first letter": (
                "f = Cell::add_max(h, Cell::step(kExtend - kOpen), f);",
                "f = Cell::add_max(h, Cell::step(0), f);",
            ),
            "local scores may fall below 0": ("opened, Cell::of(kLevel + kLift));", "opened, opened);"),
            "a local score is not lifted": ("h = Cell::add(x, Cell::negative(kLift), one);", "h = x;"),
            "global scores forget lengths": ("(LOCAL ? 0 : kExtend * (m + n))", "(LOCAL ? 0 : kExtend * m)"),
        },
    ),
    *mutants_of(
        "bands",
        "cuda_src/alignment/trace_bands.cu",
        "tests/alignment/test_cuda_listed_pairs.py -k 'host and (test_as_on_the_cpu and default or parity or score_most)'",
        {
            "the letters of a group are those of the next one": (
                "kLettersPerGroup * (group + team.lane) + k)",
                "kLettersPerGroup * (group + team.lane) + k + 1)",
            ),
            "no cell before the first one": ("!= -lowest >> 1) continue;", "!= (-lowest >> 1) + 1) continue;"),
            "a step ends a pair before a gap": (
                "lowest_bit(~static_cast<uint64_t>(paired));",
                "lowest_bit(~static_cast<uint64_t>(paired >> 1));",
            ),
            "letters are equal without a look": ("equals = a == b;", "equals = true;"),
            "the corner is at the next place": (
                "const int corner = (n - m - lowest) >> 1;",
                "const int corner = (n - m - lowest + 2) >> 1;",
            ),
        },
    ),
    *mutants_of(
        "sliced bands",
        "cuda_src/alignment/trace_sliced_bands.cu",
        "tests/alignment/test_cuda_sliced_bands.py -k 'host and as_on and (default or edit) or very_different or every_width and host'",
        {
            "the first row has the steps of the first column": ("const uint32_t is_below = row > 0", "const uint32_t is_below = row >= 0"),
            "cells before the first row are real": ("? -diagonal : diagonal) - 2)", "? -diagonal : diagonal))"),
            "cells before the first row are forgotten too early": ("if (2 * k <= farthest)", "if (4 * k <= farthest)"),
            "outside of the band there is a gap": (
                "entering = query, e = Number::of(0);",
                "entering = query, e = Number::of(kTop + EQUAL - DIFFERENT);",
            ),
            "a step ends a pair before a gap": (
                "lowest_bit(~static_cast<uint64_t>(paired));",
                "lowest_bit(~static_cast<uint64_t>(paired >> 1));",
            ),
            "letters enter a position late": ("const int row = (-1 - group.lowest) / 2,", "const int row = (1 - group.lowest) / 2,"),
        },
    ),
    *mutants_of(
        "sliced cells",
        "cuda_src/alignment/sliced_cells.cuh",
        "tests/alignment/test_cuda_sliced_bands.py -k 'host and as_on and (default or edit)'",
        {
            "ties go to the gap in the query": (
                "const uint32_t f_is_less = less(up_f, left_e),",
                "const uint32_t f_is_less = ~less(left_e, up_f),",
            ),
            "a gap of one letter counts as longer": ("d.word[2] = less(opened, left_e)", "d.word[2] = ~less(left_e, opened)"),
        },
    ),
    Mutant(
        "bands: a run of equal pairs may be longer than 64",
        "cuda_src/alignment/path.cuh",
        "if (length > 64) {",
        "if (length > 65) {",
        "tests/alignment/test_cuda_listed_pairs.py -k 'test_as_on_the_cpu and host and default or long_runs and host'",
    ),
    *mutants_of(
        "slices",
        SLICES,
        SLICES_GLOBAL,
        {
            "a step down is one to the right": ("  u = down;\n  v = right;", "  u = right;\n  v = down;"),
            "a carry out of the first counter is lost": (
                "ripple(counter, majority(low, first_bit, second_bit), 1);",
                "ripple(counter, first_bit & second_bit, 1);",
            ),
            "targets count beyond their ends": ("const uint32_t running = live[j];", "const uint32_t running = ~0u;"),
            "rows before the first match": ("(i < 1 ? k <= MISMATCH && !FREE_QUERY", "(i < 1 ? k < MISMATCH && !FREE_QUERY"),
            "rare letters match the last column's": ("|= 1u << code;", "|= 0;"),
        },
    ),
    *mutants_of(
        "paths",
        "cuda_src/alignment/path.cuh",
        PATHS,
        {
            "a gap in the target before one in the query": (
                "directions & kUp ? kInsertion : kDeletion);",
                "directions & kLeft ? kDeletion : kInsertion);",
            ),
            "gap opens count pairs": ("gap_opens += next >= kInsertion;", "gap_opens++;"),
            "equal letters are not told apart": ("a == b ? kEqual : kDifferent", "a <= b ? kEqual : kDifferent"),
            "the gap at the beginning is lost": ("i > 0 && !free_target; i--)", "i > 1 && !free_target; i--)"),
        },
    ),
]

MMA, WGMMA = "cuda_src/distance/products_mma.cuh", "cuda_src/distance/distance_wgmma.cu"

TENSOR_CORES = [
    *mutants_of(
        "mma",
        MMA,
        "tests/distance/test_tensor_cores.py -k distance_mma",
        {
            "one half of the sites twice": ("right[c / 2][c % 2 * 2 + 1]);", "right[c / 2][c % 2 * 2]);"),
            "another matrix of the columns": ("k + lane / 8 % 2));", "k + lane / 16));"),
            "sums of the rows above": ("counts[r][c][2 * below + k]", "counts[r][c][2 * k + below]"),
            "the swizzle is off by one": (
                "rows + swizzled(first_row + 16 * r + lane % 16,",
                "rows + swizzled(first_row + 16 * r + lane % 16 + 1,",
            ),
            "the newest copies are not waited for": ("wait_for_copies<kStages - 2>();", "wait_for_copies<kStages - 1>();"),
            "a stage is filled while it is read": ("    __syncthreads();  // all threads' copies", "    // all threads' copies"),
        },
    ),
    Mutant(
        "mma: another matrix of the rows (screen)",
        MMA,
        "lane % 16, k + lane / 16)",
        "lane % 16, k + lane / 8 % 2)",
        "tests/near_pairs/test_cuda_near.py -k test_the_screen_of_tensor_cores",
    ),
    *mutants_of(
        "wgmma",
        WGMMA,
        "tests/distance/test_tensor_cores.py -k distance_wgmma",
        {
            "a step of the sites too many": ("describe(columns + k));", "describe(columns + k + kStep));"),
            "sums of another column": ("k / 4 * 8 + lane % 4 * 2 + k % 2, counts[k]", "k / 4 * 8 + lane % 4 * 2 + k / 2 % 2, counts[k]"),
            "the last products are not waited for": ("    }\n    wait_products<0>();\n", "    }\n"),
            "a stage is given back while it is multiplied": ("wait_products<1>();", "wait_products<2>();"),
            "products are in no group": ("      end_products();\n", ""),
            "no fence before products": ("      begin_products();\n", ""),
            "chunks are multiplied before they are there": ("      wait_at(full(number), parity(number));\n", ""),
            "stages are filled before they are empty": ("if (number >= kStages) wait_at", "if (false) wait_at"),
            "each block copies columns for itself": ("((1u << kCluster) - 1)", "(1u << rank)"),
            "both blocks copy the same columns": ("work.column + rank * kShare;", "work.column;"),
            "barriers are not shown": ("    show_barriers();\n", ""),
            "a block ends before the other is done": ("  wait_for_cluster();  // no block may end", "  // no block may end"),
        },
    ),
    Mutant(
        "wgmma: groups of rows are 512 bytes apart",
        "cuda_src/common/tensor_cores.cuh",
        "(1024 >> 4) << 32",
        "(512 >> 4) << 32",
        "tests/distance/test_tensor_cores.py -k distance_wgmma",
    ),
    *mutants_of(
        "wgmma (screen)",
        "cuda_src/near_pairs/near_screen_wgmma.cu",
        "tests/near_pairs/test_cuda_near.py -k test_the_stages_of_a_screen",
        {
            "stages are filled before they are empty": ("if (number >= kStages) wait_at", "if (false) wait_at"),
            "a stage is given back while it is multiplied": ("wait_products<1>();", "wait_products<2>();"),
            "a stage is never given back": ("      if (lane < kCluster) arrive_at(empty(number - 1), static_cast<uint32_t>(lane));\n", ""),
            "rows of the first chunk alone": ("own = row_sketches + chunk * kRowBytes + group", "own = row_sketches + group"),
            "both blocks copy the same columns": ("tile * kColumns + rank * kShare, full", "tile * kColumns, full"),
            "candidates of the other row": ("chosen / 2 % 2 ? rows[1] : rows[0]", "chosen / 2 % 2 ? rows[0] : rows[1]"),
        },
    ),
]

PLANNER = [
    *mutants_of(
        "plan",
        "core/planning/tile_plan.py",
        "tests/planning/test_tile_plan.py",
        {
            "the diagonal is above itself": ("Pairing.ABOVE: query + 1,", "Pairing.ABOVE: query,"),
            "the diagonal counts": ("left_out = query_count * (query_count + 1) // 2", "left_out = query_count * (query_count - 1) // 2"),
            "bands do not grow": ("start, rows = stop, min(2 * rows, self.band_rows)", "start, rows = stop, rows"),
            "a band starts a query late": ("yield start, stop, first, min(self", "yield start + 1, stop, first, min(self"),
            "a tile has a lane too many": (
                "max(1, (reach - at) // self.limits.lane_count)",
                "max(1, 1 + (reach - at) // self.limits.lane_count)",
            ),
            "the last targets are left out": ("                to = len(targets)\n", "                to = len(targets) - 1 or 1\n"),
            "rows of a tile overlap": ("yield query, min(stop, query + rows), at, to", "yield query, min(stop, query + rows + 1), at, to"),
            "tiles do not shrink": ("if self.worker_count == 1:", "if self.worker_count >= 1:"),
            "one band in flight": ("limits.result_bytes // (BANDS_IN_FLIGHT * bytes_per_row)", "limits.result_bytes // bytes_per_row"),
            "rows do not round to groups": ("limits.band_rows) // group_size * group_size)", "limits.band_rows))"),
            "any two sets have a diagonal": ("pairing is not Pairing.ALL and not np", "pairing is Pairing.ALL and not np"),
        },
    ),
    *mutants_of(
        "shards",
        "core/planning/sharding.py",
        "tests/planning/test_tile_plan.py -k shares",
        {
            "the farther boundary": ("np.where(nearer, after - 1, after)", "np.where(nearer, after, after - 1)"),
            "the last row is lost": ("for row in rows), len(work)]", "for row in rows), len(work) - 1]"),
        },
    ),
]

JOURNAL = mutants_of(
    "journal",
    "core/files/journal.py",
    "tests/files/test_journal.py",
    {
        "a cut line counts": ('lines = raw.split(b"\\n")[:-1]', 'lines = raw.split(b"\\n")'),
        "other layouts are read": ("if layout != LAYOUT_VERSION:", "if layout < LAYOUT_VERSION:"),
        "lines do not depend on the line before": ("hashlib.blake2b(previous_check.encode() + line,", "hashlib.blake2b(line,"),
        "checks are not compared": ('_chained_check(match[1] + b"}", checks[-1]) != match[2].decode()', "not match[2]"),
        "marks of any boot are trusted": ('is_this_boot = boot is not None and value["boot"] == boot', "is_this_boot = True"),
        "an unknown boot is this one": ('boot is not None and value["boot"] == boot', 'value["boot"] == boot'),
        "marks behind the synced one count": ("sum(mark.rows <= synced for mark in marks)", "len(marks)"),
        "text that is not safe counts": ("mark.files[name][2] <= numbers[1]", "mark.files[name][2] <= numbers[1] + 1"),
        "the first mark is taken": ("for mark in reversed(marks) if", "for mark in marks if"),
        "rows beyond the last": ("chosen.rows > identity.rows", "chosen.rows > identity.rows + 1"),
        "negative counts": ("if type(number) is not int or number < 0:\n        raise", "if type(number) is not int:\n        raise"),
        "other input": ("elif (other.input, other.rows) != (self.input, self.rows):", "elif other.rows != self.rows:"),
    },
)

STRANDS = mutants_of(
    "strands",
    "core/execution/both_strands.py",
    "tests/execution/test_strand_pairs.py",
    {
        "the bound is too low by one": ("pairs.targets[bounded], limits[bounded]))", "pairs.targets[bounded], limits[bounded] - 1))"),
        "a tie of the plus strand is lost": ("astype(np.int64) + ~is_minus", "astype(np.int64) + 1"),
        "distances are taken for scores": ("np.where(self.task.scoring.edit, -scores, scores)", "scores"),
        "the better strand keeps its name": ("is_minus[others[better]] ^= True", "is_minus[others[better]] ^= False"),
        "strangers are aligned": ("others = np.flatnonzero(edits >= 0)", "others = np.flatnonzero(edits >= -1)"),
    },
)

CENTROIDS = mutants_of(
    "centroids",
    "jobs/centroid_pairs.py",
    "tests/clustering/test_centroid_pairs.py",
    {
        "only waiting records are compared": ("is_other = ~self._is_in_batch[records] &", "is_other = self._is_waiting[records] &"),
        "near records wait on": ("self._is_waiting[i] = self._is_waiting[j] = False", "pass"),
        "only later centroids are compared": ("self._rank[centroids].min()", "self._rank[centroids].max()"),
        "members are centroids": ("== np.arange(len(records))]", ">= 0]"),
        "batches overlap": ("self._is_waiting[batch] = False", "self._is_waiting[batch[:1]] = False"),
    },
)

CENTROID_PAIRS = mutants_of(
    "pairs of centroids",
    "jobs/near_pair_subset.py",
    "tests/clustering/test_centroid_pairs.py",
    {"the later record is the query": ("pairs.earlier_first().sorted()", "pairs.sorted()")},
)

EVERY_CENTROID_PAIR = mutants_of(
    "every pair of centroids",
    "jobs/every_pair_subset.py",
    "tests/clustering/test_centroid_pairs.py",
    {
        "later records are queries": ("yield part, later", "yield later, part"),
        "centroids are queries of earlier records": ("yield earlier, part", "yield part, earlier"),
        "some later records are missing": ("others > part[0]", "others > part[-1]"),
        "some earlier records are missing": ("others < part[-1]", "others < part[0]"),
        "pairs are found in both orders": ("chosen = queries < targets", "chosen = queries >= 0"),
        "a ratio that is the coverage is too low": (">= self._min_length_ratio]", "> self._min_length_ratio]"),
        "the longest centroid is ignored": ("longest / of_others", "shortest / of_others"),
        "the shortest centroid is ignored": ("of_others / shortest", "of_others / longest"),
    },
)

MUTANTS = [
    *(*BETWEEN_BLOCKS, *FLAG_ORDERS, *VECTORS, *CUDA_KERNELS, *TENSOR_CORES, *PLANNER),
    *(*STRANDS, *JOURNAL, *CENTROIDS, *CENTROID_PAIRS, *EVERY_CENTROID_PAIR),
]
