// Alignment paths of hits whose first and last pair of letters are known, one by one (box.hpp).
#pragma once
#include <vector>

#include "cpu/src/scratch.hpp"
#include "local_tile.hpp"
#include "path.hpp"

namespace gpualign {

class BoxPaths {
 public:
  // recipe, path_recipe: of the same scoring
  BoxPaths(const Kernels& kernels, const LocalRecipe& recipe, const PathRecipe& path_recipe, const Cancel& cancel);

  // Traces the path of a pair of parts that begins with the first letters of both, ends with the last ones, and has the best local score of
  // both. Returns false if cancelled, or if the directions do not fit into memory or the score into an element.
  bool align(Record query, Record target, int64_t score, int64_t pair, PathSink& sink);

 private:
  template <class E>
  bool align_as(Record query, Record target, int64_t score, int64_t pair, PathSink& sink);

  const Kernels& kernels_;
  const LocalRecipe& recipe_;
  const PathRecipe& path_recipe_;
  const Cancel& cancel_;
  Scratch scratch_, directions_;
  std::vector<uint8_t> runs_;
};

}  // namespace gpualign
