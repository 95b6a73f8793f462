// Paths of single pairs, for queries with few targets and for pairs too long for a block of lanes.
//
// The matrix is cut into tiles. The forward pass, by the wavefront in bytes or cell by cell in wider numbers, keeps v, y on the
// upper edge of every tile and u, x on its left edge; the tiles that the path comes to are computed again, cell by cell, with
// their directions. Edges take (rows / tile_rows + columns / tile_columns) lines of the matrix: tiles grow until that fits.
#pragma once
#include <memory>

#include "path.hpp"

namespace gpualign {

class PairPaths {
 public:
  virtual ~PairPaths() = default;

  // Memory that a pair takes at least.
  virtual int64_t least_bytes(int64_t rows, int64_t columns) const = 0;

  // In steps of the block kernel (one row of one column of all lanes), the way back included.
  virtual double cost(int64_t rows, int64_t columns) const = 0;

  // Throws ScratchTooSmall where the recipe's worker_bytes are fewer than least_bytes.
  virtual void align(const uint8_t* query, int64_t rows, const uint8_t* target, int64_t columns, int64_t pair, PathSink& sink) = 0;
};

std::unique_ptr<PairPaths> make_pair_paths(const Kernels& kernels, const PathRecipe& recipe, const Cancel& cancel);

}  // namespace gpualign
