// Alignment paths of local alignments with known scores: the hits of a search.
//
// The part between the bounds of a hit is a global alignment with the same score, and is traced like any other.
#pragma once
#include <vector>

#include "hit_bounds.hpp"
#include "path.hpp"

namespace gpualign {

// Gives both recipes of a scoring the score table of a pair.
void set_table(const PairTable& table, LocalRecipe& recipe, PathRecipe& path_recipe);

// Traces hits; hit k is pair k of the sink. Returns false if cancelled. Throws ScratchTooSmall if the checkpoints of a pair do not fit the
// recipe's worker_bytes, and std::logic_error if a pair does not have the score of the hit. tables: of the hits, instead of those of the
// recipes, or null.
bool trace_local_hits(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const LocalRecipe& recipe,
                      const PathRecipe& path_recipe, const LocalHit* hits, int64_t count, PathSink& sink, const Cancel& cancel,
                      const std::vector<PairTable>* tables = nullptr);

}  // namespace gpualign
