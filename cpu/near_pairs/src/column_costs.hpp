// Sums of substitution costs of one query and many targets along given columns, one target in each byte of a vector.
//
// Targets are sorted so that neighbours share the letters of the first columns. Most vectors then exceed the limit in all lanes after a few
// columns, and the others are not computed.
#pragma once
#include "cpu/src/simd.hpp"
#include "near.hpp"

namespace gpualign::GPUALIGN_ISA {

constexpr int kColumnsPerTest = 2;  // columns between tests whether all lanes of a vector exceed the limit

// Returns the costs of a letter, by its row, with the letters of the targets from `first` on at a position.
static inline Bytes column_costs(const ColumnTask& task, const uint8_t* row, int32_t plane, int64_t first) {
  const uint8_t* const letters = task.planes + 2 * plane * task.stride + first;
  Bytes low, high;
  memcpy(&low, letters, sizeof low);
  memcpy(&high, letters + task.stride, sizeof high);
  return look_up_16_or_0(row, low) | look_up_16_or_0(row + 16, high);
}

template <bool kHasOthers>
static int64_t sum_columns_of(const ColumnTask& task, uint32_t* lanes, uint8_t* sums) {
  const Bytes limit = broadcast<uint8_t>(task.limit), above = broadcast<uint8_t>(static_cast<uint8_t>(task.limit + 1));
  int64_t found = 0;
  for (int64_t first = 0; first < task.count; first += kVectorBytes) {
    Bytes sum{};
    bool is_any_within = true;
    for (int c = 0; c < task.columns && is_any_within; c++) {
      Bytes cost = column_costs(task, task.rows[c], task.plane_of[c], first);
      if constexpr (kHasOthers) {
        const Bytes other = column_costs(task, task.other_rows[c], task.other_plane_of[c], first);
        cost = other < cost ? other : cost;
      }
      sum += cost;
      if (c % kColumnsPerTest == kColumnsPerTest - 1) {
        sum = sum < above ? sum : above;  // so that no sum exceeds a byte
        is_any_within = !all_zero((Bytes)(sum <= limit));
      }
    }
    const Bytes within = (Bytes)(sum <= limit);
    if (!is_any_within || all_zero(within)) continue;
    for (int lane = 0; lane < kVectorBytes; lane++) {
      if (!within[lane]) continue;
      lanes[found] = static_cast<uint32_t>(first + lane);
      sums[found++] = sum[lane];
    }
  }
  return found;
}

static int64_t sum_columns(const ColumnTask& task, uint32_t* lanes, uint8_t* sums) {
  return task.other_plane_of ? sum_columns_of<true>(task, lanes, sums) : sum_columns_of<false>(task, lanes, sums);
}

}  // namespace gpualign::GPUALIGN_ISA
