// What a score is held in. A Cell type has PAIRS alignments in one value and the few operations that the recurrences need.
//
// `add` is for values whose halves cannot overflow or go below 0 (core/bounds.py proves it for the scoring and lengths of a
// tile); scores of a letter pair come from a profile in shared memory, and none that is added in this way is negative.
#pragma once

#include "portable.cuh"

// Two alignments, 0 .. 65,535 each. Profile words hold four rows of one letter, a byte of -128 .. 127 each.
struct U16x2 {
  using Value = uint32_t;
  using ProfileWord = uint32_t;
  static constexpr int PAIRS = 2;
  static constexpr int ROWS_A_WORD = 4;
  static DEVICE Value of(int64_t x) { return static_cast<uint32_t>(x) * 0x10001u; }
  static DEVICE Value add(Value a, Value b, uint32_t one) { return add_by_fma(a, b, one); }
  static DEVICE Value negative(int64_t x) { return 0u - static_cast<uint32_t>(x) * 0x10001u; }     // for add: borrow included
  static DEVICE Value step(int64_t x) { return (static_cast<uint32_t>(x) & 0xffffu) * 0x10001u; }  // for add_max: modulo 2^16
  static DEVICE Value max(Value a, Value b) { return max_u16x2(a, b); }
  static DEVICE Value max3(Value a, Value b, Value c) { return max3_u16x2(a, b, c); }
  static DEVICE Value add_max(Value a, Value b, Value c) { return add_max_u16x2(a, b, c); }
  static DEVICE int64_t get(Value v, int pair) { return pair ? v >> 16 : v & 0xffffu; }
  // Scores of row `row` (0-3 of the word): a's byte in the low half, b's in the high half, each with its sign.
  template <int ROW>
  static DEVICE Value look_up(ProfileWord a, ProfileWord b) {
    return pick_bytes(a, b, ROW | (ROW | 8) << 4 | (ROW + 4) << 8 | ((ROW + 4) | 8) << 12);
  }
};

template <class T>
struct Single {
  using Value = T;
  using ProfileWord = T;
  static constexpr int PAIRS = 1;
  static constexpr int ROWS_A_WORD = 1;
  static DEVICE Value of(int64_t x) { return static_cast<T>(x); }
  static DEVICE Value add(Value a, Value b, uint32_t) { return a + b; }
  static DEVICE Value negative(int64_t x) { return static_cast<T>(-x); }
  static DEVICE Value step(int64_t x) { return static_cast<T>(x); }
  static DEVICE int64_t get(Value v, int) { return v; }
  template <int ROW>
  static DEVICE Value look_up(ProfileWord a, ProfileWord) {
    return a;
  }
};

struct S32 : Single<int32_t> {
  static DEVICE Value max(Value a, Value b) { return a > b ? a : b; }
  static DEVICE Value max3(Value a, Value b, Value c) { return max3_s32(a, b, c); }
  static DEVICE Value add_max(Value a, Value b, Value c) { return add_max_s32(a, b, c); }
};

struct S64 : Single<int64_t> {
  static DEVICE Value max(Value a, Value b) { return a > b ? a : b; }
  static DEVICE Value max3(Value a, Value b, Value c) { return max(max(a, b), c); }
  static DEVICE Value add_max(Value a, Value b, Value c) { return max(a + b, c); }
};
