// Alignment paths of one query against a block of targets side by side in vectors.
#pragma once
#include <vector>

#include "path.hpp"

namespace gpualign {

class BlockPaths {
 public:
  virtual ~BlockPaths() = default;

  // Returns the number of targets in a block.
  virtual int lanes() const = 0;

  // Returns the bytes of scratch memory for a query of `rows` letters against targets of up to `columns` letters.
  virtual int64_t bytes(int64_t rows, int64_t columns) const = 0;

  // Returns the cost of the paths of `pair_count` targets, in steps of a kernel with one element per lane, which takes one step per cell of
  // the block.
  virtual double cost(int64_t rows, int64_t columns, int pair_count) const = 0;

  // Sets the targets for the queries to follow, at most one per lane.
  virtual void set_targets(const std::vector<Record>& targets) = 0;

  // Aligns a query. The path of target k goes to pair pairs[k] of the sink; targets with pairs[k] < 0 are skipped.
  virtual void align(const uint8_t* query, int64_t rows, const int64_t* pairs, PathSink& sink) = 0;
};

}  // namespace gpualign
