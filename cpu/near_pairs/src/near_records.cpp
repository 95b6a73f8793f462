#include "near_records.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/common/src/threads.hpp"

namespace gpualign {
namespace {

constexpr int64_t kLongest = (int64_t{1} << 31) - (int64_t{1} << 20);

// The hash of a q-gram is a number in this base, modulo 2^64. It is odd, so that no letter's weight vanishes.
constexpr uint64_t kBase = 0x9E3779B97F4A7C15u;

// Returns x with its bits mixed, by the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

Records::Records(const uint8_t* codes, int64_t code_count, const int64_t* offsets, int64_t count, int letters, int q, int bits)
    : codes_(codes), offsets_(offsets), count_(count), letters_(letters), q_(q), bits_(q ? bits : 0) {
  if (letters < 1 || letters > kLetters) throw std::invalid_argument("letters must be 1 to " + std::to_string(kLetters));
  if (q < 0) throw std::invalid_argument("q must not be negative");
  if (q && (bits < 64 || bits > kMaxSketchBits || (bits & (bits - 1))))
    throw std::invalid_argument("bits must be a power of two from 64 to " + std::to_string(kMaxSketchBits));
  if (count < 0 || offsets[0] != 0 || offsets[count] != code_count) throw std::invalid_argument("offsets do not fit the codes");
  plane_counts_.resize(static_cast<size_t>(count));
  starts_.resize(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; i++) {
    const int64_t length = offsets[i + 1] - offsets[i];
    if (length < 0 || offsets[i + 1] > code_count) throw std::invalid_argument("offsets must not fall");
    if (length > kLongest) throw std::invalid_argument("a record has more than " + std::to_string(kLongest) + " letters");
    uint8_t any = 0, max_code = 0;
    for (int64_t at = offsets[i]; at < offsets[i + 1]; at++) any |= codes[at], max_code = std::max(max_code, codes[at]);
    if (max_code >= letters) throw std::invalid_argument("a code is not below the number of letters");
    int planes = 0;
    while (any >> planes) planes++;
    plane_counts_[static_cast<size_t>(i)] = static_cast<uint8_t>(planes);
    starts_[static_cast<size_t>(i)] = plane_words_;
    plane_words_ += planes * ((length + 63) / 64);
  }
  for (int k = 0; k < q; k++) base_to_q_ *= kBase;
  planes_.reset(new uint64_t[static_cast<size_t>(plane_words_)]);
  counts_.reset(new uint16_t[static_cast<size_t>(count * letters)]);
  if (!q) return;
  sketches_.reset(new uint64_t[static_cast<size_t>(count * words())]);
  sizes_.reset(new uint16_t[static_cast<size_t>(count)]);
}

int64_t Records::bytes() const {
  const int64_t sketch = q_ ? bits_ / 8 + 2 : 0;
  return plane_words_ * 8 + count_ * (sketch + 2 * letters_ + 1 + static_cast<int64_t>(sizeof(int64_t)));
}

void Records::build(int64_t first, int64_t stop, int threads) {
  if (first < 0 || stop < first || stop > count_) throw std::out_of_range("there are no such records");
  constexpr int64_t kRecords = 16;  // that a thread takes at a time
  share(static_cast<size_t>((stop - first + kRecords - 1) / kRecords), threads, [&](size_t part) {
    const int64_t start = first + static_cast<int64_t>(part) * kRecords;
    build_some(start, std::min(stop, start + kRecords));
  });
  built_ += stop - first;
}

void Records::build_some(int64_t first, int64_t stop) {
  for (int64_t i = first; i < stop; i++) {
    const uint8_t* const codes = codes_ + offsets_[i];
    const int64_t length = offsets_[i + 1] - offsets_[i], words = (length + 63) / 64;
    uint64_t* const planes = planes_.get() + starts_[i];
    const int plane_count = plane_counts_[i];
    int64_t counts[kLetters] = {};
    for (int64_t w = 0; w < words; w++) {
      uint64_t word[kMaxCodePlanes] = {};
      const int64_t remaining = std::min<int64_t>(64, length - 64 * w);
      for (int64_t k = 0; k < remaining; k++) {
        const uint64_t code = codes[64 * w + k];
        counts[code]++;
        for (int p = 0; p < plane_count; p++) word[p] |= (code >> p & 1) << k;
      }
      for (int p = 0; p < plane_count; p++) planes[p * words + w] = word[p];
    }
    for (int letter = 0; letter < letters_; letter++)
      counts_[i * letters_ + letter] = static_cast<uint16_t>(std::min<int64_t>(counts[letter], 65535));
    if (q_) fill_sketch(i);
  }
}

void Records::fill_sketch(int64_t i) {
  const uint8_t* const codes = codes_ + offsets_[i];
  uint64_t* const sketch = sketches_.get() + i * words();
  std::fill(sketch, sketch + words(), 0);
  const int64_t length = offsets_[i + 1] - offsets_[i];
  const int shift = 64 - __builtin_ctz(static_cast<unsigned>(bits_));
  uint64_t gram = 0;
  for (int64_t k = 0; k < length; k++) {
    gram = gram * kBase + codes[k] + 1;
    if (k >= q_) gram -= base_to_q_ * (uint64_t{codes[k - q_]} + 1);
    if (k + 1 < q_) continue;
    const uint64_t bit = mixed(gram) >> shift;
    sketch[bit / 64] |= uint64_t{1} << (bit % 64);
  }
  int size = 0;
  for (int w = 0; w < words(); w++) size += __builtin_popcountll(sketch[w]);
  sizes_[i] = static_cast<uint16_t>(size);
}

}  // namespace gpualign
