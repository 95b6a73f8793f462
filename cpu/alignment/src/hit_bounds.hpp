// Ends and starts of local alignments with known scores: the hits of a search.
//
// The ends are found by a pass over all hits of a query at once, one per lane (or of a target, if that takes fewer steps), and the starts
// by a pass back from the ends (local.hpp). Of several ends, the one in the first column is taken, then in the first row; of several
// starts, the one that makes the alignment shortest, in the same order.
#pragma once
#include <vector>

#include "lane_profile.hpp"
#include "local_tile.hpp"

namespace gpualign {

struct LocalHit {
  int64_t query, target;  // record numbers
  int64_t score;          // > 0
};

// Parts of the two sequences of a hit: half-open intervals of letters.
struct HitBounds {
  int64_t query_start, query_end, target_start, target_end;
};

// Writes the bounds of each hit to out[hit]. Returns false if cancelled. Throws std::logic_error if a pair does not have the score of the
// hit. tables: of the hits, instead of that of the recipe, or null.
bool find_hit_bounds(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                     const LocalHit* hits, int64_t count, HitBounds* out, const Cancel& cancel,
                     const std::vector<PairTable>* tables = nullptr);

}  // namespace gpualign
