// Traceback of threads.cu: one thread per pair.
//
// A path visits few of a matrix's tiles (ROWS by TILE cells). A thread recomputes the tile that its path has reached from the checkpoint at
// its left and the carries above it, now with the directions of each cell, and walks to the tile's upper or left edge. The threads of a
// block have the same query and take its strips together, from the last to the first, so that they share the strip's profile; within a
// strip each recomputes as many tiles as its own path visits. A path ends in the corner or, with free end gaps, in the best cell of the
// last row and column, for which the tiles of the last column are computed first.
//
// Directions (recurrence.cuh, directed_cell) are packed, 8 rows per word (16 with linear gaps), [column][word][thread] in global memory of
// the block.
//
// MATRICES (Li et al. 2013): no path is walked. The directions of all cells go to memory, [strip][column][word][thread] for a block, and
// the path's end to its statistics; the host copies both and traces (core/alignment/src/walks.cpp). Strips can be computed independently
// from their checkpoints, so the unit of work is a strip.
//
// Invariant: make_profile stands between two barriers that all threads of the block reach, because every loop around it depends only on the
// query. A thread without a pair (has_pair is false) takes part in the barriers and skips the rest.
//
// Macros: those of threads.cuh, MATRICES (0 or 1), SIGN (-1 for distances, else 1).
// Registers: 128 (S32 affine, 16 rows); 168 (U16x2 linear, 48 rows, PATHS); 207 (U16x2 affine, 40 rows, PATHS) on sm_90a (NVRTC 13.5).
// Shared memory: (ROWS / kWordRows) LETTERS sizeof(ProfileWord) + 4 LETTERS bytes. Measured (one H100, 2026-11-24,
// benchmarks/results/paths_cuda.md), forward pass and traceback, affine 5/-4/10/1, 16,000 x 1.5 kb: statistics 5.65 TCUPS, with CIGARs
// 5.36; real 16S genes, EDNAFULL 10/1: 4.61 and 4.49. The traceback was not measured alone.
#include "path.cuh"
#include "threads.cuh"

struct TraceThreadArgs {
  ThreadArgs forward;
  PathArgs path;
  int32_t items;
};
SAME_AS_ON_HOST(TraceThreadArgs);

// Type of a recomputed cell: one score with a sign, which directed_cell needs.
template <class CellType>
struct WideOf {
  using type = S32;
};
template <>
struct WideOf<S64> {
  using type = S64;
};
using WideRules = Recurrence<WideOf<CELL>::type, false, IS_AFFINE>;
using Wide = WideRules::Value;

constexpr int kBits = IS_AFFINE ? 4 : 2;
constexpr int kRowsAWord = 32 / kBits;
constexpr int kWords = (ROWS + kRowsAWord - 1) / kRowsAWord;

// Where the data of a thread's pair are.
struct PairPlace {
  const uint32_t* letters;  // of its target
  int letter_shift;         // bits to the pair's letter within a column
  const Carry* carries;     // of its item
  const Edge* edges;
  int pair;     // half of a value, 0 or 1
  int columns;  // of its block of targets
};

DEVICE Wide widen(Value value, int pair) { return static_cast<Wide>(Cell::get(value, pair)); }

// Sets h and f to H and F of the row above a strip, in column j (from 0). first: the strip's first row.
DEVICE void above(const ThreadArgs& a, const PairPlace& p, int strip, int64_t first, int j, Wide& h, Wide& f) {
  Wide carry[2];
  if (first <= 1) {
    WideRules::top(j + 1, carry);
  } else {
    const Carry from = p.carries[(static_cast<int64_t>(strip - 1) * p.columns + j) * blockDim.x];
    for (int k = 0; k < Rules::CARRIES; k++) carry[k] = widen(from.value[k], p.pair);
  }
  h = carry[0];
  f = WideRules::f_above(carry);
}

// Before column j: H(i,j-1) and E(i,j) of the rows of a strip.
struct Tile {
  Wide h[ROWS], e[ROWS];
};

// Computes the directions of a strip's columns from `column` (a multiple of TILE) up to `end`, and leaves H of the last one in the tile.
DEVICE void compute(const ThreadArgs& a, const PairPlace& p, const Cell::ProfileWord* profile, int strip, int64_t first, int column,
                    int end, Tile& t, uint32_t* directions) {
  const int threads = blockDim.x;
  const Edge* const edges = p.edges + (strip * edge_tiles(p.columns) + column / TILE) * edge_tile();
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    const Edge edge = edges[r * threads];
    t.h[r] = widen(edge.value[0], p.pair);
    t.e[r] = Rules::CARRIES == 2 ? widen(edge.value[Rules::CARRIES - 1], p.pair) : 0;
  }
  Wide corner = WideRules::left_h(first - 1), h, f;
  if (column > 0) above(a, p, strip, first, column - 1, corner, f);
  for (int j = column; j < end; j++) {
    const uint32_t letter = p.letters[j / kColumns * threads] >> (8 * Cell::PAIRS * (j % kColumns) + p.letter_shift) & 0xff;
    above(a, p, strip, first, j, h, f);
    Wide diagonal = corner;
    corner = h;
    const char* row = reinterpret_cast<const char*>(profile) + letter * (sizeof(Cell::ProfileWord) / 4);
    uint32_t word = 0;
    Cell::ProfileWord scores = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      if (r % kWordRows == 0)
        scores = *reinterpret_cast<const Cell::ProfileWord*>(row + r / kWordRows * LETTERS * sizeof(Cell::ProfileWord));
      Wide x;
      if constexpr (kWordRows == 1)
        x = diagonal + static_cast<Wide>(scores);
      else
        x = add_byte(scores, r % kWordRows, diagonal);
      WideRules::directed_cell(x, diagonal, t.h[r], t.e[r], f, word);
      if (r % kRowsAWord == kRowsAWord - 1 || r == ROWS - 1)
        directions[(static_cast<int64_t>(j - column) * kWords + r / kRowsAWord) * threads] = word;
    }
  }
}

KERNEL(64, 1) trace_threads(const TraceThreadArgs args) {
  __shared__ Cell::ProfileWord profile[ROWS / kWordRows * LETTERS];
  __shared__ uint32_t usable[LETTERS];
  const ThreadArgs& a = args.forward;
  const PathArgs& out = args.path;
  const int threads = blockDim.x, thread = threadIdx.x;
  uint32_t* const directions = out.directions + static_cast<int64_t>(blockIdx.x) * TILE * kWords * threads + thread;
  for (int k = thread; k < LETTERS; k += threads) usable[k] = out.usable[k];

  const int parts = MATRICES ? a.pipeline.strips : 1;
  for (int64_t work = blockIdx.x; work < static_cast<int64_t>(args.items) * Cell::PAIRS * parts; work += gridDim.x) {
    const int unit = static_cast<int>(work / parts), part = static_cast<int>(work % parts), item = unit / Cell::PAIRS;
    const int block = a.items[item] / a.query_count, row = a.items[item] % a.query_count;
    const int64_t query_start = a.query_offsets[a.queries[row]];
    const int m = static_cast<int>(a.query_offsets[a.queries[row] + 1] - query_start);
    const uint8_t* query = a.query_codes + query_start;
    const int strips = (m + ROWS - 1) / ROWS;
    PairPlace p;
    p.pair = unit % Cell::PAIRS;
    p.columns = a.block_columns[block];
    p.letters = a.letters + a.block_letters[block] + thread;
    p.letter_shift = 8 * p.pair;
    p.carries = static_cast<const Carry*>(a.carries) + a.pipeline.slots[item] * (a.pipeline.carry_stride / Rules::CARRIES) + thread;
    p.edges = static_cast<const Edge*>(a.edges) + a.pipeline.slots[item] * (a.edge_stride / Rules::CARRIES) + thread;

    const int target = (block * Cell::PAIRS + p.pair) * threads + thread;
    const bool has_pair = target < a.target_count && is_requested(out, row, target);
    const int n = has_pair ? a.target_lengths[target] : 0;
    const int64_t target_start = has_pair ? out.target_offsets[out.targets[target]] : 0;
    const uint8_t* codes = out.target_codes + target_start;
    const int64_t pair = static_cast<int64_t>(a.rows[row]) * a.target_count + target;
    Tile tile;
    uint32_t* const matrix = out.directions + unit * out.matrix_stride + thread;
    const int64_t strip_words = static_cast<int64_t>(p.columns) * kWords * threads;
    if (MATRICES) {
      if (part < strips) {
        const int64_t first = m - static_cast<int64_t>(strips - part) * ROWS + 1;
        __syncthreads();
        make_profile(profile, a, query, first);
        __syncthreads();
        if (has_pair) compute(a, p, profile, part, first, 0, n, tile, matrix + part * strip_words);
      }
      if (part > 0) continue;
    }

    // Where the path ends. The carries of the last strip are the last row.
    PathEnd end{0, m, n};
    const Carry* const last_row = p.carries + static_cast<int64_t>(strips - 1) * p.columns * threads;
    if (has_pair) end.score = WideRules::score(widen(last_row[static_cast<int64_t>(n - 1) * threads].value[0], p.pair), m, n);
    if (FREE_TARGET) {
      PathEnd column{WideRules::score(WideRules::edge(n, FREE_QUERY), 0, n), 0, n};
      for (int strip = 0; strip < strips; strip++) {
        const int64_t first = m - static_cast<int64_t>(strips - strip) * ROWS + 1;
        __syncthreads();
        make_profile(profile, a, query, first);
        __syncthreads();
        if (!has_pair) continue;
        // With MATRICES the words go to their places in the matrix, where the unit of the strip stores the same values.
        const int from = (n - 1) / TILE * TILE;
        uint32_t* const words = MATRICES ? matrix + strip * strip_words + static_cast<int64_t>(from) * kWords * threads : directions;
        compute(a, p, profile, strip, first, from, n, tile, words);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
          const int64_t i = first + r, score = WideRules::score(tile.h[r], i, n);
          if (i >= 1 && score >= column.score) column = {score, static_cast<int>(i), n};
        }
      }
      if (has_pair) end.prefer(column.score, column.i, column.j);
    }
    if (FREE_QUERY && has_pair) {
      PathEnd best{WideRules::score(WideRules::edge(m, FREE_TARGET), m, 0), m, 0};
      for (int j = 1; j <= n; j++) {
        const int64_t score = WideRules::score(widen(last_row[static_cast<int64_t>(j - 1) * threads].value[0], p.pair), m, j);
        if (score >= best.score) best = {score, m, j};
      }
      end.prefer(best.score, best.i, best.j);
    }
    if (has_pair) a.scores[pair] = static_cast<RESULT>(SIGN * end.score);
    if (out.detail == 0) continue;
    if (MATRICES) {
      if (has_pair) {
        out.statistics[STATISTICS_NUMBERS * pair + 6] = end.i;
        out.statistics[STATISTICS_NUMBERS * pair + 8] = end.j;
      }
      continue;
    }

    Walk walk(end, out.detail == 2 && has_pair ? out.scratch + pair * out.capacity : nullptr, out.capacity);
    for (int strip = strips - 1; strip >= 0; strip--) {
      const int64_t first = m - static_cast<int64_t>(strips - strip) * ROWS + 1;
      __syncthreads();
      make_profile(profile, a, query, first);
      __syncthreads();
      const int top = first < 1 ? 0 : static_cast<int>(first - 1);
      while (has_pair && walk.i > top && walk.j > 0) {
        const int column = (walk.j - 1) / TILE * TILE;
        compute(a, p, profile, strip, first, column, walk.j, tile, directions);
        walk.run(query, codes, usable, top, column, [&](int i, int j) {
          const int r = static_cast<int>(i - first), word = r / kRowsAWord;
          const int rows = ROWS - word * kRowsAWord < kRowsAWord ? ROWS - word * kRowsAWord : kRowsAWord;
          return directions_of(directions[((j - 1 - column) * kWords + word) * threads], r % kRowsAWord, rows, kBits);
        });
      }
    }
    if (has_pair) walk.finish(out, pair, FREE_QUERY, FREE_TARGET);
  }
}
