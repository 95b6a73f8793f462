// Letters of many records, back to back: counted, encoded; and which of many strings occurred before.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace gpualign {

// The sum of weights[letter] over each record.
inline void weigh(const uint8_t* letters, const int64_t* offsets, size_t records, const uint64_t* weights, uint64_t* sums) {
  for (size_t i = 0; i < records; i++) {
    uint64_t some = 0, others = 0;  // two sums, as one would wait for itself
    int64_t k = offsets[i];
    for (; k + 1 < offsets[i + 1]; k += 2) {
      some += weights[letters[k]];
      others += weights[letters[k + 1]];
    }
    if (k < offsets[i + 1]) some += weights[letters[k]];
    sums[i] = some + others;
  }
}

// Codes of letters by a table; the place of the first letter whose code is `invalid`, or -1.
inline int64_t encode(const uint8_t* letters, int64_t count, const uint8_t* table, uint8_t invalid, uint8_t* __restrict codes) {
  constexpr int64_t kTogether = 4096;  // looked at while they are in the cache
  for (int64_t start = 0; start < count; start += kTogether) {
    const int64_t stop = std::min(count, start + kTogether);
    for (int64_t k = start; k < stop; k++) codes[k] = table[letters[k]];
    uint8_t found = 0;
    for (int64_t k = start; k < stop; k++) found = static_cast<uint8_t>(found | (codes[k] == invalid));
    if (found)
      for (int64_t k = start; k < stop; k++)
        if (codes[k] == invalid) return k;
  }
  return -1;
}

// (string, the first that equals it) for each string that equals an earlier one, ascending.
inline std::vector<std::pair<int64_t, int64_t>> repeated(const char* text, const int64_t* offsets, size_t count) {
  const auto at = [&](size_t i) { return std::string_view(text + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])); };
  size_t slots = 16;
  while (slots < 2 * count) slots *= 2;
  struct Slot {
    uint64_t hash;
    int64_t string;  // -1: free
  };
  std::vector<Slot> table(slots, Slot{0, -1});
  std::vector<std::pair<int64_t, int64_t>> out;
  for (size_t i = 0; i < count; i++) {
    const std::string_view string = at(i);
    const uint64_t hash = std::hash<std::string_view>{}(string);
    size_t slot = hash & (slots - 1);
    while (table[slot].string >= 0 && (table[slot].hash != hash || at(static_cast<size_t>(table[slot].string)) != string))
      slot = (slot + 1) & (slots - 1);
    if (table[slot].string < 0)
      table[slot] = {hash, static_cast<int64_t>(i)};
    else
      out.emplace_back(static_cast<int64_t>(i), table[slot].string);
  }
  return out;
}

}  // namespace gpualign
