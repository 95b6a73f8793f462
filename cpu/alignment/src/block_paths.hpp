// Paths of one query against a block of targets side by side in vectors.
#pragma once
#include <vector>

#include "path.hpp"

namespace gpualign {

class BlockPaths {
 public:
  virtual ~BlockPaths() = default;

  // Targets of a block.
  virtual int lanes() const = 0;

  // Memory for a query of `rows` letters against targets of up to `columns`.
  virtual int64_t bytes(int64_t rows, int64_t columns) const = 0;

  // Of paths to `wanted` targets, in steps of a kernel with an element a lane: one a cell of the block.
  virtual double cost(int64_t rows, int64_t columns, int wanted) const = 0;

  // At most one target a lane. They stay as they are while queries pass.
  virtual void begin_block(const std::vector<Record>& targets) = 0;

  // Paths of target k go to pair pairs[k] of the sink; those with pairs[k] < 0 are not wanted.
  virtual void align(const uint8_t* query, int64_t rows, const int64_t* pairs, PathSink& sink) = 0;
};

}  // namespace gpualign
