// Local alignment (Smith-Waterman) of one pair, with the rows of the query in the lanes: the score, or the cell in which it is reached.
//
// Recurrence and elements are those of local.hpp, where a target has one lane; here every lane has its own rows of the query. The first
// cell with a known score, and paths with a seed, are found in the same way, too.
//
// Bounds. As in local.hpp; a score that reaches the upper end is reported as the largest value of the element.
//
// Layout (striped_rows.hpp). A strip has segments x lanes rows. The letter of a column only selects a profile: the scores of the strip's
// rows with that letter. F that leaves the last row of a lane enters the first row of the next lane; if it is still worth something after
// that lane, it enters the lane below, and so on. After the column is computed, the F that enters each lane is computed from the ends of
// all previous lanes, and carried through the rows of the lane while it exceeds what they open themselves. H and F of a strip's last row
// are stored for every column, and the next strip begins with them, so that the state of a strip stays in the cache however long the query
// is.
//
// Excluded cells. The profile gives their row the lowest value of the element while their column is computed. With a score of at most half
// of the range in the diagonal predecessor, the sum is at most 0, so that no path passes through the pair of letters.
//
// After the last row come padding rows with negative scores, so H cannot rise there.
#pragma once
#include "kernels.hpp"
#include "local_scores.hpp"
#include "striped_rows.hpp"

namespace gpualign::GPUALIGN_ISA {

// kFind: finds the cell in which a given score is reached, instead of the best score.
template <class E, bool kAffine, bool kFind>
struct StripedKernel {
  using V = Vec<E>;
  using Rows = StripedRows<E>;
  static constexpr int kLanes = lanes_of<E>();
  static constexpr int64_t kRows = int64_t(kLanes) * kStripedSegments;
  static constexpr int64_t kColumnsPerCheck = 256;  // of the request to cancel, and of scores beyond the range
  static constexpr int kSegmentsPerCheck = 4;       // whether F is carried on: a wrong guess of the processor costs as much as a few rows

  static void run(const LocalArgs& a) {
    StripedKernel kernel(a);
    if (kFind) a.end_rows[0] = a.end_columns[0] = -1;
    for (int64_t row = 0; row < a.rows; row += kRows) {
      kernel.strip(row, a.rows - row < kRows ? a.rows - row : kRows);
      if (a.cancel->requested || (kFind ? a.rows_first && a.end_rows[0] >= 0 : kernel.exceeds_range())) break;
    }
    if (kFind) return;
    E largest = kernel.floor_;
    for (int k = 0; k < kLanes; k++) largest = kernel.best_[k] > largest ? kernel.best_[k] : largest;
    a.best[0] = static_cast<int64_t>(largest) - (kernel.exceeds_range() ? Range<E>::kZero : kernel.floor_);
  }

 private:
  explicit StripedKernel(const LocalArgs& args)
      : a_(args), columns_(args.columns), boundary_h_(static_cast<E*>(args.boundary)), boundary_f_(boundary_h_ + args.columns),
        floor_(zero_element<E>(args)), zero_(broadcast<E>(floor_)), open_(broadcast<E>(static_cast<E>(args.open))),
        extend_(broadcast<E>(static_cast<E>(args.extend))), slack_(broadcast<E>(static_cast<E>(args.open - args.extend))), best_(zero_),
        stride_(striped_segments(args.rows, kLanes)), h_(static_cast<V*>(args.scratch)), e_(h_ + stride_), profile_(e_ + stride_) {
    for (int64_t j = 0; j < columns_; j++) boundary_h_[j] = boundary_f_[j] = floor_;  // a gap that comes from outside is worth no more
  }

  // Returns whether the score is too large for the element.
  bool exceeds_range() const { return Range<E>::kSaturates && any((Bytes)(best_ == broadcast<E>(Range<E>::kMax))); }

  // Computes one strip of rows.
  void strip(int64_t first_row, int64_t rows) {
    segments_ = static_cast<int>((rows + kLanes - 1) / kLanes);
    Rows::set_profile(a_, first_row, rows, segments_, stride_, profile_);
    for (int s = 0; s < segments_; s++) h_[s] = e_[s] = zero_;
    E corner = floor_;  // H above and left of the first row
    if (kFind && a_.seeds) {
      const int64_t above = a_.seeds[0] - 1 - first_row;
      if (above == -1) corner = static_cast<E>(floor_ + a_.seed_score);
      if (above >= 0 && above < rows) h_[above % segments_][above / segments_] = static_cast<E>(floor_ + a_.seed_score);
    }
    for (int64_t j = 0; j < columns_; j++) {
      if (a_.excluded_bounds) exclude(first_row, rows, j, false);
      corner = column(j, corner);
      if (a_.excluded_bounds) exclude(first_row, rows, j, true);
      if (kFind && any((Bytes)(best_ == broadcast<E>(static_cast<E>(floor_ + a_.goals[0]))))) {
        take_end(first_row, j);
        if (!a_.rows_first) columns_ = j;  // the following rows have to reach it earlier
        best_ = zero_;
      }
      if (j % kColumnsPerCheck == 0 && (a_.cancel->requested || (!kFind && exceeds_range()))) return;
    }
  }

  // Sets the scores of the excluded cells of a column in the profile of its letter, or sets them back.
  void exclude(int64_t first_row, int64_t rows, int64_t j, bool back) {
    const uint8_t letter = a_.codes[j];
    E* const profile = reinterpret_cast<E*>(profile_ + letter * stride_);
    for (int64_t k = a_.excluded_bounds[j]; k < a_.excluded_bounds[j + 1]; k++) {
      const int64_t row = a_.excluded_rows[k], r = row - first_row;
      if (r < 0 || r >= rows) continue;
      profile[r % segments_ * kLanes + r / segments_] =
          static_cast<E>(back ? a_.table[a_.query[row] * kLetters + letter] : -Range<E>::kMax - 1);
    }
  }

  // Computes a column of the strip. Returns its H above the first row.
  inline __attribute__((always_inline)) E column(int64_t j, E corner) {
    const V* scores = profile_ + a_.codes[j] * stride_;
    const V open = open_, extend = extend_, zero = zero_;
    const int segments = segments_;
    V best = best_, diagonal = Rows::lane_up(h_[segments - 1], broadcast<E>(corner)), f = Rows::lane_up(zero, broadcast<E>(boundary_f_[j]));
    const E above = boundary_h_[j];
#pragma GCC unroll 2
    for (int s = 0; s < segments; s++) {
      const V t = larger(add(diagonal, scores[s]), zero);
      diagonal = h_[s];
      const V e = kAffine ? e_[s] : diagonal - open;
      const V now = larger(larger(t, e), f), opened = now - open;
      h_[s] = now;
      if (kAffine) e_[s] = larger(e - extend, opened);
      f = kAffine ? larger(f - extend, opened) : opened;
      best = larger(best, now);
    }
    best_ = best;
    boundary_f_[j] = carry(f);
    boundary_h_[j] = h_[segments - 1][kLanes - 1];
    return above;
  }

  // Carries F of the last row of each lane through the following lanes. Returns F below the last row of the strip. The best score cannot
  // change, as F is less than the H it comes from.
  inline __attribute__((always_inline)) E carry(V f) {
    const E own = f[kLanes - 1];
    f = larger(Rows::lane_up(f, zero_), zero_);
    Rows::add_passing(f, zero_, segments_ * a_.extend);
    const int64_t passing = f[kLanes - 1] - segments_ * a_.extend;
    for (int s = 0; s < segments_; s++) {
      if (s % kSegmentsPerCheck == 0) {
        const V opened = larger(h_[s] - slack_, zero_);  // F of the row above that is as good
        if (!any((Bytes)(f > opened))) break;
      }
      h_[s] = larger(h_[s], f);
      if (kAffine) e_[s] = larger(e_[s], h_[s] - open_);
      f = subtract(f, extend_);
      if (!Range<E>::kSaturates) f = larger(f, zero_);
    }
    return passing > own ? static_cast<E>(passing) : own;
  }

  // Takes the first row of a column in which the goal is reached, if it precedes the present end.
  __attribute__((noinline)) void take_end(int64_t first_row, int64_t column) {
    const E goal = static_cast<E>(floor_ + a_.goals[0]);
    for (int k = 0; k < kLanes; k++)
      for (int s = 0; s < segments_; s++) {
        if (h_[s][k] != goal) continue;
        const int64_t row = first_row + int64_t(k) * segments_ + s;
        if (a_.rows_first && a_.end_rows[0] >= 0 && row >= a_.end_rows[0]) return;
        a_.end_rows[0] = row;
        a_.end_columns[0] = column;
        return;
      }
  }

  const LocalArgs& a_;
  int64_t columns_;  // to compute
  E *const boundary_h_, *const boundary_f_;
  const E floor_;  // stands for score 0
  const V zero_, open_, extend_, slack_;
  V best_;
  int segments_ = 0;
  const int64_t stride_;
  V *const h_, *const e_;  // [segment] of the column computed last
  V* const profile_;       // [letter][stride]
};

template <class E, bool kFind>
static void striped(const LocalArgs& a) {
  if (a.open == a.extend)
    StripedKernel<E, false, kFind>::run(a);
  else
    StripedKernel<E, true, kFind>::run(a);
}

}  // namespace gpualign::GPUALIGN_ISA
