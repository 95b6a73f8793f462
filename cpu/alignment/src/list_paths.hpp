// Alignment paths of listed pairs, in any combination of queries and targets.
#pragma once
#include "path.hpp"

namespace gpualign {

// A pair to align, and the number of edits that its alignment is expected to have.
struct ListedPair {
  int64_t query, target;  // record numbers
  int64_t edits;          // only speed depends on it
};

// The letters of each record of a set.
struct LetterTable {
  const uint32_t* counts;  // [records][columns]
  const uint8_t* codes;    // [columns]: what is counted; no other codes occur
  size_t columns;
};

// Writes the slack of the band that each pair needs (band_bound.hpp): the smallest with which its score proves the band. scores: [count],
// or null: those expected from the pairs' edits. The recipe must be one for bands.
void list_slacks(const LetterTable& queries, const LetterTable& targets, const PathRecipe& recipe, const ListedPair* pairs,
                 const int64_t* scores, int64_t count, int64_t* slacks, int threads);

// Traces listed pairs; the path of pairs[k] goes to pair k of the sink. Similar pairs are traced in narrow bands, each in a lane of a
// vector, and others as by path_tile. scores: [count], or null if they are not known; only speed depends on them. Returns false if
// cancelled. Throws ScratchTooSmall like path_tile.
bool list_paths(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const PathRecipe& recipe,
                const ListedPair* pairs, const int64_t* scores, int64_t count, PathSink& sink, const Cancel& cancel);

}  // namespace gpualign
