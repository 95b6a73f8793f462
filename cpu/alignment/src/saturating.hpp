// Signed vector elements that hold local alignment scores. Sums of 8 and 16 bits saturate, that is, stop at the ends of their range.
//
// With 8 and 16 bits, kZero is the lowest value, at which differences stop, and sums stop at kMax. There are no saturating additions of 32
// and 64 bits: kZero leaves room below it for the cost of a gap. Kernels decide which element at or above kZero stands for score 0.
#pragma once
#include "cpu/src/simd.hpp"

namespace gpualign::GPUALIGN_ISA {

// The range of an element.
template <class E>
struct Range {
  static constexpr bool kSaturates = sizeof(E) <= 2;
  static constexpr E kZero = kSaturates ? static_cast<E>(E(1) << (8 * sizeof(E) - 1)) : E(0);
  static constexpr E kMax = static_cast<E>(~(E(1) << (8 * sizeof(E) - 1)));
};
template <>
struct Range<int32_t> {
  static constexpr bool kSaturates = false;
  static constexpr int32_t kZero = 0, kMax = INT32_MAX;
};
template <>
struct Range<int64_t> {
  static constexpr bool kSaturates = false;
  static constexpr int64_t kZero = 0, kMax = INT64_MAX;
};

#define GPUALIGN_SIGNED(name, E, N, op) \
  static inline Vec<E> name(Vec<E> a, Vec<E> b) { return (Vec<E>)op((N)a, (N)b); }
#if defined(GPUALIGN_AVX512)
GPUALIGN_SIGNED(add, int8_t, __m512i, _mm512_adds_epi8)
GPUALIGN_SIGNED(add, int16_t, __m512i, _mm512_adds_epi16)
GPUALIGN_SIGNED(subtract, int8_t, __m512i, _mm512_subs_epi8)
GPUALIGN_SIGNED(subtract, int16_t, __m512i, _mm512_subs_epi16)
GPUALIGN_SIGNED(larger, int8_t, __m512i, _mm512_max_epi8)
GPUALIGN_SIGNED(larger, int16_t, __m512i, _mm512_max_epi16)
GPUALIGN_SIGNED(larger, int32_t, __m512i, _mm512_max_epi32)
GPUALIGN_SIGNED(larger, int64_t, __m512i, _mm512_max_epi64)
#elif defined(GPUALIGN_AVX2)
GPUALIGN_SIGNED(add, int8_t, __m256i, _mm256_adds_epi8)
GPUALIGN_SIGNED(add, int16_t, __m256i, _mm256_adds_epi16)
GPUALIGN_SIGNED(subtract, int8_t, __m256i, _mm256_subs_epi8)
GPUALIGN_SIGNED(subtract, int16_t, __m256i, _mm256_subs_epi16)
GPUALIGN_SIGNED(larger, int8_t, __m256i, _mm256_max_epi8)
GPUALIGN_SIGNED(larger, int16_t, __m256i, _mm256_max_epi16)
GPUALIGN_SIGNED(larger, int32_t, __m256i, _mm256_max_epi32)
#elif defined(GPUALIGN_SSE41)
GPUALIGN_SIGNED(add, int8_t, __m128i, _mm_adds_epi8)
GPUALIGN_SIGNED(add, int16_t, __m128i, _mm_adds_epi16)
GPUALIGN_SIGNED(subtract, int8_t, __m128i, _mm_subs_epi8)
GPUALIGN_SIGNED(subtract, int16_t, __m128i, _mm_subs_epi16)
GPUALIGN_SIGNED(larger, int8_t, __m128i, _mm_max_epi8)
GPUALIGN_SIGNED(larger, int16_t, __m128i, _mm_max_epi16)
GPUALIGN_SIGNED(larger, int32_t, __m128i, _mm_max_epi32)
#elif defined(GPUALIGN_NEON)
GPUALIGN_SIGNED(add, int8_t, int8x16_t, vqaddq_s8)
GPUALIGN_SIGNED(add, int16_t, int16x8_t, vqaddq_s16)
GPUALIGN_SIGNED(subtract, int8_t, int8x16_t, vqsubq_s8)
GPUALIGN_SIGNED(subtract, int16_t, int16x8_t, vqsubq_s16)
GPUALIGN_SIGNED(larger, int8_t, int8x16_t, vmaxq_s8)
GPUALIGN_SIGNED(larger, int16_t, int16x8_t, vmaxq_s16)
GPUALIGN_SIGNED(larger, int32_t, int32x4_t, vmaxq_s32)
#else
// A sum of two numbers of one sign that has the other sign has overflowed.
template <class E, class U>
static inline Vec<E> plain_add(Vec<E> a, Vec<E> b) {
  const Vec<E> sum = (Vec<E>)((Vec<U>)a + (Vec<U>)b),
               stop = a < broadcast<E>(0) ? broadcast<E>(Range<E>::kZero) : broadcast<E>(Range<E>::kMax);
  return (~(a ^ b) & (a ^ sum)) < broadcast<E>(0) ? stop : sum;
}
template <class E, class U>
static inline Vec<E> plain_subtract(Vec<E> a, Vec<E> b) {
  const Vec<E> sum = (Vec<E>)((Vec<U>)a - (Vec<U>)b),
               stop = a < broadcast<E>(0) ? broadcast<E>(Range<E>::kZero) : broadcast<E>(Range<E>::kMax);
  return ((a ^ b) & (a ^ sum)) < broadcast<E>(0) ? stop : sum;
}
static inline Vec<int8_t> add(Vec<int8_t> a, Vec<int8_t> b) { return plain_add<int8_t, uint8_t>(a, b); }
static inline Vec<int16_t> add(Vec<int16_t> a, Vec<int16_t> b) { return plain_add<int16_t, uint16_t>(a, b); }
static inline Vec<int8_t> subtract(Vec<int8_t> a, Vec<int8_t> b) { return plain_subtract<int8_t, uint8_t>(a, b); }
static inline Vec<int16_t> subtract(Vec<int16_t> a, Vec<int16_t> b) { return plain_subtract<int16_t, uint16_t>(a, b); }
template <class V>
static inline V larger(V a, V b) {
  return a > b ? a : b;
}
#endif
#undef GPUALIGN_SIGNED
#if defined(GPUALIGN_AVX2) || defined(GPUALIGN_SSE41) || defined(GPUALIGN_NEON)
static inline Vec<int64_t> larger(Vec<int64_t> a, Vec<int64_t> b) { return a > b ? a : b; }
#endif
static inline Vec<int32_t> add(Vec<int32_t> a, Vec<int32_t> b) { return a + b; }
static inline Vec<int64_t> add(Vec<int64_t> a, Vec<int64_t> b) { return a + b; }
static inline Vec<int32_t> subtract(Vec<int32_t> a, Vec<int32_t> b) { return a - b; }
static inline Vec<int64_t> subtract(Vec<int64_t> a, Vec<int64_t> b) { return a - b; }

// Returns whether any bit is set.
static inline bool any(Bytes v) {
#if defined(GPUALIGN_AVX512)
  return _mm512_test_epi8_mask((__m512i)v, (__m512i)v) != 0;
#elif defined(GPUALIGN_AVX2)
  return !_mm256_testz_si256((__m256i)v, (__m256i)v);
#elif defined(GPUALIGN_SSE41)
  return !_mm_testz_si128((__m128i)v, (__m128i)v);
#else
  const Words w = (Words)v;
  uint64_t all = 0;
  for (int k = 0; k < kVectorBytes / 8; k++) all |= w[k];
  return all != 0;
#endif
}

}  // namespace gpualign::GPUALIGN_ISA
