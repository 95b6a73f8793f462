// Alignment paths for edit distances: one query against a block of targets in the bits of vectors (sliced_grid.hpp).
#pragma once
#include <vector>

#include "block_paths.hpp"
#include "cpu/src/scratch.hpp"
#include "slice_masks.hpp"

namespace gpualign {

class SlicedPaths : public BlockPaths {
 public:
  SlicedPaths(const Kernels& kernels, const PathRecipe& recipe, const Cancel& cancel)
      : kernels_(kernels), recipe_(recipe), cancel_(cancel) {}

  int lanes() const override { return kernels_.vector_bytes * 8; }
  int64_t bytes(int64_t rows, int64_t columns) const override;
  double cost(int64_t rows, int64_t columns, int pair_count) const override;
  void set_targets(const std::vector<Record>& targets) override;
  void align(const uint8_t* query, int64_t rows, const int64_t* pairs, PathSink& sink) override;

 private:
  struct Lane {
    int number;
    Walk walk;
  };

  // Traces the paths in the strip that begins at `row`, up to its upper edge.
  void trace_strip(const SlicedGridArgs& a, const uint8_t* query, int64_t row);
  // Traces the paths of `batch`, at most as many as a vector has words, through the tile whose edges are in edges_.
  void trace_tile(int64_t row, int64_t column, const std::vector<Lane*>& batch);

  int words() const { return kernels_.vector_bytes / 8; }

  const Kernels& kernels_;
  const PathRecipe& recipe_;
  const Cancel& cancel_;
  std::vector<Record> targets_;
  int64_t columns_ = 0;
  SliceMasks slices_;
  Scratch row_v_, column_u_, edges_, directions_;
  uint64_t eq_[kLetters] = {};  // [letter] match mask of the strip: rows with the letter
  std::vector<Lane> lanes_to_trace_;
  std::vector<std::vector<uint8_t>> runs_;
  const std::vector<uint8_t> no_runs_;
};

}  // namespace gpualign
