// Paths of single pairs within a band of diagonals, with a proof that no other path is as good (band_bound.hpp).
#pragma once
#include <vector>

#include "band_bound.hpp"
#include "cpu/src/scratch.hpp"

namespace gpualign {

class BandPaths {
 public:
  // The recipe must have a width of 8 and no free ends.
  BandPaths(const Kernels& kernels, const PathRecipe& recipe, const Cancel& cancel);

  // Aligns a pair if a band can be proven for less than max_cost steps of the block kernel (pair_paths.hpp), and returns true. Otherwise,
  // or if cancelled, returns false and adds nothing to the sink.
  bool align(const uint8_t* query, int64_t rows, const uint8_t* target, int64_t columns, int64_t pair, double max_cost, PathSink& sink);

 private:
  int64_t min_vectors(int64_t slack) const;  // that a band with this slack needs
  double cost(int64_t vectors) const;        // in steps of the block kernel
  int64_t bytes(int64_t vectors) const;      // of scratch memory
  // Returns the score of the best path in the band of these vectors, and leaves its directions; sets args_ and slack_.
  int64_t forward(int64_t vectors);

  const Kernels& kernels_;
  const PathRecipe& recipe_;
  const Cancel& cancel_;
  BandScores scores_;
  BandBound bound_;
  // The current pair:
  const uint8_t* query_ = nullptr;
  const uint8_t* target_ = nullptr;
  int64_t rows_ = 0, columns_ = 0;
  uint8_t letters_[kLetters + 1];
  int64_t slack_ = 0;
  BandArgs args_{};
  Scratch packed_, state_, directions_;
  std::vector<uint8_t> runs_;
};

}  // namespace gpualign
