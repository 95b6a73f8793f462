// Paths of single pairs that keep to a band of diagonals, with a proof that no other path is as good.
//
// A path that leaves the band has so many letters in gaps that its score has an upper bound. Where the band's best path scores more
// than that bound, every best path of the whole matrix lies in the band. Then the band's cells on these paths have the scores of the
// whole matrix, and all others have lower ones or the same: so the walk back meets the same ties, and comes to the same path.
//
// The bound, with a band that reaches `slack` diagonals beyond 0 and n - m on either side: a path that leaves it has at least
// I = slack + 1 + max(0, n - m) letters of the target and D = slack + 1 + max(0, m - n) letters of the query against gaps, since I - D
// is n - m. Its gaps cost at least 2o + e (I + D). A letter's best score with any other, or 0 if that is below 0, bounds what the letter
// can add; so the pairs of a path add at most the sum of these over the query, less the D smallest of them, and likewise for the
// target and I.
//
// A band that was too narrow gives a score, which the best path has at least: so it also says which band will do.
#pragma once
#include <vector>

#include "cpu/src/scratch.hpp"
#include "path.hpp"

namespace gpualign {

class BandPaths {
 public:
  // The recipe's width must be 8, and no end of its alignments free.
  BandPaths(const Kernels& kernels, const PathRecipe& recipe, const Cancel& cancel);

  // Aligns a pair if a band proves itself for less than `worth` steps of the block kernel (pair_paths.hpp). Puts nothing otherwise, or
  // if cancelled.
  bool align(const uint8_t* query, int64_t rows, const uint8_t* target, int64_t columns, int64_t pair, double worth, PathSink& sink);

 private:
  // A sequence's letters in order of their best scores.
  struct Letters {
    void count(const uint8_t* codes, int64_t length, const std::vector<int>& order, const int64_t* best);
    // The most that pairs of letters can add where so many letters are in none.
    int64_t most(int64_t without) const;

    struct Amount {
      int code;
      int64_t best, letters;
    };
    std::vector<Amount> amounts;  // of the codes that occur
    int64_t sum = 0;              // of all letters' best scores
    int64_t plain = 0;            // letters with the codes 0 .. 3
  };

  int64_t least_vectors(int64_t slack) const;
  double cost(int64_t vectors) const;
  int64_t bytes(int64_t vectors) const;
  // The score of the best path in the band of these vectors, whose directions it leaves; sets args_ and slack_.
  int64_t forward(int64_t vectors);
  // The most that a path can score which leaves a band with this slack.
  int64_t outside(int64_t slack) const;
  bool proven(int64_t slack, int64_t score) const;

  const Kernels& kernels_;
  const PathRecipe& recipe_;
  const Cancel& cancel_;
  int padding_;
  uint8_t rows_of_scores_[kLetters * kLetters];
  uint8_t table_[16];
  int64_t best_of_query_[kLetters] = {}, best_of_target_[kLetters] = {};
  std::vector<int> query_order_, target_order_;  // codes by best score
  // Of the pair:
  const uint8_t* query_ = nullptr;
  const uint8_t* target_ = nullptr;
  int64_t rows_ = 0, columns_ = 0;
  Letters query_letters_, target_letters_;
  uint8_t letters_[kLetters + 1];
  int64_t slack_ = 0;
  BandArgs args_{};
  Scratch packed_, state_, directions_;
  std::vector<uint8_t> runs_;
};

}  // namespace gpualign
