// What the kernels that align one pair with a chain of warps share (chain.cu, chain_edit.cu, trace_chain.cu). They serve few pairs, and
// sequences of any length.
//
// Glossary
//   pair         a query of m letters (rows i = 1 .. m) and a target of n letters (columns j = 1 .. n)
//   window       the part of a sequence that is aligned as if it were a sequence: all of it or, for local scores (chain.cu), one of several
//                parts that overlap (gpu/alignment/sequence_windows.py). A pair is then a pair of windows
//   strip        kStripRows consecutive rows, which one warp computes for all columns. Strip 0 is the topmost
//   chain        the strips of a pair from top to bottom, each in a warp of its own
//   lane         one of the 32 threads of a warp. Lane l has the l-th part of the strip's rows
//   lag          columns by which a lane works behind the lane before it: LAG of chain_letters.cuh, 4 in chain.cu, 8 in chain_edit.cu
//   batch        `lag` consecutive columns. While lane 0 computes batch b, lane l computes batch b - l
//   group        32 / lag batches, i.e. 32 columns: every lane loads one letter of a group from global memory
//   carry        what a row passes to the row below it in one column: H, with affine gaps also F (chain.cu), or a horizontal step of the
//                edit distance (chain_edit.cu)
//   handed_down  the carries of a strip's last row on their way to the next strip, in global memory, [column]. A pair has one buffer: a
//                strip overwrites the carries that it has read with its own
//   tag          number of the strip that a carry is for, stored in the same word as the carry. A reader loads a word again until the tag
//                is its own number, so neither a flag nor a fence is needed
//   ring         circular buffer in shared memory, one per warp
//   queue        counter of the strips that warps have taken, in global memory. Item pair * strips + s is strip s of a pair
//   dummy rows   rows i < 1. They stand above row 1, so that row m is the last row of the last strip
//
// Carries move down a strip by shuffles: a lane gets the row above its first row from the lane before it, `lag` columns late.
//
// Invariants
//   No deadlock: warps take items in order, and a strip waits only for the strip above it, which is an earlier item. A strip that is waited
// for has therefore been taken by a resident warp, and strip 0 waits for none.
//   No carry is lost: a strip's last row reaches a column after its first row has read that column's carry, and a word is stored whole,
// value and tag together.
//   So one pair of long sequences keeps as many warps busy as it has strips.
#pragma once

#include "portable.cuh"

// Letters first .. end - 1 of a sequence.
struct Window {
  int32_t first, end;
};

struct ChainArgs {
  const uint8_t* query_codes;
  const int64_t* query_offsets;
  const int32_t* queries;        // [query windows] records
  const int32_t* rows;           // [query windows] rows of `scores`
  const int32_t* first_targets;  // [query windows] targets with a smaller target_numbers are skipped
  const uint8_t* target_codes;
  const int64_t* target_offsets;
  const int32_t* targets;         // [target_window_count] records
  const int32_t* target_numbers;  // [target_window_count] compared with first_targets
  const int32_t* columns;         // [target_window_count] columns of `scores`; null if each target is a window
  const Window* query_windows;    // [query windows] or null, as `columns`
  const Window* target_windows;   // [target_window_count] or null, likewise
  const int32_t* table;           // [LETTERS][LETTERS] s' (recurrence.cuh), by query letter
  int32_t* next_item;             // the queue, 0 at first
  void* handed_down;              // [pairs] carries between strips (see above), 0 at first
  void* carries;                  // with PATHS: [pairs][strips][CARRIES][carry_stride], the carries of every strip's last row
  void* edges;                    // with PATHS: checkpoints, [pairs][edge_stride]: [column / TILE][rows of all strips][CARRIES]
  int64_t carry_stride;           // columns, a multiple of kLanes
  int64_t edge_stride;            // values of one pair
  RESULT* scores;                 // [queries][target_count], 0 at first
  int64_t first_pair;             // of this launch, in the row-major order of [query windows][target_window_count]
  int32_t pairs;
  int32_t strips;  // of the longest query window
  int32_t target_count, target_window_count;
  uint32_t one;  // 1, but unknown to the compiler (multiply_add in portable.cuh)
};
SAME_AS_ON_HOST(ChainArgs);

template <class T>
DEVICE T from_lane(T value, int lane) {
  return __shfl_sync(kAllLanes, value, lane);
}
template <class T>
DEVICE T from_previous_lane(T value) {
  return __shfl_up_sync(kAllLanes, value, 1);
}
template <class T>
DEVICE T from_next_lane(T value) {
  return __shfl_down_sync(kAllLanes, value, 1);
}

// A strip and its pair.
struct ChainStrip {
  int pair, number;
  bool last;
  int64_t m, n;   // letters of the query and of the target
  int64_t first;  // first row; below 1 if the strip begins with dummy rows
  const uint8_t *query, *target;
  RESULT* score;
};

DEVICE int this_lane() { return threadIdx.x % kLanes; }

// Takes strips of `rows` rows from the queue and calls work(strip) for each, until none is left. Called by all lanes of a warp.
// WINDOWS: sequences are divided into windows; otherwise the arguments of windows are not read.
template <bool WINDOWS, class Work>
DEVICE void for_each_strip(const ChainArgs& a, int64_t rows, const Work& work) {
  for (;;) {
    int item = 0;
    if (this_lane() == 0) item = atomicAdd(a.next_item, 1);
    item = from_lane(item, 0);
    if (item >= a.pairs * a.strips) return;
    ChainStrip s;
    s.pair = item / a.strips;
    s.number = item % a.strips;
    const int64_t place = a.first_pair + s.pair, row = place / a.target_window_count, column = place % a.target_window_count;
    if (a.target_numbers[column] < a.first_targets[row]) continue;
    int64_t query = a.query_offsets[a.queries[row]], target = a.target_offsets[a.targets[column]];
    if constexpr (WINDOWS) {
      s.m = a.query_windows[row].end - a.query_windows[row].first;
      s.n = a.target_windows[column].end - a.target_windows[column].first;
      query += a.query_windows[row].first;
      target += a.target_windows[column].first;
    } else {
      s.m = a.query_offsets[a.queries[row] + 1] - query;
      s.n = a.target_offsets[a.targets[column] + 1] - target;
    }
    const int64_t strips = (s.m + rows - 1) / rows;
    if (s.number >= strips) continue;
    s.last = s.number == strips - 1;
    s.first = s.number * rows - (strips * rows - s.m) + 1;
    s.query = a.query_codes + query;
    s.target = a.target_codes + target;
    s.score = a.scores + a.rows[row] * static_cast<int64_t>(a.target_count) + (WINDOWS ? a.columns[column] : column);
    work(s);
  }
}
