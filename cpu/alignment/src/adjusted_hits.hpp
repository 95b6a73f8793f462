// Local alignments in which every pair of sequences has its own scores, adjusted to the compositions of both (composition.hpp).
//
// The hits of a query are aligned side by side, in lanes that have a score table each (lane_profile.hpp), or one by one if they are too few
// or too long for that: in 16 bits, or in 32 if those are not enough.
#pragma once
#include "core/scoring/src/composition.hpp"
#include "hit_bounds.hpp"
#include "hsps.hpp"
#include "local_paths.hpp"

namespace gpualign {

// Writes the score of each hit in units of 1/kUnitsPerPoint to scores[hit]; 0 if one of its windows has no amino acids. windows: the parts
// whose compositions the scores of a hit are adjusted to. hits: with the scores of the search, from which the width of
// elements is guessed. Returns false if cancelled.
bool score_adjusted_hits(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const MatrixAdjuster& adjuster,
                         const LocalRecipe& recipe, const LocalHit* hits, const HitBounds* windows, int64_t count, int64_t* scores,
                         const Cancel& cancel);

// Traces hits with known scores, as trace_local_hits does. recipe, path_recipe: for the gap costs in these units; their score tables are
// not used.
bool trace_adjusted_hits(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const MatrixAdjuster& adjuster,
                         const LocalRecipe& recipe, const PathRecipe& path_recipe, const LocalHit* hits, const HitBounds* windows,
                         int64_t count, PathSink& sink, const Cancel& cancel);

// Traces several alignments of each of these hits, as trace_hsps does.
bool trace_adjusted_hsps(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const MatrixAdjuster& adjuster,
                         const LocalRecipe& recipe, const PathRecipe& path_recipe, const LocalHit* hits, const HitBounds* windows,
                         int64_t count, const HspLimits& limits, Hsps& out, const Cancel& cancel);

}  // namespace gpualign
