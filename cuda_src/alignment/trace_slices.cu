// The way back from bitsliced.cu, for edit distances: one thread a pair, the 32 targets of a lane in one block.
//
// The rows of a strip (32 at most) are the bits of a word here: with u, v in 0 .. 2 the steps of the negated, rebased distance, up =
// [u = 0] and down = [u = 2] are Myers' vertical vectors (chain_edit.cu), and 1 - v the horizontal step that enters a strip. On the way
// forward a word had a row, or a column, of all targets: a tile of 32 rows by TILE = 32 columns has 32 words of each plane, of which
// every thread loads one, and which the block transposes into words of one target.
//
// Paths of a block that are in one tile take it together. A column of a tile is a few operations on words. Of a cell, D(i,j) the
// distance, the path goes on
//   0  diagonally, where letters are equal     1  diagonally, where D(i,j) = D(i-1,j-1) + 1
//   2  up, where D(i,j) = D(i-1,j) + 1         3  to the left
// the first of them that may be: two words a column in shared memory, [column][2][thread].
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
static_assert(TILE == kTraceThreads && ROWS <= kTraceThreads, "a tile's words are as many as its threads");

// Where the pairs of a block are.
struct Place {
  const uint32_t* carries;  // of the item and lane
  const uint32_t* edges;
  int columns;  // of the item
};

// Two planes of a step, of one target: bits of rows, or of columns, the first of which is the highest bit.
struct Planes {
  uint32_t one, two;
};

// The vertical steps of D of a column: bits of rows.
struct Column {
  uint32_t up, down;
};

// Bit t of thread k's words from bit k of thread t's. shared: 2 kTraceThreads words.
DEVICE Planes transpose(Planes mine, uint32_t* shared) {
  const int thread = threadIdx.x;
  uint32_t mask = 0xffff;  // bits of words that stay where the thread's own bit of `by` is 0
#pragma unroll
  for (int by = 16; by > 0; by /= 2, mask ^= mask << by) {
    shared[thread] = mine.one, shared[kTraceThreads + thread] = mine.two;
    __syncthreads();
    const uint32_t one = shared[thread ^ by], two = shared[kTraceThreads + (thread ^ by)];
    if (thread & by)
      mine = {(mine.one & ~mask) | (one >> by & mask), (mine.two & ~mask) | (two >> by & mask)};
    else
      mine = {(mine.one & mask) | (one & mask) << by, (mine.two & mask) | (two & mask) << by};
    __syncthreads();
  }
  return mine;
}

// v that a strip hands down, at the columns of a tile.
DEVICE Planes handed_down(const Place& p, int strip, int tile, uint32_t* shared) {
  const int j = tile * TILE + TILE - 1 - static_cast<int>(threadIdx.x);
  const uint32_t* const v = p.carries + (static_cast<int64_t>(strip) * p.columns + j) * STEPS * THREADS;
  return transpose(j < p.columns ? Planes{v[0], v[THREADS]} : Planes{0, 0}, shared);
}

// The vertical steps left of a tile.
DEVICE Column left_of(const Place& p, int strip, int tile, uint32_t* shared) {
  const int row = threadIdx.x;
  const uint32_t* const u = p.edges + (strip * edge_tiles(p.columns) + tile) * edge_tile() + row * STEPS * THREADS;
  const Planes u_of_rows = transpose(row < ROWS ? Planes{u[0], u[THREADS]} : Planes{0, 0}, shared);
  return {~u_of_rows.one, u_of_rows.two};
}

// A tile's first `count` columns: where the path goes on from each cell. column: the steps left of it; v: what enters it from above;
// target: its letters. Returns the steps of the last column.
DEVICE Column compute(Column column, Planes v, const uint32_t* equal, const uint8_t* target, int count, uint32_t* ways) {
  uint32_t up = column.up, down = column.down;
#pragma unroll 4
  for (int c = 0; c < count; c++) {
    const uint32_t minus = v.two >> 31, letters = equal[target[c]];
    const uint32_t x = letters | down, eq = letters | minus;
    const uint32_t same = (((eq & up) + up) ^ up) | eq | down;  // D(i,j) = D(i-1,j-1)
    uint32_t right_up = down | ~(same | up), right_down = up & same;
    right_up = append_sign(right_up, static_cast<int32_t>(~v.one));
    right_down = append_sign(right_down, static_cast<int32_t>(v.two));
    up = right_down | ~(x | right_up);
    down = right_up & x;
    v = {v.one << 1, v.two << 1};
    ways[c * 2 * kTraceThreads] = ~letters & ~(same & up);
    ways[(c * 2 + 1) * kTraceThreads] = ~letters & same;
  }
  return {up, down};
}

// Which rows of a strip hold each letter. By all threads.
DEVICE void find_letters(uint32_t* equal, const uint8_t* query, int64_t first) {
  const int thread = threadIdx.x;
  __syncthreads();
  for (int letter = thread; letter < LETTERS; letter += kTraceThreads) equal[letter] = 0;
  __syncthreads();
  if (thread < ROWS && first + thread >= 1) atomicOr(&equal[query[first + thread - 1]], 1u << thread);
  __syncthreads();
}

KERNEL(32, 1) trace_slices(const TraceSliceArgs args) {
  __shared__ uint32_t equal[LETTERS];
  __shared__ uint32_t shared[2 * kTraceThreads];
  __shared__ uint32_t all_ways[TILE * 2 * kTraceThreads];
  const SliceArgs& a = args.forward;
  const PathArgs& out = args.path;
  const int thread = threadIdx.x;
  uint32_t* const ways = all_ways + thread;

  for (int64_t unit = blockIdx.x; unit < static_cast<int64_t>(args.items) * THREADS; unit += gridDim.x) {
    const int64_t item = unit / THREADS;
    const int lane = lane_of(a, item, static_cast<int>(unit % THREADS));
    if (lane < 0) continue;
    const int group = lane / a.query_count, row = lane % a.query_count, strips = a.item_strips[item];
    const int64_t query_start = a.query_offsets[a.queries[row]];
    const int m = static_cast<int>(a.query_offsets[a.queries[row] + 1] - query_start);
    const uint8_t* query = a.query_codes + query_start;
    Place p;
    p.columns = a.group_columns[lane_of(a, item, 0) / a.query_count];
    p.carries = a.carries + a.pipeline.slots[item] * a.pipeline.carry_stride + unit % THREADS;
    p.edges = a.edges + a.pipeline.slots[item] * a.edge_stride + unit % THREADS;

    const int target = group * 32 + thread;
    const bool wanted = target < a.target_count && is_wanted(out, row, target);
    const int n = wanted ? a.target_lengths[target] : 0;
    const uint8_t* const codes = out.target_codes + (wanted ? out.target_offsets[out.targets[target]] : 0);
    const int64_t pair = static_cast<int64_t>(a.rows[row]) * a.target_count + target;
    // What enters a strip's tile from above.
    auto entering = [&](int strip, int tile) {
      return strip > 0 ? handed_down(p, strip - 1, tile, shared) : Planes{FREE_QUERY ? ~0u : 0, 0};
    };

    // The end, by D along the last row and column.
    int distance = FREE_TARGET ? 0 : m;
    PathEnd along{-distance, m, 0};
    for (int tile = 0; tile * TILE < p.columns; tile++) {
      Planes v = handed_down(p, strips - 1, tile, shared);
      const int left = n - tile * TILE, count = left < 0 ? 0 : left < TILE ? left : TILE;
      if (!FREE_QUERY) {
        const uint32_t inside = count > 0 ? ~0u << (TILE - count) : 0;
        distance += count - count_bits(v.one & inside) - count_bits(v.two & inside);
        continue;
      }
      for (int c = 0; c < count; c++, v = {v.one << 1, v.two << 1}) {
        distance += 1 - static_cast<int>(v.one >> 31) - static_cast<int>(v.two >> 31);
        if (-distance >= along.score) along = {-distance, m, tile * TILE + c + 1};
      }
    }
    PathEnd end{-distance, m, n};
    if (FREE_TARGET) {
      distance = FREE_QUERY ? 0 : n;
      PathEnd column{-distance, 0, n};
      const int last_tile = (n - 1) / TILE;
      for (int strip = 0; strip < strips; strip++) {
        const int64_t first = m - static_cast<int64_t>(strips - strip) * ROWS + 1;
        find_letters(equal, query, first);
        for (int tile = 0; __syncthreads_or(wanted && tile <= last_tile); tile++) {
          const bool here = wanted && tile == last_tile;
          if (!__syncthreads_or(here)) continue;
          const Planes v = entering(strip, tile);
          const Column left = left_of(p, strip, tile, shared);
          if (!here) continue;
          const Column last = compute(left, v, equal, codes + tile * TILE, n - tile * TILE, ways);
          for (int r = 0; r < ROWS; r++) {
            if (first + r < 1) continue;
            distance += static_cast<int>(last.up >> r & 1) - static_cast<int>(last.down >> r & 1);
            if (-distance >= column.score) column = {-distance, static_cast<int>(first + r), n};
          }
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
      find_letters(equal, query, first);
      const int top = first < 1 ? 0 : static_cast<int>(first - 1);
      auto is_inside = [&] { return wanted && walk.i > top && walk.j > 0; };
      for (int tile = highest; __syncthreads_or(is_inside()); tile--) {
        const bool here = wanted && (walk.j - 1) / TILE == tile;
        if (!__syncthreads_or(here && is_inside())) {
          highest -= tile == highest && !__syncthreads_or(here);  // no path comes back to the right
          continue;
        }
        const Planes v = entering(strip, tile);
        const Column left = left_of(p, strip, tile, shared);
        if (!here || !is_inside()) continue;
        const int column = tile * TILE;
        compute(left, v, equal, codes + column, walk.j - column, ways);
        while (walk.i > top && walk.j > column) {
          const int r = static_cast<int>(walk.i - first);
          const uint32_t* const words = ways + (walk.j - 1 - column) * 2 * kTraceThreads;
          walk.step(static_cast<int>((words[0] >> r & 1) | (words[kTraceThreads] >> r & 1) << 1));
        }
      }
    }
    if (wanted) walk.finish(out, pair, FREE_QUERY, FREE_TARGET);
  }
}
