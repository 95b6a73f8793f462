// The recurrences of Needleman-Wunsch and Smith-Waterman with affine gaps (Gotoh 1982), as policies of the kernels in threads.cu and
// chain.cu.
//
// Rows i are letters of the query, columns j of the target. H(i,j) is the best score of an alignment that ends at (i,j), E that of one that
// ends in a gap along the row (letters of the target), F in a gap down the column. s is the score of a pair of letters; a gap of n letters
// costs OPEN + (n - 1) EXTEND.
//
// Global. Scores are rebased by EXTEND per letter, H'(i,j) = H(i,j) + EXTEND (i + j) + LEVEL. Then only the opening of a gap costs,
// o = OPEN - EXTEND, and a pair of letters scores s' = s + 2 EXTEND:
//   H'(i,j) = max(H'(i-1,j-1) + s', E(i,j), F(i,j));  E(i,j+1) = max(E(i,j), H'(i,j) - o);  F(i+1,j) = max(F(i,j), H'(i,j) - o)
// With linear gaps o = 0, so E(i,j) = H'(i,j-1) and F(i,j) = H'(i-1,j) take no operation.
//   H'(0,0) = LEVEL;  H'(i,0) = H'(0,i) = LEVEL - o
//   FREE_TARGET (gaps in the target at its ends are free): H'(i,0) = LEVEL + i EXTEND; FREE_QUERY: the same for H'(0,j).
// Local. H >= 0 fixes the zero, so nothing is rebased; the zero is Z = LEVEL. E and F are kept LIFT above their values, and s' = s + LIFT.
// A gap that opens has the value G = H - OPEN + LIFT. LIFT is OPEN, so that G = H, unless bytes hold s' only with a smaller LIFT; then G
// takes more additions.
//   X = max(H(i-1,j-1) + s', E, F);  H = X - LIFT;  E(i,j+1) = max(E - EXTEND, G, Z + LIFT);  F(i+1,j) = max(F - EXTEND, G)
//   linear: H = max(X - LIFT, Z);  E(i,j+1) = F(i+1,j) = G, which is computed where it is used: only H is kept
//   best = max(best, H)
// The bound Z + LIFT on E keeps H from falling below the zero: no maximum of its own is needed, and the subtractions use the FMA pipe,
// which is otherwise idle.
//
// Dummy rows. Strips have a fixed number of rows, and row m must be the last row of a strip, so that its H can be read without selecting a
// row. Surplus rows stand above row 1, as rows i <= 0. In a global alignment they are copies of row 0: they score 0 next to H'(i,0) =
// H'(0,1), and with FREE_QUERY, where row 0 rises, EXTEND next to H'(i,0) = LEVEL. In a local alignment they score 0 before LIFT is
// subtracted.
//
// Macros (set for each scoring by gpu/alignment/families/rebased_scores.py, which proves that no value leaves its Cell type): OPEN, EXTEND,
// LIFT, LEVEL (scores, 0 or more), FREE_QUERY, FREE_TARGET (0 or 1).
#pragma once

#include "score.cuh"

template <class CellType, bool LOCAL, bool AFFINE>
struct Recurrence {
  using Cell = CellType;
  using Value = typename Cell::Value;
  // Values of a carry, what a row passes to the row below it in a column: H, and with affine gaps F.
  static constexpr int CARRIES = AFFINE ? 2 : 1;
  static constexpr int64_t kOpen = OPEN, kExtend = EXTEND, kLevel = LEVEL, kLift = LIFT;
  static constexpr int64_t kRest = LOCAL ? kOpen - kLift : 0;  // cost of opening a gap that LIFT does not cover
  static constexpr bool kFreeQuery = FREE_QUERY, kFreeTarget = FREE_TARGET;

  // H(i,0) or H(0,i). free: whether gaps at this end are free.
  static DEVICE int64_t edge(int64_t i, bool free) {
    if (LOCAL || i == 0) return kLevel;
    return free ? kLevel + i * kExtend : kLevel - (kOpen - kExtend);
  }

  // H(i,0), also of dummy rows.
  static DEVICE Value left_h(int64_t i) { return Cell::of(i < 0 ? edge(kFreeQuery ? 0 : 1, false) : edge(i, kFreeTarget)); }
  // E(i,1): a gap that opens at column 0.
  static DEVICE Value left_e(int64_t i) { return LOCAL ? Cell::of(kLevel + kLift) : Cell::add(left_h(i), opening(), 1); }
  // Sets `carry` to H(0,j) and F(1,j), which are above the first strip in column j >= 1.
  static DEVICE void top(int64_t j, Value* carry) {
    carry[0] = Cell::of(edge(j, kFreeQuery));
    if (AFFINE) carry[CARRIES - 1] = LOCAL ? carry[0] : Cell::add(carry[0], opening(), 1);
  }
  // F of the row below a carry.
  static DEVICE Value f_above(const Value* carry) { return carry[CARRIES - 1]; }
  static DEVICE Value opening() { return Cell::negative(kOpen - kExtend); }

  // Computes a cell. t: H(i-1,j-1) + s'. h: in H(i,j-1), out H(i,j). e: in E(i,j), out E(i,j+1). f: in F(i,j), out F(i+1,j). diagonal: out
  // H(i,j-1), which is H(i'-1,j-1) for the next row i' = i + 1. one: 1, but unknown to the compiler.
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

  // Computes a cell of a global alignment, and appends its directions to `word`: two bits with linear gaps, four with affine ones, the last
  // row's lowest. From the highest bit: H is not the diagonal value; H is not F; the gap E that enters the right neighbour is longer than
  // one letter; the gap F that enters the lower neighbour is. Other arguments as of cell().
  static DEVICE void directed_cell(Value t, Value& diagonal, Value& h, Value& e, Value& f, uint32_t& word) {
    const Value new_h = Cell::max3(t, AFFINE ? e : h, f);
    word = append_sign(word, t - new_h);
    word = append_sign(word, f - new_h);
    diagonal = h;
    h = new_h;
    if (AFFINE) {
      const Value opened = new_h + opening();
      e = Cell::max(e, opened);
      f = Cell::max(f, opened);
      word = append_sign(word, opened - e);
      word = append_sign(word, opened - f);
    } else {
      f = new_h;
    }
  }

  // Returns the score that H'(m,n), or `best` of a local alignment, stands for.
  static DEVICE int64_t score(int64_t value, int64_t m, int64_t n) { return value - kLevel - (LOCAL ? 0 : kExtend * (m + n)); }
  // Writes the score; of a local alignment, the maximum of what all lanes write. Result: 32 or 64 bits there, as atomic maxima are.
  template <class Result>
  static DEVICE void write(Result* place, int64_t value, int64_t m, int64_t n) {
    const Result found = static_cast<Result>(score(value, m, n));
    if constexpr (LOCAL)
      atomic_max(place, found);
    else
      *place = found;
  }
};
