// The recurrences of Needleman-Wunsch and Smith-Waterman (Gotoh's), as policies of the kernels in threads.cu and chain.cu.
//
// Global. Scores are rebased by EXTEND a letter, H'(i,j) = H(i,j) + EXTEND (i + j) + LEVEL, so that a gap costs nothing but its opening
// o = OPEN - EXTEND, and a substitution scores s' = s + 2 EXTEND:
//   H' = max(H'(i-1,j-1) + s', E, F);  E(i,j+1) = max(E(i,j), H' - o);  F(i+1,j) = max(F(i,j), H' - o)
// With linear gaps o = 0, so E(i,j) = H'(i,j-1) and F(i,j) = H'(i-1,j) cost nothing.
//   H'(0,0) = LEVEL;  H'(i,0) = H'(0,i) = LEVEL - o
//   Where gaps in the target at its ends are free (FREE_TARGET), H'(i,0) = LEVEL + i EXTEND; FREE_QUERY: likewise H'(0,j).
// Local. H >= 0 fixes the zero, so nothing is rebased; Z = LEVEL is the zero. E and F are kept LIFT higher than they are, and
// s' = s + LIFT. LIFT is OPEN where bytes hold that, so that gaps begin as G = H. Else G = H - (OPEN - LIFT), which takes more additions.
//   X = max(H(i-1,j-1) + s', E, F);  H = X - LIFT;  E(i,j+1) = max(E - EXTEND, G, Z + LIFT);  F(i+1,j) = max(F - EXTEND, G)
//   linear: H = max(X - LIFT, Z);  E(i,j+1) = F(i+1,j) = G, which is formed where it is used: H alone is kept
//   best = max(best, H)
// E is what keeps H from being too low: that costs no maximum of its own, and the sums are the FMA pipe's, which is free.
//
// Dummy rows. Rows come in strips of a fixed number, and row m must be the last of a strip, so that its H can be read off
// without selecting a row. The rows that are too many stand before row 1, as rows i <= 0. Globally they are row 0 once more: they score
// 0, beside H'(i,0) = H'(0,1), and with FREE_QUERY, where row 0 rises, EXTEND beside H'(i,0) = LEVEL. Locally they score 0 as well, of
// which LIFT is taken off.
//
// The constants are macros, set for each scoring by gpu/alignment/families/rebased_scores.py, which proves that no value leaves its Cell
// type.
#pragma once

#include "score.cuh"

template <class CellType, bool LOCAL, bool AFFINE>
struct Recurrence {
  using Cell = CellType;
  using Value = typename Cell::Value;
  // What a row hands to the row below it, a column: H, and with affine gaps F.
  static constexpr int CARRIES = AFFINE ? 2 : 1;
  static constexpr int64_t kOpen = OPEN, kExtend = EXTEND, kLevel = LEVEL, kLift = LIFT;
  static constexpr int64_t kRest = LOCAL ? kOpen - kLift : 0;  // what opening a gap costs beyond the lift
  static constexpr bool kFreeQuery = FREE_QUERY, kFreeTarget = FREE_TARGET;

  // H of row or column 0.
  static DEVICE int64_t edge(int64_t i, bool free) {
    if (LOCAL || i == 0) return kLevel;
    return free ? kLevel + i * kExtend : kLevel - (kOpen - kExtend);
  }

  // H left of row i, column 0.
  static DEVICE Value left_h(int64_t i) { return Cell::of(i < 0 ? edge(kFreeQuery ? 0 : 1, false) : edge(i, kFreeTarget)); }
  // E of column 1: a gap opened at column 0.
  static DEVICE Value left_e(int64_t i) { return LOCAL ? Cell::of(kLevel + kLift) : Cell::add(left_h(i), opening(), 1); }
  // H and F that the first strip finds above it at column j >= 1.
  static DEVICE void top(int64_t j, Value* carry) {
    carry[0] = Cell::of(edge(j, kFreeQuery));
    if (AFFINE) carry[CARRIES - 1] = LOCAL ? carry[0] : Cell::add(carry[0], opening(), 1);
  }
  // F from the carry above.
  static DEVICE Value f_above(const Value* carry) { return carry[CARRIES - 1]; }
  static DEVICE Value opening() { return Cell::negative(kOpen - kExtend); }

  // One cell. t: H(i-1,j-1) and the score; diagonal: H(i,j-1) out, h: H(i,j-1) in, H(i,j) out; e: this row's; f: from above in, for
  // below out.
  static DEVICE void cell(Value t, Value& diagonal, Value& h, Value& e, Value& f, uint32_t one) {
    Value x;
    if (AFFINE || kRest == 0)
      x = Cell::max3(t, AFFINE ? e : h, f);
    else
      x = Cell::add_max(h, Cell::step(-kRest), Cell::add_max(f, Cell::step(-kRest), t));
    diagonal = h;
    if (!AFFINE) {
      h = LOCAL ? Cell::add_max(x, Cell::step(-kLift), Cell::of(kLevel)) : x;
      f = h;
    } else if (LOCAL) {
      h = Cell::add(x, Cell::negative(kLift), one);
      const Value opened = kRest == 0 ? h : Cell::add(h, Cell::negative(kRest), one);
      e = Cell::max3(Cell::add(e, Cell::negative(kExtend), one), opened, Cell::of(kLevel + kLift));
      f = Cell::add_max(f, Cell::step(-kExtend), opened);
    } else {
      h = x;
      e = Cell::add_max(h, Cell::step(kExtend - kOpen), e);
      f = Cell::add_max(h, Cell::step(kExtend - kOpen), f);
    }
  }

  // One cell of a global alignment, on its own, that also appends its directions to `word`: two bits with linear gaps, four with
  // affine ones, the last row's lowest. From the highest: H is not from the diagonal; H is not F; the gap that enters the right
  // neighbour is longer than one; likewise the lower neighbour.
  static DEVICE void directed_cell(Value t, Value& diagonal, Value& h, Value& e, Value& f, uint32_t& word) {
    const Value now = Cell::max3(t, AFFINE ? e : h, f);
    word = append_sign(word, t - now);
    word = append_sign(word, f - now);
    diagonal = h;
    h = now;
    if (AFFINE) {
      const Value m = now + opening();
      e = Cell::max(e, m);
      f = Cell::max(f, m);
      word = append_sign(word, m - e);
      word = append_sign(word, m - f);
    } else {
      f = now;
    }
  }

  // The score that a corner value, or locally the best value, stands for.
  static DEVICE int64_t score(int64_t value, int64_t m, int64_t n) { return value - kLevel - (LOCAL ? 0 : kExtend * (m + n)); }
  // Writes it. Of local ones the most of all lanes' is wanted, for which there are instructions in 32 and 64 bits alone.
  template <class Result>
  static DEVICE void write(Result* place, int64_t value, int64_t m, int64_t n) {
    const Result found = static_cast<Result>(score(value, m, n));
    if constexpr (LOCAL)
      atomic_max(place, found);
    else
      *place = found;
  }
};
