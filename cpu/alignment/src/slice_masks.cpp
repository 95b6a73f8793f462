#include "slice_masks.hpp"

#include <algorithm>
#include <cstring>

namespace gpualign {

void SliceMasks::pack(const std::vector<Record>& records, int vector_bytes, int64_t columns) {
  // Slots for the letters that occur, the most frequent first so that they share cache lines; the last slot is all zeros.
  std::array<int64_t, kLetters> count{};
  for (const auto& [codes, length] : records)
    for (int64_t j = 0; j < length; j++) count[codes[j]]++;
  std::array<int, kLetters> order;
  for (int l = 0; l < kLetters; l++) order[l] = l;
  std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return count[x] > count[y]; });
  int slots = 0;
  while (slots < kLetters && count[order[slots]]) slots++;
  for (int s = 0; s < kLetters; s++) slot_of_[order[s]] = static_cast<uint32_t>(std::min(s, slots) * vector_bytes);
  column_bytes_ = static_cast<int64_t>(slots + 1) * vector_bytes;

  uint8_t* masks = static_cast<uint8_t*>(masks_.reserve(static_cast<size_t>(columns * column_bytes_)));
  uint8_t* live = static_cast<uint8_t*>(live_.reserve(static_cast<size_t>(columns * vector_bytes)));
  std::memset(masks, 0, static_cast<size_t>(columns * column_bytes_));
  std::memset(live, 0, static_cast<size_t>(columns * vector_bytes));
  for (size_t k = 0; k < records.size(); k++) {
    const auto [codes, length] = records[k];
    // Bit k of a vector of 64-bit words is bit k % 8 of byte k / 8 on little-endian machines.
    const uint8_t bit = static_cast<uint8_t>(1u << (k % 8));
    for (int64_t j = 0; j < length; j++) {
      masks[j * column_bytes_ + slot_of_[codes[j]] + static_cast<int64_t>(k) / 8] |= bit;
      live[j * vector_bytes + static_cast<int64_t>(k) / 8] |= bit;
    }
  }
}

const uint32_t* SliceMasks::slots(const uint8_t* query, int64_t rows) {
  row_slots_.resize(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; i++) row_slots_[static_cast<size_t>(i)] = slot_of_[query[i]];
  return row_slots_.data();
}

}  // namespace gpualign
