// The deletion neighbourhood of a string: every string that results from deleting at most k of its letters, as 64-bit hashes.
//
// The hash of c_0 .. c_{n-1} is the sum of L[c_r] * P[r] modulo 2^64 with random odd L and P (multilinear hashing, whose upper bits are the
// good ones). After x deletions, the letter at position q has rank q - x. So with A_x[i] = sum over q < i of L[s_q] * P[q - x], the string
// s without the positions p_1 < ... < p_x has the hash
//   A_0[p_1] + (A_1[p_2] - A_1[p_1 + 1]) + ... + (A_x[n] - A_x[p_x + 1]),
// a sum that gains a term with each deletion. For a last deletion at q it is a constant plus W_x[q] = A_x[q] - A_{x+1}[q + 1] + A_{x+1}[n].
//
// Each resulting string is generated once. Of the ways to find it as a subsequence of s, the leftmost one is taken: each kept letter is the
// first of its kind after the previous kept letter. So deleted letters that directly precede a kept one differ from it, and there is no
// other condition. For the last deletion this means that q is the end of a run of equal letters (or of s).
#pragma once
#include <cstdint>
#include <vector>

namespace gpualign {

constexpr int kMaxDeletions = 3;

// Returns x with its bits mixed, by a step of SplitMix64 (Steele, Lea, Flood 2014).
inline uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Returns an upper bound of the number of neighbours of a string of `length` letters, which counts equal ones separately: the sum of
// binomial(length, x) for x <= k; -1 if it exceeds 2^62.
int64_t max_neighbours(int64_t length, int k);

struct Hashes {
  const uint64_t* data;
  int64_t count;
};

// Computes neighbourhoods; used by one thread, whose scratch memory it holds.
class NeighbourHashes {
 public:
  explicit NeighbourHashes(int k);

  // Returns the hashes of all neighbours, distinct except for collisions; valid until the next call. Throws std::length_error if
  // max_neighbours exceeds 2^62.
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
  std::vector<uint64_t> sums_[kMaxDeletions + 1];  // A_x[0 .. n]
  std::vector<int64_t> ends_before_;               // [position] ends of runs before it
  std::vector<uint64_t> last_[kMaxDeletions + 1];  // W_x at the ends of runs
  std::vector<uint64_t> hashes_;
  uint64_t* out_ = nullptr;
};

}  // namespace gpualign
