#include "neighbour_hashes.hpp"

#include <algorithm>
#include <stdexcept>

namespace gpualign {

int64_t max_neighbours(int64_t length, int k) {
  if (length < 1 << 10) {  // nothing can overflow
    int64_t ways = 1, sum = 1;
    for (int64_t x = 1; x <= std::min<int64_t>(k, length); x++) sum += ways = ways * (length - x + 1) / x;
    return sum;
  }
  __int128 ways = 1, sum = 1;
  for (int64_t x = 1; x <= std::min<int64_t>(k, length); x++) {
    ways = ways * (length - x + 1) / x;
    sum += ways;
    if (sum > int64_t{1} << 62) return -1;
  }
  return static_cast<int64_t>(sum);
}

NeighbourHashes::NeighbourHashes(int k) : k_(k) {
  for (uint64_t c = 0; c < 256; c++) letters_[c] = mixed(c) | 1;
}

Hashes NeighbourHashes::of(const uint8_t* codes, int64_t length) {
  const int64_t bound = max_neighbours(length, k_);
  if (bound < 0) throw std::length_error("too many deletion neighbours");
  if (hashes_.size() < static_cast<size_t>(bound)) hashes_.resize(static_cast<size_t>(bound));
  prepare(codes, length);
  out_ = hashes_.data();
  *out_++ = sums_[0][length];
  if (k_ == 1) {
    delete_last(0, 0, 0);
  } else if (k_ > 1) {
    for (int64_t p = 0; p < length; p++) descend(1, p, p, sums_[0][p]);
  }
  return {hashes_.data(), out_ - hashes_.data()};
}

void NeighbourHashes::prepare(const uint8_t* codes, int64_t length) {
  codes_ = codes;
  length_ = length;
  const size_t n = static_cast<size_t>(length);
  for (size_t r = ranks_.size(); r < n; r++) ranks_.push_back(mixed(~uint64_t{r}) | 1);
  for (int x = 0; x <= k_; x++) {
    std::vector<uint64_t>& sums = sums_[x];
    sums.assign(n + 1, 0);
    for (size_t q = static_cast<size_t>(x); q < n; q++) sums[q + 1] = sums[q] + letters_[codes[q]] * ranks_[q - static_cast<size_t>(x)];
  }
  ends_before_.resize(n + 1);
  for (int x = 0; x < k_; x++) last_[x].clear();
  int64_t ends = 0;
  for (size_t q = 0; q < n; q++) {
    ends_before_[q] = ends;
    if (q + 1 < n && codes[q] == codes[q + 1]) continue;
    ends++;
    for (int x = 0; x < k_; x++) last_[x].push_back(sums_[x][q] + sums_[x + 1][n] - sums_[x + 1][q + 1]);
  }
  ends_before_[n] = ends;
}

// Writes the neighbours with `deleted` deletions so far, the last of them at the consecutive positions group .. last, and with more. kept:
// the hash of what is kept before them.
void NeighbourHashes::descend(int deleted, int64_t group, int64_t last, uint64_t kept) {
  if (deleted > kMaxDeletions) return;  // never happens, but the compiler does not know k_
  const int64_t next = last + 1;
  const bool complete = next == length_ || std::find(codes_ + group, codes_ + next, codes_[next]) == codes_ + next;
  if (complete) *out_++ = kept + segment(deleted, next, length_);
  if (deleted == k_ || next == length_) return;
  descend(deleted + 1, group, next, kept);
  if (!complete) return;
  if (deleted + 1 == k_) {
    delete_last(deleted, next + 1, kept - sums_[deleted][next]);
  } else {
    for (int64_t p = next + 1; p < length_; p++) descend(deleted + 1, p, p, kept + segment(deleted, next, p));
  }
}

// Writes the neighbours with one more deletion, the last one, at the end of a run from position `from` on.
void NeighbourHashes::delete_last(int deleted, int64_t from, uint64_t kept) {
  if (from >= length_) return;
  const std::vector<uint64_t>& last = last_[deleted];
  uint64_t* const out = out_;
  const size_t begin = static_cast<size_t>(ends_before_[static_cast<size_t>(from)]), count = last.size() - begin;
  const uint64_t* const values = last.data() + begin;
  for (size_t e = 0; e < count; e++) out[e] = kept + values[e];
  out_ += count;
}

}  // namespace gpualign
