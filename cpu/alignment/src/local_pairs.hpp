// Local alignments of single pairs, with one sequence in the lanes (striped.hpp).
#pragma once
#include <vector>

#include "cpu/src/scratch.hpp"
#include "excluded_cells.hpp"
#include "local_tile.hpp"

namespace gpualign {

// Pairs of letters that alignments may not contain, and a score that no alignment without them exceeds.
struct Exclusions {
  std::vector<LetterPair> pairs;
  int64_t max_score;
};

// Returns the record with its letters in reverse order, which are stored in `out`.
Record reversed(Record record, std::vector<uint8_t>& out);

class LocalPairs {
 public:
  LocalPairs(const Kernels& kernels, const LocalRecipe& recipe, const Cancel& cancel);

  // Returns the score of a pair, with elements of `width` bytes first, and wider ones as far as the score requires. -1 if cancelled.
  int64_t score(Record query, Record target, int width);

  // Returns the best score of a pair's alignments that contain none of the exclusions. -1 if cancelled.
  int64_t score(Record query, Record target, const Exclusions& exclusions);

  // Returns the pair of letters in which alignments with the best score end: the first along the target, then along the query. Both are -1
  // if no alignment has this score, or if cancelled. from_corner: the score is that of alignments which begin with the first two letters,
  // plus one, and all others score less. exclusions: or null.
  LetterPair find_end(Record query, Record target, int64_t score, bool from_corner, const Exclusions* exclusions = nullptr);

 private:
  // Returns the arguments for a pair, whose longer sequence lies in the lanes.
  LocalArgs arguments(Record query, Record target, int width);
  // Excludes pairs of letters from the alignments that these arguments are for.
  void exclude(const std::vector<LetterPair>& pairs, LocalArgs& arguments);
  // Returns the width of elements that hold the scores of alignments that contain none of the exclusions.
  int width_of(const Exclusions& exclusions) const;

  const Kernels& kernels_;
  const LocalRecipe& recipe_;
  const Cancel& cancel_;
  LocalArgs arguments_;
  int32_t transposed_[kLetters * kLetters];
  ExcludedCells excluded_;
  Scratch boundary_, scratch_;
};

}  // namespace gpualign
