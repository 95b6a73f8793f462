// Global and local scores, one thread an alignment (two, in 16 bits): the shape for many pairs.
//
// An item is one query with blockDim.x * PAIRS targets. The query's rows pass in strips of ROWS, in a pipeline of blocks
// (pipeline.cuh): a thread keeps a strip's H and E in registers and walks the columns; H and F of the strip's last row go
// through memory to the next strip, [column][carry][thread], so that a warp's accesses are contiguous. The substitution scores
// of a strip are a profile in shared memory: the lanes of a warp read one row at their own letters, at most 32 neighbouring
// words, so that banks never conflict.
//
// With PATHS every strip keeps its carries, and its H and E of every TILE columns: trace_threads.cu begins there.
//
// Macros: those of threads.cuh, and BLOCKS (resident blocks at least).
#include "threads.cuh"

struct Strip {
  Value h[ROWS];
  Value e[ROWS];
  Value best;
};

template <int FIRST>
DEVICE void rows(Strip& s, const char* profile_a, const char* profile_b, Value& diagonal, Value& f, Value& odd, uint32_t one) {
  const auto a = *reinterpret_cast<const Cell::ProfileWord*>(profile_a);
  const auto b = Cell::PAIRS == 2 ? *reinterpret_cast<const Cell::ProfileWord*>(profile_b) : a;
  auto row = [&](Value score, int r) {
    const Value now = Rules::cell(score, diagonal, s.h[r], s.e[r], f, one);
    if (IS_LOCAL) {
      if (r & 1)
        s.best = Cell::max3(s.best, odd, now);
      else
        odd = now;
    }
  };
  row(Cell::look_up<0>(a, b), FIRST);
  if (kWordRows == 4) {
    row(Cell::look_up<1>(a, b), FIRST + 1);
    row(Cell::look_up<2>(a, b), FIRST + 2);
    row(Cell::look_up<3>(a, b), FIRST + 3);
  }
}

template <int FIRST>
struct AllRows {
  static DEVICE void run(Strip& s, const char* a, const char* b, Value& diagonal, Value& f, Value& odd, uint32_t one) {
    rows<FIRST>(s, a, b, diagonal, f, odd, one);
    constexpr int64_t kRowBytes = LETTERS * sizeof(Cell::ProfileWord);
    AllRows<FIRST + kWordRows>::run(s, a + kRowBytes, b + kRowBytes, diagonal, f, odd, one);
  }
};
template <>
struct AllRows<ROWS> {
  static DEVICE void run(Strip&, const char*, const char*, Value&, Value&, Value&, uint32_t) {}
};

// What row `row` of the first strip or, later on, the strip above hands down at column j (from 0).
DEVICE void load_carries(Value* out, const Value* carry, int64_t row, int64_t j) {
  if (row <= 1) {
    Rules::top(row, j + 1, out);
  } else {
    for (int c = 0; c < Rules::CARRIES; c++) out[c] = load_shared_by_blocks(carry + c * blockDim.x);
  }
}

KERNEL(64, BLOCKS) align_threads(const ThreadArgs a) {
  __shared__ Cell::ProfileWord profile[ROWS / kWordRows * LETTERS];
  const int threads = blockDim.x, thread = threadIdx.x;
  const int64_t column_stride = static_cast<int64_t>(Rules::CARRIES) * threads;

  for (;;) {
    const Unit unit = take_unit(a.pipeline);
    if (unit.item < 0) return;
    const int block = a.items[unit.item] / a.query_count, row = a.items[unit.item] % a.query_count;
    const int64_t query_start = a.query_offsets[a.queries[row]];
    const int64_t m = a.query_offsets[a.queries[row] + 1] - query_start;
    const int strips = static_cast<int>((m + ROWS - 1) / ROWS);
    const bool last = unit.strip == strips - 1;
    const int64_t first = m - static_cast<int64_t>(strips - unit.strip) * ROWS + 1;
    const int columns = a.block_columns[block];
    // Where this strip's carries are, and how far before them those of the strip above.
    const int64_t back = PATHS ? columns * column_stride : 0;
    Value* const carries = static_cast<Value*>(a.carries) + carry_start(a.pipeline, unit) + unit.strip * back + thread;
    Value* edge = PATHS ? static_cast<Value*>(a.edges) + a.pipeline.slots[unit.item] * a.edge_stride +
                              unit.strip * edge_tiles(columns) * edge_tile() + thread
                        : nullptr;
    Handover handover(a.pipeline, unit);

    make_profile(profile, a, a.query_codes + query_start, first);
    __syncthreads();
    Strip s;
    s.best = Cell::of(LEVEL + BIAS);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      s.h[r] = Rules::left_h(first + r);
      s.e[r] = Rules::left_e(first + r);
    }
    Value corner = Rules::left_h(first - 1);
    const char* base = reinterpret_cast<const char*>(profile);
    const uint32_t* words = a.letters + a.block_letters[block] + thread;
    Value* carry = carries;
    // One word of letters and one column of carries are loaded ahead.
    uint32_t next_letters = words[0];
    Value next[Rules::CARRIES];
    for (int chunk = 0; chunk < columns; chunk += kChunk) {
      const int end = chunk + kChunk < columns ? chunk + kChunk : columns;
      handover.wait_for(end < columns ? end + 1 : columns);
      if (chunk == 0) load_carries(next, carry - back, first, 0);
      for (int j = chunk; j < end; j += kColumns) {
        if (PATHS && j % TILE == 0) {
#pragma unroll
          for (int r = 0; r < ROWS; r++) {
            edge[r * Rules::CARRIES * threads] = s.h[r];
            if (Rules::CARRIES == 2) edge[(r * Rules::CARRIES + 1) * threads] = s.e[r];
          }
          edge += edge_tile();
        }
        uint32_t letters = next_letters;
        words += threads;
        next_letters = *words;
#pragma unroll
        for (int column = 0; column < kColumns; column++) {
          const uint32_t letter_a = letters & 0xff, letter_b = letters >> 8 & 0xff;
          letters >>= 8 * Cell::PAIRS;
          constexpr int kScale = sizeof(Cell::ProfileWord) / 4;
          Value up[Rules::CARRIES];
          for (int c = 0; c < Rules::CARRIES; c++) up[c] = next[c];
          if (j + column + 1 < columns) load_carries(next, carry - back + column_stride, first, j + column + 1);
          Value f = Rules::f_above(up, a.one), diagonal = corner, odd;
          corner = up[0];
          AllRows<0>::run(s, base + letter_a * kScale, base + letter_b * kScale, diagonal, f, odd, a.one);
          store_shared_by_blocks(carry, s.h[ROWS - 1]);
          if (Rules::CARRIES == 2) store_shared_by_blocks(carry + threads, f);
          carry += column_stride;
        }
      }
      if (!last) handover.hand_down(end);
    }

    if (PATHS) continue;  // the way back writes scores
#pragma unroll
    for (int pair = 0; pair < Cell::PAIRS; pair++) {
      const int target = (block * Cell::PAIRS + pair) * threads + thread;
      if (target >= a.target_count) continue;
      const int64_t n = a.target_lengths[target];
      RESULT* const score = a.scores + static_cast<int64_t>(a.rows[row]) * a.target_count + target;
      if (IS_LOCAL)
        atomic_max(score, static_cast<RESULT>(Rules::score(Cell::get(s.best, pair), m, n)));
      else if (last)
        *score = static_cast<RESULT>(Rules::score(Cell::get(load_shared_by_blocks(carries + (n - 1) * column_stride), pair), m, n));
    }
    if (last) handover.finish();
  }
}
