// Paths of local alignments whose scores are known: the hits of a search.
//
// Where one ends is found by a pass over all hits of a query at once, a lane each (or of a target, if that takes fewer steps),
// where it begins by a pass back from there (local.hpp). Of several ends the one in the first column is taken, then in the first
// row, and of several beginnings the one that makes it shortest, in the same order. What lies between is a global alignment of
// the same score, traced as any other.
#pragma once
#include "local_tile.hpp"
#include "path.hpp"

namespace gpualign {

struct LocalHit {
  int64_t query, target;  // records
  int64_t score;          // > 0
};

// Hit k is pair k of the sink. False if cancelled. Throws ScratchTooSmall where a pair's checkpoints do not fit the recipe's
// worker_bytes, std::logic_error for a score that the pair does not have.
bool trace_local_hits(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                      const PathRecipe& path_recipe, const LocalHit* hits, int64_t count, PathSink& sink, const Cancel& cancel);

}  // namespace gpualign
