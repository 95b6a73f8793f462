// Traceback of chain.cu: one warp per pair. chain.cuh has the glossary (strip, lane, carry).
//
// As in trace_threads.cu, the tiles that the path reaches are recomputed from their checkpoints, now with directions. A tile is a strip of
// the warp (ROWS rows per lane) by TILE columns; lane l computes one column behind lane l - 1. Then lane 0 walks to the tile's edge.
//
// Directions are packed, 8 rows per word (16 with linear gaps), [column][word][lane] in global memory of the block.
//
// Macros: those of chain.cu but WARPS and BYTES, and SIGN (-1 for distances, else 1). IS_LOCAL is false.
// Registers: 107 (S32 linear, 12 rows, PATHS); 125 (S32 affine, 12 rows, PATHS); 240 (S64 affine, 24 rows, PATHS) on sm_90a (NVRTC 13.5).
// Shared memory: 4 LETTERS^2 + 4 LETTERS bytes. Not measured alone.
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
  const Value* carries;  // [strip][carry][column]
  const Value* edges;    // checkpoints, [column / TILE][row][carry]
  int m, n, strips;
};

// Returns the row above a strip's first one.
DEVICE int64_t row_above(const Pair& p, int strip) { return strip * kStripRows - (p.strips * kStripRows - p.m); }

// Computes the directions of a strip's columns from `column` (a multiple of TILE) up to `end`, and leaves H of the last one in h. Called by
// all lanes. step: the columns that lane 0 has taken; lane l takes column step - l.
DEVICE void compute(const ChainArgs& a, const Pair& p, const int32_t* table, int strip, int column, int end, Value* h,
                    uint32_t* directions) {
  const int lane = threadIdx.x;
  const int64_t first = row_above(p, strip) + lane * ROWS + 1;
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
  // H of row first - 1 in the column before `column`: that of the previous lane's last row.
  const Value previous_lane_h = from_previous_lane(h[ROWS - 1]);
  Value corner = previous_lane_h;
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
    for (int c = 0; c < kCarries; c++) in[c] = from_previous_lane(out[c]);
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

// Sets every lane's candidate to the best one of all lanes; of equal scores, the largest position.
DEVICE void best_of_lanes(int64_t& score, int& place) {
  const int64_t my_score = score;
  const int my_place = place;
  for (int lane = 0; lane < kLanes; lane++) {
    const int64_t other_score = from_lane(my_score, lane);
    const int other_place = from_lane(my_place, lane);
    if (other_score > score || (other_score == score && other_place > place)) {
      score = other_score;
      place = other_place;
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
        const int64_t i = row_above(p, strip) + lane * ROWS + 1 + r, cell_score = Rules::score(h[r], i, p.n);
        if (i >= 1 && cell_score >= score) {
          score = cell_score;
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
      const int64_t cell_score = Rules::score(last_row[j - 1], p.m, j);
      if (cell_score >= score) {
        score = cell_score;
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
    if (!is_requested(out, static_cast<int>(row), static_cast<int>(column))) continue;
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
      const int64_t above = row_above(p, strip);
      const int top = above < 0 ? 0 : static_cast<int>(above);
      while (walk.i > top && walk.j > 0) {
        const int from = (walk.j - 1) / TILE * TILE;
        compute(a, p, table, strip, from, walk.j, h, directions);
        if (lane == 0)
          walk.run(p.query, p.target, usable, top, from, [&](int i, int j) {
            const int r = static_cast<int>(i - 1 - above), inside = r % ROWS, word = inside / kRowsAWord;
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
