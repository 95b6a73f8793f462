// Selection of pairs by their counts: see core/distance/pair_selection.py. For the host only (cpu/src/dispatch.hpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "distance.hpp"

namespace gpualign {

// A term of a panel: see core/distance/count_recipe.py.
struct SelectionTerm {
  SamplePlanes planes;  // of the panel
  int64_t words;
  bool differ;                   // otherwise the operation AND
  std::vector<int> left, right;  // numbers of planes; right: of AND only
  int mask;                      // plane of calls of both samples, -1: none
  int32_t weight;
  int count;  // index of the count that the term is added to
};

// A rule: see PairSelectionRule. The index of a count is -1 if there is no such condition.
struct SelectionRule {
  std::vector<int64_t> weights;  // of each count
  std::vector<int64_t> offsets;  // of each row of the panels, or empty
  int64_t max_sum;
  int compared;  // index of the number of compared sites, which is at least min_compared
  int32_t min_compared;
  int capped;  // index of the count that is at most `cap`, and never decreases
  int32_t cap;
  std::vector<int32_t> floors;  // least value of each count of a pair that has a value; empty: any
  int64_t far_offset;           // pairs whose offsets add up to this much or more are not counted as undefined
};

// The selected pairs of a tile, block by block, and how many others have too few compared sites or no value.
struct SelectedTile {
  std::vector<int64_t> rows, columns;
  std::vector<std::vector<int32_t>> counts;  // of each pair, by count
  int64_t too_few = 0, undefined = 0;
};

// Selects pairs of tiles of any size. Counts are held for one block of a tile at a time, which stays in the L2 cache through all terms.
class PairSelector {
 public:
  PairSelector(const DistanceKernels& kernels, std::vector<SelectionTerm> terms, SelectionRule rule)
      : kernels_(kernels), terms_(std::move(terms)), rule_(std::move(rule)) {
    for (const auto& term : terms_) max_words_ = std::max(max_words_, term.words);
  }

  // upper: only pairs of a row with a later one.
  SelectedTile select(int64_t row_start, int64_t row_stop, int64_t column_start, int64_t column_stop, bool upper) const {
    // With few words, kernels gather those of a block's columns once for all of its rows, so many rows are better. Otherwise, the width
    // makes rows of counts an odd number of cache lines, so that they do not share cache sets.
    const int64_t height = max_words_ <= kFewWords ? 192 : 64, width = max_words_ <= kFewWords ? 160 : 496;
    SelectedTile out;
    out.counts.resize(kinds());
    std::vector<int32_t> counts(kinds() * static_cast<size_t>(height * width));
    for (int64_t row = row_start; row < row_stop; row += height)
      for (int64_t column = column_start; column < column_stop; column += width) {
        const Block block{row, std::min(row_stop, row + height), column, std::min(column_stop, column + width), upper};
        if (upper && block.column_stop <= row) continue;
        count(block, counts.data());
        choose(block, counts.data(), out);
      }
    return out;
  }

 private:
  struct Block {
    int64_t row_start, row_stop, column_start, column_stop;
    bool upper;
    int64_t rows() const { return row_stop - row_start; }
    int64_t columns() const { return column_stop - column_start; }
  };
  static constexpr int64_t kFewWords = 32;
  static constexpr int64_t kGroup = 16;  // pairs that are tested together

  size_t kinds() const { return rule_.weights.size(); }

  void count(const Block& block, int32_t* counts) const {
    const int64_t size = block.rows() * block.columns();
    std::fill_n(counts, kinds() * static_cast<size_t>(size), 0);
    for (const auto& term : terms_) {
      DistanceTile tile{term.planes,
                        term.words,
                        block.row_start,
                        block.row_stop,
                        block.column_start,
                        block.column_stop,
                        counts + term.count * size,
                        block.columns(),
                        term.weight,
                        block.upper,
                        {},
                        0};
      // A pair beyond the cap is not selected, but it must still be known whether it has enough compared sites.
      if (rule_.capped >= 0) {
        tile.limits[tile.limit_count++] = {counts + rule_.capped * size, rule_.cap};
        if (term.count == rule_.compared) tile.limits[tile.limit_count++] = {counts + term.count * size, rule_.min_compared - 1};
      }
      if (term.differ) {
        kernels_.differ(tile, term.left.data(), static_cast<int>(term.left.size()), term.mask);
      } else {
        kernels_.both(tile, term.left.data(), term.right.data(), static_cast<int>(term.left.size()));
      }
    }
  }

  // Adds the selected pairs of a block to `out`.
  void choose(const Block& block, const int32_t* counts, SelectedTile& out) const {
    const int64_t columns = block.columns(), size = block.rows() * columns;
    for (int64_t r = 0; r < block.rows(); r++) {
      const int32_t* const row = counts + r * columns;
      const int64_t first = block.upper ? std::max<int64_t>(0, block.row_start + r + 1 - block.column_start) : 0;
      for (int64_t c = first; c < columns; c += kGroup) {
        const int64_t stop = std::min(columns, c + kGroup);
        if (!none_counts(row, size, c, stop))
          for (int64_t k = c; k < stop; k++) choose(block.row_start + r, block.column_start + k, row + k, size, out);
      }
    }
  }

  // Returns whether all of a row's pairs with some columns are beyond the cap, and none has too few sites or no value.
  bool none_counts(const int32_t* row, int64_t size, int64_t start, int64_t stop) const {
    if (rule_.capped < 0 || !rule_.floors.empty()) return false;
    int within = 0;
    const int32_t* const capped = row + rule_.capped * size;
    for (int64_t k = start; k < stop; k++) within |= capped[k] <= rule_.cap;
    if (rule_.compared >= 0) {
      const int32_t* const compared = row + rule_.compared * size;
      for (int64_t k = start; k < stop; k++) within |= compared[k] < rule_.min_compared;
    }
    return !within;
  }

  // Adds a pair to `out` if the rule selects it. counts: the first count of the pair; each further one is `size` elements later.
  void choose(int64_t row, int64_t column, const int32_t* counts, int64_t size, SelectedTile& out) const {
    if (rule_.compared >= 0 && counts[rule_.compared * size] < rule_.min_compared) {
      out.too_few++;
      return;
    }
    const int64_t offset = rule_.offsets.empty() ? 0 : rule_.offsets[static_cast<size_t>(row)] + rule_.offsets[static_cast<size_t>(column)];
    int64_t sum = offset;
    bool low = false;
    for (size_t k = 0; k < kinds(); k++) {
      const int32_t count = counts[static_cast<int64_t>(k) * size];
      sum += rule_.weights[k] * count;
      low |= !rule_.floors.empty() && count < rule_.floors[k];
    }
    if (low && offset < rule_.far_offset) out.undefined++;
    if (sum > rule_.max_sum) return;
    out.rows.push_back(row);
    out.columns.push_back(column);
    for (size_t k = 0; k < kinds(); k++) out.counts[k].push_back(counts[static_cast<int64_t>(k) * size]);
  }

  const DistanceKernels& kernels_;
  std::vector<SelectionTerm> terms_;
  SelectionRule rule_;
  int64_t max_words_ = 0;
};

}  // namespace gpualign
