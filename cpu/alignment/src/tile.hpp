// Scores of one tile: a list of queries against a list of targets, by the kernels of one instruction set.
#pragma once
#include "cpu/src/work.hpp"

namespace gpualign {

// Scores a tile. Returns false if cancelled; the scores are then incomplete.
template <class Score>
bool score_tile(const Kernels& kernels, const Sequences& queries, const Sequences& targets, const Recipes& recipes, const Tile<Score>& tile,
                const Cancel& cancel);

}  // namespace gpualign
