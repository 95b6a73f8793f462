// How the CPU's kernels compute paths of a scoring.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/alignment/src/walk.hpp"
#include "cpu/src/work.hpp"

namespace gpualign {

static_assert(kWalkLetters == kLetters);

// A scoring and the ends of alignments, as the kernels of paths compute them; made by cpu/alignment/path_recipe.py.
struct PathRecipe {
  Recipe differences;       // family kDifference; its sums are not used
  uint32_t extend = 0;      // e
  bool free_query = false;  // gaps in the query at its ends cost nothing
  bool free_target = false;
  bool negate = false;                    // edit distances are negated scores
  bool sliced = false;                    // edit distances, of whose blocks each target takes a bit (sliced_paths.hpp)
  bool banded = false;                    // bands of diagonals may prove themselves (band_paths.hpp)
  bool usable[kLetters * kLetters] = {};  // pairs that do not cost more than two gaps, for which s'' may stand too high
  int64_t worker_bytes = 0;               // for checkpoints

  // Steps of the first column and row, and H there.
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
  // What an element of differences says (difference.hpp), and a step of H.
  template <class E>
  int64_t value(E element) const {
    return differences.open_extra ? static_cast<int64_t>(static_cast<std::make_signed_t<E>>(element)) : static_cast<int64_t>(element);
  }
  template <class E>
  int64_t step(E element) const {
    return value(element) - extend;
  }
  int packed() const { return differences.open_extra ? 2 : 4; }  // rows an element of directions holds
};

// Of the corner, the best end of the last column and that of the last row, each the furthest of equals, or null where not free.
inline PathEnd choose_end(PathEnd corner, const PathEnd* last_column, const PathEnd* last_row) {
  PathEnd best = corner;
  if (last_column) best.prefer(*last_column);
  if (last_row) best.prefer(*last_row);
  return best;
}

}  // namespace gpualign
