// Chains of warps, what their kernels share: one warp a strip of the query, the strips of a pair in a chain. The shape for few pairs,
// and for sequences of any length.
//
// A strip's rows lie across the lanes, and each lane works some columns behind the one before it, from which it gets the row above by
// shuffles. What the last row hands down goes through memory to the warp that has the next strip and waits for it. Warps take strips
// from a queue in order, so a strip that is waited for has always been taken, and nothing can block. One pair of long sequences
// thus keeps as many warps busy as it has strips.
#pragma once

#include "portable.cuh"

struct ChainArgs {
  const uint8_t* query_codes;
  const int64_t* query_offsets;
  const int32_t* queries;        // [query_count] records
  const int32_t* rows;           // [query_count] where their scores go
  const int32_t* first_targets;  // [query_count]
  const uint8_t* target_codes;
  const int64_t* target_offsets;
  const int32_t* targets;         // [target_count] records
  const int32_t* target_numbers;  // [target_count] what first_targets counts
  const int32_t* table;           // [LETTERS][LETTERS] s' (recurrence.cuh), by query letter
  int32_t* next_item;
  void* handed_down;     // [pairs]: what a strip hands to the next, in the place of what it was handed; 0 at first
  void* carries;         // with PATHS: [pairs][strips][CARRIES][carry_stride]
  void* edges;           // with PATHS: [pairs][edge_stride]: [column / TILE][rows of all strips][CARRIES]
  int64_t carry_stride;  // columns, a multiple of kLanes
  int64_t edge_stride;   // of one pair, in values
  RESULT* scores;        // [query_count][target_count], 0 at first
  int64_t first_pair;    // of the tile, row by row
  int32_t pairs;
  int32_t strips;  // of the longest query
  int32_t target_count;
  uint32_t one;  // 1
};
SAME_AS_ON_HOST(ChainArgs);

template <class T>
DEVICE T from_lane(T value, int lane) {
  return __shfl_sync(kAllLanes, value, lane);
}
template <class T>
DEVICE T from_lane_before(T value) {
  return __shfl_up_sync(kAllLanes, value, 1);
}
template <class T>
DEVICE T from_lane_after(T value) {
  return __shfl_down_sync(kAllLanes, value, 1);
}

// A strip of a pair, and what it is of.
struct ChainStrip {
  int pair, number;
  bool last;
  int64_t m, n;
  int64_t first;  // row of the query; below 1 where dummy rows fill up the first strip
  const uint8_t *query, *target;
  RESULT* score;
};

DEVICE int this_lane() { return threadIdx.x % kLanes; }

// Calls work(strip) for all strips of `rows` rows that this warp gets.
template <class Work>
DEVICE void take_strips(const ChainArgs& a, int64_t rows, const Work& work) {
  for (;;) {
    int item = 0;
    if (this_lane() == 0) item = atomicAdd(a.next_item, 1);
    item = from_lane(item, 0);
    if (item >= a.pairs * a.strips) return;
    ChainStrip s;
    s.pair = item / a.strips;
    s.number = item % a.strips;
    const int64_t place = a.first_pair + s.pair, row = place / a.target_count, column = place % a.target_count;
    if (a.target_numbers[column] < a.first_targets[row]) continue;
    const int64_t query = a.query_offsets[a.queries[row]], target = a.target_offsets[a.targets[column]];
    s.m = a.query_offsets[a.queries[row] + 1] - query;
    s.n = a.target_offsets[a.targets[column] + 1] - target;
    const int64_t strips = (s.m + rows - 1) / rows;
    if (s.number >= strips) continue;
    s.last = s.number == strips - 1;
    s.first = s.number * rows - (strips * rows - s.m) + 1;
    s.query = a.query_codes + query;
    s.target = a.target_codes + target;
    s.score = a.scores + a.rows[row] * static_cast<int64_t>(a.target_count) + column;
    work(s);
  }
}
