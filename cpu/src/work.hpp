// What the host is asked for: sequences, a scoring as the kernels compute it, the pairs of a tile.
#pragma once
#include <cstdint>

#include "cpu/alignment/src/kernels.hpp"

namespace gpualign {

// One encoded sequence, never empty.
struct Record {
  const uint8_t* codes;
  int64_t length;
};

// Encoded sequences: record i is codes[offsets[i] .. offsets[i+1]).
struct Sequences {
  const uint8_t* codes;
  const int64_t* offsets;
  int64_t length(int64_t i) const { return offsets[i + 1] - offsets[i]; }
  Record record(int64_t i) const { return {codes + offsets[i], length(i)}; }
};

enum class Family { kDifference, kBitsliced };

// How a scoring is computed; made by cpu/alignment/recipe.py, which explains each field.
// score = sum_factor * (kernel's sum) + per_letter * (m + n) + constant
struct Recipe {
  Family family = Family::kDifference;
  int width = 8;  // bits of an element, difference kernels
  uint32_t table[kLetters * kLetters] = {};
  int letters = kLetters;
  uint32_t open_extra = 0;
  int match_steps = 0, mismatch_steps = 0;  // bit-sliced kernels
  int64_t slice_columns = 0;                // targets longer than this are not bit-sliced (memory); needs a pair kernel

  // A kernel of single pairs that gives the same sums and may take queries with few targets in a block.
  enum class Pairs { kNone, kMyers, kWavefront } pairs = Pairs::kNone;
  int64_t sum_factor = 1, per_letter = 0, constant = 0;
};

// The recipe of a task, and one for the last targets of a tile where they are too few for the first one's lanes.
struct Recipes {
  Recipe main;
  Recipe rest;         // may be the same
  int64_t rest_below;  // fewer targets than this are left to `rest`, if that takes less than queries that share vectors
};

// Which pairs of a tile are wanted. Record numbers are compared, so the last two need queries and targets of one set.
enum class Pairing { kAll, kAbove, kAboveOrEqual };

inline bool is_wanted(Pairing pairing, int64_t query, int64_t target) {
  return pairing == Pairing::kAll || target > query || (pairing == Pairing::kAboveOrEqual && target == query);
}

template <class Score>
struct Tile {
  const int64_t* query_ids;  // [query_count] record numbers
  int64_t query_count;
  const int64_t* target_ids;  // [target_count]
  int64_t target_count;
  Pairing pairing;
  Score* scores;  // out, [query_count][target_count]; unwanted pairs are left as they are
};

}  // namespace gpualign
