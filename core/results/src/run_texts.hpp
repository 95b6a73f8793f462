// Text of runs of paths, as in CIGAR strings. gpualign.core.alignment.tile_results.Runs describes runs.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "numbers.hpp"

namespace gpualign {

inline char* put_run(char* out, int64_t length, char op) {
  out = put_integer(out, length);
  *out++ = op;
  return out;
}

// The text of one or two consecutive bytes of runs: the first `width` letters. `put` copies all of them.
template <int kLetters>
struct RunText {
  char letters[kLetters];
  uint8_t width;

  char* put(char* out) const {
    std::memcpy(out, this, sizeof *this);
    return out + width;
  }
};
using OneRun = RunText<3>;
using TwoRuns = RunText<7>;

inline const std::array<OneRun, 256>& one_run_texts() {
  static const std::array<OneRun, 256> texts = [] {
    std::array<OneRun, 256> all{};
    for (int byte = 0; byte < 256; byte++) {
      char text[kNumberWidth];
      const size_t width = static_cast<size_t>(put_run(text, (byte >> 2) + 1, "=XID"[byte & 3]) - text);
      std::memcpy(all[byte].letters, text, width);
      all[byte].width = static_cast<uint8_t>(width);
    }
    return all;
  }();
  return texts;
}

// Returns the texts by first byte + 256 * second byte. The table has 512 kB, but most data sets use only a few entries.
inline const std::vector<TwoRuns>& two_run_texts() {
  static const std::vector<TwoRuns> texts = [] {
    const auto& ones = one_run_texts();
    std::vector<TwoRuns> all(ones.size() * ones.size());
    for (size_t k = 0; k < all.size(); k++) {
      const OneRun &first = ones[k % ones.size()], &second = ones[k / ones.size()];
      std::memcpy(all[k].letters, first.letters, sizeof first.letters);
      std::memcpy(all[k].letters + first.width, second.letters, sizeof second.letters);
      all[k].width = first.width + second.width;
    }
    return all;
  }();
  return texts;
}

constexpr int kRunsTogether = 8;

// Returns whether one of eight runs has the same operation as the next one, which then continues it. Reads nine bytes.
inline bool any_continues(const uint8_t* run) {
  uint64_t these, following;
  std::memcpy(&these, run, sizeof these);
  std::memcpy(&following, run + 1, sizeof following);
  constexpr uint64_t kOnes = ~uint64_t{0} / 255;
  const uint64_t differ = (these ^ following) & 3 * kOnes;
  return ((differ - kOnes) & ~differ & 0x80 * kOnes) != 0;  // true if some byte is 0
}

// Writes the runs [run, end), joining those that continue each other. Most runs are one byte; eight in a row are written two by two without
// a branch. May write up to seven letters beyond the text.
inline char* put_runs(char* out, const uint8_t* run, const uint8_t* end) {
  const OneRun* const ones = one_run_texts().data();
  const TwoRuns* const twos = two_run_texts().data();
  while (run < end) {
    if (end - run > kRunsTogether && !any_continues(run)) {
      for (int k = 0; k < kRunsTogether; k += 2) out = twos[run[k] | run[k + 1] << 8].put(out);
      run += kRunsTogether;
      continue;
    }
    const int op = *run & 3;
    const uint8_t* const first = run++;
    if (run == end || (*run & 3) != op) {
      out = ones[*first].put(out);
      continue;
    }
    int64_t length = (*first >> 2) + 1;
    for (; run < end && (*run & 3) == op; run++) length += (*run >> 2) + 1;
    out = put_run(out, length, "=XID"[op]);
  }
  return out;
}

}  // namespace gpualign
