// The way back from chain.cu: one warp a pair.
//
// As in trace_threads.cu, the tiles that the path comes to are computed once more from their checkpoints, with directions. Here a
// tile is a strip of the warp (ROWS rows a lane) by TILE columns; lane l works one column behind lane l - 1. Then lane 0 walks.
//
// Directions are packed, 8 rows a word (16 with linear gaps), [column][word][lane] in memory of the block.
//
// Macros: those of chain.cu but WARPS and BYTES, and SIGN (-1 for distances).
#include "chain.cuh"
#include "path.cuh"
#include "recurrence.cuh"

struct TraceChainArgs {
  ChainArgs forward;
  PathArgs path;
};
SAME_AS_ON_HOST(TraceChainArgs);

using Rules = Recurrence<CELL, false, IS_AFFINE>;
using Cell = Rules::Cell;
using Value = Rules::Value;
constexpr int kCarries = Rules::CARRIES;
constexpr int kBits = IS_AFFINE ? 4 : 2;
constexpr int kRowsAWord = 32 / kBits;
constexpr int kWords = (ROWS + kRowsAWord - 1) / kRowsAWord;
constexpr int64_t kStripRows = static_cast<int64_t>(kLanes) * ROWS;

struct Pair {
  const uint8_t* query;
  const uint8_t* target;
  const Value* carries;
  const Value* edges;
  int m, n, strips;
};

// The row before a strip's first.
DEVICE int64_t before(const Pair& p, int strip) { return strip * kStripRows - (p.strips * kStripRows - p.m); }

// The columns from `column` (a multiple of TILE) up to `end` of a strip; leaves H of column `end` in h.
DEVICE void compute(const ChainArgs& a, const Pair& p, const int32_t* table, int strip, int column, int end, Value* h,
                    uint32_t* directions) {
  const int lane = threadIdx.x;
  const int64_t first = before(p, strip) + lane * ROWS + 1;
  const Value* const above = p.carries + static_cast<int64_t>(strip - 1) * kCarries * a.carry_stride;
  const Value* const edge = p.edges + (column / TILE * (a.strips * kStripRows) + strip * kStripRows + lane * ROWS) * kCarries;
  Value e[ROWS];
  int row_scores[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const int64_t i = first + r;
    row_scores[r] = (i < 1 ? LETTERS - 1 : p.query[i - 1]) * LETTERS;
    h[r] = edge[r * kCarries];
    e[r] = kCarries == 2 ? edge[r * kCarries + kCarries - 1] : 0;
  }
  const Value beside = from_lane_before(h[ROWS - 1]);
  Value corner = beside;
  if (column == 0) {
    corner = Rules::left_h(first - 1);
  } else if (lane == 0) {
    Value carry[2];
    if (strip == 0)
      Rules::top(column, carry);
    else
      carry[0] = above[column - 1];
    corner = carry[0];
  }
  Value out[2] = {0, 0};
  for (int step = 0; step < end - column + kLanes - 1; step++) {
    Value in[2];
    for (int c = 0; c < kCarries; c++) in[c] = from_lane_before(out[c]);
    const int j = column + step - lane;
    if (j < column || j >= end) continue;
    if (lane == 0) {
      if (strip == 0)
        Rules::top(j + 1, in);
      else
        for (int c = 0; c < kCarries; c++) in[c] = above[c * a.carry_stride + j];
    }
    Value f = Rules::f_above(in), diagonal = corner;
    corner = in[0];
    const int letter = p.target[j];
    uint32_t word = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      Rules::directed_cell(diagonal + table[row_scores[r] + letter], diagonal, h[r], e[r], f, word);
      if (r % kRowsAWord == kRowsAWord - 1 || r == ROWS - 1) directions[((j - column) * kWords + r / kRowsAWord) * kLanes + lane] = word;
    }
    out[0] = h[ROWS - 1];
    out[kCarries - 1] = kCarries == 2 ? f : h[ROWS - 1];
  }
  __syncwarp();
}

// The best of the lanes' candidates; of equal ones, the largest position.
DEVICE void best_of_lanes(int64_t& score, int& place) {
  const int64_t mine = score;
  const int at = place;
  for (int lane = 0; lane < kLanes; lane++) {
    const int64_t other = from_lane(mine, lane);
    const int there = from_lane(at, lane);
    if (other > score || (other == score && there > place)) {
      score = other;
      place = there;
    }
  }
}

DEVICE PathEnd find_end(const ChainArgs& a, const Pair& p, const int32_t* table, Value* h, uint32_t* directions) {
  const int lane = threadIdx.x;
  const Value* const last_row = p.carries + static_cast<int64_t>(p.strips - 1) * kCarries * a.carry_stride;
  PathEnd end{Rules::score(last_row[p.n - 1], p.m, p.n), p.m, p.n};
  if (FREE_TARGET) {
    int64_t score = Rules::score(Rules::edge(p.n, FREE_QUERY), 0, p.n);
    int place = 0;
    for (int strip = 0; strip < p.strips; strip++) {
      compute(a, p, table, strip, (p.n - 1) / TILE * TILE, p.n, h, directions);
      for (int r = 0; r < ROWS; r++) {
        const int64_t i = before(p, strip) + lane * ROWS + 1 + r, here = Rules::score(h[r], i, p.n);
        if (i >= 1 && here >= score) {
          score = here;
          place = static_cast<int>(i);
        }
      }
    }
    best_of_lanes(score, place);
    end.prefer(score, place, p.n);
  }
  if (FREE_QUERY) {
    int64_t score = Rules::score(Rules::edge(p.m, FREE_TARGET), p.m, 0);
    int place = 0;
    for (int j = 1 + lane; j <= p.n; j += kLanes) {
      const int64_t here = Rules::score(last_row[j - 1], p.m, j);
      if (here >= score) {
        score = here;
        place = j;
      }
    }
    best_of_lanes(score, place);
    end.prefer(score, p.m, place);
  }
  return end;
}

KERNEL(32, 1) trace_chain(const TraceChainArgs args) {
  __shared__ int32_t table[LETTERS * LETTERS];
  __shared__ uint32_t usable[LETTERS];
  const ChainArgs& a = args.forward;
  const PathArgs& out = args.path;
  const int lane = threadIdx.x;
  for (int k = lane; k < LETTERS * LETTERS; k += kLanes) table[k] = a.table[k];
  for (int k = lane; k < LETTERS; k += kLanes) usable[k] = out.usable[k];
  __syncwarp();
  uint32_t* const directions = out.directions + static_cast<int64_t>(blockIdx.x) * TILE * kWords * kLanes;

  for (int number = blockIdx.x; number < a.pairs; number += gridDim.x) {
    const int64_t place = a.first_pair + number, row = place / a.target_count, column = place % a.target_count;
    if (!is_wanted(out, static_cast<int>(row), static_cast<int>(column))) continue;
    const int64_t pair = a.rows[row] * static_cast<int64_t>(a.target_count) + column;
    const int64_t query_start = a.query_offsets[a.queries[row]], target_start = a.target_offsets[a.targets[column]];
    Pair p;
    p.query = a.query_codes + query_start;
    p.target = a.target_codes + target_start;
    p.m = static_cast<int>(a.query_offsets[a.queries[row] + 1] - query_start);
    p.n = static_cast<int>(a.target_offsets[a.targets[column] + 1] - target_start);
    p.strips = static_cast<int>((p.m + kStripRows - 1) / kStripRows);
    p.carries = static_cast<const Value*>(a.carries) + static_cast<int64_t>(number) * a.strips * kCarries * a.carry_stride;
    p.edges = static_cast<const Value*>(a.edges) + number * a.edge_stride;
    Value h[ROWS];

    const PathEnd end = find_end(a, p, table, h, directions);
    if (lane == 0) a.scores[pair] = static_cast<RESULT>(SIGN * end.score);
    if (out.detail == 0) continue;

    Walk walk(end, out.detail == 2 ? out.scratch + pair * out.capacity : nullptr, out.capacity);
    for (int strip = p.strips - 1; strip >= 0; strip--) {
      const int64_t start = before(p, strip);
      const int top = start < 0 ? 0 : static_cast<int>(start);
      while (walk.i > top && walk.j > 0) {
        const int from = (walk.j - 1) / TILE * TILE;
        compute(a, p, table, strip, from, walk.j, h, directions);
        if (lane == 0)
          walk.run(p.query, p.target, usable, top, from, [&](int i, int j) {
            const int r = static_cast<int>(i - 1 - start), inside = r % ROWS, word = inside / kRowsAWord;
            const int rows = ROWS - word * kRowsAWord < kRowsAWord ? ROWS - word * kRowsAWord : kRowsAWord;
            return directions_of(directions[((j - 1 - from) * kWords + word) * kLanes + r / ROWS], inside % kRowsAWord, rows, kBits);
          });
        walk.i = from_lane(walk.i, 0);
        walk.j = from_lane(walk.j, 0);
      }
    }
    if (lane == 0) walk.finish(out, pair, FREE_QUERY, FREE_TARGET);
    __syncwarp();
  }
}
