// The deletion neighbourhood of a string: every string that is left when at most k of its letters are deleted, as 64-bit hashes.
//
// Hash of c_0 .. c_{n-1}: the sum of L[c_r] * P[r] modulo 2^64 with random odd L and P (multilinear hashing; its upper bits are the
// good ones). A letter behind x deletions has moved to rank q - x, so with A_x[i] = sum over q < i of L[s_q] * P[q - x] what is left
// of s without the positions p_1 < ... < p_x has the hash
//   A_0[p_1] + (A_1[p_2] - A_1[p_1 + 1]) + ... + (A_x[n] - A_x[p_x + 1]):
// a sum that grows with each deletion, and in the last deletion q is a constant plus W_x[q] = A_x[q] - A_{x+1}[q + 1] + A_{x+1}[n].
//
// Each string that is left comes once. Of the ways to find it as a subsequence of s the leftmost is taken: a kept letter is the first
// of its kind behind the letter kept before it. So deleted letters that directly precede a kept one differ from it, and nothing else
// is asked. In the last deletion alone this says that q is the end of a run of equal letters (or of s).
#pragma once
#include <cstdint>
#include <vector>

namespace gpualign {

constexpr int kMostDeletions = 3;

// splitmix64's finaliser (Steele, Lea and Flood 2014).
inline uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Strings left of one of `length` letters, equal ones counted apart: the sum of binomial(length, x), x <= k; -1 past 2^62.
int64_t neighbours_at_most(int64_t length, int k);

struct Hashes {
  const uint64_t* data;
  int64_t count;
};

// One thread's scratch memory.
class NeighbourHashes {
 public:
  explicit NeighbourHashes(int k);

  // Valid until the next call; distinct but for collisions. Throws std::length_error past 2^62 of them.
  Hashes of(const uint8_t* codes, int64_t length);

 private:
  void prepare(const uint8_t* codes, int64_t length);
  void descend(int deleted, int64_t group, int64_t last, uint64_t kept);
  void delete_last(int deleted, int64_t from, uint64_t kept);
  uint64_t segment(int deleted, int64_t begin, int64_t end) const { return sums_[deleted][end] - sums_[deleted][begin]; }

  const int k_;
  uint64_t letters_[256];
  std::vector<uint64_t> ranks_;
  const uint8_t* codes_ = nullptr;
  int64_t length_ = 0;
  std::vector<uint64_t> sums_[kMostDeletions + 1];  // A_x[0 .. n]
  std::vector<int64_t> ends_before_;                // [0 .. n]: ends of runs before a position
  std::vector<uint64_t> last_[kMostDeletions + 1];  // W_x at the ends of runs
  std::vector<uint64_t> hashes_;
  uint64_t* out_ = nullptr;
};

}  // namespace gpualign
