// Local alignment scores of one tile.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/src/work.hpp"

namespace gpualign {

// A scoring as the local kernels compute it; made by cpu/alignment/local_recipe.py. Widths are counted in bytes.
struct LocalRecipe {
  int32_t table[kLetters * kLetters] = {};  // with negative scores for `padding`
  int letters = kLetters;                   // codes in use, the padding code among them
  uint8_t padding = kLetters - 1;
  int64_t open = 0, extend = 0;
  bool byte_scores = false;          // every score of a letter pair fits a signed byte
  int narrowest = 1;                 // width that holds every score of a letter pair and every gap cost
  int widest = 4;                    // width that holds every score of the task
  int few_lanes = 0;                 // so many sequences for the lanes, or fewer, are aligned one by one, where rows and columns are
  int64_t long_letters = 0;          // so many letters at least
  int64_t most_columns = INT64_MAX;  // of records in the lanes, for memory, if the other side's records are shorter

  // The table for targets as rows and queries in the lanes.
  void transpose(int32_t* out) const {
    for (int i = 0; i < kLetters; i++)
      for (int j = 0; j < kLetters; j++) out[i * kLetters + j] = j == padding ? table[j] : table[j * kLetters + i];
  }
};

// How many pairs of each query were too good for bytes, over all tiles of a task: where most are, bytes are not tried first. It
// changes no score.
class LocalHistory {
 public:
  LocalHistory(const LocalHistory&) = delete;
  explicit LocalHistory(int64_t queries) : counts_(static_cast<std::size_t>(queries)) {}
  bool bytes_pay(int64_t query) const {
    const Count& c = counts_[static_cast<std::size_t>(query)];
    return 2 * c.exceeded.load(std::memory_order_relaxed) <= c.tried.load(std::memory_order_relaxed);
  }
  void add(int64_t query, int tried, int exceeded) {
    Count& c = counts_[static_cast<std::size_t>(query)];
    c.tried.fetch_add(tried, std::memory_order_relaxed);
    c.exceeded.fetch_add(exceeded, std::memory_order_relaxed);
  }
  int64_t queries() const { return static_cast<int64_t>(counts_.size()); }

 private:
  struct Count {
    std::atomic<int32_t> tried{0}, exceeded{0};
  };
  std::vector<Count> counts_;
};

// Whether queries shall lie in the lanes rather than targets: where that takes fewer steps, as far as memory allows it.
bool prefer_swapped(const LocalRecipe& recipe, double straight, int64_t longest_target, double swapped, int64_t longest_query);

// The kernel arguments that a recipe sets.
LocalArgs local_arguments(const LocalRecipe& recipe, const Cancel& cancel);

// 0, 1, 2, 3 for elements of 1, 2, 4, 8 bytes.
inline int local_kernel(int width) { return width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3; }

// False if cancelled; the scores are then incomplete. Every pair is computed, wanted or not.
template <class Score>
bool score_local_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                      LocalHistory& history, const Tile<Score>& tile, const Cancel& cancel);

}  // namespace gpualign
