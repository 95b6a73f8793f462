// Types of a score. A Cell type holds PAIRS alignments in one value and has the few operations that the recurrences need.
//
// `add` is for values whose halves cannot overflow or fall below 0 (core/scoring/recurrence_forms.py proves it for the scoring and lengths
// of a tile). Then two halves are added as one number: adding a + 65,536 b adds a to the low half and b to the high half, even if a or b is
// negative. The scores of letters come from a query profile in shared memory, a word for ROWS_A_WORD rows, and with_score adds one of them.
#pragma once

#include "portable.cuh"

// Two alignments, 0 .. 65,535 each. A profile word holds the scores of four rows for one letter, bytes of -128 .. 127.
struct U16x2 {
  using Value = uint32_t;
  using ProfileWord = uint32_t;
  static constexpr int PAIRS = 2;
  static constexpr int ROWS_A_WORD = 4;
  static DEVICE Value of(int64_t x) { return static_cast<uint32_t>(x) * 0x10001u; }
  static DEVICE Value add(Value a, Value b, uint32_t one) { return add_by_fma(a, b, one); }
  static DEVICE Value negative(int64_t x) { return 0u - static_cast<uint32_t>(x) * 0x10001u; }  // for add: with the borrow of the low half
  static DEVICE Value step(int64_t x) { return (static_cast<uint32_t>(x) & 0xffffu) * 0x10001u; }  // for add_max: modulo 2^16
  static DEVICE Value max3(Value a, Value b, Value c) { return max3_u16x2(a, b, c); }
  static DEVICE Value add_max(Value a, Value b, Value c) { return add_max_u16x2(a, b, c); }
  static DEVICE int64_t get(Value v, int pair) { return pair ? v >> 16 : v & 0xffffu; }
  static DEVICE Value joined(int32_t a, int32_t b) { return static_cast<uint32_t>(a) + (static_cast<uint32_t>(b) << 16); }
  // Returns x plus the scores of row ROW, 0 .. 3 of the profile words a (low half) and b (high half). TWICE: b has twice the scores. A
  // product with 2^15 then moves them to the high half, on the FMA pipe, and one selection of bytes serves two rows. Else no byte may be
  // negative.
  template <int ROW, bool TWICE>
  static DEVICE Value with_score(Value x, ProfileWord a, ProfileWord b, uint32_t one) {
    if (!TWICE) return add(x, pick_bytes(a, b, ROW | (ROW | 8) << 4 | (ROW + 4) << 8 | ((ROW + 4) | 8) << 12), one);
    constexpr int kUpper = ROW / 2 * 2;
    const uint32_t bytes = pick_bytes(a, b, kUpper | (kUpper + 4) << 4 | (kUpper + 1) << 8 | (kUpper + 5) << 12);
    return ROW % 2 ? add_upper_products(bytes, 1, 1 << 15, x) : add_lower_products(bytes, 1, 1 << 15, x);
  }
};

// The same for devices that have no maxima of 16-bit integers, by maxima of half floats: 0 .. 0x7c00 each.
struct H16x2 : U16x2 {
  static DEVICE Value step(int64_t x) { return x < 0 ? negative(-x) : of(x); }  // for add_max, where no half falls below 0 either
  static DEVICE Value max3(Value a, Value b, Value c) { return max_h16x2(max_h16x2(a, b), c); }
  static DEVICE Value add_max(Value a, Value b, Value c) { return max_h16x2(a + b, c); }
};

// One alignment in a signed integer; a profile word is the score of one row.
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
  static DEVICE Value joined(int32_t a, int32_t) { return static_cast<T>(a); }
  template <int ROW, bool TWICE>
  static DEVICE Value with_score(Value x, ProfileWord a, ProfileWord, uint32_t) {
    return x + a;
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
