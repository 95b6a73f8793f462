// The deletion neighbours of many strings, partitioned by the upper bits of their hashes.
#pragma once
#include <cstdint>
#include <vector>

#include "core/common/src/large_pages.hpp"
#include "cpu/alignment/src/kernels.hpp"

namespace gpualign {

constexpr int kMaxPartBits = 11;  // with more parts, the lines being filled no longer fit L2

struct Text {
  const uint8_t* codes;
  int64_t length;
};

// Entries of 8 bytes, one per neighbour: 32 bits of its hash above the 32-bit number of its string. Part p is entries[parts[p]] ..
// entries[parts[p + 1] - 1] and has the hashes whose first `bits` bits are p; an entry holds the 32 bits after those.
struct Partition {
  int bits = 0;
  std::vector<int64_t> parts;
  LargeArray<uint64_t> entries;

  int64_t size() const { return parts.empty() ? 0 : parts.back(); }
};

inline uint32_t hash_of(uint64_t entry) { return static_cast<uint32_t>(entry >> 32); }
inline uint32_t number_of(uint64_t entry) { return static_cast<uint32_t>(entry); }

// Partitions the neighbours of all strings in two passes, each by `threads` threads: one counts, one writes. The result is undefined if
// cancelled.
Partition partition_neighbours(const std::vector<Text>& texts, int k, int bits, int threads, const Cancel* cancel);

}  // namespace gpualign
