// Global and local scores by chains of warps (chain.cuh), one pair a chain, in 32 or 64 bits.
//
// Macros: CELL (S32, S64), IS_LOCAL, IS_AFFINE, ROWS (of a lane), LETTERS, PATHS, TILE, RESULT and the constants of recurrence.cuh.
#include "chain.cuh"
#include "recurrence.cuh"

struct ScorePolicy {
  using Rules = Recurrence<CELL, IS_LOCAL, IS_AFFINE>;
  using Cell = Rules::Cell;
  using Value = Rules::Value;
  static constexpr int CARRIES = Rules::CARRIES;
  static constexpr int kRows = ROWS;

  const int32_t* table;  // in shared memory
  Value h[ROWS], e[ROWS];
  Value corner;  // H above and left of the next column's first row
  Value best;
  int row_scores[ROWS];  // where in the table a row's scores begin

  DEVICE void begin(const ChainArgs&, int64_t first, const uint8_t* query) {
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
  static DEVICE void top(int64_t i, int64_t j, Value* carry) { Rules::top(i, j, carry); }
  DEVICE void step(int letter, const Value* in, Value* out) {
    Value f = Rules::f_above(in), diagonal = corner;
    corner = in[0];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const Value now = Rules::cell(r, table[row_scores[r] + letter], diagonal, h[r], e[r], f, 1);
      if (IS_LOCAL) best = Cell::max(best, now);
    }
    out[0] = h[ROWS - 1];
    out[CARRIES - 1] = CARRIES == 2 ? f : h[ROWS - 1];
  }
  DEVICE void keep(Value* edge) const {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      edge[r * CARRIES] = h[r];
      if (CARRIES == 2) edge[r * CARRIES + CARRIES - 1] = e[r];
    }
  }
  DEVICE void finish(RESULT* score, bool last, int64_t m, int64_t n) {
    if (IS_LOCAL)
      atomic_max(score, static_cast<RESULT>(Rules::score(best, m, n)));
    else if (last && threadIdx.x == kLanes - 1)
      *score = static_cast<RESULT>(Rules::score(h[ROWS - 1], m, n));
  }
};

KERNEL(32, 1) align_chain(const ChainArgs a) {
  __shared__ int32_t table[LETTERS * LETTERS];
  for (int k = threadIdx.x; k < LETTERS * LETTERS; k += kLanes) table[k] = a.table[k];
  __syncwarp();
  ScorePolicy policy;
  policy.table = table;
  align_chains(a, policy);
}
