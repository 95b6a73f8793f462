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

// v that a strip hands down at column j (from 0), of all targets: two words, THREADS apart.
DEVICE const uint32_t* handed_down(const Place& p, int strip, int j) {
  return p.carries + (static_cast<int64_t>(strip) * p.columns + j) * STEPS * THREADS;
}
// The horizontal step of D of one target there.
DEVICE int step_of(const Place& p, uint32_t one, uint32_t two) {
  return 1 - static_cast<int>(one >> p.bit & 1) - static_cast<int>(two >> p.bit & 1);
}
DEVICE int step_below(const Place& p, int strip, int j) {
  const uint32_t* const v = handed_down(p, strip, j);
  return step_of(p, v[0], v[THREADS]);
}

// The columns from `column` (a multiple of TILE) up to `end` of a strip; returns the vertical steps of column `end`. entering(j): the
// horizontal step of D from above, in all strips but the first.
template <class Entering>
DEVICE Column compute(const Place& p, const uint32_t* equal, int strip, int column, int end, uint32_t* directions, Entering entering) {
  const uint32_t* const u = p.edges + (strip * edge_tiles(p.columns) + column / TILE) * edge_tile();
  uint32_t one = 0, two = 0;
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    one |= (u[r * STEPS * THREADS] >> p.bit & 1) << r;
    two |= (u[(r * STEPS + 1) * THREADS] >> p.bit & 1) << r;
  }
  uint32_t up = ~one, down = two;
  for (int j = column; j < end; j++) {
    const int step = strip > 0 ? entering(j) : FREE_QUERY ? 0 : 1;
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
  __shared__ uint32_t above[2 * TILE];  // what a strip hands down to a tile
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
        const Column last =
            compute(p, equal, strip, (n - 1) / TILE * TILE, n, directions, [&](int j) { return step_below(p, strip - 1, j); });
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
    int highest = (p.columns - 1) / TILE;  // tile that a path may be in
    for (int strip = strips - 1; strip >= 0; strip--) {
      const int64_t first = m - static_cast<int64_t>(strips - strip) * ROWS + 1;
      __syncthreads();
      find_letters(equal, query, first);
      __syncthreads();
      const int top = first < 1 ? 0 : static_cast<int>(first - 1);
      // Where several paths are in one tile they take it together: each would fetch what enters it from above for itself, a sector of
      // memory for a bit.
      auto is_inside = [&] { return wanted && walk.i > top && walk.j > 0; };
      for (int tile = highest; __syncthreads_or(is_inside()); tile--) {
        const bool here = wanted && (walk.j - 1) / TILE == tile;
        if (!__syncthreads_or(here && is_inside())) {
          highest -= tile == highest && !__syncthreads_or(here);  // no path comes back to the right
          continue;
        }
        const int column = tile * TILE;
        for (int k = thread; strip > 0 && k < TILE && column + k < p.columns; k += kTraceThreads) {
          const uint32_t* const v = handed_down(p, strip - 1, column + k);
          above[k] = v[0], above[TILE + k] = v[THREADS];
        }
        __syncthreads();
        if (here && is_inside()) {
          compute(p, equal, strip, column, walk.j, directions,
                  [&](int j) { return step_of(p, above[j - column], above[TILE + j - column]); });
          walk.run(query, p.target, usable, top, column, [&](int i, int j) {
            const uint32_t* const words = directions + (j - 1 - column) * 2 * kTraceThreads;
            const int r = static_cast<int>(i - first);
            return static_cast<int>((words[0] >> r & 1) | (words[kTraceThreads] >> r & 1) << 1);
          });
        }
        __syncthreads();
      }
    }
    if (wanted) walk.finish(out, pair, FREE_QUERY, FREE_TARGET);
  }
}
