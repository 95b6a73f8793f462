// Scores for local alignment in lanes that have a score table each.
#pragma once
#include <vector>

#include "lane_codes.hpp"
#include "local_tile.hpp"

namespace gpualign {

// The score table of a pair of sequences.
struct PairTable {
  int32_t scores[kLetters * kLetters];  // row = query letter; negative for the padding code
  bool usable[kLetters * kLetters];     // whether a pair of letters costs no more than two gaps; scores of others are raised to that
};

// The scores of a query's letters in the columns of a block of lanes. Looking them up takes a load for each lane, so it is done once for
// all strips of rows.
class LaneProfile {
 public:
  // Looks up the scores of all columns, and sets `a.profile` and `a.table`; the other arguments are set already. tables: of the lanes in
  // use. width: bytes of an element
  void set(const std::vector<const PairTable*>& tables, int width, int lanes, LocalArgs& a) {
    by_column_.resize(static_cast<size_t>(lanes) * kLetters * kLetters);
    for (int at = 0; at < kLetters * kLetters; at++) {
      best_[at] = tables[0]->scores[at];
      for (const PairTable* table : tables) best_[at] = std::max(best_[at], table->scores[at]);
    }
    for (int k = 0; k < lanes; k++) {
      const int32_t* scores = tables[static_cast<size_t>(k) < tables.size() ? static_cast<size_t>(k) : 0]->scores;
      int32_t* out = by_column_.data() + k * kLetters * kLetters;
      for (int i = 0; i < kLetters; i++)
        for (int j = 0; j < kLetters; j++) out[j * kLetters + i] = scores[i * kLetters + j];
    }
    bool used[kLetters] = {};
    for (int64_t r = 0; r < a.rows; r++) used[a.query[r]] = true;
    letters_.clear();
    for (int l = 0; l < kLetters; l++)
      if (used[l]) letters_.push_back(l);
    a.table = best_;
    a.profile = profile_.reserve(static_cast<size_t>(a.columns) * static_cast<size_t>(a.letters * lanes * width));
    if (width == 2)
      fill<int16_t>(lanes, a);
    else if (width == 4)
      fill<int32_t>(lanes, a);
    else
      fill<int64_t>(lanes, a);
  }

 private:
  template <class E>
  void fill(int lanes, const LocalArgs& a) {
    const int32_t* scores[64];  // [lane] of the letter in a column, by the letter of the query
    for (int64_t j = 0; j < a.columns; j++) {
      for (int k = 0; k < lanes; k++) scores[k] = by_column_.data() + (k * kLetters + a.codes[j * lanes + k]) * kLetters;
      E* const column = static_cast<E*>(profile_.reserve(0)) + ((j - j % kColumnsAtATime) * a.letters + j % kColumnsAtATime) * lanes;
      for (const int l : letters_) {
        E* const out = column + l * kColumnsAtATime * lanes;
        for (int k = 0; k < lanes; k++) out[k] = static_cast<E>(scores[k][l]);
      }
    }
  }

  int32_t best_[kLetters * kLetters];  // of the lanes
  std::vector<int32_t> by_column_;     // [lane][target letter][query letter]
  std::vector<int> letters_;           // of the query
  Scratch profile_;
};

// Returns the cost of making a profile, in steps of the lanes kernel.
inline double profile_cost(const LocalRecipe& recipe, int lanes, const LocalBlock& block) {
  constexpr double kScoresPerStep = 12;
  return static_cast<double>(recipe.letters) * lanes * static_cast<double>(block.longest) / kScoresPerStep;
}

}  // namespace gpualign
