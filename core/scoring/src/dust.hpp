// Symmetric DUST: regions of low complexity in nucleotide sequences (Morgulis, Gertz, Schaffer & Agarwala, J Comput Biol 13:1028, 2006).
//
// An interval of l triplets, in which triplet t occurs c_t times, has the score sum c_t (c_t - 1) / 2 / (l - 1). It is perfect if its score
// exceeds T = 2 (level 20), no part of it scores more, and it has at most 64 letters. The result is the union of all perfect intervals.
//
// A triplet with a letter other than A, C, G, T equals no other triplet: it makes intervals longer but no sum larger.
//
// For each last triplet, all first triplets of the window are tested from right to left, except
// - those of the longest suffix in which no triplet occurs more than 2T times, since its parts score at most T;
// - any, while the sum of the whole window, which no suffix exceeds, is too small for the shortest interval that remains.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/common/src/intervals.hpp"

namespace gpualign {

class Dust {
 public:
  static constexpr int kLetters = 4;  // smaller codes are nucleotides

  // Appends the intervals of a sequence whose first letter has the number `offset`.
  void find(const uint8_t* text, int64_t length, int64_t offset, std::vector<Interval>& intervals) {
    window_.fill(0);
    suffix_.fill(0);
    window_sum_ = suffix_sum_ = 0;
    oldest_ = suffix_begin_ = 0;
    const size_t first = intervals.size();
    for (int64_t last = 0; last + 2 < length; last++) {
      push(last, triplet(text + last));
      if (window_sum_ * 10 <= (last + 1 - suffix_begin_) * kLevel) continue;
      const int64_t begin = leftmost_perfect(last);
      if (begin < 0) continue;
      // Ends only increase, so intervals that touch this one are the last ones.
      Interval joined{begin + offset, last + 3 + offset};
      while (intervals.size() > first && intervals.back().end >= joined.begin) {
        joined.begin = std::min(joined.begin, intervals.back().begin);
        intervals.pop_back();
      }
      intervals.push_back(joined);
    }
  }

 private:
  static constexpr int kWindow = 64 - 2;  // triplets
  static constexpr int kLevel = 20;       // ten times T
  static constexpr uint8_t kNone = 64;
  static constexpr int kSlots = 64;  // slots for the triplets of the window, by triplet number modulo kSlots

  static size_t slot(int64_t at) { return static_cast<size_t>(at % kSlots); }

  static uint8_t triplet(const uint8_t* at) {
    if (at[0] >= kLetters || at[1] >= kLetters || at[2] >= kLetters) return kNone;
    return static_cast<uint8_t>(at[0] << 4 | at[1] << 2 | at[2]);
  }

  using Counts = std::array<int, kNone>;

  // Adds a triplet to counts and to the sum of c (c - 1) / 2, which grows by its previous count.
  static void add(Counts& counts, int64_t& sum, uint8_t t) {
    if (t != kNone) sum += counts[t]++;
  }
  static void drop(Counts& counts, int64_t& sum, uint8_t t) {
    if (t != kNone) sum -= --counts[t];
  }

  void push(int64_t last, uint8_t t) {
    if (last - oldest_ == kWindow) {
      const uint8_t gone = triplets_[slot(oldest_)];
      drop(window_, window_sum_, gone);
      if (suffix_begin_ == oldest_) {
        drop(suffix_, suffix_sum_, gone);
        suffix_begin_++;
      }
      oldest_++;
    }
    triplets_[slot(last)] = t;
    best_[slot(last)] = {0, 1};
    add(window_, window_sum_, t);
    add(suffix_, suffix_sum_, t);
    while (t != kNone && suffix_[t] * 10 > 2 * kLevel) drop(suffix_, suffix_sum_, triplets_[slot(suffix_begin_++)]);
  }

  // Returns the first letter of the longest perfect interval that ends with this triplet, or -1.
  int64_t leftmost_perfect(int64_t last) {
    Counts counts = suffix_;
    int64_t sum = suffix_sum_, begin = -1;
    Score best{0, 1};  // of all intervals that begin at `first` or later, also those that end earlier
    for (int64_t first = suffix_begin_ - 1; first >= oldest_; first--) {
      add(counts, sum, triplets_[slot(first)]);
      best = larger(best, best_[slot(first)]);
      const Score score{sum, last - first};
      if (sum * 10 <= kLevel * score.divisor || score < best) continue;
      begin = first;
      best = best_[slot(first)] = score;
    }
    return begin;
  }

  struct Score {
    int64_t sum, divisor;
    bool operator<(const Score& other) const { return sum * other.divisor < other.sum * divisor; }
  };
  static Score larger(const Score& a, const Score& b) { return a < b ? b : a; }

  Counts window_{}, suffix_{};
  int64_t window_sum_ = 0, suffix_sum_ = 0;
  int64_t oldest_ = 0, suffix_begin_ = 0;  // numbers of triplets
  std::array<uint8_t, kSlots> triplets_{};
  std::array<Score, kSlots> best_{};  // of the perfect intervals that begin at each triplet
};

}  // namespace gpualign
