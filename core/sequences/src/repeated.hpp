// Which of many strings occurred before.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "large_pages.hpp"

namespace gpualign {

// Whether each string is longer than the one before it, or as long and behind it in the order of bytes. So are names that end in a number.
inline bool all_ascend(const char* text, const int64_t* offsets, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    const int64_t before = offsets[i] - offsets[i - 1], size = offsets[i + 1] - offsets[i];
    if (before > size) return false;
    if (before == size && std::memcmp(text + offsets[i - 1], text + offsets[i], static_cast<size_t>(size)) >= 0) return false;
  }
  return true;
}

// (string, the first that equals it) for each string that equals an earlier one, ascending.
//
// Hashes are sorted into parts, of each of which a table fits the cache; strings are compared only where hashes agree. Memory: 32 bytes
// a string, and a part's table.
inline std::vector<std::pair<int64_t, int64_t>> repeated(const char* text, const int64_t* offsets, int64_t count) {
  struct Hashed {
    uint64_t hash;
    int64_t string;
  };
  if (all_ascend(text, offsets, count)) return {};
  constexpr int64_t kPart = 2048;  // strings, on average
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
  std::vector<int64_t> table;  // places in `sorted`, -1 where there is none
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
