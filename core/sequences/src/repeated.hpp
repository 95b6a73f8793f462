// Finds strings that equal earlier ones among many strings.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/common/src/large_pages.hpp"
#include "core/common/src/threads.hpp"

namespace gpualign {

// Returns whether each of the strings first .. last-1 is longer than the previous one, or equally long and greater in byte order. Names
// that end in a running number are.
inline bool all_ascend(const char* text, const int64_t* offsets, int64_t first, int64_t last) {
  for (int64_t i = std::max<int64_t>(first, 1); i < last; i++) {
    const int64_t previous_size = offsets[i] - offsets[i - 1], size = offsets[i + 1] - offsets[i];
    if (previous_size > size) return false;
    if (previous_size == size && std::memcmp(text + offsets[i - 1], text + offsets[i], static_cast<size_t>(size)) >= 0) return false;
  }
  return true;
}

// Returns (string, the first one equal to it), one after the other, for each string that equals an earlier one, in ascending order.
//
// Hashes are partitioned so that the table of a part fits the cache; strings are compared only if their hashes agree. Each thread hashes
// and distributes a block of consecutive strings, whose places within each part follow those of the blocks before; then threads take whole
// parts. So in each phase, a thread writes only to elements of its own: those of its strings, or of the strings of its parts. Memory: 24
// bytes per string, and the table of one part per thread.
inline std::vector<int64_t> repeated(const char* text, const int64_t* offsets, int64_t count, int max_threads) {
  struct Hashed {
    uint64_t hash;
    int64_t string;
  };
  constexpr int64_t kPart = 2048;           // strings per part, on average
  constexpr int64_t kThreadWork = 4 << 20;  // bytes for which a thread is worth its start
  constexpr int64_t kStringWork = 64;       // a string takes as long as this many bytes, besides those that it has
  const auto work_before = [&](int64_t i) { return offsets[i] - offsets[0] + kStringWork * i; };
  const int64_t work = work_before(count);
  const int threads = static_cast<int>(std::clamp<int64_t>(work / kThreadWork, 1, max_threads));
  std::vector<int64_t> bounds(static_cast<size_t>(threads) + 1);  // of the blocks of strings
  for (size_t thread = 1; thread < bounds.size(); thread++) {
    int64_t low = bounds[thread - 1], high = count;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (work_before(middle) < work / threads * static_cast<int64_t>(thread))
        low = middle + 1;
      else
        high = middle;
    }
    bounds[thread] = low;
  }
  bounds.back() = count;
  // Calls call(thread, first string, end) for the block of each thread.
  const auto each_block = [&](const auto& call) {
    run_threads(threads, [&](int thread) {
      call(static_cast<size_t>(thread), bounds[static_cast<size_t>(thread)], bounds[static_cast<size_t>(thread) + 1]);
    });
  };
  std::atomic<bool> ascend{true};
  each_block([&](size_t, int64_t first, int64_t last) {
    if (!all_ascend(text, offsets, first, last)) ascend = false;
  });
  if (ascend) return {};

  const auto at = [&](int64_t i) { return std::string_view(text + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])); };
  int bits = 0;
  while ((count >> bits) > kPart && bits < 16) bits++;
  const size_t parts = size_t{1} << bits;
  const auto part_of = [&](uint64_t hash) { return static_cast<size_t>(bits ? hash >> (63 - bits) : 0); };

  // Hashes of 63 bits; later, with kEqual, the first string equal to each one that equals an earlier one.
  constexpr uint64_t kEqual = uint64_t{1} << 63;
  const LargeArray<uint64_t> hashes = large_array<uint64_t>(static_cast<size_t>(count));
  std::vector<std::vector<int64_t>> places(static_cast<size_t>(threads));  // [thread][part] number of strings, then place of the next one
  each_block([&](size_t thread, int64_t first, int64_t last) {
    std::vector<int64_t> counts(parts);
    for (int64_t i = first; i < last; i++) counts[part_of(hashes[i] = std::hash<std::string_view>{}(at(i)) >> 1)]++;
    places[thread] = std::move(counts);
  });
  std::vector<int64_t> starts(parts + 1);
  int64_t place = 0;
  for (size_t part = 0; part < parts; part++) {
    starts[part] = place;
    for (std::vector<int64_t>& of_thread : places) place += std::exchange(of_thread[part], place);
  }
  starts[parts] = place;

  const LargeArray<Hashed> sorted = large_array<Hashed>(static_cast<size_t>(count));
  each_block([&](size_t thread, int64_t first, int64_t last) {
    std::vector<int64_t>& next = places[thread];
    for (int64_t i = first; i < last; i++) sorted[next[part_of(hashes[i])]++] = {hashes[i], i};
  });
  std::atomic<size_t> next_part{0};
  run_threads(threads, [&](int) {
    std::vector<int64_t> table;  // indices in `sorted`, -1 for an empty slot
    for (size_t part; (part = next_part++) < parts;) {
      size_t slots = 16;
      while (slots < 2 * static_cast<size_t>(starts[part + 1] - starts[part])) slots *= 2;
      table.assign(slots, -1);
      for (int64_t k = starts[part]; k < starts[part + 1]; k++) {
        const Hashed& one = sorted[k];
        size_t slot = one.hash & (slots - 1);
        for (; table[slot] >= 0; slot = (slot + 1) & (slots - 1)) {
          const Hashed& other = sorted[table[slot]];
          if (other.hash == one.hash && at(other.string) == at(one.string)) break;
        }
        if (table[slot] < 0)
          table[slot] = k;
        else
          hashes[one.string] = kEqual | static_cast<uint64_t>(sorted[table[slot]].string);
      }
    }
  });
  std::vector<int64_t> out;
  for (int64_t i = 0; i < count; i++)
    if (hashes[i] & kEqual) out.insert(out.end(), {i, static_cast<int64_t>(hashes[i] & ~kEqual)});
  return out;
}

}  // namespace gpualign
