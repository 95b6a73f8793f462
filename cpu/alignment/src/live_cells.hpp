// The cells that have to be computed by a pass for the ends of alignments with known scores, or by a pass for scores.
//
// What follows a cell (i,j) on a path adds at most rest(i,j): the sum of the best scores that letters have with any other, or 0 if that is
// negative, over the later rows or over the later columns, whichever is less. So paths with the score `goal`, the best one, pass only
// through cells with H + rest >= goal, which are called live. E and F do not exceed H of their cell, so H also tells whether a cell in
// which a gap continues is live.
//
// A strip of rows is computed from the first column to which a live cell of the row above leads, to the last such column and further until
// no cell of a column is live. Left of it, H = 0 without gaps enters, which is no more than the true values. H and F below a column that is
// not computed remain those of an earlier row. The cell they belong to is not live; nor is any cell of a path that continues from them in a
// later row, where the rest is no larger. So all cells that paths with the score `goal` pass through are computed, and have their true H, E
// and F, by induction along the path; and no other cell reaches it.
//
// An alignment that begins in a row of the strip could have begun in the row above with H = 0, so beginnings need no care of their own,
// except for seeds. Once a lane has an end, only ends in earlier columns are still of interest, or none in later strips if the first row
// comes first; a cell that reaches the goal elsewhere does not precede the end.
//
// In a pass for scores, the goal is the best score of the lane so far plus one, and the same holds for all paths that reach it. No path
// that continues from a cell that is not live reaches the goal, so no wrong score is taken for the best one.
#pragma once
#include "local_scores.hpp"
#include "saturating.hpp"

namespace gpualign::GPUALIGN_ISA {

constexpr int kLocalRows = 128;  // of a strip

template <class E>
class LiveCells {
 public:
  using V = Vec<E>;
  static constexpr int kLanes = lanes_of<E>();

  // goal: the scores to find. needed: scratch [columns]
  LiveCells(const LocalArgs& args, V goal, V* needed) : a_(args), zero_(broadcast<E>(zero_element<E>(args))), goal_(goal), needed_(needed) {
    for (int i = 0; i < a_.letters; i++)
      for (int j = 0; j < a_.letters; j++) {
        const int32_t score = a_.table[i * kLetters + j];
        if (score > best_of_row_[i]) best_of_row_[i] = score;
        if (score > best_of_column_[j]) best_of_column_[j] = score;
      }
    for (int64_t r = 0; r < a_.rows; r++) rest_ += best_of_row_[a_.query[r]];
    for (int k = 0; k < kLanes; k++) {
      limit_[k] = a_.lengths[k];
      if (a_.seeds && limit_[k] > 0 && a_.seeds[k] > last_seed_) last_seed_ = a_.seeds[k];
    }
    set_needed();
  }

  // Selects the columns of a strip, from first() on. h: H of the row above it [columns]. Returns false if the strip has none.
  bool select(int64_t row, int rows, const V* h) {
    int64_t first = 0, end = a_.columns;  // of the live cells in the row above
    const V needed = needed_with(rest_);
    const bool begins = has_seed(row, rows) || any_reaches(zero_, larger(needed, needed_at_corner_));
    while (first < end && !any_reaches(h[first], larger(needed, needed_[first]))) first++;
    while (first < end && !any_reaches(h[end - 1], larger(needed, needed_[end - 1]))) end--;
    first_ = begins ? 0 : first - first % kColumnsAtATime;
    needed_columns_ = first < end ? end + 1 : 1;
    for (int r = 0; r < rows; r++) needed_by_row_[r] = needed_with(rest_ -= best_of_row_[a_.query[row + r]]);
    return begins || first < end;
  }
  int64_t first() const { return first_; }

  // Returns whether no path of interest leaves the strip to the right of the column before `stop`. h: H of this column [rows].
  bool ends_at(int64_t stop, const V* h, int rows) const {
    if (stop < needed_columns_) return false;
    const V needed = needed_[stop - 1];
    V live{};
    for (int r = 0; r < rows; r++) live |= h[r] >= larger(needed, needed_by_row_[r]);
    return !any((Bytes)live);
  }

  // Returns whether a path begins in a row that follows.
  bool has_seed_from(int64_t row) const { return last_seed_ >= row; }

  // Takes note of the ends found so far.
  void limit_columns() {
    bool changed = false;
    for (int k = 0; k < kLanes; k++) {
      if (a_.end_rows[k] < 0) continue;
      const int64_t limit = a_.rows_first ? 0 : a_.end_columns[k];
      changed |= limit != limit_[k];
      limit_[k] = limit;
    }
    if (changed) set_needed();
  }

  // Sets the goals to scores above the best ones so far, and excludes lanes whose best score is beyond the range.
  void require_more_than(V best) {
    const V goal = add(best, broadcast<E>(1));
    if (!any((Bytes)(goal != goal_))) return;
    goal_ = goal;
    for (int k = 0; k < kLanes; k++)
      if (best[k] == Range<E>::kMax) limit_[k] = 0;
    set_needed();
  }

 private:
  static bool any_reaches(V h, V needed) { return any((Bytes)(h >= needed)); }

  bool has_seed(int64_t row, int rows) const {
    if (!has_seed_from(row)) return false;
    for (int k = 0; k < kLanes; k++)
      if (limit_[k] > 0 && a_.seeds[k] >= row && a_.seeds[k] < row + rows) return true;
    return false;
  }

  // Returns the H with which a cell is live if the rows after it add no more than `rest`.
  V needed_with(int64_t rest) const {
    constexpr int64_t kRange = static_cast<int64_t>(Range<E>::kMax) - Range<E>::kZero;
    if (rest >= kRange) return zero_;  // no goal is beyond the range
    // In saturating elements the range, but not its half, is more than the largest element.
    return subtract(subtract(goal_, broadcast<E>(static_cast<E>(rest / 2))), broadcast<E>(static_cast<E>(rest - rest / 2)));
  }

  // Sets the H with which the cells of each column are live if rows are no limit. Cells of lanes that are not used, or from their limit on,
  // never are.
  void set_needed() {
    int order[kLanes], next = 0;  // lanes, those with the last limits first
    for (int k = 0; k < kLanes; k++) {
      int at = k;
      for (; at > 0 && limit_[order[at - 1]] < limit_[k]; at--) order[at] = order[at - 1];
      order[at] = k;
    }
    uint8_t bytes[kLetters];
    for (int i = 0; i < kLetters; i++) bytes[i] = static_cast<uint8_t>(best_of_column_[i]);
    V needed = broadcast<E>(Range<E>::kMax), before_limit{};
    for (int64_t j = a_.columns - kColumnsAtATime; j >= 0; j -= kColumnsAtATime) {
      V best[kColumnsAtATime];
      LocalScores<E>::look_up(a_, best_of_column_, bytes, a_.codes + j * kLanes, best);
      for (int c = kColumnsAtATime - 1; c >= 0; c--) {
        for (; next < kLanes && limit_[order[next]] == j + c + 1; next++) {
          needed[order[next]] = goal_[order[next]];
          before_limit[order[next]] = -1;
        }
        needed_[j + c] = needed;
        needed = larger(subtract(needed, best[c] & before_limit), zero_);  // no H is less
      }
    }
    needed_at_corner_ = needed;
  }

  const LocalArgs& a_;
  const V zero_;  // score 0
  V goal_;
  V* const needed_;  // [columns]
  V needed_at_corner_, needed_by_row_[kLocalRows];
  int32_t best_of_row_[kLetters] = {}, best_of_column_[kLetters] = {};  // the best scores of a letter, at least 0
  int64_t rest_ = 0;                                                    // that the rows not yet selected add at most
  int64_t limit_[kLanes];                                               // columns in which ends are looked for
  int64_t last_seed_ = -1;
  int64_t first_ = 0, needed_columns_ = 0;  // of the strip; columns that are computed in any case are those before needed_columns_
};

}  // namespace gpualign::GPUALIGN_ISA
