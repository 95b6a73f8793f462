// Alignment paths of local alignments with known scores: the hits of a search.
//
// The ends are found by a pass over all hits of a query at once, one per lane (or of a target, if that takes fewer steps), and the starts
// by a pass back from the ends (local.hpp). Of several ends, the one in the first column is taken, then in the first row; of several
// starts, the one that makes the alignment shortest, in the same order. The part between is a global alignment of the same score, traced as
// any other.
#pragma once
#include <vector>

#include "lane_profile.hpp"
#include "local_tile.hpp"
#include "path.hpp"

namespace gpualign {

struct LocalHit {
  int64_t query, target;  // record numbers
  int64_t score;          // > 0
};

// Gives both recipes of a scoring the score table of a pair.
void set_table(const PairTable& table, LocalRecipe& recipe, PathRecipe& path_recipe);

// Traces hits; hit k is pair k of the sink. Returns false if cancelled. Throws ScratchTooSmall if the checkpoints of a pair do not fit the
// recipe's worker_bytes, and std::logic_error if a pair does not have the score of the hit. tables: of the hits, instead of those of the
// recipes, or null.
bool trace_local_hits(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                      const PathRecipe& path_recipe, const LocalHit* hits, int64_t count, PathSink& sink, const Cancel& cancel,
                      const std::vector<PairTable>* tables = nullptr);

}  // namespace gpualign
