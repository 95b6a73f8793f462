// Records in the forms that the search for near pairs compares: bit planes, letter counts and sketches.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "near.hpp"

namespace gpualign {

// A set of records. The sketch of a record (Jokinen and Ukkonen 1991; Ukkonen 1992) is the set A of its q-grams, hashed to `bits` bits. An
// edit touches at most q q-grams, so |A(s) - A(t)| and |A(t) - A(s)| are at most q times the distance; collisions only make them smaller.
class Records {
 public:
  // Record i is codes[offsets[i]] .. codes[offsets[i+1]-1], at most 2^31 - 2^20 letters. The caller keeps both arrays alive. q = 0: no
  // sketches. Throws std::invalid_argument.
  Records(const uint8_t* codes, int64_t code_count, const int64_t* offsets, int64_t count, int letters, int q, int bits);

  // Computes the forms of the records first .. stop-1 in `threads` threads.
  void build(int64_t first, int64_t stop, int threads = 1);

  int64_t count() const { return count_; }
  bool built() const { return built_ >= count_; }
  int letters() const { return letters_; }
  int q() const { return q_; }
  int bits() const { return bits_; }
  int words() const { return bits_ / 64; }  // 64-bit words of a sketch
  int64_t bytes() const;

  int32_t length(int64_t i) const { return static_cast<int32_t>(offsets_[i + 1] - offsets_[i]); }
  RecordPlanes planes(int64_t i) const { return {planes_.get() + starts_[i], length(i), (length(i) + 63) / 64, plane_counts_[i]}; }
  const uint16_t* counts(int64_t i) const { return counts_.get() + i * letters_; }  // [letters]; 65535 means `or more`
  const uint64_t* sketch(int64_t i) const { return sketches_.get() + i * words(); }
  uint16_t sketch_size(int64_t i) const { return sizes_[i]; }

  // Prefetches the first cache line of each form that the filters read.
  void prefetch(int64_t i, bool counts) const {
    __builtin_prefetch(&offsets_[i]);
    if (counts) __builtin_prefetch(counts_.get() + i * letters_);
    if (!q_) return;
    __builtin_prefetch(sketch(i));
    __builtin_prefetch(&sizes_[i]);
  }

 private:
  void build_some(int64_t first, int64_t stop);
  void fill_sketch(int64_t i);

  const uint8_t* codes_;
  const int64_t* offsets_;
  const int64_t count_;
  const int letters_, q_, bits_;
  uint64_t base_to_q_ = 1;             // base^q of the rolling hash
  std::vector<uint8_t> plane_counts_;  // [record] planes that have any bit
  std::vector<int64_t> starts_;        // [record] offset of its first plane in planes_
  // Not initialised: each thread touches first what it fills.
  std::unique_ptr<uint64_t[]> planes_, sketches_;
  std::unique_ptr<uint16_t[]> counts_, sizes_;
  int64_t plane_words_ = 0;
  int64_t built_ = 0;
};

}  // namespace gpualign
