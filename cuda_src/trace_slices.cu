// The way back from bitsliced.cu, for edit distances: one thread a pair, the 32 targets of a lane in one block.
//
// The rows of a strip (32 at most) are the bits of a word here: with u, v in 0 .. 2 the steps of the negated, rebased distance, up =
// [u = 0] and down = [u = 2] are Myers' vertical vectors (chain_edit.cu), and 1 - v the horizontal step that enters a strip. A tile
// that the path comes to, ROWS by TILE cells, takes a few operations a column. Of a cell, D(i,j) the distance:
//   kDiagonal  letters equal, or D(i,j) = D(i-1,j-1) + 1      kUp  D(i,j) = D(i-1,j) + 1
// kept as two words a column, [column][2][thread].
//
// Macros: those of bitsliced.cuh, with STEPS 2 and MISMATCH 1.
#include "bitsliced.cuh"
#include "path.cuh"

struct TraceSliceArgs {
  SliceArgs forward;
  PathArgs path;
  int32_t items;
};
SAME_AS_ON_HOST(TraceSliceArgs);

constexpr int kTraceThreads = 32;

// Where one thread's pair is.
struct Place {
  const uint32_t* carries;  // of its item and lane
  const uint32_t* edges;
  const uint8_t* target;
  int bit;      // of the pair in a word
  int columns;  // of its item
};

struct Column {
  uint32_t up, down;
};

// The horizontal step of D that leaves row `strip * ROWS` downwards at column j (from 0).
DEVICE int step_below(const Place& p, int strip, int j) {
  const uint32_t* const v = p.carries + (static_cast<int64_t>(strip) * p.columns + j) * STEPS * THREADS;
  return 1 - static_cast<int>(v[0] >> p.bit & 1) - static_cast<int>(v[THREADS] >> p.bit & 1);
}

// The columns from `column` (a multiple of TILE) up to `end` of a strip; returns the vertical steps of column `end`.
DEVICE Column compute(const Place& p, const uint32_t* equal, int strip, int column, int end, uint32_t* directions) {
  const uint32_t* const u = p.edges + (strip * edge_tiles(p.columns) + column / TILE) * edge_tile();
  uint32_t one = 0, two = 0;
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    one |= (u[r * STEPS * THREADS] >> p.bit & 1) << r;
    two |= (u[(r * STEPS + 1) * THREADS] >> p.bit & 1) << r;
  }
  uint32_t up = ~one, down = two;
  for (int j = column; j < end; j++) {
    const int step = strip > 0 ? step_below(p, strip - 1, j) : FREE_QUERY ? 0 : 1;
    const uint32_t plus = step > 0, minus = step < 0, letters = equal[p.target[j]];
    const uint32_t x = letters | down, eq = letters | minus;
    const uint32_t same = (((eq & up) + up) ^ up) | eq | down;  // D(i,j) = D(i-1,j-1)
    uint32_t right_up = down | ~(same | up), right_down = up & same;
    right_up = right_up << 1 | plus;
    right_down = right_down << 1 | minus;
    up = right_down | ~(x | right_up);
    down = right_up & x;
    directions[(j - column) * 2 * kTraceThreads] = letters | ~same;
    directions[((j - column) * 2 + 1) * kTraceThreads] = up;
  }
  return {up, down};
}

// Which rows of a strip hold each letter.
DEVICE void find_letters(uint32_t* equal, const uint8_t* query, int64_t first) {
  for (int letter = threadIdx.x; letter < LETTERS; letter += kTraceThreads) {
    uint32_t rows = 0;
    for (int r = 0; r < ROWS; r++) rows |= static_cast<uint32_t>(first + r >= 1 && query[first + r - 1] == letter) << r;
    equal[letter] = rows;
  }
}

KERNEL(32, 1) trace_slices(const TraceSliceArgs args) {
  __shared__ uint32_t equal[LETTERS];
  __shared__ uint32_t usable[LETTERS];
  const SliceArgs& a = args.forward;
  const PathArgs& out = args.path;
  const int thread = threadIdx.x;
  uint32_t* const directions = out.directions + static_cast<int64_t>(blockIdx.x) * TILE * 2 * kTraceThreads + thread;
  for (int k = thread; k < LETTERS; k += kTraceThreads) usable[k] = out.usable[k];

  for (int64_t unit = blockIdx.x; unit < static_cast<int64_t>(args.items) * THREADS; unit += gridDim.x) {
    const int64_t item = unit / THREADS;
    const int lane = lane_of(a, item, static_cast<int>(unit % THREADS));
    if (lane < 0) continue;
    const int group = lane / a.query_count, row = lane % a.query_count, strips = a.item_strips[item];
    const int64_t query_start = a.query_offsets[a.queries[row]];
    const int m = static_cast<int>(a.query_offsets[a.queries[row] + 1] - query_start);
    const uint8_t* query = a.query_codes + query_start;
    Place p;
    p.bit = thread;
    p.columns = a.group_columns[lane_of(a, item, 0) / a.query_count];
    p.carries = a.carries + a.pipeline.slots[item] * a.pipeline.carry_stride + unit % THREADS;
    p.edges = a.edges + a.pipeline.slots[item] * a.edge_stride + unit % THREADS;

    const int target = group * 32 + thread;
    const bool wanted = target < a.target_count && is_wanted(out, row, target);
    const int n = wanted ? a.target_lengths[target] : 0;
    p.target = out.target_codes + (wanted ? out.target_offsets[out.targets[target]] : 0);
    const int64_t pair = static_cast<int64_t>(a.rows[row]) * a.target_count + target;

    // The end, by D along the last row and column.
    int distance = FREE_TARGET ? 0 : m;
    PathEnd along{-distance, m, 0};
    for (int j = 1; j <= n; j++) {
      distance += step_below(p, strips - 1, j - 1);
      if (-distance >= along.score) along = {-distance, m, j};
    }
    PathEnd end{-distance, m, n};
    if (FREE_TARGET) {
      distance = FREE_QUERY ? 0 : n;
      PathEnd column{-distance, 0, n};
      for (int strip = 0; strip < strips; strip++) {
        const int64_t first = m - static_cast<int64_t>(strips - strip) * ROWS + 1;
        __syncthreads();
        find_letters(equal, query, first);
        __syncthreads();
        if (!wanted) continue;
        const Column last = compute(p, equal, strip, (n - 1) / TILE * TILE, n, directions);
        for (int r = 0; r < ROWS; r++) {
          if (first + r < 1) continue;
          distance += static_cast<int>(last.up >> r & 1) - static_cast<int>(last.down >> r & 1);
          if (-distance >= column.score) column = {-distance, static_cast<int>(first + r), n};
        }
      }
      end.prefer(column.score, column.i, column.j);
    }
    if (FREE_QUERY) end.prefer(along.score, along.i, along.j);
    if (wanted) a.scores[pair] = static_cast<RESULT>(-end.score);
    if (out.detail == 0) continue;

    Walk walk(end, out.detail == 2 && wanted ? out.scratch + pair * out.capacity : nullptr, out.capacity);
    for (int strip = strips - 1; strip >= 0; strip--) {
      const int64_t first = m - static_cast<int64_t>(strips - strip) * ROWS + 1;
      __syncthreads();
      find_letters(equal, query, first);
      __syncthreads();
      const int top = first < 1 ? 0 : static_cast<int>(first - 1);
      while (wanted && walk.i > top && walk.j > 0) {
        const int column = (walk.j - 1) / TILE * TILE;
        compute(p, equal, strip, column, walk.j, directions);
        walk.run(query, p.target, usable, top, column, [&](int i, int j) {
          const uint32_t* const words = directions + (j - 1 - column) * 2 * kTraceThreads;
          const int r = static_cast<int>(i - first);
          return static_cast<int>((words[0] >> r & 1) | (words[kTraceThreads] >> r & 1) << 1);
        });
      }
    }
    if (wanted) walk.finish(out, pair, FREE_QUERY, FREE_TARGET);
  }
}
