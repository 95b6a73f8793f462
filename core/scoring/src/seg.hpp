// SEG: regions of low complexity in proteins (Wootton & Federhen, Comput Chem 17:149, 1993; Methods Enzymol 266:554, 1996).
//
// Stage 1. The complexity of a window of 12 letters is the entropy of its composition, K2 = -sum (n_i/N) log2 (n_i/N). A window of 2.2
// bits or less begins a raw segment, which takes in the windows on either side as long as they have 2.5 bits or less.
//
// Stage 2. Of a raw segment the part is kept whose composition is least probable: of L letters, n_i of each kind, of which r_k kinds
// occur k times,
//
//   ln P0 = ln (L! / prod n_i!) + ln (20! / prod r_k!) - L ln 20
//
// Of equal ones the longest is taken, then the leftmost. At most 50 letters are cut off a raw segment (kTrimmed: NCBI's bound, which
// also makes the work linear). Where the window that began the segment was cut off at the left, what was cut off there is searched by
// itself; the search goes on behind the part that was kept.
//
// A letter that is no amino acid counts for the length alone; a window with more than two of them (kUnknown) belongs to nothing.
//
// Different compositions can be equally probable to the last digit: 5 3 2 2 2 1 and 5 2 2 2 2 1 are. Logarithms are therefore whole
// multiples of 2^-30, so that it makes no difference how a composition was reached, and closer than kEqual is equal.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/distance/src/intervals.hpp"

namespace gpualign {

class Seg {
 public:
  static constexpr int kLetters = 20;  // codes below are amino acids

  Seg() {
    for (int known = kWindow - kUnknown; known <= kWindow; known++) {
      // K2 <= cut: log2 N - (sum n log2 n) / N <= cut.
      trigger_[known] = fixed(known * (std::log2(known) - kTrigger));
      extend_[known] = fixed(known * (std::log2(known) - kExtend));
    }
    for (int64_t n = 0; n < kTable; n++) factorials_.push_back(fixed(std::lgamma(double(n) + 1)));
    for (int n = 1; n <= kWindow; n++) weight_[n] = fixed(n * std::log2(n));
  }

  // Adds the intervals of a protein whose first letter is number `offset`.
  void find(const uint8_t* text, int64_t length, int64_t offset, std::vector<Interval>& found) {
    if (length < kWindow) return;
    text_ = text;
    rate_windows(length);
    const size_t first = found.size();
    scan(0, length, found);
    join(found, first);
    for (size_t k = first; k < found.size(); k++) found[k] = {found[k].begin + offset, found[k].end + offset};
  }

 private:
  static constexpr int kWindow = 12, kUnknown = 2, kTrimmed = 50;
  static constexpr double kTrigger = 2.2, kExtend = 2.5;
  static constexpr int kFraction = 30;
  static constexpr int64_t kEqual = int64_t{1} << (kFraction - 22);
  static constexpr int64_t kTable = 4096;

  enum Level : uint8_t { kHigh, kExtends, kTriggers };

  static int64_t fixed(double value) { return std::llround(std::ldexp(value, kFraction)); }

  // levels_[i]: of the window that begins at letter i.
  void rate_windows(int64_t length) {
    levels_.assign(static_cast<size_t>(length - kWindow + 1), kHigh);
    std::array<int, kLetters> counts{};
    int64_t sum = 0;  // of n log2 n
    int known = 0;
    const auto change = [&](uint8_t code, int by) {
      if (code >= kLetters) return;
      sum -= weight_[counts[code]];
      counts[code] += by;
      sum += weight_[counts[code]];
      known += by;
    };
    for (int64_t i = 0; i < length; i++) {
      if (i >= kWindow) change(text_[i - kWindow], -1);
      change(text_[i], 1);
      if (i >= kWindow - 1 && known >= kWindow - kUnknown)
        levels_[static_cast<size_t>(i - kWindow + 1)] = sum >= trigger_[known] ? kTriggers : sum >= extend_[known] ? kExtends : kHigh;
    }
  }

  // Segments of letters from `begin` to `end`, as if these were the sequence.
  void scan(int64_t begin, int64_t end, std::vector<Interval>& found) {
    const auto level = [&](int64_t start) { return levels_[static_cast<size_t>(start)]; };
    const int64_t windows = end - kWindow + 1;
    int64_t least = begin;
    for (int64_t start = begin; start < windows; start++) {
      if (level(start) != kTriggers) continue;
      int64_t first = start, last = start;
      while (first > least && level(first - 1) != kHigh) first--;
      while (last + 1 < windows && level(last + 1) != kHigh) last++;
      const Interval kept = least_probable(first, last + kWindow);
      if (start + kWindow <= kept.begin) scan(first, kept.begin, found);
      found.push_back(kept);
      start = std::min(last, kept.end - 1);
      least = start + 1;
    }
  }

  // Stage 2. Each length's windows are visited from the end where the last one stopped, so that letters go in and out one by one.
  Interval least_probable(int64_t begin, int64_t end) {
    const int64_t length = end - begin;
    counts_.fill(0);
    kinds_.assign(static_cast<size_t>(length) + 1, 0);
    kinds_[0] = kLetters;
    const auto change = [&](int64_t at, int by) {
      const uint8_t code = text_[at];
      if (code >= kLetters) return;
      const int64_t before = counts_[code], after = counts_[code] += by;
      uint8_t &left = kinds_[static_cast<size_t>(before)], &joined = kinds_[static_cast<size_t>(after)];
      subtracted_ += factorial(after) - factorial(before) - factorial(left) + factorial(left - 1);
      left--;
      joined++;
      subtracted_ += factorial(joined) - factorial(joined - 1);
    };
    subtracted_ = factorial(kLetters);
    for (int64_t at = begin; at < end; at++) change(at, 1);

    Interval best{begin, end};
    int64_t lowest = 0;
    bool rightwards = true;
    const int64_t shortest = std::max<int64_t>(1, length - kTrimmed) + 1;
    for (int64_t size = length, start = begin; size >= shortest; size--) {
      const int64_t constant = factorial(size) + factorial(kLetters) - size * letter_;
      while (true) {
        const int64_t value = constant - subtracted_;
        const bool to_the_left = value <= lowest + kEqual && best.end - best.begin == size && start < best.begin;
        if (value < lowest - kEqual || to_the_left) {
          lowest = value;
          best = {start, start + size};
        }
        if (rightwards ? start + size == end : start == begin) break;
        if (rightwards) {
          change(start, -1);
          change(start++ + size, 1);
        } else {
          change(start + size - 1, -1);
          change(--start, 1);
        }
      }
      // The next size begins where this one ended, without the letter on the inside.
      if (rightwards)
        change(start++, -1);
      else
        change(start + size - 1, -1);
      rightwards = !rightwards;
    }
    return best;
  }

  // ln n!
  int64_t factorial(int64_t n) const { return n < kTable ? factorials_[static_cast<size_t>(n)] : fixed(std::lgamma(double(n) + 1)); }

  const int64_t letter_ = fixed(std::log(double(kLetters)));
  std::array<int64_t, kWindow + 1> trigger_{}, extend_{}, weight_{};
  std::vector<uint8_t> levels_;
  const uint8_t* text_ = nullptr;
  std::vector<int64_t> factorials_;
  std::array<int64_t, kLetters> counts_{};
  std::vector<uint8_t> kinds_;  // how many letters occur so often
  int64_t subtracted_ = 0;      // ln prod n_i! + ln prod r_k!
};

}  // namespace gpualign
