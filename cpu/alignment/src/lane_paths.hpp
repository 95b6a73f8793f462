// Alignment paths of one query against a block of targets in the lanes of vectors, one element per target (grid.hpp).
#pragma once
#include <vector>

#include "block_paths.hpp"
#include "lane_codes.hpp"

namespace gpualign {

constexpr int64_t kTileColumns = 64;  // columns of a tile; 32 to 128 are equally fast

class LanePaths : public BlockPaths {
 public:
  LanePaths(const Kernels& kernels, const PathRecipe& recipe, const Cancel& cancel) : kernels_(kernels), recipe_(recipe), cancel_(cancel) {}

  int lanes() const override { return kernels_.vector_bytes * 8 / recipe_.differences.width; }
  int64_t bytes(int64_t rows, int64_t columns) const override;
  double cost(int64_t rows, int64_t columns, int) const override { return static_cast<double>(rows) * static_cast<double>(columns); }
  void set_targets(const std::vector<Record>& targets) override;
  void align(const uint8_t* query, int64_t rows, const int64_t* pairs, PathSink& sink) override;

 private:
  template <class E>
  void align_as(const uint8_t* query, int64_t rows, const int64_t* pairs, PathSink& sink);
  void reserve(GridArgs& a);

  const Kernels& kernels_;
  const PathRecipe& recipe_;
  const Cancel& cancel_;
  std::vector<Record> targets_;
  LaneCodes codes_;
  std::vector<int64_t> end_lanes_;
  std::vector<GridEnd> ends_;
  Scratch row_v_, row_y_, column_u_, column_x_, directions_;
  std::vector<std::vector<uint8_t>> runs_;
  const std::vector<uint8_t> no_runs_;
};

}  // namespace gpualign
