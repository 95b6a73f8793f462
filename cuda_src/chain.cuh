// One warp a strip of the query, strips of a pair in a chain: the shape for few pairs, and for sequences of any length.
//
// The strip's rows lie across the lanes, and lane l works one column behind lane l - 1, from which it gets the row above by
// shuffles. The last row's carries go to memory, a chunk of kLanes columns at a time, where the warp that has the next strip
// waits for them; it overwrites them with its own. Warps take strips from a queue in order, so a strip that is waited for has
// always been taken, and nothing can block. One pair of long sequences thus keeps as many warps busy as it has strips.
//
// A Policy computes a lane's rows:
//   Value, CARRIES           what a row hands down, a column
//   begin(a, first, query)   the rows from `first` on; rows below 1 are dummies
//   top(i, j, carry)         what row i <= 1, the first of the first strip, finds above it at column j >= 1
//   step(letter, in, out)    one column
//   keep(edge)               with PATHS: its rows' state before a column
//   finish(score, last, m, n)  after the last column; `last` of the last strip
//
// With PATHS every strip keeps its carries, and its rows' state before every TILE columns: trace_chain.cu begins there.
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
  const int32_t* table;           // [LETTERS][LETTERS] s'
  int32_t* next_item;
  int32_t* progress;     // [pairs][strips] columns that a strip has handed down; 0 at first
  void* carries;         // [pairs][CARRIES][carry_stride]; with PATHS [pairs][strips][CARRIES][carry_stride]
  void* edges;           // with PATHS: [pairs][edge_stride]: [column / TILE][rows of all strips][CARRIES]
  int64_t carry_stride;  // columns, a multiple of kLanes
  int64_t edge_stride;   // of one pair, in values
  RESULT* scores;        // [query_count][target_count], 0 at first
  int64_t first_pair;    // of the tile, row by row
  int32_t pairs;
  int32_t strips;  // of the longest query
  int32_t target_count;
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

template <class Policy>
DEVICE void align_strip(const ChainArgs& a, Policy& policy, int pair, int strip) {
  using Value = typename Policy::Value;
  constexpr int kCarries = Policy::CARRIES;
  const int lane = threadIdx.x;
  const int64_t place = a.first_pair + pair, row = place / a.target_count, column = place % a.target_count;
  if (a.target_numbers[column] < a.first_targets[row]) return;
  const int64_t query_start = a.query_offsets[a.queries[row]], m = a.query_offsets[a.queries[row] + 1] - query_start;
  const int64_t target_start = a.target_offsets[a.targets[column]], n = a.target_offsets[a.targets[column] + 1] - target_start;
  const int64_t strip_rows = static_cast<int64_t>(kLanes) * Policy::kRows;
  const int64_t strips = (m + strip_rows - 1) / strip_rows;
  if (strip >= strips) return;
  const bool last = strip == strips - 1;
  const int64_t first = strip * strip_rows - (strips * strip_rows - m) + lane * Policy::kRows + 1;
  policy.begin(a, first, a.query_codes + query_start);

  const uint8_t* letters = a.target_codes + target_start;
  // Where this strip's carries are, and how far before them those of the strip above.
  const int64_t back = PATHS ? a.carry_stride * kCarries : 0;
  Value* const carries =
      static_cast<Value*>(a.carries) + (PATHS ? static_cast<int64_t>(pair) * a.strips + strip : pair) * a.carry_stride * kCarries;
  Value* const edges =
      PATHS ? static_cast<Value*>(a.edges) + pair * a.edge_stride + (strip * strip_rows + lane * Policy::kRows) * kCarries : nullptr;
  int32_t* const progress = a.progress + static_cast<int64_t>(pair) * a.strips + strip;
  Value chunk[kCarries], in[kCarries], out[kCarries], kept[kCarries];
  for (int c = 0; c < kCarries; c++) chunk[c] = out[c] = kept[c] = 0;
  int chunk_letter = 0, letter = 0;

  for (int64_t step = 0; step < n + kLanes - 1; step++) {
    const int phase = static_cast<int>(step % kLanes);
    if (phase == 0 && step < n) {
      const int64_t j = step + lane;
      if (strip > 0) {
        const int64_t wanted = step + kLanes < n ? step + kLanes : n;
        if (lane == 0) wait_for_flag(progress - 1, static_cast<int>(wanted));
        __syncwarp();
      }
      chunk_letter = j < n ? letters[j] : 0;
      if (strip == 0) {
        Policy::top(first - lane * Policy::kRows, j + 1, chunk);
      } else if (j < n) {
        for (int c = 0; c < kCarries; c++) chunk[c] = load_shared_by_blocks(carries - back + c * a.carry_stride + j);
      }
    }
    const int head_letter = from_lane(chunk_letter, phase), next_letter = from_lane_before(letter);
    letter = lane == 0 ? head_letter : next_letter;
#pragma unroll
    for (int c = 0; c < kCarries; c++) {
      const Value head = from_lane(chunk[c], phase), above = from_lane_before(out[c]);
      in[c] = lane == 0 ? head : above;
    }
    const int64_t j = step - lane;
    if (PATHS && j >= 0 && j < n && j % TILE == 0) policy.keep(edges + j / TILE * (a.strips * strip_rows * kCarries));
    if (j >= 0 && j < n) policy.step(letter, in, out);
    // Column `done` has left the last lane. Lane done % kLanes keeps it until the chunk is full.
    const int64_t done = step - (kLanes - 1);
    if ((last && !PATHS) || done < 0) continue;
#pragma unroll
    for (int c = 0; c < kCarries; c++) {
      const Value bottom = from_lane(out[c], kLanes - 1);
      if (done % kLanes == lane) kept[c] = bottom;
    }
    if (done % kLanes == kLanes - 1 || done == n - 1) {
      const int64_t at = done - done % kLanes + lane;
      if (at < n)
        for (int c = 0; c < kCarries; c++) store_shared_by_blocks(carries + c * a.carry_stride + at, kept[c]);
      __syncwarp();
      if (lane == 0) raise_flag(progress, static_cast<int>(done + 1));
    }
  }
  if (PATHS) return;  // the way back writes scores
  policy.finish(a.scores + a.rows[row] * static_cast<int64_t>(a.target_count) + column, last, m, n);
}

// One warp a block.
template <class Policy>
DEVICE void align_chains(const ChainArgs& a, Policy& policy) {
  for (;;) {
    int item = 0;
    if (threadIdx.x == 0) item = atomicAdd(a.next_item, 1);
    item = from_lane(item, 0);
    if (item >= a.pairs * a.strips) return;
    align_strip(a, policy, item / a.strips, item % a.strips);
  }
}
