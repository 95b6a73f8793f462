// Paths of single pairs within a band of diagonals, with a proof that no other path is as good.
//
// A path that leaves the band has a minimal number of letters in gaps, so its score has an upper bound. If the best path of the band scores
// more than this bound, every best path of the whole matrix lies in the band. Then the band's cells on these paths have the scores of the
// whole matrix, and its other cells have the same or lower scores. So the traceback meets the same ties and finds the same path.
//
// The bound. The band extends `slack` diagonals beyond 0 and n - m on either side. A path that leaves it has at least
// I = slack + 1 + max(0, n - m) letters of the target and D = slack + 1 + max(0, m - n) letters of the query against gaps, since I - D
// is n - m. Its gaps cost at least 2o + e (I + D). The best score of a letter with any other, or 0 if that is negative, bounds what the
// letter can add. So the pairs of a path add at most the sum of these over the query without the D smallest ones, and likewise for the
// target and I.
//
// A band that is too narrow still gives a score, which the best path reaches or exceeds, and hence the width of a band that suffices.
#pragma once
#include <vector>

#include "cpu/src/scratch.hpp"
#include "path.hpp"

namespace gpualign {

class BandPaths {
 public:
  // The recipe must have a width of 8 and no free ends.
  BandPaths(const Kernels& kernels, const PathRecipe& recipe, const Cancel& cancel);

  // Aligns a pair if a band can be proven for less than max_cost steps of the block kernel (pair_paths.hpp), and returns true. Otherwise,
  // or if cancelled, returns false and adds nothing to the sink.
  bool align(const uint8_t* query, int64_t rows, const uint8_t* target, int64_t columns, int64_t pair, double max_cost, PathSink& sink);

 private:
  // The letters of a sequence, in ascending order of their best scores.
  struct LetterCounts {
    void count(const uint8_t* codes, int64_t length, const std::vector<int>& order, const int64_t* best);
    // Returns the largest sum that pairs of letters can add if `unpaired` letters are in no pair.
    int64_t max_sum(int64_t unpaired) const;

    struct Amount {
      int code;
      int64_t best, letters;
    };
    std::vector<Amount> amounts;  // for the codes that occur
    int64_t sum = 0;              // of the best scores of all letters
    int64_t plain = 0;            // number of letters with the codes 0 .. 3
  };

  int64_t min_vectors(int64_t slack) const;  // that a band with this slack needs
  double cost(int64_t vectors) const;        // in steps of the block kernel
  int64_t bytes(int64_t vectors) const;      // of scratch memory
  // Returns the score of the best path in the band of these vectors, and leaves its directions; sets args_ and slack_.
  int64_t forward(int64_t vectors);
  // Returns an upper bound of the score of paths that leave a band with this slack.
  int64_t bound_outside(int64_t slack) const;
  bool proven(int64_t slack, int64_t score) const;

  const Kernels& kernels_;
  const PathRecipe& recipe_;
  const Cancel& cancel_;
  int padding_;
  uint8_t rows_of_scores_[kLetters * kLetters];
  uint8_t table_[16];
  int64_t best_of_query_[kLetters] = {}, best_of_target_[kLetters] = {};
  std::vector<int> query_order_, target_order_;  // codes in ascending order of their best scores
  // The current pair:
  const uint8_t* query_ = nullptr;
  const uint8_t* target_ = nullptr;
  int64_t rows_ = 0, columns_ = 0;
  LetterCounts query_letters_, target_letters_;
  uint8_t letters_[kLetters + 1];
  int64_t slack_ = 0;
  BandArgs args_{};
  Scratch packed_, state_, directions_;
  std::vector<uint8_t> runs_;
};

}  // namespace gpualign
