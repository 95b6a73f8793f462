// Paths of one tile, by blocks of lanes or pair by pair.
#pragma once
#include <utility>

#include "path.hpp"

namespace gpualign {

// Scratch memory for sequences up to these lengths: of a block of lanes, of a single pair at least.
std::pair<int64_t, int64_t> path_bytes(const Kernels& kernels, const PathRecipe& recipe, int64_t rows, int64_t columns);

// False if cancelled. Throws ScratchTooSmall where a pair's checkpoints do not fit recipe.worker_bytes.
bool path_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const PathRecipe& recipe,
               const int64_t* query_ids, int64_t query_count, const int64_t* target_ids, int64_t target_count, Pairing pairing,
               PathSink& sink, const Cancel& cancel);

}  // namespace gpualign
