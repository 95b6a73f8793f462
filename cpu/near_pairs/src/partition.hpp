// The deletion neighbours of many strings, ordered by the upper bits of their hashes.
#pragma once
#include <cstdint>
#include <vector>

#include "cpu/alignment/src/kernels.hpp"
#include "cpu/src/large_array.hpp"

namespace gpualign {

constexpr int kMostPartBits = 11;  // with more parts than this the lines that are filled on the way leave the second cache

struct Text {
  const uint8_t* codes;
  int64_t length;
};

// An entry of 8 bytes is a neighbour: 32 bits of its hash above the 32 bits of its string's number. Part p, entries[parts[p] .. parts[p +
// 1]), has the hashes that begin with the `bits` bits of p; the entry has the 32 bits behind those.
struct Partition {
  int bits = 0;
  std::vector<int64_t> parts;
  LargeArray<uint64_t> entries;

  int64_t size() const { return parts.empty() ? 0 : parts.back(); }
};

inline uint32_t hash_of(uint64_t entry) { return static_cast<uint32_t>(entry >> 32); }
inline uint32_t number_of(uint64_t entry) { return static_cast<uint32_t>(entry); }

// Two passes over the strings, each by `threads` threads: one counts, one writes. Without meaning if cancelled.
Partition partition_neighbours(const std::vector<Text>& texts, int k, int bits, int threads, const Cancel* cancel);

}  // namespace gpualign
