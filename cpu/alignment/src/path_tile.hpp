// Alignment paths of one tile, by blocks of lanes or pair by pair.
#pragma once
#include <utility>

#include "path.hpp"

namespace gpualign {

// Returns the bytes of scratch memory for sequences of up to these lengths: of a block of lanes, and the minimum of a single pair.
std::pair<int64_t, int64_t> path_bytes(const Kernels& kernels, const PathRecipe& recipe, int64_t rows, int64_t columns);

// Traces the pairs of a tile into the sink. Returns false if cancelled. Throws ScratchTooSmall if the checkpoints of a pair do not fit
// recipe.worker_bytes.
bool path_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const PathRecipe& recipe,
               const int64_t* query_ids, int64_t query_count, const int64_t* target_ids, int64_t target_count, Pairing pairing,
               PathSink& sink, const Cancel& cancel);

}  // namespace gpualign
