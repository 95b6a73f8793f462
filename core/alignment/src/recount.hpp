// Recount of path statistics when some letters do not count as they were aligned: ambiguity codes, or letters masked by a search.
#pragma once
#include <cstdint>
#include <vector>

#include "walk.hpp"

namespace gpualign {

// The kind that a pair of letters counts as. kNothing for a letter with itself: columns with that letter do not count at all.
enum PairCount : uint8_t { kMatch = 0, kMismatch = 1, kNothing = 2 };

class Recount {
 public:
  // counts_as: [kWalkLetters][kWalkLetters] of PairCount. runs: receives the path again, with identical letters marked equal; or null.
  Recount(const uint8_t* counts_as, std::vector<uint8_t>* runs) : counts_as_(counts_as), runs_(runs) {
    for (int k = 0; k < kWalkLetters; k++) all_count_ &= counts_as[k * (kWalkLetters + 1)] != kNothing;
  }

  // Counts the runs [run, end), which begin at these letters of query and target. `original` has the ends of the path.
  PathStatistics count(const uint8_t* run, const uint8_t* end, const uint8_t* query, const uint8_t* target,
                       const PathStatistics& original) {
    counts_ = {};
    counts_.query_start = original.query_start, counts_.query_end = original.query_end;
    counts_.target_start = original.target_start, counts_.target_end = original.target_end;
    since_pair_ = 0;
    seen_pair_ = false;
    int gap = -1;  // the operation of the open gap, if a letter of it has been counted
    for (; run < end; run++) {
      const int op = *run & 3, length = (*run >> 2) + 1;
      if (op <= kDifferent) {
        pairs(op, query, target, length);
        query += length, target += length, gap = -1;
      } else {
        const uint8_t*& letters = op == kInsertion ? query : target;
        const int counted = letters_that_count(letters, length);
        if (counted && gap != op) counts_.gap_opens++, gap = op;
        counts_.gaps += counted, since_pair_ += counted;
        letters += length;
        put(op, length);
      }
    }
    counts_.end_gaps += since_pair_;
    flush();
    return counts_;
  }

 private:
  void pairs(int op, const uint8_t* query, const uint8_t* target, int length) {
    // Letters marked equal are matches if the path was aligned with these letters and all letters count.
    const bool known = op == kEqual && all_count_ && !runs_;
    if (known) counts_.matches += length;
    for (int k = known ? length : 0; k < length; k++) {
      const uint8_t as = counts_as_[query[k] * kWalkLetters + target[k]];
      counts_.matches += as == kMatch;
      counts_.mismatches += as == kMismatch;
      if (runs_) put(query[k] == target[k] ? kEqual : kDifferent, 1);
    }
    if (!seen_pair_) counts_.end_gaps = since_pair_;
    seen_pair_ = true;
    since_pair_ = 0;
  }
  int letters_that_count(const uint8_t* letters, int length) const {
    int counted = all_count_ ? length : 0;
    for (int k = counted; k < length; k++) counted += counts_as_[letters[k] * (kWalkLetters + 1)] != kNothing;
    return counted;
  }
  void put(int op, int length) {
    if (!runs_) return;
    if (op != op_) {
      flush();
      op_ = op;
    }
    length_ += length;
  }
  void flush() {
    for (; length_ > 0; length_ -= 64) runs_->push_back(static_cast<uint8_t>((std::min<int64_t>(length_, 64) - 1) << 2 | op_));
    length_ = 0;
  }

  const uint8_t* counts_as_;
  std::vector<uint8_t>* runs_;
  bool all_count_ = true;  // no letter is kNothing with itself
  PathStatistics counts_;
  int32_t since_pair_ = 0;  // letters in gaps since the last pair of letters
  bool seen_pair_ = false;
  int op_ = kEqual;
  int64_t length_ = 0;
};

}  // namespace gpualign
