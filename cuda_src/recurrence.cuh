// The recurrences of Needleman-Wunsch and Smith-Waterman (Gotoh's), as policies of the kernels in threads.cu and chain.cu.
//
// Global. Scores are rebased by STEP a letter, H'(i,j) = H(i,j) + STEP (i + j) + LEVEL, with STEP >= EXTEND so that the
// rebased substitution scores s' = s + 2 STEP are never negative:
//   t = H'(i-1,j-1) + s';  H' = max(t, E, F)
//   m = H' - (OPEN - STEP);  E(i,j+1) = max(E(i,j) + STEP - EXTEND, m);  F(i+1,j) = max(F(i,j) + STEP - EXTEND, m)
// With linear gaps STEP = OPEN = EXTEND, so E(i,j) = H'(i,j-1) and F(i,j) = H'(i-1,j) cost nothing.
//   H'(0,0) = LEVEL;  H'(i,0) = H'(0,i) = LEVEL - OPEN + EXTEND + i (STEP - EXTEND)
//   Where gaps in the target at its ends are free (FREE_TARGET), H'(i,0) = LEVEL + i STEP; FREE_QUERY: likewise H'(0,j).
// Local. H >= 0 fixes the zero, so nothing is rebased; Z = LEVEL is the zero, and a row is computed in one of two ways. With fewest
// instructions, all of them maxima (s may be negative):
//   H = max(max(H(i-1,j-1) + s, E), F, Z);  m = H - OPEN;  E(i,j+1) = max(E - EXTEND, m);  F(i+1,j) = max(F - EXTEND, m)
// or by sums, for which the FMA pipe is free, where two alignments in a word let no half go below 0 (s' = s + BIAS >= 0):
//   H = max((H(i-1,j-1) - BIAS) + s', E, F);  E(i,j+1) = max(E - EXTEND, m, Z);  m and F as above
// where the row above keeps H - BIAS. Rows of both kinds in turn keep both pipes busy. F may be below Z, and so may E of the first kind.
//   linear: E(i,j+1) = F(i+1,j) = max(H - OPEN, Z)
//   best = max(best, H)
//
// Dummy rows. Rows come in strips of a fixed number, and row m must be the last of a strip, so that its H can be read off
// without selecting a row. The rows that are too many stand before row 1, as rows i <= 0. Globally they are row 0 with
// k = STEP - EXTEND taken off a row, H'(i,j) = H'(0,j) + i k, so that their F, which gains k a row, arrives at row 1 as if
// opened at row 0: they score 2 k, and their left boundary is H'(i,0) = H'(0,1) + (i - 1) k. With FREE_QUERY row 0 rises by STEP
// a column: they score STEP + k, beside H'(i,0) = LEVEL + i k. Locally they score -BIAS, the worst.
//
// The constants are macros, set for each scoring by gpu/families/rebased.py, which proves that no value leaves its Cell type.
#pragma once

#include "score.cuh"

template <class CellType, bool LOCAL, bool AFFINE>
struct Recurrence {
  using Cell = CellType;
  using Value = typename Cell::Value;
  // What a row hands to the row below it, a column: H, and with affine gaps F.
  static constexpr int CARRIES = AFFINE ? 2 : 1;
  static constexpr int64_t kStep = STEP, kOpen = OPEN, kExtend = EXTEND, kLevel = LEVEL, kBias = BIAS;

  static constexpr bool kFreeQuery = FREE_QUERY, kFreeTarget = FREE_TARGET;

  // H of row or column 0.
  static DEVICE int64_t edge(int64_t i, bool free) {
    if (LOCAL || i == 0) return kLevel;
    return free ? kLevel + i * kStep : kLevel - kOpen + kExtend + i * (kStep - kExtend);
  }

  // H left of row i, column 0.
  static DEVICE Value left_h(int64_t i) {
    if (i < 0 && !LOCAL) return Cell::of((kFreeQuery ? kLevel : edge(1, false) - (kStep - kExtend)) + i * (kStep - kExtend));
    return Cell::of(edge(i < 0 ? 0 : i, kFreeTarget));
  }
  // E of column 1: a gap opened at column 0.
  static DEVICE Value left_e(int64_t i) { return LOCAL ? Cell::of(kLevel) : Cell::add(left_h(i), opening(), 1); }
  // H and F that row i <= 1 of the first strip finds above it at column j >= 1.
  static DEVICE void top(int64_t i, int64_t j, Value* carry) {
    carry[0] = Cell::of(edge(j, kFreeQuery) + (LOCAL ? 0 : (i - 1) * (kStep - kExtend)));
    if (AFFINE) carry[CARRIES - 1] = LOCAL ? Cell::of(kLevel - kOpen) : Cell::add(carry[0], opening(), 1);
  }
  // F from the carry above.
  static DEVICE Value f_above(const Value* carry) {
    if (AFFINE) return carry[CARRIES - 1];
    if (!LOCAL) return carry[0];
    return Cell::add_max(carry[0], Cell::step(-kOpen), Cell::of(kLevel));
  }
  static DEVICE Value opening() { return Cell::negative(kOpen - kStep); }

  // Whether a strip's row is computed by sums: every second one; not the first, so that strips hand down H itself.
  static constexpr DEVICE bool by_sums(int row) { return LOCAL && Cell::PAIRS == 2 && row % 2 == 1; }
  // H of the row above, as a strip's row takes it.
  static DEVICE Value taken_by(int row, Value h, uint32_t one) { return by_sums(row) ? Cell::add(h, Cell::negative(kBias), one) : h; }

  // One cell of a strip's row `row`. diagonal: H(i-1,j-1) in, H(i,j-1) out, h: H(i,j-1) in, H(i,j) out, each as the row below takes it;
  // e: this row's; f: from above in, for below out. Returns H(i,j).
  static DEVICE Value cell(int row, Value score, Value& diagonal, Value& h, Value& e, Value& f, uint32_t one) {
    if (!LOCAL) {
      const Value now = Cell::max3(Cell::add(diagonal, score, one), AFFINE ? e : h, f);
      diagonal = h;
      h = now;
      if (AFFINE) {
        const Value m = Cell::add(now, opening(), one);
        e = Cell::add_max(e, Cell::step(kStep - kExtend), m);
        f = Cell::add_max(f, Cell::step(kStep - kExtend), m);
      } else {
        f = now;
      }
      return now;
    }
    const Value zero = Cell::of(kLevel);
    const bool sums = by_sums(row);
    const Value now = sums ? Cell::max3(Cell::add(diagonal, score, one), e, f) : Cell::max3(Cell::add_max(diagonal, score, e), f, zero);
    diagonal = h;
    h = taken_by(row + 1, now, one);
    if (AFFINE) {
      const Value m = Cell::add(now, Cell::negative(kOpen), one);
      e = sums ? Cell::max3(Cell::add(e, Cell::negative(kExtend), one), m, zero) : Cell::add_max(e, Cell::step(-kExtend), m);
      f = Cell::add_max(f, Cell::step(-kExtend), m);
    } else {
      e = f = Cell::add_max(now, Cell::step(-kOpen), zero);
    }
    return now;
  }

  // One cell of a global alignment, on its own, that also appends its directions to `word`: two bits with linear gaps, four with
  // affine ones, the last row's lowest. From the highest: H is not from the diagonal; H is not F; the gap that enters the right
  // neighbour is longer than one; likewise the lower neighbour.
  static DEVICE void directed_cell(Value score, Value& diagonal, Value& h, Value& e, Value& f, uint32_t& word) {
    const Value t = diagonal + score;
    const Value now = Cell::max3(t, AFFINE ? e : h, f);
    word = append_sign(word, t - now);
    word = append_sign(word, f - now);
    diagonal = h;
    h = now;
    if (AFFINE) {
      const Value m = now + opening();
      e = Cell::add_max(e, Cell::step(kStep - kExtend), m);
      f = Cell::add_max(f, Cell::step(kStep - kExtend), m);
      word = append_sign(word, m - e);
      word = append_sign(word, m - f);
    } else {
      f = now;
    }
  }

  // The score that a corner value, or locally (where STEP is 0) the best value, stands for.
  static DEVICE int64_t score(int64_t value, int64_t m, int64_t n) { return value - kLevel - kStep * (m + n); }
};
