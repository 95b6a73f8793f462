// Rows of a query in the lanes of a vector (Farrar 2007): their scores with each letter, and gaps that cross lanes.
//
// Each lane holds `segments` consecutive rows, and vector s holds row s of each lane.
#pragma once
#include "kernels.hpp"
#include "saturating.hpp"

namespace gpualign::GPUALIGN_ISA {

template <class E>
struct StripedRows {
  using V = Vec<E>;
  static constexpr int kLanes = lanes_of<E>();

  // Returns [last of before, v[0], ...].
  static inline V lane_up(V v, V before) { return (V)shift_up<sizeof(E)>((Bytes)v, (Bytes)before); }

  // Writes the scores of the rows from `first_row` on with each letter; rows after the last one are padding. profile: [letter][stride]
  static void set_profile(const LocalArgs& a, int64_t first_row, int64_t rows, int64_t segments, int64_t stride, V* profile) {
    alignas(64) uint8_t low[kLetters][kLetters], high[kLetters][kLetters];  // bytes of the scores, by the letter of a column, then of a row
    bool two_bytes = true;                                                  // hold every score
    for (int l = 0; l < a.letters; l++)
      for (int i = 0; i < kLetters; i++) {
        const int32_t score = a.table[i * kLetters + l];
        low[l][i] = static_cast<uint8_t>(score);
        high[l][i] = static_cast<uint8_t>(score >> 8);
        two_bytes &= score == static_cast<int16_t>(score);
      }
    // A vector of codes makes as many vectors of scores as an element has bytes.
    constexpr int kStep = static_cast<int>(sizeof(E));
    for (int64_t s = 0; s < segments; s += kStep) {
      const int vectors = segments - s < kStep ? static_cast<int>(segments - s) : kStep, count = vectors * kLanes;
      alignas(64) uint8_t codes[kVectorBytes];
      for (int v = 0; v < kStep; v++)
        for (int k = 0; k < kLanes; k++) {
          const int64_t r = int64_t(k) * segments + s + v;
          codes[v * kLanes + k] = v < vectors && r < rows ? a.query[first_row + r] : a.padding;
        }
      Bytes packed;
      memcpy(&packed, codes, sizeof packed);
      for (int l = 0; l < a.letters; l++) {
        E* out = reinterpret_cast<E*>(profile + l * stride + s);
        if (!two_bytes) {
          for (int i = 0; i < count; i++) out[i] = static_cast<E>(a.table[codes[i] * kLetters + l]);
          continue;
        }
        const Bytes lower = a.letters <= 16 ? look_up_16(low[l], packed) : look_up_32(low[l], packed);
        if constexpr (sizeof(E) == 1) {
          memcpy(out, &lower, sizeof lower);
        } else {
          alignas(64) uint8_t lows[kVectorBytes], highs[kVectorBytes];
          memcpy(lows, &lower, sizeof lower);
          const Bytes upper = a.letters <= 16 ? look_up_16(high[l], packed) : look_up_32(high[l], packed);
          memcpy(highs, &upper, sizeof upper);
          for (int i = 0; i < count; i++) out[i] = static_cast<int16_t>(lows[i] | highs[i] << 8);
        }
      }
    }
  }

  // Adds to the F that enters each lane what enters the lanes before it and passes through all lanes between, if these are kDistance or
  // more: in steps that double the distance. zero: the least F. lane_cost: of a gap that crosses a lane
  template <int kDistance = 1>
  static inline __attribute__((always_inline)) void add_passing(V& f, V zero, int64_t lane_cost) {
    const int64_t decay = kDistance * lane_cost, half = decay / 2;
    if (Range<E>::kSaturates ? half >= Range<E>::kMax : decay > Range<E>::kMax) return;  // nothing passes
    const V passed = subtract(subtract(f, broadcast<E>(static_cast<E>(half))), broadcast<E>(static_cast<E>(decay - half)));
    if (!any((Bytes)(passed > zero))) return;
    f = larger(f, (V)shift_up<kDistance * sizeof(E)>((Bytes)passed, (Bytes)zero));
    if constexpr (2 * kDistance < kLanes) add_passing<2 * kDistance>(f, zero, lane_cost);
  }
};

}  // namespace gpualign::GPUALIGN_ISA
