// Local alignment (Smith-Waterman) of one query against many targets, one per vector lane: scores, or the cells in which they are reached.
//
// Recurrence (Gotoh 1982), where a gap of n letters costs g + (n-1) e:
//   H(i,j) = max(0, H(i-1,j-1) + s, E(i,j), F(i,j))
//   E(i,j+1) = max(E(i,j) - e, H(i,j) - g)      F(i+1,j) = max(F(i,j) - e, H(i,j) - g)
// With linear gaps E(i,j+1) = F(i+1,j) = H(i,j) - g. The best H is the score.
//
// Bounds. With 8 and 16 bits, score 0 lies open + extend above the lowest value (local_scores.hpp), and sums saturate at the upper end
// (saturating.hpp). A score there may really be larger, so the caller computes that pair again with a wider element. Below that end no
// sum was cut off, and the score is exact (Rognes 2011 uses the same range but for the gap costs). 32 and 64 bits are for scores that the
// caller has proven to fit. E and F are at least -g.
//
// After the end of a target comes a padding letter with negative scores, so H cannot rise there.
//
// To find the end of an alignment whose score is known, a pass looks for cells with H = goal, which are few, and reports the first one. The
// start is found in the same way from the end: with both sequences reversed, and H = seed_score > 0 instead of 0 at the corner above and
// left of the pair of letters in which the alignment ends (its `seed`). Only paths from there reach score + seed_score, as no other path
// exceeds the score. Such a pass computes only the cells that live_cells.hpp selects.
//
// Lanes may have score tables of their own: then the caller has looked up the scores of all columns (`profile`), once for all strips.
//
// Layout: target codes [column][lane]. A strip of kLocalRows query rows keeps H and E in L1; H and F of its last row are stored for every
// column. As in difference.hpp, kColumnsAtATime columns advance together.
#pragma once
#include "kernels.hpp"
#include "letter_slots.hpp"
#include "live_cells.hpp"

namespace gpualign::GPUALIGN_ISA {

// kFind: finds the cells in which given scores are reached, instead of the best scores.
template <class E, bool kAffine, bool kFind>
struct LocalKernel {
  using V = Vec<E>;
  static constexpr int kLanes = lanes_of<E>();
  static constexpr int kColumns = kColumnsAtATime;
  static constexpr bool kSelects = kFind || sizeof(E) > 1;  // the cells to compute; scores in bytes are too low to leave out others

  static void run(const LocalArgs& a) {
    alignas(64) uint8_t bytes[kLetters * kLetters];
    for (int i = 0; i < kLetters * kLetters; i++) bytes[i] = static_cast<uint8_t>(a.table[i]);
    const E zero_score = zero_element<E>(a);
    const V zero = broadcast<E>(zero_score);
    V* boundary_h = static_cast<V*>(a.boundary);
    V* boundary_f = boundary_h + a.columns;
    for (int64_t j = 0; j < a.columns; j++) {
      boundary_h[j] = zero;
      boundary_f[j] = zero;  // a gap that comes from outside is worth no more
    }
    const auto strips = [&](const auto& compute) {
      for (int64_t row = 0; row < a.rows && !a.cancel->requested; row += kLocalRows)
        if (!compute(row, a.rows - row < kLocalRows ? static_cast<int>(a.rows - row) : kLocalRows)) return;
    };
    V best = zero, goal = zero, used{};
    for (int k = 0; k < kLanes; k++) used[k] = a.lengths[k] > 0 ? -1 : 0;
    if constexpr (!kSelects) {
      strips([&](int64_t row, int rows) {
        strip(a, bytes, row, rows, boundary_h, boundary_f, best, goal, nullptr);
        return any((Bytes)((best != broadcast<E>(Range<E>::kMax)) & used));
      });
    } else {
      for (int k = 0; k < kLanes; k++) {
        // No H reaches kMax: that would be a score too large for the element.
        goal[k] = !used[k] ? Range<E>::kMax : static_cast<E>(zero_score + (kFind ? a.goals[k] : 1));
        if (kFind) a.end_rows[k] = a.end_columns[k] = -1;
      }
      LiveCells<E> live(a, goal, boundary_f + a.columns);
      strips([&](int64_t row, int rows) {
        if (!live.select(row, rows, boundary_h)) return live.has_seed_from(row + rows);
        strip(a, bytes, row, rows, boundary_h, boundary_f, best, goal, &live);
        kFind ? live.limit_columns() : live.require_more_than(best);
        return true;
      });
    }
    if (!kFind)
      for (int k = 0; k < kLanes; k++)
        a.best[k] = static_cast<int64_t>(best[k]) - (Range<E>::kSaturates && best[k] == Range<E>::kMax ? Range<E>::kZero : zero_score);
  }

 private:
  // Computes one strip of rows over all columns, or those that `live` selects, unless it is null.
  static void strip(const LocalArgs& a, const uint8_t* bytes, int64_t row, int rows, V* boundary_h, V* boundary_f, V& best_io, V goal,
                    const LiveCells<E>* live) {
    const uint8_t* query = a.query + row;
    const E zero_score = zero_element<E>(a);
    const V zero = broadcast<E>(zero_score), open = broadcast<E>(static_cast<E>(a.open)), extend = broadcast<E>(static_cast<E>(a.extend));
    V h[kLocalRows], e[kLocalRows];
    uint32_t slot[kLocalRows];  // [row] byte offset of its letter in `scores_here`
    LetterSlots slots;
    slots.clear();
    const V* const profile = static_cast<const V*>(a.profile);
    for (int r = 0; r < rows; r++) {
      slot[r] = static_cast<uint32_t>((profile ? query[r] : slots.of(query[r])) * kColumns * sizeof(V));
      h[r] = zero;
      e[r] = zero;
    }
    const int64_t first = kSelects ? live->first() : 0;
    V corner = first ? boundary_h[first - 1] : zero;  // H above and left of the first row
    if (kFind && a.seeds) {
      for (int k = 0; k < kLanes; k++) {
        const int64_t above = a.seeds[k] - 1 - row;
        if (above == -1) corner[k] = static_cast<E>(zero_score + a.seed_score);
        if (above >= 0 && above < rows) h[above][k] = static_cast<E>(zero_score + a.seed_score);
      }
    }
    V best = best_io;
    const int count = slots.count;
    V scores[kLetters][kColumns];
    for (int64_t j = first; j < a.columns; j += kColumns) {
      for (int l = 0; l < count; l++) {
        const int letter = slots.letters[l] * kLetters;
        LocalScores<E>::look_up(a, a.table + letter, bytes + letter, a.codes + j * kLanes, scores[l]);
      }
      const V* const scores_here = profile ? profile + j * a.letters : scores[0];
      V above[kColumns], f[kColumns];  // H and F of the row above
      for (int c = 0; c < kColumns; c++) {
        above[c] = boundary_h[j + c];
        f[c] = boundary_f[j + c];
      }
      V diagonal = corner;
      corner = above[kColumns - 1];
      for (int r = 0; r < rows; r++) {
        const V* s = reinterpret_cast<const V*>(reinterpret_cast<const char*>(scores_here) + slot[r]);
        V er = e[r], previous = diagonal;
        diagonal = h[r];
        V reached{};
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; c++) {
          const V t = larger(add(previous, s[c]), zero);
          previous = above[c];
          const V now = larger(larger(t, er), f[c]);
          const V opened = now - open;
          if constexpr (kAffine) {
            er = larger(er - extend, opened);
            f[c] = larger(f[c] - extend, opened);
          } else {
            er = f[c] = opened;
          }
          above[c] = now;
          if constexpr (kFind)
            reached |= now == goal;
          else
            best = larger(best, now);
        }
        h[r] = above[kColumns - 1];
        e[r] = er;
        if constexpr (kFind)
          if (any((Bytes)reached)) update_ends(a, row + r, j, above, goal);
      }
      for (int c = 0; c < kColumns; c++) {
        boundary_h[j + c] = above[c];
        boundary_f[j + c] = f[c];
      }
      if (kSelects && live->ends_at(j + kColumns, h, rows)) break;
    }
    best_io = best;
  }

  // Takes the cells of one row with H = goal as the ends of their lanes, if they precede the present ones in the order of `rows_first`.
  static __attribute__((noinline)) void update_ends(const LocalArgs& a, int64_t row, int64_t column, const V* h, V goal) {
    for (int k = 0; k < kLanes; k++) {
      for (int c = 0; c < kColumns; c++) {
        if (h[c][k] != goal[k] || column + c >= a.lengths[k]) continue;
        const int64_t cell_column = column + c, end_row = a.end_rows[k], end_column = a.end_columns[k];
        const bool first = a.rows_first ? row < end_row || (row == end_row && cell_column < end_column)
                                        : cell_column < end_column || (cell_column == end_column && row < end_row);
        if (end_row < 0 || first) {
          a.end_rows[k] = row;
          a.end_columns[k] = cell_column;
        }
        break;
      }
    }
  }
};

template <class E, bool kFind>
static void local(const LocalArgs& a) {
  if (a.open == a.extend)
    LocalKernel<E, false, kFind>::run(a);
  else
    LocalKernel<E, true, kFind>::run(a);
}

}  // namespace gpualign::GPUALIGN_ISA
