// Finds strings that equal earlier ones among many strings.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/common/src/large_pages.hpp"

namespace gpualign {

// Returns whether each string is longer than the previous one, or equally long and greater in byte order. Names that end in a running
// number are.
inline bool all_ascend(const char* text, const int64_t* offsets, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    const int64_t previous_size = offsets[i] - offsets[i - 1], size = offsets[i + 1] - offsets[i];
    if (previous_size > size) return false;
    if (previous_size == size && std::memcmp(text + offsets[i - 1], text + offsets[i], static_cast<size_t>(size)) >= 0) return false;
  }
  return true;
}

// Returns (string, the first one equal to it) for each string that equals an earlier one, in ascending order.
//
// Hashes are partitioned so that the table of a part fits the cache; strings are compared only if their hashes agree. Memory: 32 bytes per
// string, and the table of one part.
inline std::vector<std::pair<int64_t, int64_t>> repeated(const char* text, const int64_t* offsets, int64_t count) {
  struct Hashed {
    uint64_t hash;
    int64_t string;
  };
  if (all_ascend(text, offsets, count)) return {};
  constexpr int64_t kPart = 2048;  // strings per part, on average
  const auto at = [&](int64_t i) { return std::string_view(text + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])); };
  int bits = 0;
  while ((count >> bits) > kPart && bits < 16) bits++;
  const auto part_of = [&](uint64_t hash) { return static_cast<size_t>(bits ? hash >> (64 - bits) : 0); };

  LargeVector<uint64_t> hashes(static_cast<size_t>(count));
  std::vector<int64_t> ends((size_t{1} << bits) + 1);
  for (int64_t i = 0; i < count; i++) {
    hashes[static_cast<size_t>(i)] = std::hash<std::string_view>{}(at(i));
    ends[part_of(hashes[static_cast<size_t>(i)]) + 1]++;
  }
  for (size_t part = 1; part < ends.size(); part++) ends[part] += ends[part - 1];
  LargeVector<Hashed> sorted(static_cast<size_t>(count));
  {
    std::vector<int64_t> next(ends.begin(), ends.end() - 1);
    for (int64_t i = 0; i < count; i++) {
      const uint64_t hash = hashes[static_cast<size_t>(i)];
      sorted[static_cast<size_t>(next[part_of(hash)]++)] = {hash, i};
    }
  }
  std::vector<std::pair<int64_t, int64_t>> out;
  std::vector<int64_t> table;  // indices in `sorted`, -1 for an empty slot
  for (size_t part = 0; part + 1 < ends.size(); part++) {
    size_t slots = 16;
    while (slots < 2 * static_cast<size_t>(ends[part + 1] - ends[part])) slots *= 2;
    table.assign(slots, -1);
    for (int64_t k = ends[part]; k < ends[part + 1]; k++) {
      const Hashed& one = sorted[static_cast<size_t>(k)];
      size_t slot = one.hash & (slots - 1);
      for (; table[slot] >= 0; slot = (slot + 1) & (slots - 1)) {
        const Hashed& other = sorted[static_cast<size_t>(table[slot])];
        if (other.hash == one.hash && at(other.string) == at(one.string)) break;
      }
      if (table[slot] < 0)
        table[slot] = k;
      else
        out.emplace_back(one.string, sorted[static_cast<size_t>(table[slot])].string);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace gpualign
