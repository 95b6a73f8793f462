// Alignment paths of single pairs, for queries with few targets and for pairs too long for a block of lanes.
//
// The matrix is cut into tiles. The forward pass, by the wavefront in bytes or cell by cell in wider numbers, stores v, y on the upper edge
// of every tile and u, x on its left edge. Tiles that the path reaches are computed again, cell by cell, with their directions. Edges take
// rows / tile_rows + columns / tile_columns lines of the matrix, so tiles grow until that fits into memory.
//
// An excluded cell is a pair of letters that costs as much as two gaps, and is never taken in place of them.
#pragma once
#include <memory>

#include "excluded_cells.hpp"
#include "path.hpp"

namespace gpualign {

class PairPaths {
 public:
  virtual ~PairPaths() = default;

  // Returns the minimum scratch memory (bytes) for a pair.
  virtual int64_t min_bytes(int64_t rows, int64_t columns) const = 0;

  // Returns the cost of a pair including its traceback, in steps of the block kernel (one row of one column of all lanes).
  virtual double cost(int64_t rows, int64_t columns) const = 0;

  // Aligns a pair and stores its path in the sink. Throws ScratchTooSmall if the recipe's worker_bytes are fewer than min_bytes.
  // excluded: cells that the path may not contain, or null; only for recipes of more than 8 bits.
  virtual void align(const uint8_t* query, int64_t rows, const uint8_t* target, int64_t columns, int64_t pair, PathSink& sink,
                     const ExcludedCells* excluded = nullptr) = 0;
};

// Returns the implementation for the width of the recipe.
std::unique_ptr<PairPaths> make_pair_paths(const Kernels& kernels, const PathRecipe& recipe, const Cancel& cancel);

}  // namespace gpualign
