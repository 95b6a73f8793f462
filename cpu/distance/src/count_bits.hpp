// Loads of bit planes, their logic and popcounts of vectors, for one instruction set.
#pragma once
#include "cpu/src/simd.hpp"

namespace gpualign::GPUALIGN_ISA {

constexpr int kWords = kVectorBytes / 8;

static inline Words load(const uint64_t* from) {
  Words out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

static inline Words and3(Words a, Words b, Words c) {
#if defined(GPUALIGN_AVX512)
  return (Words)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)c, 0x80);
#else
  return a & b & c;
#endif
}

// ---- popcount of each 64-bit element
#if defined(GPUALIGN_AVX512) && defined(__AVX512VPOPCNTDQ__)
constexpr bool kCountsBits = true;
static inline Words count_bits(Words v) { return (Words)_mm512_popcnt_epi64((__m512i)v); }
#elif defined(GPUALIGN_NEON)
constexpr bool kCountsBits = false;  // counts bytes and needs three more additions, so the adder tree is cheaper
static inline Words count_bits(Words v) { return (Words)vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vcntq_u8((uint8x16_t)v)))); }
#elif defined(GPUALIGN_AVX512) || defined(GPUALIGN_AVX2) || defined(GPUALIGN_SSE41)
constexpr bool kCountsBits = false;
static const uint8_t kBitsOfNibble[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
static inline Words count_bits(Words v) {
  const Bytes low = broadcast<uint8_t>(15);
  const Bytes lower = (Bytes)v & low, upper = (Bytes)(v >> 4) & low;
  const Bytes counts = look_up_16(kBitsOfNibble, lower) + look_up_16(kBitsOfNibble, upper);
#if defined(GPUALIGN_AVX512)
  return (Words)_mm512_sad_epu8((__m512i)counts, _mm512_setzero_si512());
#elif defined(GPUALIGN_AVX2)
  return (Words)_mm256_sad_epu8((__m256i)counts, _mm256_setzero_si256());
#else
  return (Words)_mm_sad_epu8((__m128i)counts, _mm_setzero_si128());
#endif
}
#else
constexpr bool kCountsBits = false;
static inline Words count_bits(Words v) {
  v = v - ((v >> 1) & broadcast<uint64_t>(0x5555555555555555u));
  v = (v & broadcast<uint64_t>(0x3333333333333333u)) + ((v >> 2) & broadcast<uint64_t>(0x3333333333333333u));
  v = (v + (v >> 4)) & broadcast<uint64_t>(0x0f0f0f0f0f0f0f0fu);
  v = v + (v >> 8);
  v = v + (v >> 16);
  return (v + (v >> 32)) & broadcast<uint64_t>(127);
}
#endif

}  // namespace gpualign::GPUALIGN_ISA
