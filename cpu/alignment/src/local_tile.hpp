// Local alignment scores of one tile.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/src/work.hpp"
#include "lane_codes.hpp"

namespace gpualign {

// A scoring in the form that the local kernels compute; made by cpu/alignment/local_recipe.py. Widths are in bytes.
struct LocalRecipe {
  int32_t table[kLetters * kLetters] = {};  // scores, negative for `padding`
  int letters = kLetters;                   // number of codes in use, including the padding code
  uint8_t padding = kLetters - 1;
  int64_t open = 0, extend = 0;
  bool byte_scores = false;          // every score of a letter pair fits a signed byte
  int narrowest = 1;                 // smallest width that holds every score of a letter pair, and gap costs in a part of its range
  int widest = 4;                    // smallest width that holds every score of the task
  double column_steps = 0;           // cost of a column of a pair that is aligned on its own, in steps of the lanes kernel
  int64_t most_columns = INT64_MAX;  // longest record in lanes that memory allows

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

// Records that share a vector, or are aligned one by one.
struct LocalBlock {
  int64_t count = 0, longest = 0, letters = 0;  // records, letters of the longest, and of all

  void add(int64_t length) {
    count++;
    longest = length > longest ? length : longest;
    letters += length;
  }
};

// Returns the cost of aligning a record of `rows` letters with a block in the lanes of a vector, in steps of that kernel; infinite if it
// does not fit into memory.
double lanes_cost(const LocalRecipe& recipe, int64_t rows, const LocalBlock& block);

// Returns the cost of aligning it with the records one by one, in vectors of `lanes` elements.
double pairs_cost(const LocalRecipe& recipe, int lanes, int64_t rows, const LocalBlock& block);

// Returns kernel arguments with the fields that a recipe sets.
LocalArgs local_arguments(const LocalRecipe& recipe, const Cancel& cancel);

// Sets the arguments for one record in the rows and packed records in the lanes. boundary: scratch of the kernel
void set_lanes(LocalArgs& a, const Kernels& kernels, Record rows, LaneCodes& lanes, Scratch& boundary);

// Returns the index of the kernel: 0, 1, 2, 3 for elements of 1, 2, 4, 8 bytes.
inline int local_kernel(int width) { return width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3; }

// Returns the next width to try if a score is too large for elements of `width` bytes.
inline int wider_local(const LocalRecipe& recipe, int width) { return width == 1 ? 2 : recipe.widest; }

// Returns the smallest score that elements of `width` bytes may hold in place of a larger one.
inline int64_t local_limit(const LocalRecipe& recipe, int width) {
  return width < recipe.widest && width <= 2 ? (int64_t(1) << (8 * width)) - 1 : INT64_MAX;
}

// Returns the largest score that elements of `width` bytes can hold and distinguish from larger ones. Gap costs take a part of their range
// (local_scores.hpp).
inline int64_t max_local_score(const LocalRecipe& recipe, int width) {
  if (width == 8) return INT64_MAX - 1;
  return width == 4 ? INT32_MAX - 1 : (int64_t(1) << (8 * width)) - 2 - recipe.open - recipe.extend;
}

// Scores a tile. Returns false if cancelled; the scores are then incomplete. Computes every pair, whatever the pairing of the tile.
template <class Score>
bool score_local_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                      LocalHistory& history, const Tile<Score>& tile, const Cancel& cancel);

}  // namespace gpualign
