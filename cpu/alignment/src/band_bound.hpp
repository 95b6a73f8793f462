// An upper bound of the scores of paths that leave a band of diagonals.
//
// If the best path of a band scores more than this bound, every best path of the whole matrix lies in the band. Then the band's cells on
// these paths have the scores of the whole matrix, and its other cells have the same or lower scores. So the traceback meets the same ties
// and finds the same path.
//
// The band extends `slack` diagonals beyond 0 and n - m on either side. A path that leaves it has at least I = slack + 1 + max(0, n - m)
// letters of the target and D = slack + 1 + max(0, m - n) letters of the query against gaps, since I - D is n - m. Its gaps cost at least
// 2o + e (I + D). The best score of a letter with any other, or 0 if that is negative, bounds what the letter can add. So the pairs of a
// path add at most the sum of these over the query without the D smallest ones, and at most that over the target without the I smallest.
//
// A band that is too narrow still gives a score, which the best path reaches or exceeds. From that follows the width of a band that
// suffices.
#pragma once
#include <array>
#include <unordered_map>
#include <vector>

#include "path.hpp"

namespace gpualign {

// The scores of a recipe in bytes, as bands of diagonals look them up.
struct BandScores {
  // The recipe must have a width of 8 and no free ends.
  explicit BandScores(const Recipe& differences);

  int padding;                        // the first code above the letters
  uint8_t rows[kLetters * kLetters];  // shifted scores; 0 for the padding code
  uint8_t pairs[16];                  // shifted scores of the codes below 4, by query << kPairTableShift | target
};

// The letters of a sequence, in ascending order of their best scores.
struct LetterCounts {
  // Returns the largest sum that pairs of letters can add if `unpaired` letters are in no pair.
  int64_t max_sum(int64_t unpaired) const;

  struct Amount {
    int code;
    int64_t best, letters;
  };
  std::vector<Amount> amounts;  // for the codes that occur
  int64_t sum = 0;              // of the best scores of all letters
  int64_t plain = 0;            // number of letters with the codes 0 .. 3
  int64_t length = 0;
};

class BandBound {
 public:
  // The recipe must have a width of 8 and no free ends.
  explicit BandBound(const PathRecipe& recipe);

  LetterCounts count_query(Record query) const { return query_counts(numbers_of_letters(query).data()); }
  LetterCounts count_target(Record target) const { return target_counts(numbers_of_letters(target).data()); }

  // The same, from the number of letters with each code [kLetters].
  LetterCounts query_counts(const int64_t* numbers) const { return counts(numbers, query_order_, best_of_query_); }
  LetterCounts target_counts(const int64_t* numbers) const { return counts(numbers, target_order_, best_of_target_); }

  // Sets the pair for the calls that follow; the counts must outlive them.
  void set_pair(const LetterCounts& query, const LetterCounts& target);

  // Returns whether a band with this slack holds every best path, if its own best path has this score.
  bool proven(int64_t slack, int64_t score) const { return slack >= sufficient_ || bound_outside(slack) < score; }

  // Returns the smallest slack above `low` with which this score proves a band.
  int64_t sufficient_slack(int64_t low, int64_t score) const;

  // Returns the score expected with this number of edits, each of which turns a letter into a random other letter.
  int64_t expected_score(int64_t edits) const;

 private:
  static std::array<int64_t, kLetters> numbers_of_letters(Record record);
  // order: codes in ascending order of their best scores
  static LetterCounts counts(const int64_t* numbers, const std::vector<int>& order, const int64_t* best);
  // Returns an upper bound of the score of paths that leave a band with this slack.
  int64_t bound_outside(int64_t slack) const;

  int64_t open_extra_, extend_;
  int64_t table_[kLetters * kLetters] = {};  // scores
  int64_t best_of_query_[kLetters] = {}, best_of_target_[kLetters] = {};
  std::vector<int> query_order_, target_order_;  // codes in ascending order of their best scores
  // The current pair:
  const LetterCounts* query_ = nullptr;
  const LetterCounts* target_ = nullptr;
  int64_t surplus_ = 0;     // n - m
  int64_t sufficient_ = 0;  // slack of a band that holds the whole matrix
};

// The letters of the records of a list of pairs, each record counted once.
class ListedLetters {
 public:
  ListedLetters(const BandBound& bound, const Sequences& queries, const Sequences& targets)
      : bound_(bound), queries_(queries), targets_(targets) {}

  const LetterCounts& query(int64_t record);
  const LetterCounts& target(int64_t record);

 private:
  const BandBound& bound_;
  const Sequences& queries_;
  const Sequences& targets_;
  std::unordered_map<int64_t, LetterCounts> query_counts_, target_counts_;
};

}  // namespace gpualign
