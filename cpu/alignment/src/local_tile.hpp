// Local alignment scores of one tile.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/src/work.hpp"

namespace gpualign {

// A scoring in the form that the local kernels compute; made by cpu/alignment/local_recipe.py. Widths are in bytes.
struct LocalRecipe {
  int32_t table[kLetters * kLetters] = {};  // scores, negative for `padding`
  int letters = kLetters;                   // number of codes in use, including the padding code
  uint8_t padding = kLetters - 1;
  int64_t open = 0, extend = 0;
  bool byte_scores = false;          // every score of a letter pair fits a signed byte
  int narrowest = 1;                 // smallest width that holds every score of a letter pair and every gap cost
  int widest = 4;                    // smallest width that holds every score of the task
  int few_lanes = 0;                 // at most this many sequences for the lanes are aligned one by one, if rows and columns are
  int64_t long_letters = 0;          // at least this long
  int64_t most_columns = INT64_MAX;  // longest record in the lanes that memory allows, if the records of the other side are shorter

  // Writes the score table for targets as rows and queries in the lanes.
  void transpose(int32_t* out) const {
    for (int i = 0; i < kLetters; i++)
      for (int j = 0; j < kLetters; j++) out[i * kLetters + j] = j == padding ? table[j] : table[j * kLetters + i];
  }
};

// Counts, over all tiles of a task, how many pairs of each query had scores too large for bytes. If most have, bytes are not tried first.
// This changes no score.
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

// Returns whether queries rather than targets should have the lanes: whichever takes fewer steps and fits into memory.
bool prefer_swapped(const LocalRecipe& recipe, double unswapped, int64_t longest_target, double swapped, int64_t longest_query);

// Returns kernel arguments with the fields that a recipe sets.
LocalArgs local_arguments(const LocalRecipe& recipe, const Cancel& cancel);

// Returns the index of the kernel: 0, 1, 2, 3 for elements of 1, 2, 4, 8 bytes.
inline int local_kernel(int width) { return width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3; }

// Scores a tile. Returns false if cancelled; the scores are then incomplete. Computes every pair, whatever the pairing of the tile.
template <class Score>
bool score_local_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                      LocalHistory& history, const Tile<Score>& tile, const Cancel& cancel);

}  // namespace gpualign
