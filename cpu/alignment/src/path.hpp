// A scoring in the form in which the CPU kernels compute alignment paths.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/alignment/src/walk.hpp"
#include "cpu/src/work.hpp"

namespace gpualign {

static_assert(kWalkLetters == kLetters);

// A scoring and the kind of end gaps, in the form that the path kernels compute; made by cpu/alignment/path_recipe.py.
struct PathRecipe {
  Recipe differences;                     // of family kDifference; its fields for sums are not used
  uint32_t extend = 0;                    // e
  bool free_query = false;                // gaps in the query at its ends cost nothing
  bool free_target = false;               // the same for gaps in the target
  bool negate = false;                    // report negated scores: edit distances
  bool sliced = false;                    // edit distances: blocks have one bit per target (sliced_paths.hpp)
  bool banded = false;                    // try bands of diagonals with a proof (band_paths.hpp)
  bool usable[kLetters * kLetters] = {};  // [letter][letter] pairs that do not cost more than two gaps; for others s'' exceeds s'
  int64_t worker_bytes = 0;               // bytes for checkpoints

  // Return the steps of H' in column 0 and row 0 (first, later ones), and H at their ends.
  uint32_t first_u() const { return free_target ? extend : 0 - differences.open_extra; }
  uint32_t later_u() const { return free_target ? extend : 0; }
  uint32_t first_v() const { return free_query ? extend : 0 - differences.open_extra; }
  uint32_t later_v() const { return free_query ? extend : 0; }
  int64_t left(int64_t rows) const {
    return free_target ? 0 : -static_cast<int64_t>(differences.open_extra) - static_cast<int64_t>(extend) * rows;
  }
  int64_t top(int64_t columns) const {
    return free_query ? 0 : -static_cast<int64_t>(differences.open_extra) - static_cast<int64_t>(extend) * columns;
  }
  // Returns the value of an element of differences (difference.hpp); step: the same as a step of H.
  template <class E>
  int64_t value(E element) const {
    return differences.open_extra ? static_cast<int64_t>(static_cast<std::make_signed_t<E>>(element)) : static_cast<int64_t>(element);
  }
  template <class E>
  int64_t step(E element) const {
    return value(element) - extend;
  }
  int packed() const { return differences.open_extra ? 2 : 4; }  // rows per element of directions
};

// Returns the best of these ends: the corner, and the best ones of the last column and the last row, each the furthest of equals, if the
// gaps there are free. v: differences along the last row, `stride` elements apart.
template <class E>
PathEnd choose_end(const PathRecipe& recipe, int64_t rows, int64_t columns, const E* v, int64_t stride, const PathEnd& last_column) {
  PathEnd corner{recipe.left(rows), rows, columns}, last_row{corner.score, rows, 0};
  for (int64_t j = 0; j < columns; j++) {
    corner.score += recipe.step(v[j * stride]);
    if (corner.score >= last_row.score) {
      last_row.score = corner.score;
      last_row.column = j + 1;
    }
  }
  PathEnd best = corner;
  if (recipe.free_target) best.prefer(last_column);
  if (recipe.free_query) best.prefer(last_row);
  return best;
}

}  // namespace gpualign
