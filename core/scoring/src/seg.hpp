// SEG: regions of low complexity in proteins (Wootton & Federhen, Comput Chem 17:149, 1993; Methods Enzymol 266:554, 1996).
//
// Stage 1. The complexity of a window, usually of 12 letters, is the entropy of its composition, K2 = -sum (n_i/N) log2 (n_i/N). A
// window of at most 2.2 bits starts a raw segment, which is extended to both sides by windows of at most 2.5 bits.
//
// Stage 2. A raw segment is trimmed to the part with the least probable composition. For L letters, with n_i of each kind, and r_k kinds
// that occur k times,
//
//   ln P0 = ln (L! / prod n_i!) + ln (20! / prod r_k!) - L ln 20
//
// On ties the longest part is taken, then the leftmost. At most 50 letters are trimmed from a raw segment (kTrimmed: NCBI's bound, which
// also makes the work linear). If the window that started the segment was trimmed on the left, the letters trimmed there are searched by
// themselves. The search then continues after the part that was taken.
//
// A letter that is not an amino acid counts for the length only; a window with more than two of them (kUnknown) belongs to no segment.
//
// Different compositions can be equally probable to the last digit, as 5 3 2 2 2 1 and 5 2 2 2 2 1 are. So logarithms are integer multiples
// of 2^-30, which makes sums independent of their order, and values that differ by less than kEqual are equal.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/common/src/intervals.hpp"

namespace gpualign {

class Seg {
 public:
  static constexpr int kLetters = 20;  // smaller codes are amino acids
  static constexpr int kMaxWindow = 64, kUnknown = 2;

  // window: at most kMaxWindow letters; trigger, extend: largest K2 of a window that starts a segment, and of one that extends it.
  Seg(int window, double trigger, double extend) : window_(window) {
    for (int known = window - kUnknown; known <= window; known++) {
      // K2 <= cut: log2 N - (sum n log2 n) / N <= cut.
      trigger_[known] = fixed(known * (std::log2(known) - trigger));
      extend_[known] = fixed(known * (std::log2(known) - extend));
    }
    for (int64_t n = 0; n < kTable; n++) factorials_.push_back(fixed(std::lgamma(double(n) + 1)));
    for (int n = 1; n <= window; n++) weight_[n] = fixed(n * std::log2(n));
  }

  // Appends the intervals of a protein whose first letter has the number `offset`.
  void find(const uint8_t* text, int64_t length, int64_t offset, std::vector<Interval>& intervals) {
    if (length < window_) return;
    text_ = text;
    rate_windows(length);
    const size_t first = intervals.size();
    scan(0, length, intervals);
    join(intervals, first);
    for (size_t k = first; k < intervals.size(); k++) intervals[k] = {intervals[k].begin + offset, intervals[k].end + offset};
  }

 private:
  static constexpr int kTrimmed = 50;
  static constexpr int kFraction = 30;
  static constexpr int64_t kEqual = int64_t{1} << (kFraction - 22);
  static constexpr int64_t kTable = 4096;

  enum Level : uint8_t { kHigh, kExtends, kTriggers };

  static int64_t fixed(double value) { return std::llround(std::ldexp(value, kFraction)); }

  // Sets levels_[i] to the level of the window that begins at letter i.
  void rate_windows(int64_t length) {
    levels_.assign(static_cast<size_t>(length - window_ + 1), kHigh);
    std::array<int, kLetters> counts{};
    int64_t sum = 0;  // sum of n log2 n
    int known = 0;
    const auto change = [&](uint8_t code, int by) {
      if (code >= kLetters) return;
      sum -= weight_[counts[code]];
      counts[code] += by;
      sum += weight_[counts[code]];
      known += by;
    };
    for (int64_t i = 0; i < length; i++) {
      if (i >= window_) change(text_[i - window_], -1);
      change(text_[i], 1);
      if (i >= window_ - 1 && known >= window_ - kUnknown)
        levels_[static_cast<size_t>(i - window_ + 1)] = sum >= trigger_[known] ? kTriggers : sum >= extend_[known] ? kExtends : kHigh;
    }
  }

  // Appends the segments of the letters begin .. end-1, as if they were the whole sequence.
  void scan(int64_t begin, int64_t end, std::vector<Interval>& intervals) {
    const auto level = [&](int64_t start) { return levels_[static_cast<size_t>(start)]; };
    const int64_t windows = end - window_ + 1;
    int64_t min_first = begin;
    for (int64_t start = begin; start < windows; start++) {
      if (level(start) != kTriggers) continue;
      int64_t first = start, last = start;
      while (first > min_first && level(first - 1) != kHigh) first--;
      while (last + 1 < windows && level(last + 1) != kHigh) last++;
      const Interval segment = least_probable(first, last + window_);
      if (start + window_ <= segment.begin) scan(first, segment.begin, intervals);
      intervals.push_back(segment);
      start = std::min(last, segment.end - 1);
      min_first = start + 1;
    }
  }

  // Stage 2: returns the least probable part. The windows of each length are visited from the end where those of the previous length
  // stopped, so that letters enter and leave one by one.
  Interval least_probable(int64_t begin, int64_t end) {
    const int64_t length = end - begin;
    counts_.fill(0);
    kinds_.assign(static_cast<size_t>(length) + 1, 0);
    kinds_[0] = kLetters;
    const auto change = [&](int64_t at, int by) {
      const uint8_t code = text_[at];
      if (code >= kLetters) return;
      const int64_t before = counts_[code], after = counts_[code] += by;
      uint8_t &old_kind = kinds_[static_cast<size_t>(before)], &new_kind = kinds_[static_cast<size_t>(after)];
      subtracted_ += factorial(after) - factorial(before) - factorial(old_kind) + factorial(old_kind - 1);
      old_kind--;
      new_kind++;
      subtracted_ += factorial(new_kind) - factorial(new_kind - 1);
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
      // The next length begins where this one ended, without the letter at the inner end.
      if (rightwards)
        change(start++, -1);
      else
        change(start + size - 1, -1);
      rightwards = !rightwards;
    }
    return best;
  }

  // Returns ln n! as a multiple of 2^-30.
  int64_t factorial(int64_t n) const { return n < kTable ? factorials_[static_cast<size_t>(n)] : fixed(std::lgamma(double(n) + 1)); }

  const int64_t letter_ = fixed(std::log(double(kLetters)));
  const int window_;
  std::array<int64_t, kMaxWindow + 1> trigger_{}, extend_{}, weight_{};
  std::vector<uint8_t> levels_;
  const uint8_t* text_ = nullptr;
  std::vector<int64_t> factorials_;
  std::array<int64_t, kLetters> counts_{};
  std::vector<uint8_t> kinds_;  // [k] number of letters that occur k times
  int64_t subtracted_ = 0;      // ln prod n_i! + ln prod r_k!
};

}  // namespace gpualign
