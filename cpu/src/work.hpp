// Requests to the CPU kernels: sequences, a scoring in the form of the kernels, the pairs of a tile.
#pragma once
#include <cstdint>

#include "cpu/alignment/src/kernels.hpp"

namespace gpualign {

// One encoded sequence, never empty.
struct Record {
  const uint8_t* codes;
  int64_t length;
};

// Encoded sequences: record i is codes[offsets[i]] .. codes[offsets[i+1]-1].
struct Sequences {
  const uint8_t* codes;
  const int64_t* offsets;
  int64_t length(int64_t i) const { return offsets[i + 1] - offsets[i]; }
  Record record(int64_t i) const { return {codes + offsets[i], length(i)}; }
};

enum class Family { kDifference, kBitsliced };

// A scoring in the form of the kernels; made by cpu/alignment/recipe.py, which explains each field.
// score = sum_factor * (sum of the kernel) + per_letter * (m + n) + constant
struct Recipe {
  Family family = Family::kDifference;
  int width = 8;  // bits of an element, for difference kernels
  uint32_t table[kLetters * kLetters] = {};
  int letters = kLetters;
  uint32_t open_extra = 0;
  int match_steps = 0, mismatch_steps = 0;  // for bit-sliced kernels
  int64_t slice_columns = 0;                // targets longer than this are not bit-sliced, for lack of memory; needs a pair kernel

  // A kernel for single pairs that gives the same sums, for queries with few targets in a block.
  enum class Pairs { kNone, kMyers, kWavefront } pairs = Pairs::kNone;
  int64_t sum_factor = 1, per_letter = 0, constant = 0;
};

// The recipe of a task, and one for the last targets of a tile if they are too few for the lanes of the first one.
struct Recipes {
  Recipe main;
  Recipe rest;         // may be the same
  int64_t rest_below;  // fewer targets than this use `rest`, unless queries that share vectors are faster
};

// The pairs of a tile to compute. kAbove and kAboveOrEqual select targets with a higher (or equal) record number than the query, so queries
// and targets must belong to one set.
enum class Pairing { kAll, kAbove, kAboveOrEqual };

// Returns whether a pairing includes a pair of record numbers.
inline bool is_included(Pairing pairing, int64_t query, int64_t target) {
  return pairing == Pairing::kAll || target > query || (pairing == Pairing::kAboveOrEqual && target == query);
}

template <class Score>
struct Tile {
  const int64_t* query_ids;  // [query_count] record numbers
  int64_t query_count;
  const int64_t* target_ids;  // [target_count]
  int64_t target_count;
  Pairing pairing;
  Score* scores;  // out [query_count][target_count]; pairs that are not included are left unchanged
};

}  // namespace gpualign
