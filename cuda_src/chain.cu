// Global and local scores by chains of warps (chain.cuh), one pair a chain, in 32 or 64 bits.
//
// Lane l works one column behind lane l - 1. Carries are handed down a chunk of kLanes columns at a time; a strip overwrites those of
// the strip above. With PATHS every strip keeps its carries, and its rows' state before every TILE columns: trace_chain.cu begins there.
//
// Macros: CELL (S32, S64), IS_LOCAL, IS_AFFINE, ROWS (of a lane), LETTERS, PATHS, TILE, RESULT and the constants of recurrence.cuh.
#include "chain.cuh"
#include "recurrence.cuh"

using Rules = Recurrence<CELL, IS_LOCAL, IS_AFFINE>;
using Cell = Rules::Cell;
using Value = Rules::Value;
constexpr int kCarries = Rules::CARRIES;
constexpr int64_t kStripRows = static_cast<int64_t>(kLanes) * ROWS;

// A lane's rows.
struct Rows {
  const int32_t* table;  // in shared memory
  Value h[ROWS], e[ROWS];
  Value corner;  // H above and left of the next column's first row
  Value best;
  int row_scores[ROWS];  // where in the table a row's scores begin

  DEVICE void begin(int64_t first, const uint8_t* query) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const int64_t i = first + r;
      row_scores[r] = (i < 1 ? LETTERS - 1 : query[i - 1]) * LETTERS;
      h[r] = Rules::left_h(i);
      e[r] = Rules::left_e(i);
    }
    corner = Rules::left_h(first - 1);
    best = Cell::of(LEVEL);
  }
  DEVICE void step(int letter, const Value* in, Value* out) {
    Value f = Rules::f_above(in), diagonal = corner;
    corner = in[0];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      Rules::cell(diagonal + table[row_scores[r] + letter], diagonal, h[r], e[r], f, 1);
      if (IS_LOCAL) best = Cell::max(best, h[r]);
    }
    out[0] = h[ROWS - 1];
    out[kCarries - 1] = kCarries == 2 ? f : h[ROWS - 1];
  }
  DEVICE void keep(Value* edge) const {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      edge[r * kCarries] = h[r];
      if (kCarries == 2) edge[r * kCarries + kCarries - 1] = e[r];
    }
  }
  DEVICE void finish(const ChainStrip& s) {
    if (IS_LOCAL)
      Rules::write(s.score, best, s.m, s.n);
    else if (s.last && threadIdx.x == kLanes - 1)
      Rules::write(s.score, h[ROWS - 1], s.m, s.n);
  }
};

DEVICE void align_strip(const ChainArgs& a, Rows& rows, const ChainStrip& s) {
  const int lane = threadIdx.x;
  rows.begin(s.first + lane * ROWS, s.query);
  // Where this strip's carries are, and how far before them those of the strip above.
  const int64_t back = PATHS ? a.carry_stride * kCarries : 0;
  const int64_t place = static_cast<int64_t>(s.pair) * a.strips + s.number;
  Value* const carries = static_cast<Value*>(a.carries) + (PATHS ? place : s.pair) * a.carry_stride * kCarries;
  Value* const edges =
      PATHS ? static_cast<Value*>(a.edges) + s.pair * a.edge_stride + (s.number * kStripRows + lane * ROWS) * kCarries : nullptr;
  int32_t* const progress = a.progress + place;
  Value chunk[kCarries], in[kCarries], out[kCarries], kept[kCarries];
  for (int c = 0; c < kCarries; c++) chunk[c] = out[c] = kept[c] = 0;
  int chunk_letter = 0, letter = 0;

  for (int64_t step = 0; step < s.n + kLanes - 1; step++) {
    const int phase = static_cast<int>(step % kLanes);
    if (phase == 0 && step < s.n) {
      const int64_t j = step + lane;
      if (s.number > 0) {
        const int64_t wanted = step + kLanes < s.n ? step + kLanes : s.n;
        if (lane == 0) wait_for_flag(progress - 1, static_cast<int>(wanted));
        __syncwarp();
      }
      chunk_letter = j < s.n ? s.target[j] : 0;
      if (s.number == 0) {
        Rules::top(j + 1, chunk);
      } else if (j < s.n) {
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
    if (PATHS && j >= 0 && j < s.n && j % TILE == 0) rows.keep(edges + j / TILE * (a.strips * kStripRows * kCarries));
    if (j >= 0 && j < s.n) rows.step(letter, in, out);
    // Column `done` has left the last lane. Lane done % kLanes keeps it until the chunk is full.
    const int64_t done = step - (kLanes - 1);
    if ((s.last && !PATHS) || done < 0) continue;
#pragma unroll
    for (int c = 0; c < kCarries; c++) {
      const Value bottom = from_lane(out[c], kLanes - 1);
      if (done % kLanes == lane) kept[c] = bottom;
    }
    if (done % kLanes == kLanes - 1 || done == s.n - 1) {
      const int64_t at = done - done % kLanes + lane;
      if (at < s.n)
        for (int c = 0; c < kCarries; c++) store_shared_by_blocks(carries + c * a.carry_stride + at, kept[c]);
      __syncwarp();
      if (lane == 0) raise_flag(progress, static_cast<int>(done + 1));
    }
  }
  if (PATHS) return;  // the way back writes scores
  rows.finish(s);
}

KERNEL(32, 1) align_chain(const ChainArgs a) {
  __shared__ int32_t table[LETTERS * LETTERS];
  for (int k = threadIdx.x; k < LETTERS * LETTERS; k += kLanes) table[k] = a.table[k];
  __syncwarp();
  take_strips(a, kStripRows, [&](const ChainStrip& strip) {
    Rows rows;
    rows.table = table;
    align_strip(a, rows, strip);
  });
}
