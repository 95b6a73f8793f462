// Calls of a panel, codes[samples][sites]: detection of sites with more than two different calls, counts, and packing into bit planes.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "row_codes.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gpualign {

// Returns a mask of those of 64 codes that equal `code`, the first one in the lowest bit.
inline uint64_t equal_codes(const uint8_t* codes, uint8_t code) {
  uint64_t equal = 0;
#if defined(__SSE2__)
  const __m128i pattern = _mm_set1_epi8(static_cast<char>(code));
  for (int k = 0; k < 64; k += 16) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + k));
    equal |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(some, pattern)))) << k;
  }
#else
  for (int k = 0; k < 64; k += 8) {
    uint64_t eight = 0;
    for (int j = 0; j < 8; j++) eight |= static_cast<uint64_t>(codes[k + j] == code) << 8 * j;
    // The product collects the lowest bits of eight bytes in its top byte, that of the first byte lowest.
    equal |= (eight * 0x0102040810204080u >> 56) << k;
  }
#endif
  return equal;
}

// Finds for the sites first .. last-1 the first call that is not missing, or kMissing, and whether there are more than two different calls.
inline void find_two(const uint8_t* codes, size_t samples, size_t sites, size_t first, size_t last, uint8_t* one, uint8_t* more) {
  constexpr size_t kSites = 4096;  // sites at a time, whose state stays in L1
  constexpr size_t kVector = kLanes;
  for (size_t begin = first; begin < last; begin += kSites) {
    const size_t here = std::min(kSites, last - begin);
    uint8_t ones[kSites], twos[kSites], others[kSites] = {};
    std::memset(ones, kMissing, sizeof ones);
    std::memset(twos, kMissing, sizeof twos);
    for (size_t s = 0; s < samples; s++) {
      const uint8_t* row = codes + s * sites + begin;
      for (size_t k = 0; k < here; k += kVector) {
        Codes code, known = load(ones + k), second = load(twos + k), apart = load(others + k);
        if (k + kVector <= here) {
          code = load(row + k);
        } else {
          uint8_t end[kVector];
          std::memset(end, kMissing, sizeof end);
          std::memcpy(end, row + k, here - k);
          code = load(end);
        }
        known = known == kMissing ? code : known;
        const Codes other = (Codes)(code != known) & (Codes)(code != kMissing);
        second = (Codes)(second == kMissing) & other ? code : second;
        apart |= other & (Codes)(code != second);
        std::memcpy(ones + k, &known, kVector);
        std::memcpy(twos + k, &second, kVector);
        std::memcpy(others + k, &apart, kVector);
      }
    }
    std::memcpy(one + begin, ones, here);
    for (size_t k = 0; k < here; k++) more[begin + k] = others[k] & 1;
  }
}

// A half-open range of sites.
using Run = int64_t[2];

// Packs some sites of some samples into up to 8 bit planes. Bit p of table[code] goes to plane p: bit k of word w of planes[p][sample] is
// that of the chosen site number 64 w + k. With a reference, a call is coded as 0 if it equals the reference, else as 1.
class PlanePacker {
 public:
  PlanePacker(const uint8_t* codes, size_t sites, const Run* runs, size_t run_count, const uint8_t* reference, const uint8_t* table)
      : codes_(codes), sites_(sites), runs_(runs), run_count_(run_count), reference_(reference), table_(table) {
    for (size_t r = 0; r < run_count; r++) chosen_ += static_cast<size_t>(runs[r][1] - runs[r][0]);
    // If few codes are in any plane, searching for each of them is faster than looking up every site.
    for (int code = 0; code < 256; code++)
      if (table[code]) codes_in_planes_[code_count_++] = static_cast<uint8_t>(code);
  }

  size_t chosen() const { return chosen_; }

  // Packs the samples first .. last-1 into planes[count][samples][words].
  void pack(size_t first, size_t last, size_t samples, size_t count, size_t words, uint64_t* planes) const {
    const bool takes_whole_rows = !reference_ && run_count_ == 1 && chosen_ == sites_;
    std::vector<uint8_t> chosen_codes(takes_whole_rows ? 0 : chosen_);
    for (size_t s = first; s < last; s++) {
      const uint8_t* row = codes_ + s * sites_;
      if (!takes_whole_rows) {
        choose(row, chosen_codes.data());
        row = chosen_codes.data();
      }
      pack_row(row, planes + s * words, samples * words, count, words);
    }
  }

 private:
  void choose(const uint8_t* row, uint8_t* out) const {
    for (size_t r = 0; r < run_count_; r++) {
      const int64_t begin = runs_[r][0], size = runs_[r][1] - begin;
      const uint8_t* const from = row + begin;
      if (!reference_) {
        std::memcpy(out, from, static_cast<size_t>(size));
      } else {
        const uint8_t* const one = reference_ + begin;
        int64_t k = 0;
        for (; k + kLanes <= size; k += kLanes) {
          const Codes code = load(from + k), missing = (Codes)(code == kMissing);
          const Codes recoded = missing | ((Codes)(code != load(one + k)) & 1);
          std::memcpy(out + k, &recoded, sizeof recoded);
        }
        for (; k < size; k++) out[k] = from[k] == kMissing ? kMissing : static_cast<uint8_t>(from[k] != one[k]);
      }
      out += size;
    }
  }

  void pack_row(const uint8_t* row, uint64_t* out, size_t stride, size_t count, size_t words) const {
    for (size_t w = 0; w < words; w++) {
      uint64_t bits[8] = {};
      const size_t here = 64 * w < chosen_ ? std::min<size_t>(64, chosen_ - 64 * w) : 0;
      const uint8_t* some = row + 64 * w;
      uint8_t last[64];
      if (here && here < 64) some = static_cast<const uint8_t*>(std::memcpy(last, some, here));
      const uint64_t valid = here ? ~uint64_t{0} >> (64 - here) : 0;
      for (size_t k = 0; valid && k < code_count_; k++) {
        const uint64_t equal = equal_codes(some, codes_in_planes_[k]) & valid;
        for (size_t p = 0; p < count; p++) bits[p] |= table_[codes_in_planes_[k]] >> p & 1 ? equal : 0;
      }
      for (size_t p = 0; p < count; p++) out[p * stride + w] = bits[p];
    }
  }

  const uint8_t* codes_;
  size_t sites_;
  const Run* runs_;
  size_t run_count_;
  const uint8_t *reference_, *table_;
  size_t chosen_ = 0, code_count_ = 0;
  uint8_t codes_in_planes_[256];
};

// Unpacks calls from planes[sample][1 + bits][words]: plane 0 marks the calls that are present, plane 1 + p holds bit p of the numbers of
// calls. A call's code is table[number].
class CodeUnpacker {
 public:
  CodeUnpacker(const uint64_t* planes, size_t count, size_t words, const uint8_t* table)
      : planes_(planes), bits_(count - 1), words_(words), table_(table) {
    for (size_t k = 0; k < size_t{1} << bits_; k++) same_ = same_ && table[k] == k;
    for (size_t byte = 0; byte < 256; byte++)
      for (size_t k = 0; k < 8; k++) spread_[byte] |= static_cast<uint64_t>(byte >> k & 1) << 8 * k;
  }

  // Writes the codes of some samples at the sites from that of the lowest bit of word `first_word` on to out[all samples][sites]. Returns
  // the largest number of a call.
  uint32_t unpack(size_t first, size_t last, size_t first_word, size_t sites, uint8_t* out) const {
    uint8_t largest = 0;
    for (size_t s = first; s < last; s++) {
      const uint64_t* const row = planes_ + s * (1 + bits_) * words_ + first_word;
      uint8_t* const codes = out + s * sites;
      for (size_t site = 0; site < sites; site += 64) {
        uint8_t numbers[64], codes_here[64];
        for (size_t byte = 0; byte < 8; byte++) {
          const size_t shift = 8 * byte, word = site / 64;
          const uint64_t called = spread_[row[word] >> shift & 255] * 255;
          uint64_t number = 0;
          for (size_t p = 0; p < bits_; p++) number |= spread_[row[(1 + p) * words_ + word] >> shift & 255] << p;
          number &= called;
          std::memcpy(numbers + shift, &number, 8);
          number |= ~called;
          std::memcpy(codes_here + shift, &number, 8);
        }
        uint8_t here = 0;
        for (size_t k = 0; k < 64; k++) here = std::max(here, numbers[k]);
        largest = std::max(largest, here);
        if (!same_)
          for (size_t k = 0; k < 64; k++) codes_here[k] = codes_here[k] == kMissing && numbers[k] == 0 ? kMissing : table_[numbers[k]];
        std::memcpy(codes + site, codes_here, std::min<size_t>(64, sites - site));
      }
    }
    return largest;
  }

 private:
  const uint64_t* planes_;
  size_t bits_, words_;
  const uint8_t* table_;
  bool same_ = true;           // whether each number is its own code
  uint64_t spread_[256] = {};  // bit k of a byte in byte k
};

// Makes planes that each mark a set of calls, from planes of numbered calls as CodeUnpacker describes them.
class PlaneSelector {
 public:
  // sources[plane]: stored plane that equals a plane, or -1: it marks the calls with numbers[plane].
  PlaneSelector(const uint64_t* planes, size_t count, size_t words, std::vector<int> sources, std::vector<std::vector<uint32_t>> numbers)
      : planes_(planes), bits_(count - 1), words_(words), sources_(std::move(sources)), numbers_(std::move(numbers)) {
    for (auto& some : numbers_)  // these rows have no calls with more bits
      some.erase(std::remove_if(some.begin(), some.end(), [&](uint32_t number) { return number >> bits_ != 0; }), some.end());
  }

  // Writes some words of a stored row to out[plane][stride], at the places of one row.
  void select(size_t row, size_t first_word, size_t count, uint64_t* out, size_t stride) const {
    const uint64_t* const called = planes_ + row * (1 + bits_) * words_ + first_word;
    for (size_t p = 0; p < sources_.size(); p++, out += stride) {
      if (sources_[p] > static_cast<int>(bits_)) {
        std::fill(out, out + count, uint64_t{0});
      } else if (sources_[p] >= 0) {
        std::memcpy(out, called + static_cast<size_t>(sources_[p]) * words_, 8 * count);
      } else {
        for (size_t w = 0; w < count; w++) out[w] = calls_with(numbers_[p], called + w);
      }
    }
  }

 private:
  uint64_t calls_with(const std::vector<uint32_t>& numbers, const uint64_t* called) const {
    uint64_t any = 0;
    for (const uint32_t number : numbers) {
      uint64_t equal = *called;
      for (size_t p = 0; p < bits_; p++) equal &= number >> p & 1 ? called[(1 + p) * words_] : ~called[(1 + p) * words_];
      any |= equal;
    }
    return any;
  }

  const uint64_t* planes_;
  size_t bits_, words_;
  std::vector<int> sources_;
  std::vector<std::vector<uint32_t>> numbers_;
};

// Writes the numbers of samples with each of the selected codes at the sites first .. last-1 to out[code][site].
inline void count_codes(const uint8_t* codes, size_t samples, size_t sites, const uint8_t* selected, size_t selected_count, size_t first,
                        size_t last, uint32_t* out) {
  constexpr size_t kSites = 1024;  // sites at a time, whose counts and codes of a row stay in L1
  for (size_t begin = first; begin < last; begin += kSites) {
    const size_t here = std::min(kSites, last - begin);
    for (size_t k = 0; k < selected_count; k++) {
      const uint8_t code = selected[k];
      uint32_t* const total = out + k * sites + begin;
      std::fill(total, total + here, 0);
      for (size_t start = 0; start < samples; start += 255) {  // a byte counts to 255, so that compilers can count in vectors of bytes
        uint8_t some[kSites] = {};
        for (size_t s = start; s < std::min(samples, start + 255); s++) {
          const uint8_t* row = codes + s * sites + begin;
          for (size_t j = 0; j < here; j++) some[j] = static_cast<uint8_t>(some[j] + (row[j] == code));
        }
        for (size_t j = 0; j < here; j++) total[j] += some[j];
      }
    }
  }
}

// Returns which of the 256 codes occur.
inline std::vector<bool> seen_in(const uint8_t* codes, size_t size) {
  std::vector<bool> seen(256);
  std::vector<uint8_t> kinds;  // they are few, and most blocks contain no others
  size_t k = 0;
  for (; k + 64 <= size; k += 64) {
    uint64_t known = 0;
    for (const uint8_t code : kinds) known |= equal_codes(codes + k, code);
    for (uint64_t other = ~known; other; other &= other - 1) {
      const uint8_t code = codes[k + static_cast<size_t>(__builtin_ctzll(other))];
      if (!seen[code]) kinds.push_back(code);
      seen[code] = true;
    }
  }
  for (; k < size; k++) seen[codes[k]] = true;
  return seen;
}

}  // namespace gpualign
