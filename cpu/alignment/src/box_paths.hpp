// Alignment paths of hits whose first and last pair of letters are known, one by one (box.hpp).
//
// Directions that do not fit into memory are made in strips of columns: the forward pass stores H and E before each strip, and the
// traceback computes all strips but the last again. That is at most twice the work, and still faster than the tiles of pair_paths.hpp,
// which are computed cell by cell unless differences fit bytes.
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
  // both. Returns false if cancelled, if the score does not fit into an element, or if another way is faster or takes less memory.
  bool align(Record query, Record target, int64_t score, int64_t pair, PathSink& sink);

 private:
  template <class E>
  bool align_as(Record query, Record target, int64_t score, int64_t pair, PathSink& sink);

  const Kernels& kernels_;
  const LocalRecipe& recipe_;
  const PathRecipe& path_recipe_;
  const Cancel& cancel_;
  Scratch scratch_, states_, directions_;
  std::vector<uint8_t> runs_;
};

}  // namespace gpualign
