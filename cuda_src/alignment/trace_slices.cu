// Traceback of bitsliced.cu, for edit distances: one thread per pair, the 32 targets of a bit-sliced lane in one block.
//
// Glossary
//   strip       ROWS consecutive query rows (32 at most). Here they are the bits of a word, bit r for row first + r
//   tile        a strip by TILE = 32 columns: what a block computes at a time
//   plane       one bit per target, of a step that takes values 0 .. 2: plane 1 is [step >= 1], plane 2 is [step >= 2]
//   u, v        the steps that bitsliced.cu keeps, of the negated and rebased distance: u down a column, v along a row to the right.
//               With D the edit distance, D(i,j) - D(i-1,j) = 1 - u and D(i,j) - D(i,j-1) = 1 - v
//   carries     v along the last row of every strip, [strip][column][plane][thread], written by bitsliced.cu
//   checkpoint  u of all rows of a strip before a tile, [strip][tile][row][plane][thread], written by bitsliced.cu (field `edges`)
//   move        where the path continues from a cell (see below)
//
// Myers' bit vectors (Myers 1999; Hyyro 2003). Bit r of a word is row r of the strip:
//   PM      match mask: rows whose letter equals the letter of the column
//   VP, VN  rows where D(i,j) - D(i-1,j) is +1, -1, i.e. u = 0, u = 2. Before a step those of column j - 1, after it of column j
//   D0      rows where D(i,j) = D(i-1,j-1)
//   HP, HN  rows where D(i,j) - D(i,j-1) is +1, -1; shifted by one bit, the steps of the row above. What enters bit 0 is 1 - v of the carry
//
// Transposition. In memory a word holds one row, or column, of all 32 targets. A tile has 32 words of each plane at its left edge and above
// it, and every thread loads one of the 32. The block transposes them into words that hold all rows, or columns, of one target each.
//
// Moves. The path continues by the first of these that applies
//   0  diagonally, with equal letters           1  diagonally, if D(i,j) = D(i-1,j-1) + 1
//   2  up, if D(i,j) = D(i-1,j) + 1             3  to the left
// stored as two words per column in shared memory, [column][bit of the move][thread], of which each thread reads only its own.
//
// Invariant. The paths of a block that are in the same tile are traced together, and computing a tile takes barriers. So every thread of
// the block must reach the same barriers in the same order: every loop that contains a barrier is controlled by values that are the same in
// all threads (unit, strip, tile, rightmost, results of __syncthreads_or), and where a thread leaves an iteration by its own condition, it
// has passed the last barrier of that iteration.
//
// Macros: those of bitsliced.cuh, with STEPS 2 and MISMATCH 1.
// Registers: 96 to 100 (25 rows) on sm_90a (NVRTC 13.5). Shared memory: 4 LETTERS + 256 + 8,192 bytes.
// Measured (one H100, 2026-11-24, benchmarks/results/paths_cuda.md), forward pass and traceback, 16,000 x 1.5 kb: statistics 54.33 TCUPS,
// with CIGARs 48.88; real 16S genes 38.13 and 32.05. The traceback was not measured alone.
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

// What the pairs of a block share.
struct SlicePairs {
  const uint32_t* carries;      // of the item and the bit-sliced lane
  const uint32_t* checkpoints;  // of the same
  int columns;                  // of the item
};

// The planes of the steps u or v of one target. Bits are rows, from bit 0 on, or columns, from bit 31 down.
struct Planes {
  uint32_t one, two;
};

// The vertical steps of a column.
struct Column {
  uint32_t vp, vn;
};

// Transposes the 32 x 32 bits of each plane: bit t of thread k's result is bit k of thread t's word. shared: 2 kTraceThreads words.
// Contains barriers: called by all threads.
DEVICE Planes transpose(Planes mine, uint32_t* shared) {
  const int thread = threadIdx.x;
  uint32_t mask = 0xffff;  // bits that a thread without bit `by` in its number keeps
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

// Returns v along the last row of a strip, of the columns of a tile. Called by all threads.
DEVICE Planes load_carries(const SlicePairs& p, int strip, int tile, uint32_t* shared) {
  const int j = tile * TILE + TILE - 1 - static_cast<int>(threadIdx.x);
  const uint32_t* const v = p.carries + (static_cast<int64_t>(strip) * p.columns + j) * STEPS * THREADS;
  return transpose(j < p.columns ? Planes{v[0], v[THREADS]} : Planes{0, 0}, shared);
}

// Returns the vertical steps of the column before a tile. Called by all threads.
DEVICE Column load_checkpoint(const SlicePairs& p, int strip, int tile, uint32_t* shared) {
  const int row = threadIdx.x;
  const uint32_t* const u = p.checkpoints + (strip * edge_tiles(p.columns) + tile) * edge_tile() + row * STEPS * THREADS;
  const Planes u_of_rows = transpose(row < ROWS ? Planes{u[0], u[THREADS]} : Planes{0, 0}, shared);
  return {~u_of_rows.one, u_of_rows.two};
}

// Computes the moves of a tile's first `count` columns. previous: the vertical steps of the column before the tile; v: of the row above it;
// masks: the match mask of each letter; target: the letters of the columns. Returns the vertical steps of the last column.
DEVICE Column compute(Column previous, Planes v, const uint32_t* masks, const uint8_t* target, int count, uint32_t* moves) {
  uint32_t vp = previous.vp, vn = previous.vn;
#pragma unroll 4
  for (int c = 0; c < count; c++) {
    const uint32_t hn_in = v.two >> 31, pm = masks[target[c]];
    const uint32_t xv = pm | vn, eq = pm | hn_in;  // Hyyro's X_v, which serves as well as D0 in the new VP and VN
    const uint32_t d0 = (((eq & vp) + vp) ^ vp) | eq | vn;
    uint32_t hp = vn | ~(d0 | vp), hn = vp & d0;
    hp = append_sign(hp, static_cast<int32_t>(~v.one));
    hn = append_sign(hn, static_cast<int32_t>(v.two));
    vp = hn | ~(xv | hp);
    vn = hp & xv;
    v = {v.one << 1, v.two << 1};
    moves[c * 2 * kTraceThreads] = ~pm & ~(d0 & vp);
    moves[(c * 2 + 1) * kTraceThreads] = ~pm & d0;
  }
  return {vp, vn};
}

// Makes the match masks of the letters for the strip whose first row is `first`. Called by all threads.
DEVICE void make_masks(uint32_t* masks, const uint8_t* query, int64_t first) {
  const int thread = threadIdx.x;
  __syncthreads();
  for (int letter = thread; letter < LETTERS; letter += kTraceThreads) masks[letter] = 0;
  __syncthreads();
  if (thread < ROWS && first + thread >= 1) atomicOr(&masks[query[first + thread - 1]], 1u << thread);
  __syncthreads();
}

KERNEL(32, 1) trace_slices(const TraceSliceArgs args) {
  __shared__ uint32_t masks[LETTERS];
  __shared__ uint32_t shared[2 * kTraceThreads];
  __shared__ uint32_t moves_of_block[TILE * 2 * kTraceThreads];
  const SliceArgs& a = args.forward;
  const PathArgs& out = args.path;
  const int thread = threadIdx.x;
  uint32_t* const moves = moves_of_block + thread;

  for (int64_t unit = blockIdx.x; unit < static_cast<int64_t>(args.items) * THREADS; unit += gridDim.x) {
    const int64_t item = unit / THREADS;
    const int lane = lane_of(a, item, static_cast<int>(unit % THREADS));
    if (lane < 0) continue;
    const int group = lane / a.query_count, row = lane % a.query_count, strips = a.item_strips[item];
    const int64_t query_start = a.query_offsets[a.queries[row]];
    const int m = static_cast<int>(a.query_offsets[a.queries[row] + 1] - query_start);
    const uint8_t* query = a.query_codes + query_start;
    SlicePairs p;
    p.columns = a.group_columns[lane_of(a, item, 0) / a.query_count];
    p.carries = a.carries + a.pipeline.slots[item] * a.pipeline.carry_stride + unit % THREADS;
    p.checkpoints = a.edges + a.pipeline.slots[item] * a.edge_stride + unit % THREADS;

    const int target = group * 32 + thread;
    const bool has_pair = target < a.target_count && is_requested(out, row, target);
    const int n = has_pair ? a.target_lengths[target] : 0;
    const uint8_t* const codes = out.target_codes + (has_pair ? out.target_offsets[out.targets[target]] : 0);
    const int64_t pair = static_cast<int64_t>(a.rows[row]) * a.target_count + target;
    // v of the row above a strip, of the columns of a tile; called by all threads.
    auto load_row_above = [&](int strip, int tile) {
      return strip > 0 ? load_carries(p, strip - 1, tile, shared) : Planes{FREE_QUERY ? ~0u : 0, 0};
    };

    // Where the path ends. First along the last row: D(m,0), then the steps 1 - v. best_in_row: the rightmost cell with the best score.
    int distance = FREE_TARGET ? 0 : m;
    PathEnd best_in_row{-distance, m, 0};
    for (int tile = 0; tile * TILE < p.columns; tile++) {
      Planes v = load_carries(p, strips - 1, tile, shared);
      const int remaining = n - tile * TILE, count = remaining < 0 ? 0 : remaining < TILE ? remaining : TILE;
      if (!FREE_QUERY) {
        const uint32_t inside = count > 0 ? ~0u << (TILE - count) : 0;
        distance += count - count_bits(v.one & inside) - count_bits(v.two & inside);
        continue;
      }
      for (int c = 0; c < count; c++, v = {v.one << 1, v.two << 1}) {
        distance += 1 - static_cast<int>(v.one >> 31) - static_cast<int>(v.two >> 31);
        if (-distance >= best_in_row.score) best_in_row = {-distance, m, tile * TILE + c + 1};
      }
    }
    PathEnd end{-distance, m, n};
    // Then down the last column: D(0,n), then its vertical steps, strip by strip. best_in_column: the lowest cell with the best score.
    if (FREE_TARGET) {
      distance = FREE_QUERY ? 0 : n;
      PathEnd best_in_column{-distance, 0, n};
      const int last_tile = (n - 1) / TILE;
      for (int strip = 0; strip < strips; strip++) {
        const int64_t first = m - static_cast<int64_t>(strips - strip) * ROWS + 1;
        make_masks(masks, query, first);
        for (int tile = 0; __syncthreads_or(has_pair && tile <= last_tile); tile++) {
          const bool here = has_pair && tile == last_tile;  // the thread's last column is in this tile
          if (!__syncthreads_or(here)) continue;            // the same in all threads
          const Planes v = load_row_above(strip, tile);
          const Column previous = load_checkpoint(p, strip, tile, shared);
          if (!here) continue;  // no barrier follows in this iteration
          const Column last = compute(previous, v, masks, codes + tile * TILE, n - tile * TILE, moves);
          for (int r = 0; r < ROWS; r++) {
            if (first + r < 1) continue;
            distance += static_cast<int>(last.vp >> r & 1) - static_cast<int>(last.vn >> r & 1);
            if (-distance >= best_in_column.score) best_in_column = {-distance, static_cast<int>(first + r), n};
          }
        }
      }
      end.prefer(best_in_column.score, best_in_column.i, best_in_column.j);
    }
    if (FREE_QUERY) end.prefer(best_in_row.score, best_in_row.i, best_in_row.j);
    if (has_pair) a.scores[pair] = static_cast<RESULT>(-end.score);
    if (out.detail == 0) continue;

    Walk walk(end, out.detail == 2 && has_pair ? out.scratch + pair * out.capacity : nullptr, out.capacity);
    // Strip by strip upwards, tile by tile to the left. No path is right of tile `rightmost`, which is the same in all threads.
    int rightmost = (p.columns - 1) / TILE;
    for (int strip = strips - 1; strip >= 0; strip--) {
      const int64_t first = m - static_cast<int64_t>(strips - strip) * ROWS + 1;
      make_masks(masks, query, first);
      const int top = first < 1 ? 0 : static_cast<int>(first - 1);
      // Whether the thread's path is still below the strip's upper edge.
      auto is_inside = [&] { return has_pair && walk.i > top && walk.j > 0; };
      for (int tile = rightmost; __syncthreads_or(is_inside()); tile--) {
        const bool here = has_pair && (walk.j - 1) / TILE == tile;  // the thread's path is in this tile's columns
        if (!__syncthreads_or(here && is_inside())) {
          // Paths never move right. `tile` and `rightmost` are the same in all threads, so all of them reach this barrier, or none.
          rightmost -= tile == rightmost && !__syncthreads_or(here);
          continue;
        }
        const Planes v = load_row_above(strip, tile);
        const Column previous = load_checkpoint(p, strip, tile, shared);
        if (!here || !is_inside()) continue;  // no barrier follows in this iteration
        const int column = tile * TILE;
        compute(previous, v, masks, codes + column, walk.j - column, moves);
        while (walk.i > top && walk.j > column) {
          const int r = static_cast<int>(walk.i - first);
          const uint32_t* const words = moves + (walk.j - 1 - column) * 2 * kTraceThreads;
          walk.step(static_cast<int>((words[0] >> r & 1) | (words[kTraceThreads] >> r & 1) << 1));
        }
      }
    }
    if (has_pair) walk.finish(out, pair, FREE_QUERY, FREE_TARGET);
  }
}
